// multi_tensor_norm, _clip, _scale and _clamp against the same in double.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "oneflow/kernels/attrs_optim.h"
#include "oneflow/kernels/cpu/kernel_testing.h"

namespace oneflow {
namespace cpu {
namespace testing {
namespace {

const std::vector<DataType> kDtypes = {DataType::kFloat, DataType::kDouble, DataType::kFloat16,
                                       DataType::kBFloat16};

// Tensors of any floating dtype and layout.
std::vector<HostArray> RandomList(Rng* rng) {
  std::vector<HostArray> list;
  const int64_t count = Pick(rng, 1, 5);
  for (int64_t i = 0; i < count; ++i) {
    list.push_back(
        RandomArray(rng, PickDtype(rng, kDtypes), RandomShape(rng, 0, 3), PickLayout(rng, false)));
    list.back().Fill(rng, false);
  }
  return list;
}

Arrays Pointers(const std::vector<HostArray>& list) {
  Arrays out;
  for (const HostArray& array : list) { out.push_back(&array); }
  return out;
}

double NormOf(const std::vector<HostArray>& list, double p) {
  double sum = 0, most = 0, least = INFINITY;
  int64_t elements = 0, tensors = 0;
  for (const HostArray& array : list) {
    bool some = false;
    for (int64_t i = 0; i < array.count(); ++i) {
      const double x = std::fabs(array.At(i));
      some = some || x != 0;
      sum += p == 0 || std::isinf(p) ? 0 : std::pow(x, p);
      most = std::max(most, x), least = std::min(least, x);
      ++elements;
    }
    tensors += some ? 1 : 0;
  }
  if (elements == 0) { return 0; }
  if (p == 0) { return static_cast<double>(tensors); }
  if (std::isinf(p)) { return p > 0 ? most : least; }
  return std::pow(sum, 1 / p);
}

TEST(ListNorm, IsTheNormOfAllElements) {
  Rng rng(1);
  for (int trial = 0; trial < 300; ++trial) {
    const std::vector<HostArray> list = RandomList(&rng);
    constexpr double kOrders[] = {2, 1, 0, 3.5, INFINITY, -INFINITY};
    const ListNormAttrs attrs{kOrders[trial % 6]};
    const double want = NormOf(list, attrs.p);
    std::vector<HostArray> results;
    for (const Config& config : AllConfigs()) {
      const ScopedIsa isa(config.isa);
      HostArray got(DataType::kDouble, {});
      CHECK_JUST(
          Call("multi_tensor_norm.cpu.vector", Pointers(list), {&got}, &attrs, config.threads));
      ASSERT_NEAR(got.At(0), want, 1e-9 * std::max(1.0, want)) << "p " << attrs.p;
      results.push_back(got);
      ASSERT_EQ(Difference(got, results[0], 0.0), "");
      ASSERT_TRUE(got.GuardsIntact());
    }
  }
}

// Calls a kernel that changes a list in place, and compares each element with `want` of it.
template <typename Attrs, typename Want>
void ExpectEach(const std::string& kernel, const Attrs& attrs, const std::vector<HostArray>& list,
                const HostArray* last, const Want& want) {
  for (const Config& config : AllConfigs()) {
    const ScopedIsa isa(config.isa);
    const std::vector<HostArray> got = list;
    Arrays in = Pointers(got);
    if (last != nullptr) { in.push_back(last); }
    CHECK_JUST(Call(kernel.c_str(), in, Pointers(got), &attrs, config.threads));
    for (size_t i = 0; i < list.size(); ++i) {
      HostArray expected(list[i]);
      for (int64_t e = 0; e < expected.count(); ++e) { expected.Set(e, want(expected.At(e))); }
      ASSERT_EQ(Difference(got[i], expected, ToleranceFor(expected.dtype())), "") << kernel;
      ASSERT_TRUE(got[i].GuardsIntact()) << kernel;
    }
  }
}

TEST(ListNorm, ScalesAndClamps) {
  Rng rng(2);
  for (int trial = 0; trial < 60; ++trial) {
    std::vector<HostArray> list = RandomList(&rng);
    if (list[0].count() > 0) { list[0].Set(0, NAN); }
    ExpectEach("multi_tensor_scale.cpu.vector", ListScaleAttrs{-0.75}, list, nullptr,
               [](double x) { return -0.75 * x; });
    ExpectEach("multi_tensor_clamp.cpu.vector", ListClampAttrs{-0.5, 1.25}, list, nullptr,
               [](double x) { return std::isnan(x) ? x : std::min(1.25, std::max(-0.5, x)); });
  }
}

TEST(ListNorm, ClipsWhatIsAboveTheBound) {
  Rng rng(3);
  for (int trial = 0; trial < 60; ++trial) {
    const std::vector<HostArray> list = RandomList(&rng);
    HostArray norm(kDtypes[static_cast<size_t>(trial % 4)], {});
    constexpr double kNorms[] = {0.25, 0.5, 4.0, INFINITY, NAN};
    norm.Set(0, kNorms[trial % 5]);
    const ListClipAttrs attrs{0.5, 0.125};
    const double factor = 0.5 / (norm.At(0) + 0.125);
    ExpectEach("multi_tensor_clip.cpu.vector", attrs, list, &norm,
               [&](double x) { return factor >= 1 ? x : x * factor; });
  }
}

TEST(ListNorm, ALostElementIsNoticed) {
  HostArray x(DataType::kDouble, {9000}), got(DataType::kDouble, {});
  Rng rng(4);
  x.Fill(&rng, false);
  const double whole = NormOf({x}, 2);
  x.Set(8999, 0.0);
  const ListNormAttrs attrs;
  CHECK_JUST(Call("multi_tensor_norm.cpu.vector", {&x}, {&got}, &attrs));
  EXPECT_GT(std::fabs(got.At(0) - whole), 1e-9 * whole);
}

}  // namespace
}  // namespace testing
}  // namespace cpu
}  // namespace oneflow
