// InFlight: a call that lets go of the host's lock while it still looks at tensors through pointers.
//
// While such a call is under way, nobody may point one of its tensors at other memory (`x.data = y`):
// its shape and its storage would change under a kernel.
//
// Thread safety: all of it, from any thread. Ownership: an object lives on the stack of its call;
// it is known from Begin() until its end. Calls that keep the host's lock never Begin().
#ifndef ONEFLOW_VM_IN_FLIGHT_H_
#define ONEFLOW_VM_IN_FLIGHT_H_

#include "oneflow/common/thread.h"
#include "oneflow/vm/instruction.h"

namespace oneflow {

class InFlight {
 public:
  explicit InFlight(const OpCall& call) : call_(&call) {}
  explicit InFlight(const Storage& storage) : storage_(&storage) {}
  ~InFlight() {
    if (begun_) { End(); }
  }
  InFlight(const InFlight&) = delete;
  InFlight& operator=(const InFlight&) = delete;

  // REQUIRES the host's lock, right before it is released. Again is no harm.
  void Begin();

  enum class Where { kNowhere, kOnThisThread, kElsewhere };
  // Is a call under way that looks at a tensor over `storage`?
  static Where Find(const Storage& storage);

  // In the child of fork(): the other threads' calls do not exist there.
  static void ForgetInChild();

 private:
  bool Uses(const Storage& storage) const;
  void End();

  const OpCall* call_ = nullptr;
  const Storage* storage_ = nullptr;
  bool begun_ = false;
  ThreadId thread_;
};

}  // namespace oneflow

#endif  // ONEFLOW_VM_IN_FLIGHT_H_
