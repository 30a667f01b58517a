// Compiled once for each instruction set: see isa.h. Integers are computed as unsigned numbers, so
// that overflow wraps.
#include "oneflow/kernels/cpu/elementwise_loops.h"

#include "oneflow/kernels/cpu/bfloat16.h"
#include "oneflow/kernels/cpu/stream_line.h"

namespace oneflow {
namespace cpu {
namespace ONEFLOW_ISA {

namespace {

struct Add {
  template <typename T>
  static T Apply(T x, T y, T) {
    return static_cast<T>(x + y);
  }
};
template <>
inline BFloat16 Add::Apply(BFloat16 x, BFloat16 y, BFloat16) {
  return Narrow(Widen(x) + Widen(y));
}
struct Sub {
  template <typename T>
  static T Apply(T x, T y, T) {
    return static_cast<T>(x - y);
  }
};
struct Mul {
  template <typename T>
  static T Apply(T x, T y, T) {
    // 1u: small types are promoted to int, where a product of two uint16_t could overflow.
    if constexpr (sizeof(T) < 4) { return static_cast<T>(1u * x * y); }
    return static_cast<T>(x * y);
  }
};
struct Div {
  template <typename T>
  static T Apply(T x, T y, T) {
    return x / y;
  }
};
struct AddScaled {
  template <typename T>
  static T Apply(T x, T y, T param) {
    return Add::Apply<T>(x, Mul::Apply<T>(param, y, T()), T());
  }
};
struct Or {
  template <typename T>
  static T Apply(T x, T y, T) {
    return x | y;
  }
};
struct And {
  template <typename T>
  static T Apply(T x, T y, T) {
    return x & y;
  }
};
struct OrScaled {
  template <typename T>
  static T Apply(T x, T y, T param) {
    return x | (param & y);
  }
};
struct ReluBackward {
  template <typename T>
  static T Apply(T x, T y, T) {
    return y > T(0) ? x : T(0);
  }
};
// By bits: 1 to 0x7f80 are positive.
template <>
inline BFloat16 ReluBackward::Apply(BFloat16 x, BFloat16 y, BFloat16) {
  const auto last = static_cast<uint16_t>(y.bits - 1);
  return {last < 0x7f80 ? x.bits : uint16_t{0}};
}
struct Eq {
  template <typename T>
  static uint8_t Apply(T x, T y, T) {
    return x == y;
  }
};

// The loops below are called with out == x or out == y, never with arrays that overlap otherwise:
// there is no dependency between iterations, which is what ivdep says.
template <typename Op, typename T, typename Out>
struct Binary {
  static T Param(const void* param) {
    return param == nullptr ? T() : *static_cast<const T*>(param);
  }
  static void VV(void* out, const void* x, const void* y, int64_t n, const void* param) {
    const T p = Param(param);
    const T* a = static_cast<const T*>(x);
    const T* b = static_cast<const T*>(y);
    Out* o = static_cast<Out*>(out);
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) { o[i] = Op::template Apply<T>(a[i], b[i], p); }
  }
  static void VS(void* out, const void* x, const void* y, int64_t n, const void* param) {
    const T p = Param(param);
    const T* a = static_cast<const T*>(x);
    const T b = *static_cast<const T*>(y);
    Out* o = static_cast<Out*>(out);
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) { o[i] = Op::template Apply<T>(a[i], b, p); }
  }
  static void SV(void* out, const void* x, const void* y, int64_t n, const void* param) {
    const T p = Param(param);
    const T a = *static_cast<const T*>(x);
    const T* b = static_cast<const T*>(y);
    Out* o = static_cast<Out*>(out);
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) { o[i] = Op::template Apply<T>(a, b[i], p); }
  }
  static void StreamVV(void* out, const void* x, const void* y, int64_t n, const void* param) {
    const T p = Param(param);
    const T* a = static_cast<const T*>(x);
    const T* b = static_cast<const T*>(y);
    StreamAll(static_cast<Out*>(out), n,
              [&](int64_t i) { return Op::template Apply<T>(a[i], b[i], p); });
  }
  static void StreamVS(void* out, const void* x, const void* y, int64_t n, const void* param) {
    const T p = Param(param);
    const T* a = static_cast<const T*>(x);
    const T b = *static_cast<const T*>(y);
    StreamAll(static_cast<Out*>(out), n,
              [&](int64_t i) { return Op::template Apply<T>(a[i], b, p); });
  }
  static constexpr BinaryLoops Loops() { return {&VV, &VS, &SV}; }
  static constexpr BinaryLoops LoopsAndStreams() { return {&VV, &VS, &SV, &StreamVV, &StreamVS}; }
};

template <typename T>
void Relu(void* out, const void* x, int64_t n) {
  const T* a = static_cast<const T*>(x);
  T* o = static_cast<T*>(out);
  // Not `a > 0`: a NaN must pass.
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) { o[i] = !(a[i] <= T(0)) ? a[i] : T(0); }
}

