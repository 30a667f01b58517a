// Attributes of the ops that move elements: join, mirror, cut, pad, spread.
//
// Dims are wrapped into [0, ndim). Where an op has no operand of its result's shape, the shape comes
// last: the kernel takes it from the output. Thread safety: plain values, copied by memcpy.
#ifndef ONEFLOW_KERNELS_ATTRS_SHAPE_H_
#define ONEFLOW_KERNELS_ATTRS_SHAPE_H_

#include <cstdint>
#include <type_traits>

#include "oneflow/core/scalar.h"
#include "oneflow/kernels/attr_types.h"

namespace oneflow {

// cat: along `dim`. stack: along a new dim `dim` of the result.
struct CatAttrs {
  int64_t dim = 0;
};

struct FlipAttrs {
  IntList dims;
};

// tril, triu: `diagonal` of 0 is the main one, 1 the one above it.
struct TriangleAttrs {
  int64_t diagonal = 0;
};

// How many elements are added before and after each dim; none is negative.
struct ConstantPadAttrs {
  IntList before;
  IntList after;
  Scalar value;
};

// The diagonal of dims dim1 and dim2, `offset` above the main one, becomes the last dim.
struct DiagonalAttrs {
  int64_t offset = 0;
  int64_t dim1 = 0;
  int64_t dim2 = 1;
};

// Zeros of this shape with the operand on that diagonal.
struct DiagonalBackwardAttrs {
  DiagonalAttrs diagonal;
  IntList shape;
};

// Windows of `size` elements of `dim`, `step` apart; a window's elements become the last dim.
struct UnfoldTensorAttrs {
  int64_t dim = 0;
  int64_t size = 1;
  int64_t step = 1;
};

// Zeros of this shape to which the windows are added.
struct UnfoldTensorBackwardAttrs {
  UnfoldTensorAttrs window;
  IntList shape;
};

// depth classes; the element of the class is `on`, all others are `off`.
struct OneHotAttrs {
  int64_t depth = 0;
  Scalar on = Scalar(1);
  Scalar off = Scalar(0);
};

// `steps` numbers from start to end, equally far apart; with a base, base to the power of each.
struct LinspaceAttrs {
  double start = 0.0;
  double end = 1.0;
  double base = 0.0;
  bool has_base = false;
};
struct LinspaceOpAttrs {
  LinspaceAttrs kernel;
  int64_t steps = 0;
};

static_assert(std::is_trivially_copyable_v<CatAttrs> && std::is_trivially_copyable_v<FlipAttrs> &&
                  std::is_trivially_copyable_v<TriangleAttrs> &&
                  std::is_trivially_copyable_v<ConstantPadAttrs> &&
                  std::is_trivially_copyable_v<DiagonalBackwardAttrs> &&
                  std::is_trivially_copyable_v<UnfoldTensorBackwardAttrs> &&
                  std::is_trivially_copyable_v<OneHotAttrs> &&
                  std::is_trivially_copyable_v<LinspaceOpAttrs>,
              "an instruction copies attributes by memcpy");

}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_ATTRS_SHAPE_H_
