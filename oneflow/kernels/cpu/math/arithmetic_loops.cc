// The loops of ONEFLOW_ARITHMETIC. Compiled once for each instruction set: see isa.h.
// Integers are computed as unsigned numbers, so that overflow wraps.
#include "oneflow/kernels/cpu/math/functions.h"
#include "oneflow/kernels/cpu/math/loops.h"

namespace oneflow {
namespace cpu {
namespace ONEFLOW_ISA {

namespace {

template <typename T>
constexpr bool kFloating = std::is_floating_point_v<T>;

#define ONEFLOW_UNARY(id, Out, formula)                \
  struct id##Formula {                                 \
    template <typename T>                              \
    static ONEFLOW_INLINE Out Apply(T x, Numbers<T>) { \
      return formula;                                  \
    }                                                  \
  };
#define ONEFLOW_BINARY(id, Out, formula)                    \
  struct id##Formula {                                      \
    template <typename T>                                   \
    static ONEFLOW_INLINE Out Apply(T x, T y, Numbers<T>) { \
      return formula;                                       \
    }                                                       \
  };

template <typename T>
ONEFLOW_INLINE T Negative(T x) {
  if constexpr (kFloating<T>) {
    return -x;
  } else {
    return static_cast<T>(uint64_t{0} - static_cast<uint64_t>(x));
  }
}
template <typename T>
ONEFLOW_INLINE T Magnitude(T x) {
  if constexpr (kFloating<T>) {
    return Abs(x);
  } else {
    return x < T(0) ? Negative(x) : x;
  }
}
template <typename T>
ONEFLOW_INLINE T Product(T x, T y) {
  if constexpr (kFloating<T>) {
    return x * y;
  } else if constexpr (sizeof(T) == 8) {
    return static_cast<T>(static_cast<uint64_t>(x) * static_cast<uint64_t>(y));
  } else {
    return static_cast<T>(static_cast<uint32_t>(x) * static_cast<uint32_t>(y));
  }
}
template <typename T>
ONEFLOW_INLINE T Sum(T x, T y) {
  if constexpr (kFloating<T>) {
    return x + y;
  } else {
    return static_cast<T>(static_cast<uint64_t>(x) + static_cast<uint64_t>(y));
  }
}

ONEFLOW_UNARY(Abs, T, Magnitude(x))
ONEFLOW_UNARY(Neg, T, Negative(x))
ONEFLOW_UNARY(Sign, T, static_cast<T>((x > T(0)) - (x < T(0))))
ONEFLOW_UNARY(Square, T, Product(x, x))
ONEFLOW_UNARY(BitwiseNot, T, static_cast<T>(~x))
ONEFLOW_UNARY(BoolNot, T, static_cast<T>(x ^ 1))
ONEFLOW_UNARY(LogicalNot, uint8_t, x == T(0))
ONEFLOW_UNARY(IsNan, uint8_t, x != x)
ONEFLOW_UNARY(IsInf, uint8_t, Abs(x) > Format<T>::kMax)
ONEFLOW_UNARY(IsFinite, uint8_t, Abs(x) <= Format<T>::kMax)

// Most of these are for halves, and with a number: others have loops in ../elementwise_loops.cc.
// x + a y.
struct AddFormula {
  template <typename T>
  static ONEFLOW_INLINE T Apply(T x, T y, Numbers<T> m) {
    return x + m.a * y;
  }
};
ONEFLOW_BINARY(Sub, T, Sum(x, Negative(y)))
ONEFLOW_BINARY(Mul, T, x* y)
ONEFLOW_BINARY(Div, T, x / y)
ONEFLOW_BINARY(ReluBackward, T, y > T(0) ? x : T(0))
ONEFLOW_UNARY(Relu, T, x <= T(0) ? T(0) : x)

ONEFLOW_BINARY(Eq, uint8_t, x == y)
ONEFLOW_BINARY(Ne, uint8_t, x != y)
ONEFLOW_BINARY(Lt, uint8_t, x < y)
ONEFLOW_BINARY(Le, uint8_t, x <= y)
ONEFLOW_BINARY(Gt, uint8_t, x > y)
ONEFLOW_BINARY(Ge, uint8_t, x >= y)
ONEFLOW_BINARY(LogicalAnd, uint8_t, (x != T(0)) & (y != T(0)))
ONEFLOW_BINARY(LogicalOr, uint8_t, (x != T(0)) | (y != T(0)))
ONEFLOW_BINARY(LogicalXor, uint8_t, (x != T(0)) ^ (y != T(0)))
ONEFLOW_BINARY(BitwiseAnd, T, static_cast<T>(x& y))
ONEFLOW_BINARY(BitwiseOr, T, static_cast<T>(x | y))
ONEFLOW_BINARY(BitwiseXor, T, static_cast<T>(x ^ y))
// A NaN on either side passes.
ONEFLOW_BINARY(Maximum, T, x > y || x != x ? x : y)
ONEFLOW_BINARY(Minimum, T, x < y || x != x ? x : y)

// Past the width nothing but the sign is left.
template <typename T>
ONEFLOW_INLINE bool ShiftFits(T y) {
  return y >= T(0) && y < static_cast<T>(8 * sizeof(T));
}
ONEFLOW_BINARY(ShiftLeft, T, ShiftFits(y) ? static_cast<T>(static_cast<uint64_t>(x) << y) : T(0))
ONEFLOW_BINARY(ShiftRight, T, static_cast<T>(ShiftFits(y) ? x >> y : (x < T(0) ? -1 : 0)))

// ---- division ----------------------------------------------------------------------------------

// The kernel has refused divisors that are zero; the guard is for them all the same, since a trap
// would end the process. x / -1 would trap for the smallest x.
template <typename T>
ONEFLOW_INLINE T Quotient(T x, T y) {
  if (y == T(0)) { return T(0); }
  if (std::is_signed_v<T> && y == static_cast<T>(-1)) { return Negative(x); }
  return static_cast<T>(x / y);
}
template <typename T>
ONEFLOW_INLINE T Rest(T x, T y) {
  if (y == T(0) || (std::is_signed_v<T> && y == static_cast<T>(-1))) { return T(0); }
  return static_cast<T>(x % y);
}
template <typename T>
ONEFLOW_INLINE bool Adjusts(T rest, T y) {
  return rest != T(0) && (rest < T(0)) != (y < T(0));
}

struct IntFmod {
  template <typename T>
  static ONEFLOW_INLINE T Apply(T x, T y, Numbers<T>) {
    return Rest(x, y);
  }
};
struct IntRemainder {
  template <typename T>
  static ONEFLOW_INLINE T Apply(T x, T y, Numbers<T>) {
    const T rest = Rest(x, y);
    return Adjusts(rest, y) ? static_cast<T>(rest + y) : rest;
  }
};
struct IntFloorDivide {
  template <typename T>
  static ONEFLOW_INLINE T Apply(T x, T y, Numbers<T>) {
    const T quotient = Quotient(x, y);
    return Adjusts(Rest(x, y), y) ? static_cast<T>(quotient - 1) : quotient;
  }
};
struct IntTruncDivide {
  template <typename T>
  static ONEFLOW_INLINE T Apply(T x, T y, Numbers<T>) {
    return Quotient(x, y);
  }
};

// The rest of a division, exact: the quotient is at most one off, and below 2^22. C's library where
// it may be larger, and without FMA.
struct FastRest {
  template <typename T>
  static ONEFLOW_INLINE T Of(T x, T y) {
    const T divisor = Abs(y);
    T rest = Fma(-Trunc(Abs(x) / divisor), divisor, Abs(x));
    rest = rest < T(0) ? rest + divisor : rest;
    rest = rest >= divisor ? rest - divisor : rest;
    return CopySign(rest, x);
  }
};
struct LibraryRest {
  static float Of(float x, float y) { return __builtin_fmodf(x, y); }
  static double Of(double x, double y) { return __builtin_fmod(x, y); }
};

template <typename T>
bool NeedsLibrary(const T* x, const T* y, int64_t n) {
#ifdef __FMA__
  IntOf<T> found = 0;
  for (int64_t i = 0; i < n; ++i) {
    const T divisor = Abs(y[i]);
    found |= Abs(x[i]) < divisor * T(0x1p22) && divisor <= Format<T>::kMax ? 0 : 1;
  }
  return found != 0;
#else
  return true;
#endif
}

template <typename T>
ONEFLOW_INLINE T RemainderOf(T rest, T y) {
  return Adjusts(rest, y) ? rest + y : rest;
}
// As Python divides floats.
template <typename T>
ONEFLOW_INLINE T FloorQuotient(T x, T y, T rest) {
  T quotient = (x - rest) / y;
  quotient = Adjusts(rest, y) ? quotient - T(1) : quotient;
  T floor = Floor(quotient);
  floor = quotient - floor > T(0.5) ? floor + T(1) : floor;
  floor = quotient == T(0) ? CopySign(T(0), x / y) : floor;
  return y == T(0) ? x / y : floor;
}

struct FmodFormula {
  template <typename How, typename T>
  static ONEFLOW_INLINE T Apply(T x, T y) {
    return How::Of(x, y);
  }
};
struct RemainderFormula {
  template <typename How, typename T>
  static ONEFLOW_INLINE T Apply(T x, T y) {
    return RemainderOf(How::Of(x, y), y);
  }
};
struct FloorDivideFormula {
  template <typename How, typename T>
  static ONEFLOW_INLINE T Apply(T x, T y) {
    return FloorQuotient(x, y, How::Of(x, y));
  }
};

template <typename Op, typename T>
void DivisionLoop(void* out, const void* x, const void* y, const void*, int64_t n,
                  const MathAttrs&) {
  constexpr int64_t kBlock = 512;
  const T* a = static_cast<const T*>(x);
  const T* b = static_cast<const T*>(y);
  T* o = static_cast<T*>(out);
  for (int64_t at = 0; at < n; at += kBlock) {
    const int64_t end = n - at < kBlock ? n : at + kBlock;
    if (__builtin_expect(NeedsLibrary(a + at, b + at, end - at), 0)) {
      for (int64_t i = at; i < end; ++i) { o[i] = Op::template Apply<LibraryRest>(a[i], b[i]); }
      continue;
    }
#pragma GCC ivdep
    for (int64_t i = at; i < end; ++i) { o[i] = Op::template Apply<FastRest>(a[i], b[i]); }
  }
}

ONEFLOW_BINARY(TruncDivide, T, Trunc(x / y))

// ---- the rest ----------------------------------------------------------------------------------

// By squaring; a negative power of an integer is 0 but for those of 1 and -1.
struct IntPow {
  template <typename T>
  static T Apply(T x, T y, Numbers<T>) {
    if (y < T(0)) {
      if (x == T(1)) { return T(1); }
      if (std::is_signed_v<T> && x == static_cast<T>(-1)) { return (y & 1) != 0 ? x : T(1); }
      return T(0);
    }
    uint64_t power = 1;
    uint64_t base = static_cast<uint64_t>(x);
    for (uint64_t left = static_cast<uint64_t>(y); left != 0; left >>= 1) {
      if ((left & 1) != 0) { power *= base; }
      base *= base;
    }
    return static_cast<T>(power);
  }
};

template <typename T>
ONEFLOW_INLINE T Logaddexp(T x, T y) {
  const T larger = x > y || x != x ? x : y;
  const T distance = -Abs(x - y);
  const T sum = larger + Log1pUpToOne(ExpBesideOne(distance));
  return x == y && Abs(x) > Format<T>::kMax ? x : sum;
}

ONEFLOW_BINARY(Pow, T, Pow(x, y))
ONEFLOW_BINARY(Atan2, T, Atan2(x, y))
ONEFLOW_BINARY(Logaddexp, T, Logaddexp(x, y))

struct ClampFormula {
  template <typename T>
  static ONEFLOW_INLINE T Apply(T x, T low, T high, Numbers<T>) {
    x = x < low ? low : x;
    return x > high ? high : x;
  }
};
// x + a y z.
struct AddcmulFormula {
  template <typename T>
  static ONEFLOW_INLINE T Apply(T x, T y, T z, Numbers<T> m) {
    return Sum(x, Product(Product(m.a, y), z));
  }
};
struct AddcdivFormula {
  template <typename T>
  static ONEFLOW_INLINE T Apply(T x, T y, T z, Numbers<T> m) {
    return x + m.a * y / z;
  }
};
// Exact at both ends.
struct LerpFormula {
  template <typename T>
  static ONEFLOW_INLINE T Apply(T x, T end, T weight, Numbers<T>) {
    const T d = end - x;
    return Abs(weight) < T(0.5) ? x + weight * d : end - d * (T(1) - weight);
  }
};

// Moves elements only, so by their size.
template <typename Word>
void WhereLoop(void* out, const void* x, const void* y, const void* z, int64_t n,
               const MathAttrs&) {
  const uint8_t* mask = static_cast<const uint8_t*>(x);
  const Word* a = static_cast<const Word*>(y);
  const Word* b = static_cast<const Word*>(z);
  Word* o = static_cast<Word*>(out);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    const Word if_true = a[i];
    const Word if_false = b[i];
    o[i] = mask[i] != 0 ? if_true : if_false;
  }
}

template <int arity, typename Op>
constexpr void FillNumbers(MathTable* table, MathOp op) {
  FillIntegers<arity, Op>(table, op);
  FillFloats<arity, Op>(table, op);
}
template <int arity, typename Op>
constexpr void FillAll(MathTable* table, MathOp op) {
  FillNumbers<arity, Op>(table, op);
  FillBool<arity, Op>(table, op);
}
template <int arity, typename Op>
constexpr void FillBits(MathTable* table, MathOp op) {
  FillIntegers<arity, Op>(table, op);
  FillBool<arity, Op>(table, op);
}
template <typename Op, typename IntOp>
constexpr void FillDivision(MathTable* table, MathOp op) {
  FillIntegers<2, IntOp>(table, op);
  table->at[At(op)][At(DataType::kFloat)] = &DivisionLoop<Op, float>;
  table->at[At(op)][At(DataType::kDouble)] = &DivisionLoop<Op, double>;
}

constexpr void FillWhere(MathTable* table) {
  MathLoop* row = table->at[At(MathOp::kWhere)];
  for (int i = 0; i < kNumDataTypes; ++i) {
    const size_t size = SizeOf(static_cast<DataType>(i));
    row[i] = size == 1   ? &WhereLoop<uint8_t>
             : size == 2 ? &WhereLoop<uint16_t>
             : size == 4 ? &WhereLoop<uint32_t>
                         : &WhereLoop<uint64_t>;
  }
}

constexpr MathTable MakeTable() {
  MathTable t = {};
  FillNumbers<1, AbsFormula>(&t, MathOp::kAbs);
  FillNumbers<1, NegFormula>(&t, MathOp::kNeg);
  FillNumbers<1, SignFormula>(&t, MathOp::kSign);
  FillBool<1, SignFormula>(&t, MathOp::kSign);
  FillNumbers<1, SquareFormula>(&t, MathOp::kSquare);
  FillIntegers<1, BitwiseNotFormula>(&t, MathOp::kBitwiseNot);
  FillBool<1, BoolNotFormula>(&t, MathOp::kBitwiseNot);
  FillAll<1, LogicalNotFormula>(&t, MathOp::kLogicalNot);
  FillFloats<1, IsNanFormula>(&t, MathOp::kIsNan);
  FillFloats<1, IsInfFormula>(&t, MathOp::kIsInf);
  FillFloats<1, IsFiniteFormula>(&t, MathOp::kIsFinite);
  FillFloats<2, AddFormula>(&t, MathOp::kAdd);
  FillNumbers<2, SubFormula>(&t, MathOp::kSub);
  FillFloats<2, MulFormula>(&t, MathOp::kMul);
  FillFloats<2, DivFormula>(&t, MathOp::kDiv);
  FillFloats<1, ReluFormula>(&t, MathOp::kRelu);
  FillFloats<2, ReluBackwardFormula>(&t, MathOp::kReluBackward);
  FillAll<2, EqFormula>(&t, MathOp::kEq);
  FillAll<2, NeFormula>(&t, MathOp::kNe);
  FillAll<2, LtFormula>(&t, MathOp::kLt);
  FillAll<2, LeFormula>(&t, MathOp::kLe);
  FillAll<2, GtFormula>(&t, MathOp::kGt);
  FillAll<2, GeFormula>(&t, MathOp::kGe);
  FillAll<2, LogicalAndFormula>(&t, MathOp::kLogicalAnd);
  FillAll<2, LogicalOrFormula>(&t, MathOp::kLogicalOr);
  FillAll<2, LogicalXorFormula>(&t, MathOp::kLogicalXor);
  FillBits<2, BitwiseAndFormula>(&t, MathOp::kBitwiseAnd);
  FillBits<2, BitwiseOrFormula>(&t, MathOp::kBitwiseOr);
  FillBits<2, BitwiseXorFormula>(&t, MathOp::kBitwiseXor);
  FillIntegers<2, ShiftLeftFormula>(&t, MathOp::kShiftLeft);
  FillIntegers<2, ShiftRightFormula>(&t, MathOp::kShiftRight);
  FillAll<2, MaximumFormula>(&t, MathOp::kMaximum);
  FillAll<2, MinimumFormula>(&t, MathOp::kMinimum);
  FillDivision<FmodFormula, IntFmod>(&t, MathOp::kFmod);
  FillDivision<RemainderFormula, IntRemainder>(&t, MathOp::kRemainder);
  FillDivision<FloorDivideFormula, IntFloorDivide>(&t, MathOp::kFloorDivide);
  FillIntegers<2, IntTruncDivide>(&t, MathOp::kTruncDivide);
  FillFloats<2, TruncDivideFormula>(&t, MathOp::kTruncDivide);
  FillIntegers<2, IntPow>(&t, MathOp::kPow);
  FillFloats<2, PowFormula>(&t, MathOp::kPow);
  FillFloats<2, Atan2Formula>(&t, MathOp::kAtan2);
  FillFloats<2, LogaddexpFormula>(&t, MathOp::kLogaddexp);
  FillNumbers<3, ClampFormula>(&t, MathOp::kClamp);
  FillWhere(&t);
  FillNumbers<3, AddcmulFormula>(&t, MathOp::kAddcmul);
  FillFloats<3, AddcdivFormula>(&t, MathOp::kAddcdiv);
  FillFloats<3, LerpFormula>(&t, MathOp::kLerp);
  FillStreams<1, AbsFormula>(&t, MathOp::kAbs);
  FillStreams<1, NegFormula>(&t, MathOp::kNeg);
  FillStreams<1, SquareFormula>(&t, MathOp::kSquare);
  FillStreams<2, MaximumFormula>(&t, MathOp::kMaximum);
  FillStreams<2, MinimumFormula>(&t, MathOp::kMinimum);
  FillStreams<3, ClampFormula>(&t, MathOp::kClamp);
  FillStreams<3, AddcmulFormula>(&t, MathOp::kAddcmul);
  return t;
}

constexpr MathTable kTable = MakeTable();

}  // namespace

const MathTable& GetArithmeticLoops() { return kTable; }

}  // namespace ONEFLOW_ISA
}  // namespace cpu
}  // namespace oneflow
