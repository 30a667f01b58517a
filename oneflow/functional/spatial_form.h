// SpatialForm: an operand of one of the spatial ops brought into the form (N, C, d1, ..., dk).
//
// People also give (C, ...) without a batch, and channels last. Thread safety: as functional calls.
#ifndef ONEFLOW_FUNCTIONAL_SPATIAL_FORM_H_
#define ONEFLOW_FUNCTIONAL_SPATIAL_FORM_H_

#include <string>

#include "oneflow/common/maybe.h"
#include "oneflow/tensor/tensor.h"

namespace oneflow::functional {

class SpatialForm {
 public:
  // Channels first.
  SpatialForm() = default;
  // ValueError for another name than channels_first or channels_last.
  static Maybe<SpatialForm> Parse(const char* op, const std::string& channel_pos);

  bool channels_last() const { return channels_last_; }
  // RuntimeError unless `input` has `spatial` dims beside its channels and, perhaps, the batch.
  Maybe<TensorPtr> Enter(const char* op, const TensorPtr& input, int spatial);
  // The result as the caller's form has it.
  Maybe<TensorPtr> Leave(const TensorPtr& output) const;
  // (N, ..., C) -> (N, C, ...), and back; as it is where channels come first.
  Maybe<TensorPtr> ChannelsToFront(const TensorPtr& t) const;
  Maybe<TensorPtr> ChannelsToBack(const TensorPtr& t) const;

 private:
  bool channels_last_ = false;
  bool batched_ = true;
};

}  // namespace oneflow::functional

#endif  // ONEFLOW_FUNCTIONAL_SPATIAL_FORM_H_