// By bits: negative are 0x8000 to 0xff80.
void ReluBFloat16(void* out, const void* x, int64_t n) {
  const BFloat16* a = static_cast<const BFloat16*>(x);
  BFloat16* o = static_cast<BFloat16*>(out);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    const auto above = static_cast<uint16_t>(a[i].bits - 0x8000);
    o[i].bits = above <= 0x7f80 ? uint16_t{0} : a[i].bits;
  }
}

// ---- casts ---------------------------------------------------------------------------------

struct Bool {
  uint8_t v;
};
struct Half {
  uint16_t bits;
};

template <typename To>
struct Convert {
  static To From(float x) { return FromFloat(x); }
  static To From(double x) { return FromFloat(x); }
  static To From(Bool x) { return static_cast<To>(x.v != 0); }
  template <typename F>
  static To From(F x) {
    return static_cast<To>(x);
  }

 private:
  // Out of range, C++ says nothing, and the instruction sets disagree: the minimum of the 32 or 64
  // bit integer, whose low bits a narrower type takes.
  template <typename F>
  static To FromFloat(F x) {
    if constexpr (sizeof(To) == 8) {
      const bool fits = x >= F(-0x1p63) && x < F(0x1p63);
      return static_cast<To>(fits ? static_cast<int64_t>(x) : INT64_MIN);
    } else {
      const bool fits = x >= F(-0x1p31) && x < F(0x1p31);
      return static_cast<To>(fits ? static_cast<int32_t>(x) : INT32_MIN);
    }
  }
};
template <>
struct Convert<float> {
  static float From(Bool x) { return x.v != 0 ? 1.0f : 0.0f; }
  template <typename F>
  static float From(F x) {
    return static_cast<float>(x);
  }
};
template <>
struct Convert<double> {
  static double From(Bool x) { return x.v != 0 ? 1.0 : 0.0; }
  template <typename F>
  static double From(F x) {
    return static_cast<double>(x);
  }
};
template <>
struct Convert<Bool> {
  static Bool From(Bool x) { return {static_cast<uint8_t>(x.v != 0)}; }
  template <typename F>
  static Bool From(F x) {
    return {static_cast<uint8_t>(x != 0)};
  }
};

template <typename F, typename To>
void Cast(void* out, const void* x, int64_t n) {
  const F* a = static_cast<const F*>(x);
  To* o = static_cast<To*>(out);
  for (int64_t i = 0; i < n; ++i) { o[i] = Convert<To>::From(a[i]); }
}

inline uint32_t Bits(float x) {
  uint32_t bits;
  __builtin_memcpy(&bits, &x, sizeof(bits));
  return bits;
}
inline float FromBits(uint32_t bits) {
  float x;
  __builtin_memcpy(&x, &bits, sizeof(x));
  return x;
}

// The scale of a float16 is re-based by adding and subtracting powers of two, so that the adder of
// float32 does the rounding, also of subnormals.
inline Half ToHalf(float x) {
  const uint32_t sign = (Bits(x) >> 16) & 0x8000;
  const uint32_t magnitude = Bits(x) & 0x7fffffff;
  // Normal results: round the 13 bits that go, to nearest even, then move the exponent's bias.
  const uint32_t normal = (magnitude + 0xfff + ((magnitude >> 13) & 1) - (112u << 23)) >> 13;
  // Subnormal results: 0.5 has its last bit at 2^-24, which is float16's smallest step.
  const uint32_t tiny = Bits(FromBits(magnitude) + 0.5f) - Bits(0.5f);
  uint32_t bits = magnitude < (113u << 23) ? tiny : normal;
  bits = magnitude >= 0x477ff000 ? 0x7c00 : bits;  // rounds to infinity
  bits = magnitude > 0x7f800000 ? 0x7e00 | ((magnitude >> 13) & 0x1ff) : bits;  // NaN
  return {static_cast<uint16_t>(sign | bits)};
}

