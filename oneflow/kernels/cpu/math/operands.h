// The operands of an elementwise kernel, with the number among them where the op has one.
//
// Shared by the fast kernels and their oracles, so that both see the same. Thread safety: pure
// functions; the views borrow the call.
#ifndef ONEFLOW_KERNELS_CPU_MATH_OPERANDS_H_
#define ONEFLOW_KERNELS_CPU_MATH_OPERANDS_H_

#include "oneflow/kernels/cpu/math/engine.h"
#include "oneflow/kernels/cpu/scalar_bits.h"

namespace oneflow {
namespace cpu {

// Where an op's operands come from.
enum class Form {
  kTensors,      // all from tensors; the op has no numbers
  kNumbers,      // all from tensors; MathAttrs
  kNumberLast,   // the last is a number, ScalarAttrs
  kNumberFirst,  // the first is
  kFill,         // where(tensor 1, number, tensor 0): ScalarAttrs
  kBounds,       // two numbers, last: ClampAttrs
};

// The kernels of ONEFLOW_ARITHMETIC: V(kernel, op, form).
#define ONEFLOW_ARITHMETIC_KERNELS(V)                \
  V(abs, Abs, kTensors)                              \
  V(addcdiv, Addcdiv, kNumbers)                      \
  V(addcmul, Addcmul, kNumbers)                      \
  V(atan2, Atan2, kTensors)                          \
  V(bitwise_and, BitwiseAnd, kTensors)               \
  V(bitwise_not, BitwiseNot, kTensors)               \
  V(bitwise_or, BitwiseOr, kTensors)                 \
  V(bitwise_xor, BitwiseXor, kTensors)               \
  V(clamp, Clamp, kBounds)                           \
  V(floor_divide, FloorDivide, kTensors)             \
  V(fmod, Fmod, kTensors)                            \
  V(ge, Ge, kTensors)                                \
  V(gt, Gt, kTensors)                                \
  V(isfinite, IsFinite, kTensors)                    \
  V(isinf, IsInf, kTensors)                          \
  V(isnan, IsNan, kTensors)                          \
  V(le, Le, kTensors)                                \
  V(lerp, Lerp, kTensors)                            \
  V(logaddexp, Logaddexp, kTensors)                  \
  V(logical_and, LogicalAnd, kTensors)               \
  V(logical_not, LogicalNot, kTensors)               \
  V(logical_or, LogicalOr, kTensors)                 \
  V(logical_xor, LogicalXor, kTensors)               \
  V(lt, Lt, kTensors)                                \
  V(masked_fill, Where, kFill)                       \
  V(maximum, Maximum, kTensors)                      \
  V(minimum, Minimum, kTensors)                      \
  V(ne, Ne, kTensors)                                \
  V(neg, Neg, kTensors)                              \
  V(pow, Pow, kTensors)                              \
  V(remainder, Remainder, kTensors)                  \
  V(scalar_bitwise_and, BitwiseAnd, kNumberLast)     \
  V(scalar_bitwise_or, BitwiseOr, kNumberLast)       \
  V(scalar_bitwise_xor, BitwiseXor, kNumberLast)     \
  V(scalar_div, Div, kNumberLast)                    \
  V(scalar_eq, Eq, kNumberLast)                      \
  V(scalar_floor_divide, FloorDivide, kNumberLast)   \
  V(scalar_fmod, Fmod, kNumberLast)                  \
  V(scalar_ge, Ge, kNumberLast)                      \
  V(scalar_gt, Gt, kNumberLast)                      \
  V(scalar_le, Le, kNumberLast)                      \
  V(scalar_lerp, Lerp, kNumberLast)                  \
  V(scalar_logical_and, LogicalAnd, kNumberLast)     \
  V(scalar_logical_or, LogicalOr, kNumberLast)       \
  V(scalar_logical_xor, LogicalXor, kNumberLast)     \
  V(scalar_lt, Lt, kNumberLast)                      \
  V(scalar_maximum, Maximum, kNumberLast)            \
  V(scalar_minimum, Minimum, kNumberLast)            \
  V(scalar_ne, Ne, kNumberLast)                      \
  V(scalar_rdiv, Div, kNumberFirst)                  \
  V(scalar_remainder, Remainder, kNumberLast)        \
  V(scalar_rfloor_divide, FloorDivide, kNumberFirst) \
  V(scalar_rpow, Pow, kNumberFirst)                  \
  V(scalar_rremainder, Remainder, kNumberFirst)      \
  V(scalar_rshift_left, ShiftLeft, kNumberFirst)     \
  V(scalar_rshift_right, ShiftRight, kNumberFirst)   \
  V(scalar_rsub, Sub, kNumberFirst)                  \
  V(scalar_shift_left, ShiftLeft, kNumberLast)       \
  V(scalar_shift_right, ShiftRight, kNumberLast)     \
  V(scalar_trunc_divide, TruncDivide, kNumberLast)   \
  V(shift_left, ShiftLeft, kTensors)                 \
  V(shift_right, ShiftRight, kTensors)               \
  V(sign, Sign, kTensors)                            \
  V(square, Square, kTensors)                        \
  V(trunc_divide, TruncDivide, kTensors)             \
  V(where, Where, kTensors)

struct Operands {
  ArrayView views[kMaxMathOperands];
  int count = 0;
  MathAttrs attrs;
  ScalarBits numbers[2];
};

// REQUIRES that AcceptMath said yes.
void Gather(const KernelCall& call, Form form, Operands* out);

// nullptr, or why the call is none for `op`.
const char* AcceptMath(MathOp op, Form form, const KernelCall& call);

// The dtype whose loop serves: of halves float32, unless elements are only moved.
DataType LoopDtype(MathOp op, DataType operand);

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_MATH_OPERANDS_H_
