// Attribute structs that say more than a kernel needs: a shape for an op without operands, the
// arguments of a view. Where a kernel runs, its own struct comes first, so that a pointer to the
// whole is a pointer to it.
//
// Thread safety: plain values, copied by memcpy.
#ifndef ONEFLOW_OP_OP_ATTRS_H_
#define ONEFLOW_OP_OP_ATTRS_H_

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "oneflow/core/device.h"
#include "oneflow/core/dtype.h"
#include "oneflow/kernels/attrs.h"

namespace oneflow {

// full, zeros, ones.
struct FullAttrs {
  FillAttrs kernel;
  IntList shape;
};

struct ArangeOpAttrs {
  ArangeAttrs kernel;
  int64_t count = 0;
};

struct RandnAttrs {
  NormalAttrs kernel;
  IntList shape;
};

struct RandAttrs {
  UniformAttrs kernel;
  IntList shape;
};

struct NllLossBackwardAttrs {
  NllLossAttrs kernel;
  IntList shape;
};

struct CastAttrs {
  DataType dtype = DataType::kFloat;
};

// empty; view and expand, with -1 not yet resolved.
struct ShapeAttrs {
  IntList shape;
};

// permute: dims[i] is the operand's dim that becomes dim i.
struct PermuteAttrs {
  IntList dims;
};

// slice: elements start, start + step, ... of one dim, `length` of them. All resolved and in range.
struct SliceAttrs {
  int64_t dim = 0;
  int64_t start = 0;
  int64_t length = 0;
  int64_t step = 1;
};

static_assert(offsetof(FullAttrs, kernel) == 0 && offsetof(ArangeOpAttrs, kernel) == 0 &&
                  offsetof(RandnAttrs, kernel) == 0 && offsetof(RandAttrs, kernel) == 0 &&
                  offsetof(NllLossBackwardAttrs, kernel) == 0,
              "a kernel reads its own struct at the start");
static_assert(
    attrs_detail::kAllCopyable<FullAttrs, ArangeOpAttrs, RandnAttrs, RandAttrs, CastAttrs,
                               ShapeAttrs, PermuteAttrs, SliceAttrs, NllLossBackwardAttrs>,
    "an instruction copies attributes by memcpy");

}  // namespace oneflow

#endif  // ONEFLOW_OP_OP_ATTRS_H_
