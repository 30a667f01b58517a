// The loop around a formula, and the rows of a table.
//
// A formula is a struct with `Apply(x, attrs)`, `Apply(x, y, attrs)` or `Apply(x, y, z, attrs)`, a
// template over the element type; attrs are the three numbers in the type of the loop.
// Included only by files that of_isa_kernels() compiles: everything is in an unnamed namespace.
// Thread safety: pure functions.
#ifndef ONEFLOW_KERNELS_CPU_MATH_LOOPS_H_
#define ONEFLOW_KERNELS_CPU_MATH_LOOPS_H_

#include "oneflow/kernels/cpu/math/number.h"
#include "oneflow/kernels/cpu/math/ops.h"
#include "oneflow/kernels/cpu/stream_line.h"

namespace oneflow {
namespace cpu {
namespace {

template <typename T>
struct Numbers {
  T a;
  T b;
  T c;
};
template <typename T>
ONEFLOW_INLINE Numbers<T> NumbersOf(const MathAttrs& attrs) {
  return {static_cast<T>(attrs.a), static_cast<T>(attrs.b), static_cast<T>(attrs.c)};
}

// The loops below are called with out == an operand, never with arrays that overlap otherwise: there
// is no dependency between iterations, which is what ivdep says.
template <typename Op, typename T>
void LoopOf1(void* out, const void* x, const void*, const void*, int64_t n,
             const MathAttrs& attrs) {
  using Out = decltype(Op::Apply(T(), Numbers<T>()));
  const Numbers<T> numbers = NumbersOf<T>(attrs);
  const T* a = static_cast<const T*>(x);
  Out* o = static_cast<Out*>(out);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) { o[i] = Op::Apply(a[i], numbers); }
}
template <typename Op, typename T>
void LoopOf2(void* out, const void* x, const void* y, const void*, int64_t n,
             const MathAttrs& attrs) {
  using Out = decltype(Op::Apply(T(), T(), Numbers<T>()));
  const Numbers<T> numbers = NumbersOf<T>(attrs);
  const T* a = static_cast<const T*>(x);
  const T* b = static_cast<const T*>(y);
  Out* o = static_cast<Out*>(out);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) { o[i] = Op::Apply(a[i], b[i], numbers); }
}
template <typename Op, typename T>
void LoopOf3(void* out, const void* x, const void* y, const void* z, int64_t n,
             const MathAttrs& attrs) {
  const Numbers<T> numbers = NumbersOf<T>(attrs);
  const T* a = static_cast<const T*>(x);
  const T* b = static_cast<const T*>(y);
  const T* c = static_cast<const T*>(z);
  T* o = static_cast<T*>(out);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) { o[i] = Op::Apply(a[i], b[i], c[i], numbers); }
}

// The same, past the caches.
template <typename Op, typename T>
void StreamOf1(void* out, const void* x, const void*, const void*, int64_t n,
               const MathAttrs& attrs) {
  const Numbers<T> numbers = NumbersOf<T>(attrs);
  const T* a = static_cast<const T*>(x);
  StreamAll(static_cast<T*>(out), n, [&](int64_t i) { return Op::Apply(a[i], numbers); });
}
template <typename Op, typename T>
void StreamOf2(void* out, const void* x, const void* y, const void*, int64_t n,
               const MathAttrs& attrs) {
  const Numbers<T> numbers = NumbersOf<T>(attrs);
  const T* a = static_cast<const T*>(x);
  const T* b = static_cast<const T*>(y);
  StreamAll(static_cast<T*>(out), n, [&](int64_t i) { return Op::Apply(a[i], b[i], numbers); });
}
template <typename Op, typename T>
void StreamOf3(void* out, const void* x, const void* y, const void* z, int64_t n,
               const MathAttrs& attrs) {
  const Numbers<T> numbers = NumbersOf<T>(attrs);
  const T* a = static_cast<const T*>(x);
  const T* b = static_cast<const T*>(y);
  const T* c = static_cast<const T*>(z);
  StreamAll(static_cast<T*>(out), n,
            [&](int64_t i) { return Op::Apply(a[i], b[i], c[i], numbers); });
}

constexpr int At(MathOp op) { return static_cast<int>(op); }
constexpr int At(DataType dtype) { return static_cast<int>(dtype); }

// The row of an op with `arity` operands, for one type.
template <int arity, typename Op, typename T>
constexpr MathLoop LoopFor() {
  if constexpr (arity == 1) {
    return &LoopOf1<Op, T>;
  } else if constexpr (arity == 2) {
    return &LoopOf2<Op, T>;
  } else {
    return &LoopOf3<Op, T>;
  }
}
template <int arity, typename Op>
constexpr void FillFloats(MathTable* table, MathOp op) {
  table->at[At(op)][At(DataType::kFloat)] = LoopFor<arity, Op, float>();
  table->at[At(op)][At(DataType::kDouble)] = LoopFor<arity, Op, double>();
}
// Of ops for which memory is all that counts.
template <int arity, typename Op, typename T>
constexpr MathLoop StreamFor() {
  if constexpr (arity == 1) {
    return &StreamOf1<Op, T>;
  } else if constexpr (arity == 2) {
    return &StreamOf2<Op, T>;
  } else {
    return &StreamOf3<Op, T>;
  }
}
template <int arity, typename Op>
constexpr void FillStreams(MathTable* table, MathOp op) {
  table->streams[At(op)][0] = StreamFor<arity, Op, float>();
  table->streams[At(op)][1] = StreamFor<arity, Op, double>();
}
template <int arity, typename Op>
constexpr void FillIntegers(MathTable* table, MathOp op) {
  table->at[At(op)][At(DataType::kUInt8)] = LoopFor<arity, Op, uint8_t>();
  table->at[At(op)][At(DataType::kInt8)] = LoopFor<arity, Op, int8_t>();
  table->at[At(op)][At(DataType::kInt16)] = LoopFor<arity, Op, int16_t>();
  table->at[At(op)][At(DataType::kInt32)] = LoopFor<arity, Op, int32_t>();
  table->at[At(op)][At(DataType::kInt64)] = LoopFor<arity, Op, int64_t>();
}
// bool is a byte of 0 or 1.
template <int arity, typename Op>
constexpr void FillBool(MathTable* table, MathOp op) {
  table->at[At(op)][At(DataType::kBool)] = LoopFor<arity, Op, uint8_t>();
}

}  // namespace
}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_MATH_LOOPS_H_
