// normal, uniform, slice_backward and throw_error.
#include <chrono>
#include <cmath>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "oneflow/core/philox.h"
#include "oneflow/kernels/attrs.h"
#include "oneflow/kernels/cpu/kernel_testing.h"

namespace oneflow {
namespace cpu {
namespace testing {
namespace {

const std::vector<DataType> kFloats = {DataType::kFloat, DataType::kDouble};

// ---- normal, uniform ----------------------------------------------------------------------------

template <typename Attrs>
void ExpectSameDraws(const std::string& op, const Attrs& attrs) {
  for (DataType dtype : kFloats) {
    for (int64_t n : {0, 1, 2, 127, 128, 129, 5000, 20001}) {
      HostArray want(dtype, {n});
      CHECK_JUST(Call((op + ".cpu.reference").c_str(), {}, {&want}, &attrs));
      for (const Config& config : AllConfigs()) {
        const ScopedIsa isa(config.isa);
        HostArray got(dtype, {n});
        CHECK_JUST(Call((op + ".cpu.vector").c_str(), {}, {&got}, &attrs, config.threads));
        ASSERT_EQ(Difference(got, want, 0.0), "") << op << " " << IsaName(config.isa);
        ASSERT_TRUE(got.GuardsIntact());
      }
    }
  }
}

TEST(Normal, SameBitsEverywhere) {
  ExpectSameDraws("normal", NormalAttrs{0.0, 1.0, {42, 0}});
  ExpectSameDraws("normal", NormalAttrs{-3.0, 0.25, {~uint64_t{0}, (uint64_t{1} << 32) - 3}});
}

TEST(Uniform, SameBitsEverywhere) {
  ExpectSameDraws("uniform", UniformAttrs{0.0, 1.0, {7, 5}});
  ExpectSameDraws("uniform", UniformAttrs{-2.0, 3.5, {7, ~uint64_t{0} - 2}});
}

TEST(Normal, TakesElementFromItsBlock) {
  HostArray out(DataType::kDouble, {101});
  const NormalAttrs attrs{10.0, 2.0, {99, 1000}};
  CHECK_JUST(Call("normal.cpu.vector", {}, {&out}, &attrs));
  double x, y;
  PhiloxNormal(Philox4x32(99, 1000 + 36, 0), &x, &y);
  EXPECT_EQ(out.At(72), 10.0 + 2.0 * x);
  EXPECT_EQ(out.At(73), 10.0 + 2.0 * y);
}

TEST(Normal, MeanAndVariance) {
  constexpr int64_t kCount = 400000;
  HostArray out(DataType::kFloat, {kCount});
  const NormalAttrs attrs{3.0, 2.0, {1, 0}};
  CHECK_JUST(Call("normal.cpu.vector", {}, {&out}, &attrs, 2));
  double sum = 0, squares = 0;
  for (int64_t i = 0; i < kCount; ++i) {
    const double z = (out.At(i) - 3.0) / 2.0;
    sum += z, squares += z * z;
  }
  EXPECT_NEAR(sum / kCount, 0.0, 5 / std::sqrt(kCount));
  EXPECT_NEAR(squares / kCount, 1.0, 5 * std::sqrt(2.0 / kCount));
}

// A range so narrow that rounding to float32 would reach its open end.
TEST(Uniform, NeverReachesTheEnd) {
  const double low = 1.0, high = 1.0 + 0x1p-22;
  HostArray out(DataType::kFloat, {10000});
  const UniformAttrs attrs{low, high, {3, 0}};
  CHECK_JUST(Call("uniform.cpu.vector", {}, {&out}, &attrs));
  int last = 0;
  for (int64_t i = 0; i < 10000; ++i) {
    ASSERT_GE(out.At(i), low);
    ASSERT_LT(out.At(i), high);
    last += out.At(i) == 1.0 + 0x1p-23 ? 1 : 0;
  }
  EXPECT_GT(last, 4000);
  const UniformAttrs empty{2.5, 2.5, {3, 0}};
  CHECK_JUST(Call("uniform.cpu.vector", {}, {&out}, &empty));
  EXPECT_EQ(out.At(9), 2.5);
}

TEST(Normal, RefusesIntegersAndGaps) {
  const NormalAttrs attrs;
  const HostArray i(DataType::kInt32, {2});
  const HostArray gaps(DataType::kFloat, {2}, {2});
  EXPECT_STREQ(Refusal("normal.cpu.vector", {}, {&i}, &attrs), "dtype not supported");
  EXPECT_STREQ(Refusal("normal.cpu.vector", {}, {&gaps}, &attrs), "output is not dense");
}

// ---- slice_backward, throw_error ----------------------------------------------------------------

TEST(SliceBackward, PutsDyIntoZeros) {
  Rng rng(2);
  HostArray dy(DataType::kFloat, {2, 3}, {1, 2});
  dy.Fill(&rng, false);
  HostArray dx(DataType::kFloat, {2, 8});
  SliceBackwardAttrs attrs;
  attrs.dim = 1;
  attrs.start = 1;
  attrs.step = 3;
  CHECK_JUST(Call("slice_backward.cpu.reference", {&dy}, {&dx}, &attrs));
  for (int64_t r = 0; r < 2; ++r) {
    for (int64_t c = 0; c < 8; ++c) {
      const bool inside = c % 3 == 1;
      EXPECT_EQ(dx.At(r * 8 + c), inside ? dy.At(r * 3 + c / 3) : 0.0) << r << " " << c;
    }
  }
  EXPECT_TRUE(dx.GuardsIntact());
}

TEST(ThrowError, FailsAfterItsDelay) {
  const ThrowErrorAttrs attrs{20};
  const auto start = std::chrono::steady_clock::now();
  const Maybe<void> ran = Call("throw_error.cpu.reference", {}, {}, &attrs);
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(20));
  ASSERT_FALSE(ran.ok());
  EXPECT_EQ(ran.error()->kind(), ErrorKind::kRuntime);
  EXPECT_EQ(ran.error()->message(), "[throw_error] throw error kernel");
}

}  // namespace
}  // namespace testing
}  // namespace cpu
}  // namespace oneflow
