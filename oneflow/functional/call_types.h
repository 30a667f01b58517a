// Types of parameters and results that only generated code and composites know.
//
// Thread safety: values.
#ifndef ONEFLOW_FUNCTIONAL_CALL_TYPES_H_
#define ONEFLOW_FUNCTIONAL_CALL_TYPES_H_

#include <utility>

#include "oneflow/tensor/tensor.h"

namespace oneflow {

// A parameter that Python may give and that changes nothing, such as a memory format.
struct Ignored {};

// One tensor, or a list of any length: which one depends on the arguments.
struct TensorChoice {
  TensorChoice(TensorPtr tensor) : tensors{std::move(tensor)}, is_list(false) {}  // NOLINT
  TensorChoice(TensorTuple list) : tensors(std::move(list)), is_list(true) {}     // NOLINT

  TensorTuple tensors;
  bool is_list;
};

}  // namespace oneflow

#endif  // ONEFLOW_FUNCTIONAL_CALL_TYPES_H_
