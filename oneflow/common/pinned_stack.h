// PinnedStack: a stack id that its source keeps for as long as this object lives.
//
// Thread safety: as a plain value; pinning itself is safe from any thread.
#ifndef ONEFLOW_COMMON_PINNED_STACK_H_
#define ONEFLOW_COMMON_PINNED_STACK_H_

#include <utility>

#include "oneflow/common/stack_source.h"

namespace oneflow {

class PinnedStack {
 public:
  explicit PinnedStack(StackId id = kNoStack) : id_(id) {
    StackSource* source = StackSource::Get();
    if (id_ != kNoStack && source != nullptr) { source->Pin(id_); }
  }
  PinnedStack(const PinnedStack& other) : PinnedStack(other.id_) {}
  PinnedStack(PinnedStack&& other) noexcept : id_(std::exchange(other.id_, kNoStack)) {}
  PinnedStack& operator=(PinnedStack other) noexcept {
    std::swap(id_, other.id_);
    return *this;
  }
  ~PinnedStack() {
    StackSource* source = StackSource::Get();
    if (id_ != kNoStack && source != nullptr) { source->Unpin(id_); }
  }

  StackId id() const { return id_; }

 private:
  StackId id_;
};

}  // namespace oneflow

#endif  // ONEFLOW_COMMON_PINNED_STACK_H_
