// Norms, softmax, losses, dropout and embeddings: the same bits on every instruction set and for any
// number of threads, and norms against plain loops and their references.
#include <cmath>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "oneflow/kernels/attrs.h"
#include "oneflow/kernels/attrs_norm.h"
#include "oneflow/kernels/cpu/kernel_testing.h"

namespace oneflow {
namespace cpu {
namespace testing {
namespace {

// Runs the kernel under each configuration; the results must have the same bits. Returns the first.
template <typename Attrs>
std::vector<HostArray> SameBits(const std::string& kernel, const Arrays& in,
                                const std::vector<HostArray>& blank, const Attrs& attrs) {
  std::vector<HostArray> first = blank;
  bool is_first = true;
  for (const Config& config : AllConfigs()) {
    const ScopedIsa isa(config.isa);
    std::vector<HostArray> got = blank;
    Arrays out;
    for (HostArray& array : is_first ? first : got) { out.push_back(&array); }
    CHECK_JUST(Call(kernel.c_str(), in, out, &attrs, config.threads));
    for (size_t i = 0; i < got.size(); ++i) {
      EXPECT_TRUE(out[i]->GuardsIntact()) << kernel;
      if (is_first) { continue; }
      EXPECT_EQ(Difference(got[i], first[i], 0.0), "") << kernel << " " << IsaName(config.isa);
    }
    is_first = false;
  }
  return first;
}

HostArray Random(Rng* rng, DataType dtype, const Dims& shape, Layout layout = Layout::kDense) {
  HostArray array = RandomArray(rng, dtype, shape, layout);
  array.Fill(rng, false);
  return array;
}

double Tolerance(DataType dtype) { return dtype == DataType::kFloat ? 2e-5 : 1e-11; }

// What element i of x becomes where `members` are normalised together.
double Standard(const HostArray& x, const std::vector<int64_t>& members, int64_t i,
                double epsilon) {
  double sum = 0.0, squares = 0.0;
  const double n = static_cast<double>(members.size());
  for (int64_t m : members) { sum += x.At(m); }
  for (int64_t m : members) { squares += (x.At(m) - sum / n) * (x.At(m) - sum / n); }
  return (x.At(i) - sum / n) / std::sqrt(squares / n + epsilon);
}

const std::vector<DataType> kFloats = {DataType::kFloat, DataType::kDouble};

TEST(LayerNorm, AgreesWithPlainLoops) {
  Rng rng(1);
  for (int trial = 0; trial < 60; ++trial) {
    const DataType dtype = PickDtype(&rng, kFloats);
    const Dims shape{Pick(&rng, 1, 40), Pick(&rng, 1, 150)};
    const HostArray x = Random(&rng, dtype, shape, PickLayout(&rng, true));
    const HostArray weight = Random(&rng, dtype, {shape[1]});
    const HostArray bias = Random(&rng, dtype, {shape[1]});
    const HostArray rows(dtype, {shape[0]}), blank(dtype, shape);
    LayerNormAttrs attrs;
    attrs.begin_axis = 1;
    attrs.epsilon = 0.1;
    const auto got =
        SameBits("layer_norm.cpu.vector", {&x, &weight, &bias}, {blank, rows, rows}, attrs);
    HostArray want(dtype, shape);
    for (int64_t i = 0; i < want.count(); ++i) {
      std::vector<int64_t> members;
      for (int64_t j = 0; j < shape[1]; ++j) { members.push_back(i / shape[1] * shape[1] + j); }
      want.Set(i, Standard(x, members, i, 0.1) * weight.At(i % shape[1]) + bias.At(i % shape[1]));
    }
    ASSERT_EQ(Difference(got[0], want, Tolerance(dtype)), "");
    const HostArray dy = Random(&rng, dtype, shape);
    SameBits("layer_norm_backward.cpu.vector", {&dy, &x, &weight, &got[1], &got[2]},
             {blank, weight, weight}, attrs);
  }
}

TEST(BatchNorm, AgreesWithPlainLoops) {
  Rng rng(2);
  for (int trial = 0; trial < 60; ++trial) {
    const DataType dtype = PickDtype(&rng, kFloats);
    // Channels of runs, and neighbouring ones: enough of them for several slices.
    const bool runs = OneIn(&rng, 2);
    const Dims shape{runs ? Pick(&rng, 1, 6) : Pick(&rng, 2, 2500), Pick(&rng, 1, 70),
                     runs ? Pick(&rng, 2, 80) : 1};
    if (shape[0] * shape[1] > 40000) { continue; }
    const HostArray x = Random(&rng, dtype, shape);
    const HostArray weight = Random(&rng, dtype, {shape[1]});
    const HostArray blank(dtype, shape), stats(dtype, {shape[1]});
    BatchNormAttrs attrs;
    attrs.epsilon = 0.1;
    const auto got =
        SameBits("batch_norm.cpu.vector", {&x, &weight, nullptr}, {blank, stats, stats}, attrs);
    for (int probe = 0; probe < 5; ++probe) {
      const int64_t i = Pick(&rng, 0, x.count() - 1);
      const int64_t c = i / shape[2] % shape[1];
      std::vector<int64_t> members;
      for (int64_t m = 0; m < x.count(); ++m) {
        if (m / shape[2] % shape[1] == c) { members.push_back(m); }
      }
      const double want = Standard(x, members, i, 0.1) * weight.At(c);
      ASSERT_NEAR(got[0].At(i), want, Tolerance(dtype) * 10);
    }
    const HostArray dy = Random(&rng, dtype, shape);
    SameBits("batch_norm_backward.cpu.vector", {&dy, &x, &weight, &got[1], &got[2]},
             {blank, stats, stats}, attrs);
  }
}

// ---- against the references ---------------------------------------------------------------------

const std::vector<DataType> kDtypes = {DataType::kFloat, DataType::kFloat, DataType::kDouble,
                                       DataType::kFloat16, DataType::kBFloat16};

// x, dy and the parameters of a norm; y, mean and what belongs to it as the reference gives them.
struct NormCase {
  DataType dtype;
  HostArray x, dy, weight, bias, y, mean, spread;
  bool affine;

