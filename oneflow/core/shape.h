// Shapes, strides, and the arithmetic on them. Strides count elements, not bytes.
//
// Thread safety: pure functions.
#ifndef ONEFLOW_CORE_SHAPE_H_
#define ONEFLOW_CORE_SHAPE_H_

#include <cstdint>

#include "oneflow/common/maybe.h"
#include "oneflow/core/dims.h"
#include "oneflow/core/dtype.h"

namespace oneflow {

using Shape = Dims;
using Strides = Dims;

// Product of the dimensions; 1 for a scalar. REQUIRES that it does not overflow (CheckedBytes).
inline int64_t ElementCount(const Shape& shape) {
  int64_t n = 1;
  for (int64_t d : shape) { n *= d; }
  return n;
}

// Bytes of a dense tensor. A negative dimension is a ValueError, more than 2^62 bytes an
// OutOfMemoryError.
Maybe<int64_t> CheckedBytes(const char* op, const Shape& shape, DataType dtype);

// Row-major strides.
Strides ContiguousStrides(const Shape& shape);
// Dimensions of size 1 and tensors without elements do not count.
bool IsContiguous(const Shape& shape, const Strides& strides);
// True if two different indices can name the same element (as after expand). May say true for
// exotic strides that do not overlap.
bool MayOverlap(const Shape& shape, const Strides& strides);

// numpy's broadcasting rule. ValueError-free: RuntimeError naming both shapes.
Maybe<Shape> BroadcastShapes(const char* op, const Shape& a, const Shape& b);
// Strides of a tensor seen in a larger, broadcast shape: 0 where it repeats.
// REQUIRES that `from` broadcasts to `to`.
Strides BroadcastStrides(const Shape& from, const Strides& strides, const Shape& to);

// Turns dim in [-ndim, ndim) into [0, ndim); a scalar accepts -1 and 0. IndexError otherwise.
Maybe<int> WrapDim(const char* op, int64_t dim, int ndim);

// Fills in one -1 and checks the element count.
Maybe<Shape> InferViewShape(const char* op, const Shape& from, const Shape& wanted);
// Strides with which a tensor can be seen as `to` without a copy; empty Maybe-value `false` in
// `possible` when it needs one.
bool ViewStrides(const Shape& from, const Strides& strides, const Shape& to, Strides* out);

}  // namespace oneflow

#endif  // ONEFLOW_CORE_SHAPE_H_
