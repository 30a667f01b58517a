// inverse against its reference.
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "oneflow/kernels/cpu/kernel_testing.h"

namespace oneflow {
namespace cpu {
namespace testing {
namespace {

// Stacks of matrices whose diagonals are large, so that each has an inverse.
HostArray Matrices(Rng* rng, DataType dtype, const Dims& shape, Layout layout) {
  HostArray array = RandomArray(rng, dtype, shape, layout);
  array.Fill(rng, false);
  const int64_t n = shape[shape.size() - 1];
  for (int64_t i = 0; i < array.count(); ++i) {
    if (i / n % n == i % n) { array.Set(i, array.At(i) + 4.0 * static_cast<double>(n)); }
  }
  return array;
}

TEST(Inverse, AgreesWithReference) {
  Rng rng(1);
  for (int trial = 0; trial < 150; ++trial) {
    const DataType dtype = OneIn(&rng, 2) ? DataType::kFloat : DataType::kDouble;
    Dims shape = RandomShape(&rng, 0, 2);
    const int64_t n = Pick(&rng, 0, 12);
    shape.PushBack(n);
    shape.PushBack(n);
    const HostArray x = Matrices(&rng, dtype, shape, PickLayout(&rng, false));
    const HostArray out = RandomArray(&rng, dtype, shape, PickLayout(&rng, false));
    ASSERT_EQ(AgainstReference({"inverse", {&x}, {out}, nullptr, ToleranceFor(dtype)}), "");
  }
}

TEST(Inverse, NamesTheFirstSingularMatrix) {
  Rng rng(2);
  HostArray x = Matrices(&rng, DataType::kDouble, {40, 3, 3}, Layout::kDense);
  for (int64_t matrix : {31, 17}) {
    for (int64_t i = 0; i < 9; ++i) { x.Set(matrix * 9 + i, 1.0); }
  }
  const HostArray out(DataType::kDouble, x.shape());
  for (const char* kernel : {"inverse.cpu.vector", "inverse.cpu.reference"}) {
    for (int threads : {1, 2}) {
      const Maybe<void> ran = Call(kernel, {&x}, {&out}, nullptr, threads);
      ASSERT_FALSE(ran.ok()) << kernel;
      EXPECT_NE(ran.error()->message().find("number 17 of 40 (no pivot in column 1)"),
                std::string::npos)
          << ran.error()->message();
    }
  }
}

TEST(Inverse, TheComparisonSeesOneOtherElement) {
  Rng rng(3);
  const HostArray x = Matrices(&rng, DataType::kDouble, {4, 4}, Layout::kDense);
  HostArray changed(x);
  changed.Set(6, x.At(6) + 0.01);
  const Arrays other = {&changed};
  const HostArray out(DataType::kDouble, {4, 4});
  EXPECT_NE(AgainstReference({"inverse", {&x}, {out}, nullptr, 1e-11}, &other), "");
}

}  // namespace
}  // namespace testing
}  // namespace cpu
}  // namespace oneflow