  NormCase(Rng* rng, const Dims& shape, const Dims& parameters, const Dims& stats)
      : dtype(PickDtype(rng, kDtypes)),
        x(Random(rng, dtype, shape, PickLayout(rng, true))),
        dy(Random(rng, dtype, shape, PickLayout(rng, true))),
        weight(Random(rng, dtype, parameters)),
        bias(Random(rng, dtype, parameters)),
        y(RandomArray(rng, dtype, shape, PickLayout(rng, false))),
        mean(dtype, stats),
        spread(dtype, stats),
        affine(OneIn(rng, 2)) {}

  // Results of the kernel, and then of its backward, are the reference's. `weighted`: without a weight
  // its gradient and the bias's are empty.
  template <typename Attrs>
  std::string Compare(const std::string& op, const Attrs& attrs, bool weighted) {
    const HostArray* w = affine ? &weight : nullptr;
    const HostArray* b = affine ? &bias : nullptr;
    const double tolerance = 10 * ToleranceFor(dtype);
    const std::string forward =
        AgainstReference({op, {&x, w, b}, {y, mean, spread}, &attrs, tolerance});
    if (!forward.empty()) { return forward; }
    CHECK_JUST(Call((op + ".cpu.reference").c_str(), {&x, w, b}, {&y, &mean, &spread}, &attrs));
    const HostArray dw(dtype, affine || !weighted ? weight.shape() : Dims{0});
    return AgainstReference(
        {op + "_backward", {&dy, &x, w, &mean, &spread}, {y, dw, dw}, &attrs, 40 * tolerance});
  }
};

TEST(LayerNorm, AgreesWithReference) {
  Rng rng(11);
  for (int trial = 0; trial < 150; ++trial) {
    const Dims shape = {Pick(&rng, 0, 5), Pick(&rng, 1, 20), Pick(&rng, 1, 9)};
    LayerNormAttrs attrs;
    attrs.begin_axis = Pick(&rng, 1, 2);
    attrs.epsilon = 0.1;
    attrs.center = OneIn(&rng, 2);
    const bool wide = attrs.begin_axis == 1;
    NormCase c(&rng, shape, wide ? Dims{shape[1], shape[2]} : Dims{shape[2]},
               wide ? Dims{shape[0]} : Dims{shape[0], shape[1]});
    ASSERT_EQ(c.Compare("layer_norm", attrs, true), "");
  }
}

TEST(GroupNorm, AgreesWithReference) {
  Rng rng(12);
  for (int trial = 0; trial < 150; ++trial) {
    GroupNormAttrs attrs;
    attrs.groups = Pick(&rng, 1, 4);
    attrs.epsilon = 0.1;
    const int64_t channels = attrs.groups * Pick(&rng, 1, 3);
    const Dims shape = {Pick(&rng, 0, 3), channels, Pick(&rng, 1, 40)};
    NormCase c(&rng, shape, {channels}, {shape[0], attrs.groups});
    ASSERT_EQ(c.Compare("group_norm", attrs, false), "");
  }
}

TEST(BatchNorm, AgreesWithReference) {
  Rng rng(13);
  for (int trial = 0; trial < 150; ++trial) {
    const Dims shape = {Pick(&rng, 1, 40), Pick(&rng, 1, 12),
                        OneIn(&rng, 2) ? 1 : Pick(&rng, 2, 9)};
    BatchNormAttrs attrs;
    attrs.axis = Pick(&rng, 0, 2);
    attrs.epsilon = 0.1;
    const Dims channels = {shape[static_cast<int>(attrs.axis)]};
    NormCase c(&rng, shape, channels, channels);
    const double tolerance = 10 * ToleranceFor(c.dtype);
    ASSERT_EQ(c.Compare("batch_norm", attrs, false), "");
    ASSERT_EQ(
        AgainstReference({"batch_norm_moments", {&c.x}, {c.mean, c.spread}, &attrs, tolerance}),
        "");
    attrs.training = false;
    ASSERT_EQ(AgainstReference({"batch_norm_inference",
                                {&c.x, &c.mean, &c.spread, &c.weight, &c.bias},
                                {c.y},
                                &attrs,
                                tolerance}),
              "");
    ASSERT_EQ(AgainstReference({"batch_norm_backward",
                                {&c.dy, &c.x, &c.weight, &c.mean, &c.spread},
                                {c.y, c.mean, c.mean},
                                &attrs,
                                40 * tolerance}),
              "");
    const UpdateStatsAttrs update{0.3, 1.5};
    ASSERT_EQ(AgainstReference({"batch_norm_update_stats",
                                {&c.weight, &c.bias, &c.mean, &c.spread},
                                {c.mean, c.mean},
                                &update,
                                tolerance}),
              "");
  }
}

TEST(Norms, TheComparisonSeesOneOtherElement) {
  Rng rng(14);
  const HostArray x = Random(&rng, DataType::kFloat, {6, 5});
  HostArray changed(x);
  changed.Set(8, x.At(8) + 0.1);
  const Arrays other = {&changed, nullptr, nullptr};
  const BatchNormAttrs attrs;
  const HostArray stats(DataType::kFloat, {5}), y(DataType::kFloat, {6, 5});
  EXPECT_NE(AgainstReference(
                {"batch_norm", {&x, nullptr, nullptr}, {y, stats, stats}, &attrs, 1e-3}, &other),
            "");
}

// ---- the same bits ------------------------------------------------------------------------------

TEST(GroupNorm, HasTheSameBitsEverywhere) {
  Rng rng(3);
  const Dims shape{3, 8, 50};
  const HostArray x = Random(&rng, DataType::kFloat, shape);
  const HostArray dy = Random(&rng, DataType::kFloat, shape);
  const HostArray weight = Random(&rng, DataType::kFloat, {8});
  const HostArray blank(DataType::kFloat, shape), stats(DataType::kFloat, {3, 2});
  GroupNormAttrs attrs;
  attrs.groups = 2;
  const auto got =
      SameBits("group_norm.cpu.vector", {&x, &weight, &weight}, {blank, stats, stats}, attrs);
  SameBits("group_norm_backward.cpu.vector", {&dy, &x, &weight, &got[1], &got[2]},
           {blank, weight, weight}, attrs);
}

TEST(Softmax, HasTheSameBitsEverywhere) {
  Rng rng(4);
  for (int dim = 0; dim < 2; ++dim) {
    const Dims shape{130, 170};
    const HostArray x = Random(&rng, DataType::kFloat, shape);
    const HostArray blank(DataType::kFloat, shape);
    LogSoftmaxAttrs attrs;
    attrs.dim = dim;
    const auto got = SameBits("softmax.cpu.vector", {&x}, {blank}, attrs);
    SameBits("softmax_backward.cpu.vector", {&x, &got[0]}, {blank}, attrs);
  }
}

TEST(Losses, HaveTheSameBitsEverywhere) {
  Rng rng(5);
  const HostArray x = Random(&rng, DataType::kFloat, {20000});
  HostArray t = Random(&rng, DataType::kFloat, {20000});
  for (int64_t i = 0; i < t.count(); ++i) { t.Set(i, std::abs(t.At(i))); }
  for (int64_t kind = 0; kind < 8; ++kind) {
    PointwiseLossBackwardAttrs attrs;
    attrs.loss.kind = kind;
    const auto got = SameBits("pointwise_loss.cpu.vector", {&x, &t, nullptr, nullptr},
                              {HostArray(DataType::kFloat, {})}, attrs.loss);
    SameBits("pointwise_loss_backward.cpu.vector", {&got[0], &x, &t, nullptr, nullptr},
             {HostArray(DataType::kFloat, {20000})}, attrs);
  }
}

TEST(Dropout, HasTheSameBitsEverywhere) {
  Rng rng(6);
  const HostArray x = Random(&rng, DataType::kFloat, {20001});
  DropoutAttrs attrs;
  attrs.p = 0.3;
  attrs.slot.seed = 7;
  attrs.slot.offset = 11;
  const HostArray mask(DataType::kBool, {20001});
  SameBits("dropout.cpu.vector", {&x, nullptr}, {HostArray(DataType::kFloat, {20001}), mask},
           attrs);
}

TEST(Embedding, HasTheSameBitsEverywhere) {
  Rng rng(7);
  const HostArray dy = Random(&rng, DataType::kFloat, {900, 40});
  HostArray indices(DataType::kInt64, {900});
  for (int64_t i = 0; i < 900; ++i) { indices.Set(i, static_cast<double>(Pick(&rng, 0, 30))); }
  EmbeddingBackwardAttrs attrs;
  attrs.shape = IntList(Dims{31, 40});
  SameBits("embedding_backward.cpu.vector", {&dy, &indices},
           {HostArray(DataType::kFloat, {31, 40})}, attrs);
}

}  // namespace
}  // namespace testing
}  // namespace cpu
}  // namespace oneflow
