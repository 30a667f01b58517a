// TensorMeta: what is known of a tensor without looking at its data.
//
// Strides and offset count elements of `dtype` from the start of the storage. Thread safety: value.
#ifndef ONEFLOW_CORE_TENSOR_META_H_
#define ONEFLOW_CORE_TENSOR_META_H_

#include <cstdint>

#include "oneflow/core/device.h"
#include "oneflow/core/dtype.h"
#include "oneflow/core/shape.h"

namespace oneflow {

struct TensorMeta {
  Shape shape;
  Strides strides;
  int64_t offset = 0;
  DataType dtype = DataType::kFloat;
  Device device;
  bool contiguous = true;  // IsContiguous(shape, strides), kept so that nobody asks twice

  int64_t Count() const { return ElementCount(shape); }
  // A dense tensor of this shape.
  void SetContiguous(const Shape& new_shape) {
    shape = new_shape;
    strides = ContiguousStrides(new_shape);
    offset = 0;
    contiguous = true;
  }
};

}  // namespace oneflow

#endif  // ONEFLOW_CORE_TENSOR_META_H_