inline float FromHalf(Half h) {
  const uint32_t sign = static_cast<uint32_t>(h.bits & 0x8000) << 16;
  const uint32_t magnitude = h.bits & 0x7fffu;
  const uint32_t shifted = magnitude << 13;
  const uint32_t special = shifted + (224u << 23);  // infinity and NaN: exponent 31 becomes 255
  const uint32_t normal = shifted + (112u << 23);
  const uint32_t tiny = Bits(static_cast<float>(static_cast<int32_t>(magnitude)) * 0x1p-24f);
  const uint32_t bits = magnitude < 0x400 ? tiny : magnitude >= 0x7c00 ? special : normal;
  return FromBits(sign | bits);
}

void FloatToHalf(void* out, const void* x, int64_t n) {
  const float* a = static_cast<const float*>(x);
  Half* o = static_cast<Half*>(out);
  for (int64_t i = 0; i < n; ++i) { o[i] = ToHalf(a[i]); }
}
void HalfToFloat(void* out, const void* x, int64_t n) {
  const Half* a = static_cast<const Half*>(x);
  float* o = static_cast<float*>(out);
  for (int64_t i = 0; i < n; ++i) { o[i] = FromHalf(a[i]); }
}
void FloatToBFloat16(void* out, const void* x, int64_t n) {
  const float* a = static_cast<const float*>(x);
  BFloat16* o = static_cast<BFloat16*>(out);
  for (int64_t i = 0; i < n; ++i) { o[i] = Narrow(a[i]); }
}
void BFloat16ToFloat(void* out, const void* x, int64_t n) {
  const BFloat16* a = static_cast<const BFloat16*>(x);
  float* o = static_cast<float*>(out);
  for (int64_t i = 0; i < n; ++i) { o[i] = Widen(a[i]); }
}

// ---- the table -----------------------------------------------------------------------------

constexpr int I(DataType dtype) { return static_cast<int>(dtype); }

// uint8_t and int8_t, and so on, share loops: the bits of a wrapping result are the same.
template <typename Op>
constexpr void FillArithmetic(BinaryLoops* row) {
  row[I(DataType::kUInt8)] = row[I(DataType::kInt8)] = Binary<Op, uint8_t, uint8_t>::Loops();
  row[I(DataType::kInt16)] = Binary<Op, uint16_t, uint16_t>::Loops();
  row[I(DataType::kInt32)] = Binary<Op, uint32_t, uint32_t>::Loops();
  row[I(DataType::kInt64)] = Binary<Op, uint64_t, uint64_t>::Loops();
  row[I(DataType::kFloat)] = Binary<Op, float, float>::LoopsAndStreams();
  row[I(DataType::kDouble)] = Binary<Op, double, double>::LoopsAndStreams();
}

template <typename Op>
constexpr void FillFloats(BinaryLoops* row) {
  row[I(DataType::kFloat)] = Binary<Op, float, float>::LoopsAndStreams();
  row[I(DataType::kDouble)] = Binary<Op, double, double>::LoopsAndStreams();
}

constexpr void FillEq(BinaryLoops* row) {
  row[I(DataType::kBool)] = row[I(DataType::kUInt8)] = row[I(DataType::kInt8)] =
      Binary<Eq, uint8_t, uint8_t>::Loops();
  row[I(DataType::kInt16)] = Binary<Eq, uint16_t, uint8_t>::Loops();
  row[I(DataType::kInt32)] = Binary<Eq, uint32_t, uint8_t>::Loops();
  row[I(DataType::kInt64)] = Binary<Eq, uint64_t, uint8_t>::Loops();
  row[I(DataType::kFloat)] = Binary<Eq, float, uint8_t>::Loops();
  row[I(DataType::kDouble)] = Binary<Eq, double, uint8_t>::Loops();
}

