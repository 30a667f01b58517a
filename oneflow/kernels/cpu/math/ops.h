// The elementwise ops of this folder, and the table of their dense inner loops, which holds one
// copy for each instruction set.
//
// Adding one: its line in a list below, its formula in the *_loops.cc that fills the list's table,
// and a plain one, its oracle, in reference_*.cc. Strides, broadcasting, in place, float16 and
// bfloat16, threads, the number as an operand: all done once, by engine.cc and kernels.cc.
// Thread safety: constants.
#ifndef ONEFLOW_KERNELS_CPU_MATH_OPS_H_
#define ONEFLOW_KERNELS_CPU_MATH_OPS_H_

#include <cstdint>

#include "oneflow/core/dtype.h"
#include "oneflow/kernels/attrs_math.h"
#include "oneflow/kernels/cpu/isa.h"

namespace oneflow {
namespace cpu {

// V(id, name, nanoseconds for each float32 of one thread, beyond memory). Floats in, floats out.
#define ONEFLOW_FUNCTIONS(V)                 \
  V(Acos, acos, 0.8)                         \
  V(Acosh, acosh, 1.2)                       \
  V(Asin, asin, 0.8)                         \
  V(Asinh, asinh, 1.5)                       \
  V(Atan, atan, 0.8)                         \
  V(Atanh, atanh, 1.2)                       \
  V(Ceil, ceil, 0.0)                         \
  V(Cos, cos, 0.6)                           \
  V(Cosh, cosh, 0.7)                         \
  V(Digamma, digamma, 20.0)                  \
  V(Erf, erf, 1.0)                           \
  V(Erfc, erfc, 1.2)                         \
  V(Erfinv, erfinv, 8.0)                     \
  V(Exp, exp, 0.3)                           \
  V(Exp2, exp2, 0.3)                         \
  V(Expm1, expm1, 0.4)                       \
  V(Floor, floor, 0.0)                       \
  V(Frac, frac, 0.0)                         \
  V(Lgamma, lgamma, 4.0)                     \
  V(Log, log, 0.4)                           \
  V(Log10, log10, 0.5)                       \
  V(Log1p, log1p, 0.6)                       \
  V(Log2, log2, 0.5)                         \
  V(Reciprocal, reciprocal, 0.1)             \
  V(ReciprocalNoNan, reciprocal_no_nan, 0.1) \
  V(Round, round, 0.0)                       \
  V(Rsqrt, rsqrt, 0.3)                       \
  V(Sin, sin, 0.6)                           \
  V(Sinh, sinh, 0.8)                         \
  V(Sqrt, sqrt, 0.2)                         \
  V(Tan, tan, 1.0)                           \
  V(Tanh, tanh, 0.5)                         \
  V(Trunc, trunc, 0.0)

// The activations of neural networks and their gradients.
#define ONEFLOW_ACTIVATIONS(V)                      \
  V(Gelu, gelu, 1.0)                                \
  V(GeluTanh, gelu_tanh, 0.6)                       \
  V(Hardsigmoid, hardsigmoid, 0.0)                  \
  V(Hardswish, hardswish, 0.0)                      \
  V(Logsigmoid, logsigmoid, 0.9)                    \
  V(Mish, mish, 0.5)                                \
  V(Prelu, prelu, 0.0)                              \
  V(QuickGelu, quick_gelu, 0.4)                     \
  V(Sigmoid, sigmoid, 0.4)                          \
  V(Silu, silu, 0.4)                                \
  V(Softsign, softsign, 0.1)                        \
  V(SquareRelu, square_relu, 0.0)                   \
  V(GeluBackward, gelu_backward, 1.4)               \
  V(GeluTanhBackward, gelu_tanh_backward, 0.8)      \
  V(HardsigmoidBackward, hardsigmoid_backward, 0.0) \
  V(HardswishBackward, hardswish_backward, 0.0)     \
  V(LogsigmoidBackward, logsigmoid_backward, 0.5)   \
  V(MishBackward, mish_backward, 0.7)               \
  V(QuickGeluBackward, quick_gelu_backward, 0.5)    \
  V(SigmoidBackward, sigmoid_backward, 0.0)         \
  V(SiluBackward, silu_backward, 0.5)               \
  V(SoftsignBackward, softsign_backward, 0.1)       \
  V(TanhBackward, tanh_backward, 0.0)               \
  V(MaximumBackward, maximum_backward, 0.0)         \
  V(PreluInputBackward, prelu_input_backward, 0.0)  \
  V(PreluWeightBackward, prelu_weight_backward, 0.0)

// The same with numbers: a, b, c of MathAttrs, as the row of the op says.
#define ONEFLOW_NUMBERED_ACTIVATIONS(V)           \
  V(Elu, elu, 0.5)                                \
  V(Hardshrink, hardshrink, 0.0)                  \
  V(Hardtanh, hardtanh, 0.0)                      \
  V(LeakyRelu, leaky_relu, 0.0)                   \
  V(Softplus, softplus, 1.0)                      \
  V(Softshrink, softshrink, 0.0)                  \
  V(Threshold, threshold, 0.0)                    \
  V(EluBackward, elu_backward, 0.5)               \
  V(HardshrinkBackward, hardshrink_backward, 0.0) \
  V(HardtanhBackward, hardtanh_backward, 0.0)     \
  V(ClampBackward, clamp_backward, 0.0)           \
  V(LeakyReluBackward, leaky_relu_backward, 0.0)  \
  V(SoftplusBackward, softplus_backward, 0.5)     \
  V(ThresholdBackward, threshold_backward, 0.0)   \
  V(Polygamma, polygamma, 50.0)

// More dtypes than floats, other results than operands.
#define ONEFLOW_ARITHMETIC(V)         \
  V(Abs, abs, 0.0)                    \
  V(Neg, neg, 0.0)                    \
  V(Sign, sign, 0.0)                  \
  V(Square, square, 0.0)              \
  V(BitwiseNot, bitwise_not, 0.0)     \
  V(LogicalNot, logical_not, 0.0)     \
  V(IsNan, isnan, 0.0)                \
  V(IsInf, isinf, 0.0)                \
  V(IsFinite, isfinite, 0.0)          \
  V(Eq, eq, 0.0)                      \
  V(Ne, ne, 0.0)                      \
  V(Lt, lt, 0.0)                      \
  V(Le, le, 0.0)                      \
  V(Gt, gt, 0.0)                      \
  V(Ge, ge, 0.0)                      \
  V(LogicalAnd, logical_and, 0.0)     \
  V(LogicalOr, logical_or, 0.0)       \
  V(LogicalXor, logical_xor, 0.0)     \
  V(BitwiseAnd, bitwise_and, 0.0)     \
  V(BitwiseOr, bitwise_or, 0.0)       \
  V(BitwiseXor, bitwise_xor, 0.0)     \
  V(ShiftLeft, shift_left, 0.0)       \
  V(ShiftRight, shift_right, 0.0)     \
  V(Maximum, maximum, 0.0)            \
  V(Minimum, minimum, 0.0)            \
  V(Fmod, fmod, 4.0)                  \
  V(Remainder, remainder, 4.0)        \
  V(FloorDivide, floor_divide, 4.0)   \
  V(TruncDivide, trunc_divide, 1.0)   \
  V(Pow, pow, 1.5)                    \
  V(Atan2, atan2, 1.2)                \
  V(Logaddexp, logaddexp, 1.5)        \
  V(Clamp, clamp, 0.0)                \
  V(Where, where, 0.0)                \
  V(Add, add, 0.0)                    \
  V(Sub, sub, 0.0)                    \
  V(Mul, mul, 0.0)                    \
  V(Div, div, 0.0)                    \
  V(Relu, relu, 0.0)                  \
  V(ReluBackward, relu_backward, 0.0) \
  V(Addcmul, addcmul, 0.0)            \
  V(Addcdiv, addcdiv, 0.2)            \
  V(Lerp, lerp, 0.0)

#define ONEFLOW_ALL_MATH(V) \
  ONEFLOW_FUNCTIONS(V)      \
  ONEFLOW_ACTIVATIONS(V) ONEFLOW_NUMBERED_ACTIVATIONS(V) ONEFLOW_ARITHMETIC(V)

enum class MathOp : int {
#define ONEFLOW_MATH_ENUM(id, name, cost) k##id,
  ONEFLOW_ALL_MATH(ONEFLOW_MATH_ENUM)
#undef ONEFLOW_MATH_ENUM
      kCount
};
inline constexpr int kNumMathOps = static_cast<int>(MathOp::kCount);

// n dense elements of each operand; an operand that the op has not is nullptr. out may be the same
// array as an operand of its dtype.
using MathLoop = void (*)(void* out, const void* x, const void* y, const void* z, int64_t n,
                          const MathAttrs& attrs);

// By dtype of the operands (of `where`: of the second); nullptr: no such op for the type. float16
// and bfloat16 have loops of their own only where nothing is computed.
struct MathTable {
  MathLoop at[kNumMathOps][kNumDataTypes];
  // Of float32 and float64, with stores that go past the caches (../stream_line.h); nullptr: none.
  MathLoop streams[kNumMathOps][2];
};

// Each holds the ops of its list and nullptr elsewhere.
ONEFLOW_DECLARE_ISA_TABLE(MathTable, GetFunctionLoops);
ONEFLOW_DECLARE_ISA_TABLE(MathTable, GetActivationLoops);
ONEFLOW_DECLARE_ISA_TABLE(MathTable, GetArithmeticLoops);

inline const MathTable& MathTableOf(MathOp op) {
  if (op < MathOp::kGelu) { return GetFunctionLoops(); }
  return op < MathOp::kAbs ? GetActivationLoops() : GetArithmeticLoops();
}
inline MathLoop FindMathLoop(MathOp op, DataType dtype) {
  return MathTableOf(op).at[static_cast<int>(op)][static_cast<int>(dtype)];
}
// REQUIRES an output of the operands' dtype, aligned to 64 bytes, that is no operand.
inline MathLoop FindStreamLoop(MathOp op, DataType dtype) {
  if (dtype != DataType::kFloat && dtype != DataType::kDouble) { return nullptr; }
  return MathTableOf(op).streams[static_cast<int>(op)][dtype == DataType::kFloat ? 0 : 1];
}

// Nanoseconds for each float32.
inline double MathCost(MathOp op) {
  constexpr double kCosts[] = {
#define ONEFLOW_MATH_COST(id, name, cost) cost,
      ONEFLOW_ALL_MATH(ONEFLOW_MATH_COST)
#undef ONEFLOW_MATH_COST
  };
  return kCosts[static_cast<int>(op)];
}

inline const char* MathName(MathOp op) {
  constexpr const char* kNames[] = {
#define ONEFLOW_MATH_NAME(id, name, cost) #name,
      ONEFLOW_ALL_MATH(ONEFLOW_MATH_NAME)
#undef ONEFLOW_MATH_NAME
  };
  return kNames[static_cast<int>(op)];
}

// Results are bool whatever the operands.
inline bool GivesBool(MathOp op) {
  return (op >= MathOp::kLogicalNot && op <= MathOp::kLogicalXor);
}

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_MATH_OPS_H_
