// Attributes of the elementwise ops that take numbers beside their operands.
//
// Thread safety: plain values.
#ifndef ONEFLOW_KERNELS_ATTRS_MATH_H_
#define ONEFLOW_KERNELS_ATTRS_MATH_H_

#include <type_traits>

#include "oneflow/core/scalar.h"

namespace oneflow {

// Up to three numbers; each op says what they are (kernels/cpu/math/ops.h).
struct MathAttrs {
  double a = 0.0;
  double b = 0.0;
  double c = 0.0;
};

// clamp: in the dtype of the operand, so exact for integers. A bound that was not given is none.
struct ClampAttrs {
  Scalar low;
  Scalar high;
  bool has_low = false;
  bool has_high = false;
};

static_assert(std::is_trivially_copyable_v<MathAttrs> && std::is_trivially_copyable_v<ClampAttrs>,
              "an instruction copies attributes by memcpy");

}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_ATTRS_MATH_H_