constexpr void FillUnary(UnaryLoop* relu) {
  relu[I(DataType::kUInt8)] = &Relu<uint8_t>;
  relu[I(DataType::kInt8)] = &Relu<int8_t>;
  relu[I(DataType::kInt16)] = &Relu<int16_t>;
  relu[I(DataType::kInt32)] = &Relu<int32_t>;
  relu[I(DataType::kInt64)] = &Relu<int64_t>;
  relu[I(DataType::kFloat)] = &Relu<float>;
  relu[I(DataType::kDouble)] = &Relu<double>;
  relu[I(DataType::kBFloat16)] = &ReluBFloat16;
}

template <typename F>
constexpr void FillCastsFrom(UnaryLoop* row) {
  row[I(DataType::kBool)] = &Cast<F, Bool>;
  row[I(DataType::kUInt8)] = &Cast<F, uint8_t>;
  row[I(DataType::kInt8)] = &Cast<F, int8_t>;
  row[I(DataType::kInt16)] = &Cast<F, int16_t>;
  row[I(DataType::kInt32)] = &Cast<F, int32_t>;
  row[I(DataType::kInt64)] = &Cast<F, int64_t>;
  row[I(DataType::kFloat)] = &Cast<F, float>;
  row[I(DataType::kDouble)] = &Cast<F, double>;
}

constexpr ElementwiseLoops MakeLoops() {
  ElementwiseLoops t = {};
  BinaryLoops* add = t.binary[static_cast<int>(BinaryOp::kAdd)];
  BinaryLoops* mul = t.binary[static_cast<int>(BinaryOp::kMul)];
  BinaryLoops* scaled = t.binary[static_cast<int>(BinaryOp::kAddScaled)];
  FillArithmetic<Add>(add);
  FillArithmetic<Sub>(t.binary[static_cast<int>(BinaryOp::kSub)]);
  FillArithmetic<Mul>(mul);
  FillArithmetic<AddScaled>(scaled);
  add[I(DataType::kBFloat16)] = Binary<Add, BFloat16, BFloat16>::LoopsAndStreams();
  add[I(DataType::kBool)] = Binary<Or, uint8_t, uint8_t>::Loops();
  mul[I(DataType::kBool)] = Binary<And, uint8_t, uint8_t>::Loops();
  scaled[I(DataType::kBool)] = Binary<OrScaled, uint8_t, uint8_t>::Loops();
  FillFloats<Div>(t.binary[static_cast<int>(BinaryOp::kDiv)]);
  BinaryLoops* masked = t.binary[static_cast<int>(BinaryOp::kReluBackward)];
  FillFloats<ReluBackward>(masked);
  masked[I(DataType::kBFloat16)] = Binary<ReluBackward, BFloat16, BFloat16>::LoopsAndStreams();
  FillEq(t.binary[static_cast<int>(BinaryOp::kEq)]);
  FillUnary(t.unary[static_cast<int>(UnaryOp::kRelu)]);
  FillCastsFrom<Bool>(t.cast[I(DataType::kBool)]);
  FillCastsFrom<uint8_t>(t.cast[I(DataType::kUInt8)]);
  FillCastsFrom<int8_t>(t.cast[I(DataType::kInt8)]);
  FillCastsFrom<int16_t>(t.cast[I(DataType::kInt16)]);
  FillCastsFrom<int32_t>(t.cast[I(DataType::kInt32)]);
  FillCastsFrom<int64_t>(t.cast[I(DataType::kInt64)]);
  FillCastsFrom<float>(t.cast[I(DataType::kFloat)]);
  FillCastsFrom<double>(t.cast[I(DataType::kDouble)]);
  UnaryLoop* from_float = t.cast[I(DataType::kFloat)];
  from_float[I(DataType::kFloat16)] = &FloatToHalf;
  from_float[I(DataType::kBFloat16)] = &FloatToBFloat16;
  t.cast[I(DataType::kFloat16)][I(DataType::kFloat)] = &HalfToFloat;
  t.cast[I(DataType::kBFloat16)][I(DataType::kFloat)] = &BFloat16ToFloat;
  return t;
}

constexpr ElementwiseLoops kLoops = MakeLoops();

}  // namespace

const ElementwiseLoops& GetElementwiseLoops() { return kLoops; }

}  // namespace ONEFLOW_ISA
}  // namespace cpu
}  // namespace oneflow
