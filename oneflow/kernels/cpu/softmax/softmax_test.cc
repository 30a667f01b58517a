// softmax and log_softmax, forward and backward, against their references.
#include <algorithm>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "oneflow/kernels/attrs.h"
#include "oneflow/kernels/cpu/kernel_testing.h"
#include "oneflow/kernels/cpu/softmax/softmax_loops.h"

namespace oneflow {
namespace cpu {
namespace testing {
namespace {

const std::vector<DataType> kDtypes = {DataType::kFloat, DataType::kFloat, DataType::kDouble,
                                       DataType::kFloat16, DataType::kBFloat16};

HostArray Random(Rng* rng, DataType dtype, const Dims& shape) {
  HostArray array = RandomArray(rng, dtype, shape, PickLayout(rng, true));
  array.Fill(rng, false);
  return array;
}

TEST(Softmax, AgreesWithReference) {
  Rng rng(1);
  for (int trial = 0; trial < 300; ++trial) {
    const DataType dtype = PickDtype(&rng, kDtypes);
    const Dims shape = RandomShape(&rng, 0, 4);
    const HostArray x = Random(&rng, dtype, shape), dy = Random(&rng, dtype, shape);
    LogSoftmaxAttrs attrs;
    attrs.dim = shape.empty() ? 0 : Pick(&rng, 0, shape.size() - 1);
    const double tolerance = ToleranceFor(dtype);
    for (const std::string op : {"softmax", "log_softmax"}) {
      HostArray out = RandomArray(&rng, dtype, shape, PickLayout(&rng, false));
      ASSERT_EQ(AgainstReference({op, {&x}, {out}, &attrs, tolerance}), "");
      CHECK_JUST(Call((op + ".cpu.reference").c_str(), {&x}, {&out}, &attrs));
      const HostArray dx = RandomArray(&rng, dtype, shape, PickLayout(&rng, false));
      ASSERT_EQ(AgainstReference({op + "_backward", {&dy, &out}, {dx}, &attrs, 10 * tolerance}),
                "");
    }
  }
}

TEST(Softmax, KeepsNaNAndInfinities) {
  Rng rng(2);
  LogSoftmaxAttrs attrs;
  attrs.dim = 1;
  for (DataType dtype : {DataType::kFloat, DataType::kDouble}) {
    for (int trial = 0; trial < 30; ++trial) {
      HostArray x(dtype, {3, Pick(&rng, 1, 40)});
      x.Fill(&rng, true);
      const HostArray out(dtype, x.shape());
      ASSERT_EQ(AgainstReference({"softmax", {&x}, {out}, &attrs, ToleranceFor(dtype)}), "");
    }
  }
}

// Past the caches the same numbers arrive.
template <typename T>
void ExpectSamePast() {
  Rng rng(4);
  alignas(64) T x[kSoftmaxPast], stored[kSoftmaxPast], past[kSoftmaxPast];
  for (const Config& config : AllConfigs()) {
    const ScopedIsa isa(config.isa);
    for (int64_t n : {int64_t{1}, int64_t{16}, int64_t{100}, int64_t{1024}, kSoftmaxPast}) {
      for (int64_t i = 0; i < n; ++i) { x[i] = static_cast<T>(Pick(&rng, -900, 900)) / 100; }
      for (const SoftmaxForms<T>* forms :
           {&GetSoftmaxLoops<T>().softmax, &GetSoftmaxLoops<T>().log_softmax}) {
        forms->row(x, stored, n);
        forms->row_past(x, past, n);
        ASSERT_TRUE(std::equal(stored, stored + n, past)) << n << IsaName(config.isa);
      }
    }
  }
}

TEST(Softmax, StoresTheSamePastTheCaches) {
  ExpectSamePast<float>();
  ExpectSamePast<double>();
}

TEST(Softmax, TheComparisonSeesOneOtherElement) {
  Rng rng(3);
  const HostArray x = Random(&rng, DataType::kFloat, {4, 5});
  HostArray changed(x);
  changed.Set(7, x.At(7) + 0.01);
  const Arrays other = {&changed};
  LogSoftmaxAttrs attrs;
  attrs.dim = 1;
  const HostArray out(DataType::kFloat, {4, 5});
  EXPECT_NE(
      AgainstReference({"softmax", {&x}, {out}, &attrs, ToleranceFor(DataType::kFloat)}, &other),
      "");
}

}  // namespace
}  // namespace testing
}  // namespace cpu
}  // namespace oneflow
