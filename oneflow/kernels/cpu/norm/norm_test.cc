// Norms, softmax, losses, dropout and embeddings: the same bits on every instruction set and for any
// number of threads, and norms against plain loops and their references.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "oneflow/kernels/attrs.h"
#include "oneflow/kernels/attrs_norm.h"
#include "oneflow/kernels/cpu/kernel_testing.h"
#include "oneflow/kernels/cpu/norm/fused_norm_loops.h"
#include "oneflow/kernels/cpu/stream_loops.h"

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

// Runs with a last block that is not full, many of them, and long ones: sums are emptied in between.
TEST(BatchNorm, ShortAndLongRunsAgreeWithReference) {
  Rng rng(15);
  const Dims shapes[] = {{40, 3, 49}, {16, 4, 196}, {70, 2, 15}, {2, 2, 5003},
                         {3, 2, 64},  {33, 2, 128}, {5, 3, 63},  {1, 2, 20000}};
  for (const Dims& shape : shapes) {
    for (DataType dtype : kFloats) {
      const HostArray x = Random(&rng, dtype, shape), dy = Random(&rng, dtype, shape);
      const HostArray weight = Random(&rng, dtype, {shape[1]});
      const HostArray blank(dtype, shape), stats(dtype, {shape[1]});
      BatchNormAttrs attrs;
      attrs.epsilon = 0.1;
      const double tolerance = 20 * Tolerance(dtype);
      const Arrays in = {&x, &weight, &weight};
      ASSERT_EQ(AgainstReference({"batch_norm", in, {blank, stats, stats}, &attrs, tolerance}), "");
      const auto got = SameBits("batch_norm.cpu.vector", in, {blank, stats, stats}, attrs);
      const Arrays back = {&dy, &x, &weight, &got[1], &got[2]};
      ASSERT_EQ(AgainstReference(
                    {"batch_norm_backward", back, {blank, stats, stats}, &attrs, 40 * tolerance}),
                "");
      SameBits("batch_norm_backward.cpu.vector", back, {blank, stats, stats}, attrs);
    }
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

// One in three elements is 0, as relu leaves them.
HostArray Cut(Rng* rng, DataType dtype, const Dims& shape) {
  HostArray array = Random(rng, dtype, shape);
  for (int64_t i = 0; i < array.count(); ++i) {
    if (OneIn(rng, 3)) { array.Set(i, 0.0); }
  }
  return array;
}

TEST(FusedBatchNorm, AgreesWithReference) {
  Rng rng(15);
  for (int trial = 0; trial < 150; ++trial) {
    const DataType dtype = PickDtype(&rng, kDtypes);
    const Dims shape = {Pick(&rng, 1, 9), Pick(&rng, 1, 20), Pick(&rng, 1, 9), Pick(&rng, 1, 12)};
    const Dims channels = {shape[1]};
    const auto random = [&] { return Random(&rng, dtype, shape, PickLayout(&rng, true)); };
    const HostArray x = random(), dy = random(), more = random(), y = Cut(&rng, dtype, shape);
    const HostArray weight = Random(&rng, dtype, channels), bias = Random(&rng, dtype, channels);
    const auto maybe = [&](const HostArray& array) { return OneIn(&rng, 2) ? &array : nullptr; };
    const FusedBatchNormAttrs attrs{0.1, OneIn(&rng, 2)};
    const HostArray blank = RandomArray(&rng, dtype, shape, PickLayout(&rng, false));
    const HostArray stats(dtype, channels);
    const double tolerance = 10 * ToleranceFor(dtype);
    const HostArray* w = maybe(weight);
    ASSERT_EQ(AgainstReference({"fused_batch_norm",
                                {&x, w, maybe(bias), maybe(more)},
                                {blank, stats, stats},
                                &attrs,
                                tolerance}),
              "");
    HostArray mean(dtype, channels), variance(dtype, channels), out(dtype, shape);
    CHECK_JUST(Call("fused_batch_norm.cpu.reference", {&x, w, nullptr, nullptr},
                    {&out, &mean, &variance}, &attrs));
    const Arrays in = {&dy, maybe(more), &x, w, &mean, &variance, attrs.relu ? &y : nullptr};
    ASSERT_EQ(AgainstReference(
                  {"fused_batch_norm_backward", in, {blank, stats, stats}, &attrs, 40 * tolerance}),
              "");
    ASSERT_EQ(AgainstReference({"fused_batch_norm_add_backward",
                                in,
                                {blank, stats, stats, blank},
                                &attrs,
                                40 * tolerance}),
              "");
  }
}

// What a graph computes after the pass has the bits of what it computed before.
TEST(FusedBatchNorm, HasTheBitsOfTheSeparateOps) {
  Rng rng(16);
  for (DataType dtype : {DataType::kFloat, DataType::kFloat, DataType::kDouble}) {
    const Dims shape{3, 5, OneIn(&rng, 2) ? 300 : 49};
    const HostArray x = Random(&rng, dtype, shape), addend = Random(&rng, dtype, shape);
    const HostArray dy = Random(&rng, dtype, shape), weight = Random(&rng, dtype, {5});
    HostArray y(dtype, shape), mean(dtype, {5}), variance(dtype, {5}), fused(dtype, shape);
    HostArray dw(dtype, {5}), db(dtype, {5}), dx(dtype, shape), want(dtype, shape);
    const BatchNormAttrs plain;
    const FusedBatchNormAttrs attrs{0.0, true};
    const AddAttrs add;
    CHECK_JUST(
        Call("batch_norm.cpu.vector", {&x, &weight, &weight}, {&y, &mean, &variance}, &plain));
    CHECK_JUST(Call("add.cpu.vector", {&y, &addend}, {&dx}, &add));
    CHECK_JUST(Call("relu.cpu.vector", {&dx}, {&want}, nullptr));
    CHECK_JUST(Call("fused_batch_norm.cpu.vector", {&x, &weight, &weight, &addend},
                    {&fused, &mean, &variance}, &attrs));
    EXPECT_EQ(Difference(fused, want, 0.0), "");
    CHECK_JUST(Call("relu_backward.cpu.vector", {&dy, &fused}, {&y}, nullptr));
    CHECK_JUST(Call("batch_norm_backward.cpu.vector", {&y, &x, &weight, &mean, &variance},
                    {&want, &dw, &db}, &plain));
    CHECK_JUST(Call("fused_batch_norm_backward.cpu.vector",
                    {&dy, nullptr, &x, &weight, &mean, &variance, &fused}, {&dx, &dw, &db},
                    &attrs));
    EXPECT_EQ(Difference(dx, want, 0.0), "");
  }
}

// As a graph calls it where an operand ends: the result is that operand's array.
TEST(FusedBatchNorm, WritesOverAnOperand) {
  Rng rng(19);
  const Dims shape{3, 5, 40}, channels{5};
  const FusedBatchNormAttrs attrs{0.1, true};
  const HostArray x = Random(&rng, DataType::kFloat, shape), y = Cut(&rng, DataType::kFloat, shape);
  const HostArray dy = Random(&rng, DataType::kFloat, shape), more = Random(&rng, x.dtype(), shape);
  HostArray mean(x.dtype(), channels), variance(mean), dw(mean), db(mean), out(x), kept(x);
  const Arrays forward = {&x, nullptr, nullptr, &more};
  CHECK_JUST(Call("fused_batch_norm.cpu.vector", forward, {&out, &mean, &variance}, &attrs));
  const HostArray over_addend(more);
  CHECK_JUST(Call("fused_batch_norm.cpu.vector", {&x, nullptr, nullptr, &over_addend},
                  {&over_addend, &mean, &variance}, &attrs, 2));
  EXPECT_EQ(Difference(over_addend, out, 0.0), "");
  const std::string op = "fused_batch_norm_add_backward.cpu.vector";
  const Arrays backward = {&dy, &more, &x, nullptr, &mean, &variance, &y};
  CHECK_JUST(Call(op.c_str(), backward, {&out, &dw, &db, &kept}, &attrs));
  for (size_t i : {0, 1, 2, 6}) {
    const HostArray target(*backward[i]);
    Arrays in = backward;
    in[i] = &target;
    CHECK_JUST(Call(op.c_str(), in, {&target, &dw, &db, &kept}, &attrs, 2));
    EXPECT_EQ(Difference(target, out, 0.0), "") << i;
  }
}

// Past the caches the same numbers arrive.
TEST(FusedBatchNorm, StreamsWhatItStores) {
  constexpr int64_t kCount = 1000;
  alignas(64) float stored[kCount], streamed[kCount];
  float x[kCount], dy[kCount];
  for (int64_t i = 0; i < kCount; ++i) {
    x[i] = static_cast<float>(i % 17) - 8.0F;
    dy[i] = static_cast<float>(i % 5) - 2.0F;
  }
  for (const Config& config : AllConfigs()) {
    const ScopedIsa isa(config.isa);
    const FusedNormLoops<float>& loops = GetFusedNormLoops<float>();
    for (const float* addend :
         {static_cast<const float*>(nullptr), static_cast<const float*>(dy)}) {
      for (bool stream : {false, true}) {
        loops.run(x, addend, stream ? streamed : stored, {1, 0, kCount}, 0.5F, 2.0F, 0.1F, true,
                  stream);
      }
      GetStreamLoops().fence();
      EXPECT_TRUE(std::equal(stored, stored + kCount, streamed)) << IsaName(config.isa);
      for (bool stream : {false, true}) {
        loops.backward({dy, addend, x}, x, stream ? streamed : stored, {1, 0, kCount}, 0.5F, 0.2F,
                       0.3F, 2.0F, stream);
      }
      GetStreamLoops().fence();
      EXPECT_TRUE(std::equal(stored, stored + kCount, streamed)) << IsaName(config.isa);
    }
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
