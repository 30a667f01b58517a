// The dense inner loops of the elementwise ops, one table for each instruction set.
//
// Every loop reads and writes n dense elements; an operand that repeats is passed as one element
// (`vs`: y is one element; `sv`: x is). out may be the same array as x or y.
// Thread safety: constants.
#ifndef ONEFLOW_KERNELS_CPU_ELEMENTWISE_LOOPS_H_
#define ONEFLOW_KERNELS_CPU_ELEMENTWISE_LOOPS_H_

#include <cstdint>

#include "oneflow/core/dtype.h"
#include "oneflow/kernels/cpu/isa.h"

namespace oneflow {
namespace cpu {

enum class BinaryOp : int {
  kAdd,           // x + y; bool: or; also bfloat16
  kSub,           // x - y
  kMul,           // x * y; bool: and
  kDiv,           // x / y, floats
  kAddScaled,     // x + param * y, param of the same type
  kEq,            // x == y, as bool
  kReluBackward,  // y > 0 ? x : 0, floats and bfloat16
};
inline constexpr int kNumBinaryOps = 7;
enum class UnaryOp : int { kRelu };
inline constexpr int kNumUnaryOps = 1;

using BinaryLoop = void (*)(void* out, const void* x, const void* y, int64_t n, const void* param);
using UnaryLoop = void (*)(void* out, const void* x, int64_t n);

struct BinaryLoops {
  BinaryLoop vv = nullptr;  // nullptr: no such op for the type
  BinaryLoop vs = nullptr;
  BinaryLoop sv = nullptr;
  // Past the caches (stream_line.h), to an output aligned to 64 bytes that is no operand; nullptr:
  // there is none.
  BinaryLoop stream_vv = nullptr;
  BinaryLoop stream_vs = nullptr;
};

struct ElementwiseLoops {
  BinaryLoops binary[kNumBinaryOps][kNumDataTypes];
  UnaryLoop unary[kNumUnaryOps][kNumDataTypes];
  // [from][to]; float16 and bfloat16 have only float32 as a partner.
  UnaryLoop cast[kNumDataTypes][kNumDataTypes];
};

ONEFLOW_DECLARE_ISA_TABLE(ElementwiseLoops, GetElementwiseLoops);

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_ELEMENTWISE_LOOPS_H_
