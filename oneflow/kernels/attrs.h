// The attribute structs of the ops: what a kernel is told beside its operands.
//
// Written by hand, named by the rows of the op table. Every struct is trivially copyable, so that
// an instruction can carry it by memcpy. Lists of dimensions hold dims already wrapped into
// [0, ndim). Thread safety: plain values.
#ifndef ONEFLOW_KERNELS_ATTRS_H_
#define ONEFLOW_KERNELS_ATTRS_H_

#include <cstdint>
#include <type_traits>

#include "oneflow/core/generator.h"
#include "oneflow/core/scalar.h"
#include "oneflow/kernels/attr_types.h"

namespace oneflow {

// copy, mul, div, eq, relu, relu_backward, linear: nothing to say.
struct NoAttrs {};

// out[i] = value.
struct FillAttrs {
  Scalar value;
};

// out[i] = start + i * step.
struct ArangeAttrs {
  Scalar start;
  Scalar step;
};

// Normal with this mean and standard deviation. Element i is number i % 2 of block offset + i / 2,
// so the op reserves (n + 1) / 2 blocks.
struct NormalAttrs {
  double mean = 0.0;
  double std = 1.0;
  RandomSlot slot;
};

// Uniform in [low, high). Element i is number i % 2 of block offset + i / 2: (n + 1) / 2 blocks.
struct UniformAttrs {
  double low = 0.0;
  double high = 1.0;
  RandomSlot slot;
};

// add: x + alpha * y. sub: x - alpha * y.
struct AddAttrs {
  Scalar alpha = Scalar(1);
};

// scalar_add: x + value. scalar_mul: x * value.
struct ScalarAttrs {
  Scalar value;
};

// Inputs a [..., m, k] and b [..., k, n]; transposed operands come as strides.
struct MatmulAttrs {};

// sum, mean. `dims.given == false` or an empty list: all dimensions.
struct ReduceAttrs {
  IntList dims;
  bool keepdim = false;
};

// `dims` has no entry (index into the flattened input) or one.
using ArgmaxAttrs = ReduceAttrs;

// log_softmax and log_softmax_backward.
struct LogSoftmaxAttrs {
  int64_t dim = 0;
};

// nll_loss and nll_loss_backward.
struct NllLossAttrs {
  int64_t ignore_index = -100;
  Reduction reduction = Reduction::kMean;
};

// Zeros of this shape, with the input at start, start + step, ... of `dim`.
struct SliceBackwardAttrs {
  IntList shape;
  int64_t dim = 0;
  int64_t start = 0;
  int64_t step = 1;
};

// Fails on purpose after this many milliseconds, at the n-th call since it last failed: for tests of
// the error paths.
struct ThrowErrorAttrs {
  int64_t delay_ms = 0;
  FailureKind kind = FailureKind::kRuntime;
  int64_t at_call = 1;
};

namespace attrs_detail {
template <typename... Attrs>
inline constexpr bool kAllCopyable = (std::is_trivially_copyable_v<Attrs> && ...);
}  // namespace attrs_detail
static_assert(
    attrs_detail::kAllCopyable<NoAttrs, FillAttrs, ArangeAttrs, NormalAttrs, UniformAttrs, AddAttrs,
                               ScalarAttrs, MatmulAttrs, ReduceAttrs, LogSoftmaxAttrs, NllLossAttrs,
                               SliceBackwardAttrs, ThrowErrorAttrs>,
    "an instruction copies attributes by memcpy");

}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_ATTRS_H_
