// The error of each elementary function in units in the last place, against C's functions of long
// double; and its special values, against C's of double. Under every instruction set.
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "oneflow/kernels/cpu/kernel_testing.h"
#include "oneflow/kernels/cpu/math/operands.h"
#include "oneflow/kernels/cpu/math/reference.h"
#include "oneflow/kernels/cpu/stream_loops.h"

namespace oneflow {
namespace cpu {
namespace testing {
namespace {

using Exact = long double (*)(long double);

struct Accuracy {
  MathOp op;
  Exact exact;
  double low;
  double high;
  double single;        // greatest error for float
  double wide;          // and for double
  bool spread = false;  // magnitudes spread evenly over the exponents
};

template <typename T>
double ErrorOf(long double got, long double want) {
  int exponent = 0;
  std::frexp(want, &exponent);
  exponent = std::max(exponent, std::numeric_limits<T>::min_exponent);
  const long double unit = std::ldexp(1.0L, exponent - std::numeric_limits<T>::digits);
  return static_cast<double>(std::fabs(got - want) / unit);
}

template <typename T>
std::vector<T> Arguments(const Accuracy& a, int count) {
  std::mt19937_64 rng(7);
  std::uniform_real_distribution<double> even(a.low, a.high);
  std::uniform_real_distribution<double> exponent(-30.0, std::log(a.high));
  std::vector<T> out(static_cast<size_t>(count));
  for (T& x : out) {
    if (a.spread) {
      const double magnitude = std::exp(exponent(rng));
      x = static_cast<T>(a.low < 0 && (rng() & 1) != 0 ? -magnitude : magnitude);
    } else {
      x = static_cast<T>(even(rng));
    }
    if (x < static_cast<T>(a.low)) { x = static_cast<T>(a.low); }
  }
  return out;
}

template <typename T>
double WorstError(const Accuracy& a) {
  const std::vector<T> x = Arguments<T>(a, 20000);
  std::vector<T> y(x.size());
  FindMathLoop(a.op, DataTypeOf<T>::value)(y.data(), x.data(), nullptr, nullptr,
                                           static_cast<int64_t>(x.size()), MathAttrs());
  double worst = 0.0;
  for (size_t i = 0; i < x.size(); ++i) {
    const long double want = a.exact(x[i]);
    if (std::fabs(want) > std::numeric_limits<T>::max()) { continue; }
    const double error = ErrorOf<T>(y[i], want);
    worst = error > worst || std::isnan(error) ? error : worst;
  }
  return worst;
}

long double Rsqrt(long double x) { return 1.0L / std::sqrt(x); }
long double Sigmoid(long double x) { return 1.0L / (1.0L + std::exp(-x)); }
#define ONEFLOW_C(f) [](long double x) -> long double { return std::f(x); }

const Accuracy kAccuracy[] = {
    {MathOp::kExp, ONEFLOW_C(exp), -80.0, 80.0, 1.5, 1.5},
    {MathOp::kExp2, ONEFLOW_C(exp2), -120.0, 120.0, 1.5, 1.5},
    {MathOp::kExpm1, ONEFLOW_C(expm1), -3.0, 3.0, 2.0, 2.5},
    {MathOp::kExpm1, ONEFLOW_C(expm1), -1.0, 1.0, 2.0, 2.5, true},
    {MathOp::kLog, ONEFLOW_C(log), 0.5, 2.0, 1.5, 1.5},
    {MathOp::kLog, ONEFLOW_C(log), 0.0, 1e30, 1.5, 1.5, true},
    {MathOp::kLog2, ONEFLOW_C(log2), 0.5, 2.0, 1.5, 1.5},
    {MathOp::kLog10, ONEFLOW_C(log10), 0.5, 2.0, 1.5, 1.5},
    {MathOp::kLog1p, ONEFLOW_C(log1p), -0.999, 3.0, 2.0, 2.0},
    {MathOp::kLog1p, ONEFLOW_C(log1p), -0.5, 1e20, 2.0, 2.0, true},
    {MathOp::kSin, ONEFLOW_C(sin), -10.0, 10.0, 1.5, 2.5},
    {MathOp::kSin, ONEFLOW_C(sin), -99999.0, 99999.0, 1.6, 2.5},
    {MathOp::kCos, ONEFLOW_C(cos), -10.0, 10.0, 1.5, 2.5},
    {MathOp::kTan, ONEFLOW_C(tan), -10.0, 10.0, 3.5, 4.0},
    {MathOp::kAsin, ONEFLOW_C(asin), -1.0, 1.0, 3.0, 3.0},
    {MathOp::kAcos, ONEFLOW_C(acos), -1.0, 1.0, 2.0, 2.0},
    {MathOp::kAtan, ONEFLOW_C(atan), -5.0, 5.0, 2.5, 2.5},
    {MathOp::kAtan, ONEFLOW_C(atan), -1e20, 1e20, 2.5, 2.5, true},
    {MathOp::kSinh, ONEFLOW_C(sinh), -5.0, 5.0, 2.0, 2.0},
    {MathOp::kSinh, ONEFLOW_C(sinh), -88.0, 88.0, 2.0, 2.0},
    {MathOp::kCosh, ONEFLOW_C(cosh), -5.0, 5.0, 2.0, 2.0},
    {MathOp::kTanh, ONEFLOW_C(tanh), -5.0, 5.0, 2.8, 3.0},
    {MathOp::kTanh, ONEFLOW_C(tanh), -1.0, 1.0, 2.8, 3.0, true},
    {MathOp::kAsinh, ONEFLOW_C(asinh), -5.0, 5.0, 2.5, 2.5},
    {MathOp::kAsinh, ONEFLOW_C(asinh), -1e30, 1e30, 2.5, 2.5, true},
    {MathOp::kAcosh, ONEFLOW_C(acosh), 1.0, 5.0, 2.5, 2.5},
    {MathOp::kAtanh, ONEFLOW_C(atanh), -0.99, 0.99, 2.5, 2.5},
    {MathOp::kErf, ONEFLOW_C(erf), -4.0, 4.0, 1.5, 1.5},
    {MathOp::kErf, ONEFLOW_C(erf), -1.0, 1.0, 1.5, 1.5, true},
    {MathOp::kErfc, ONEFLOW_C(erfc), -3.0, 9.0, 6.0, 6.0},
    {MathOp::kRsqrt, &Rsqrt, 0.0, 1e30, 1.6, 1.6, true},
    {MathOp::kSigmoid, &Sigmoid, -30.0, 30.0, 3.0, 3.0},
    {MathOp::kLgamma, ONEFLOW_C(lgamma), 3.0, 100.0, 1.0, 5.0},
    {MathOp::kLgamma, ONEFLOW_C(lgamma), 0.5, 3.0, 2.0, 10.0},
    {MathOp::kLgamma, ONEFLOW_C(lgamma), -10.0, 0.5, 2.0, 1000.0},
    {MathOp::kLgamma, ONEFLOW_C(lgamma), 0.0, 1e30, 1.0, 5.0, true},
};

TEST(Functions, ErrorsAreAsTheirHeaderSays) {
  for (const Config& config : AllConfigs()) {
    const ScopedIsa isa(config.isa);
    for (const Accuracy& a : kAccuracy) {
      const std::string what = std::string(MathName(a.op)) + " " + IsaName(config.isa);
      EXPECT_LE(WorstError<float>(a), a.single)
          << what << " on [" << a.low << ", " << a.high << "]";
      EXPECT_LE(WorstError<double>(a), a.wide) << what << " on [" << a.low << ", " << a.high << "]";
    }
  }
}

// A loop that goes past the caches gives the bits of the other one. Odd lengths: the rest of a line.
template <typename T>
int CountStreams() {
  std::mt19937_64 rng(3);
  std::uniform_real_distribution<double> pick(-3.0, 3.0);
  constexpr int64_t kCount = 1003;
  std::vector<T> operands[3];
  for (std::vector<T>& x : operands) {
    for (int64_t i = 0; i < kCount; ++i) { x.push_back(static_cast<T>(pick(rng))); }
    x[17] = std::numeric_limits<T>::quiet_NaN();
    x[18] = -std::numeric_limits<T>::infinity();
  }
  alignas(64) T plain[kCount];
  alignas(64) T streamed[kCount];
  const MathAttrs attrs{0.5, 1.5, 0.75};
  int found = 0;
  for (int i = 0; i < kNumMathOps; ++i) {
    const auto op = static_cast<MathOp>(i);
    const MathLoop loop = FindStreamLoop(op, DataTypeOf<T>::value);
    if (loop == nullptr) { continue; }
    ++found;
    for (const int64_t n : {kCount, int64_t{1}, int64_t{64}}) {
      std::memset(plain, 1, sizeof(plain));
      std::memset(streamed, 1, sizeof(streamed));
      const T *x = operands[0].data(), *y = operands[1].data(), *z = operands[2].data();
      FindMathLoop(op, DataTypeOf<T>::value)(plain, x, y, z, n, attrs);
      loop(streamed, x, y, z, n, attrs);
      GetStreamLoops().fence();
      EXPECT_EQ(std::memcmp(plain, streamed, sizeof(plain)), 0) << MathName(op) << " of " << n;
    }
  }
  return found;
}

TEST(Functions, StreamsGiveTheSameBits) {
  for (const Config& config : AllConfigs()) {
    const ScopedIsa isa(config.isa);
    EXPECT_GT(CountStreams<float>(), 15) << IsaName(config.isa);
    EXPECT_GT(CountStreams<double>(), 15) << IsaName(config.isa);
  }
}

// Positive control: the check above measures.
TEST(Functions, ACoarseFunctionIsNoticed) {
  const Accuracy wrong = {
      MathOp::kExp, [](long double x) { return std::exp(x) * (1 + 4e-7L); }, -1.0, 1.0, 1.5, 1.5};
  EXPECT_GT(WorstError<float>(wrong), 3.0);
}

template <typename T>
double WorstOfTwo(MathOp op, long double (*exact)(long double, long double), double low_x,
                  double high_x, double low_y, double high_y) {
  std::mt19937_64 rng(11);
  std::uniform_real_distribution<double> pick_x(low_x, high_x);
  std::uniform_real_distribution<double> pick_y(low_y, high_y);
  constexpr int kCount = 20000;
  std::vector<T> x(kCount);
  std::vector<T> y(kCount);
  std::vector<T> out(kCount);
  for (size_t i = 0; i < kCount; ++i) {
    x[i] = static_cast<T>(pick_x(rng));
    y[i] = static_cast<T>(pick_y(rng));
  }
  FindMathLoop(op, DataTypeOf<T>::value)(out.data(), x.data(), y.data(), nullptr, kCount,
                                         MathAttrs());
  double worst = 0.0;
  for (size_t i = 0; i < kCount; ++i) {
    const long double want = exact(x[i], y[i]);
    if (std::fabs(want) > std::numeric_limits<T>::max()) { continue; }
    const double error = ErrorOf<T>(out[i], want);
    worst = error > worst || std::isnan(error) ? error : worst;
  }
  return worst;
}

long double ExactPow(long double x, long double y) { return std::pow(x, y); }
long double ExactAtan2(long double x, long double y) { return std::atan2(x, y); }
long double ExactFmod(long double x, long double y) { return std::fmod(x, y); }

TEST(Functions, ErrorsOfTwoArguments) {
  for (const Config& config : AllConfigs()) {
    const ScopedIsa isa(config.isa);
    EXPECT_LE(WorstOfTwo<float>(MathOp::kPow, &ExactPow, 0.0, 30.0, -25.0, 25.0), 1.0);
    EXPECT_LE(WorstOfTwo<double>(MathOp::kPow, &ExactPow, 0.0, 30.0, -200.0, 200.0), 1.5);
    EXPECT_LE(WorstOfTwo<double>(MathOp::kPow, &ExactPow, 0.9, 1.1, -6000.0, 6000.0), 1.5);
    EXPECT_LE(WorstOfTwo<float>(MathOp::kAtan2, &ExactAtan2, -5.0, 5.0, -5.0, 5.0), 2.5);
    EXPECT_LE(WorstOfTwo<double>(MathOp::kAtan2, &ExactAtan2, -5.0, 5.0, -5.0, 5.0), 2.5);
    // A small angle of large numbers: the quotient is exact, however small the first is.
    EXPECT_LE(WorstOfTwo<float>(MathOp::kAtan2, &ExactAtan2, 2e-37, 1e-35, 1.0, 9.0), 2.5);
    EXPECT_LE(WorstOfTwo<double>(MathOp::kAtan2, &ExactAtan2, 2e-307, 1e-305, 1.0, 9.0), 2.5);
    EXPECT_EQ(WorstOfTwo<float>(MathOp::kFmod, &ExactFmod, -900.0, 900.0, -3.0, 3.0), 0.0);
    EXPECT_EQ(WorstOfTwo<double>(MathOp::kFmod, &ExactFmod, -900.0, 900.0, -3.0, 3.0), 0.0);
  }
}

const double kSpecial[] = {0.0,    -0.0,     1.0,       -1.0,   2.0,       -2.0,   0.5,
                           -0.5,   3.0,      -3.0,      2.5,    1e-300,    -1e-44, 1e10,
                           -1e10,  1e300,    -1e300,    1e38,   NAN,       -4.0,   710.0,
                           -760.0, INFINITY, -INFINITY, 5e-324, 1.0000001, 89.1};

// Equal as IEEE numbers, signs of zero included; or both NaN; or near.
template <typename T>
bool Alike(T got, T want) {
  if (std::isnan(want) || std::isnan(got)) { return std::isnan(want) && std::isnan(got); }
  if (want == 0.0 || got == 0.0) {
    return std::fabs(got - want) < std::numeric_limits<T>::min() &&
           std::signbit(got) == std::signbit(want);
  }
  if (std::isinf(want) || std::isinf(got)) { return got == want; }
  return std::fabs(got - want) <= std::fabs(want) * std::numeric_limits<T>::epsilon() * 8;
}

template <typename T>
void ExpectSpecial(MathOp op, int arity) {
  for (double a : kSpecial) {
    for (double b : kSpecial) {
      const T x[] = {static_cast<T>(a)};
      const T y[] = {static_cast<T>(b)};
      T got[1];
      FindMathLoop(op, DataTypeOf<T>::value)(got, x, y, nullptr, 1, MathAttrs());
      const double in[] = {x[0], y[0]};
      const T want = static_cast<T>(RealFormula(op)(in, MathAttrs()));
      EXPECT_TRUE(Alike(got[0], want))
          << MathName(op) << "(" << x[0] << ", " << y[0] << ") is " << got[0] << ", expected "
          << want << " " << IsaName(CurrentIsa());
      if (arity == 1) { break; }
    }
  }
}

TEST(Functions, SpecialValuesAreThoseOfC) {
  for (const Config& config : AllConfigs()) {
    const ScopedIsa isa(config.isa);
    for (int i = 0; i < static_cast<int>(MathOp::kGelu); ++i) {
      const MathOp op = static_cast<MathOp>(i);
      if (op == MathOp::kDigamma || op == MathOp::kErfinv) { continue; }
      ExpectSpecial<float>(op, 1);
      ExpectSpecial<double>(op, 1);
    }
    for (MathOp op : {MathOp::kPow, MathOp::kAtan2, MathOp::kFmod, MathOp::kRemainder}) {
      ExpectSpecial<float>(op, 2);
      ExpectSpecial<double>(op, 2);
    }
  }
}

}  // namespace
}  // namespace testing
}  // namespace cpu
}  // namespace oneflow
