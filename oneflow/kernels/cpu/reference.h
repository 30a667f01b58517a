// What the reference kernels are written with: element access by index, nothing clever.
//
// A reference kernel is a plain loop that takes any dtype and any strides. It is the oracle of the
// fast kernels, and the last choice when no other accepts a call. Thread safety: pure functions.
#ifndef ONEFLOW_KERNELS_CPU_REFERENCE_H_
#define ONEFLOW_KERNELS_CPU_REFERENCE_H_

#include <cstdint>

#include "oneflow/core/dims.h"
#include "oneflow/core/scalar.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {
namespace reference {

// One element: a floating-point number, or an integer (bool is 0 or 1).
struct Value {
  bool is_float = false;
  double d = 0.0;
  int64_t i = 0;

  static Value Float(double v) { return {true, v, 0}; }
  static Value Int(int64_t v) { return {false, 0.0, v}; }
  double AsDouble() const { return is_float ? d : static_cast<double>(i); }
};

// The value as a tensor of `dtype` can hold it: rounded, wrapped, or turned into 0 or 1.
Value Round(DataType dtype, const Value& value);
Value FromScalar(DataType dtype, const Scalar& scalar);

Value Load(const ArrayView& view, int64_t offset);
void Store(const ArrayView& view, int64_t offset, const Value& value);

// Offset of the element that `index`, an index into an array of `ndim` dimensions to which `view`
// broadcasts, names.
int64_t OffsetOf(const ArrayView& view, const Dims& index);

// Calls body(index) for every index of the shape, in row-major order.
template <typename Body>
void ForEachIndex(const Dims& shape, const Body& body) {
  for (int64_t size : shape) {
    if (size == 0) { return; }
  }
  Dims index(shape.size(), 0);
  while (true) {
    body(index);
    int d = shape.size() - 1;
    while (d >= 0 && ++index[d] == shape[d]) { index[d--] = 0; }
    if (d < 0) { return; }
  }
}

inline Dims ShapeOf(const ArrayView& view) { return Dims(view.shape, view.ndim); }

// Calls body(index of element 0, length) for each vector along `dim`; a scalar is a vector of one.
template <typename Body>
void ForEachVector(const ArrayView& view, int64_t dim, const Body& body) {
  Dims shape = ShapeOf(view);
  int64_t n = 1;
  if (view.ndim > 0) {
    n = shape[static_cast<int>(dim)];
    shape[static_cast<int>(dim)] = n == 0 ? 0 : 1;
  }
  ForEachIndex(shape, [&](const Dims& start) { body(start, n); });
}

// Offset of element i of the vector along `dim` that begins at `start`.
inline int64_t OffsetAlong(const ArrayView& view, const Dims& start, int64_t dim, int64_t i) {
  return OffsetOf(view, start) + (view.ndim == 0 ? 0 : i * view.strides[dim]);
}

}  // namespace reference
}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_REFERENCE_H_
