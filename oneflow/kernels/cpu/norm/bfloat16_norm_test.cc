// Batch norm of bfloat16 arrays with statistics in float32: against the reference, the same bits on every instruction
// set, and what the kernels leave to others.
#include <algorithm>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "oneflow/kernels/attrs.h"
#include "oneflow/kernels/attrs_norm.h"
#include "oneflow/kernels/cpu/bfloat16.h"
#include "oneflow/kernels/cpu/kernel_testing.h"
#include "oneflow/kernels/cpu/norm/fused_norm_loops.h"
#include "oneflow/kernels/cpu/stream_loops.h"

namespace oneflow {
namespace cpu {
namespace testing {
namespace {

constexpr DataType kShort = DataType::kBFloat16;
constexpr DataType kWide = DataType::kFloat;
// Two numbers that differ in the last bits of a float32 may be rounded apart: by one step.
constexpr double kStep = 0x1p-7;

HostArray Random(Rng* rng, DataType dtype, const Dims& shape) {
  HostArray array(dtype, shape);
  array.Fill(rng, false);
  return array;
}

// One in three elements is 0, as relu leaves them.
HostArray Cut(Rng* rng, const Dims& shape) {
  HostArray array = Random(rng, kShort, shape);
  for (int64_t i = 0; i < array.count(); ++i) {
    if (OneIn(rng, 3)) { array.Set(i, 0.0); }
  }
  return array;
}

// "" where the kernel gives, with the same bits under each configuration, what the reference gives: numbers of bfloat16
// to `steps` roundings, those of float32 to their own precision. `got`: the results.
std::string NearReference(const std::string& op, const Arrays& in, const void* attrs, double steps,
                          std::vector<HostArray>* got, const Arrays* other = nullptr) {
  std::vector<HostArray> want = *got;
  Arrays to;
  for (HostArray& array : want) { to.push_back(&array); }
  CHECK_JUST(Call((op + ".cpu.reference").c_str(), other == nullptr ? in : *other, to, attrs));
  bool is_first = true;
  for (const Config& config : AllConfigs()) {
    const ScopedIsa isa(config.isa);
    std::vector<HostArray> now = *got;
    Arrays out;
    for (HostArray& array : is_first ? *got : now) { out.push_back(&array); }
    CHECK_JUST(Call((op + ".cpu.bfloat16").c_str(), in, out, attrs, config.threads));
    for (size_t i = 0; i < out.size(); ++i) {
      const double tolerance = out[i]->dtype() == kShort ? steps * kStep : 1e-3;
      const std::string far =
          is_first ? Difference(*out[i], want[i], tolerance) : Difference(*out[i], (*got)[i], 0.0);
      if (!far.empty()) { return op + " result " + std::to_string(i) + ": " + far; }
      if (!out[i]->GuardsIntact()) { return op + " writes beside result " + std::to_string(i); }
    }
    is_first = false;
  }
  return "";
}

// Short runs, long ones, and a single run, of several blocks and parts of one.
const std::vector<Dims> kShapes = {{3, 5, 49}, {2, 4, 1000}, {1, 3, 33}, {40, 3, 7}, {2, 2, 5003}};

TEST(BFloat16BatchNorm, AgreesWithReference) {
  Rng rng(1);
  for (const Dims& shape : kShapes) {
    for (DataType parameters : {kWide, kShort}) {
      const HostArray x = Random(&rng, kShort, shape), dy = Random(&rng, kShort, shape);
      const Dims channels{shape[1]};
      const HostArray weight = Random(&rng, parameters, channels);
      const HostArray* w = OneIn(&rng, 3) ? nullptr : &weight;
      const HostArray blank(kShort, shape), stats(kWide, channels), gradient(parameters, channels);
      BatchNormAttrs attrs;
      attrs.epsilon = 0.1;
      std::vector<HostArray> got = {blank, stats, stats};
      ASSERT_EQ(NearReference("batch_norm", {&x, w, &weight}, &attrs, 1, &got), "");
      std::vector<HostArray> back = {blank, gradient, gradient};
      const Arrays in = {&dy, &x, w, &got[1], &got[2]};
      ASSERT_EQ(NearReference("batch_norm_backward", in, &attrs, 2, &back), "");
      attrs.training = false;
      ASSERT_EQ(NearReference("batch_norm_backward", in, &attrs, 2, &back), "");
      std::vector<HostArray> evaluated = {blank};
      ASSERT_EQ(NearReference("batch_norm_inference", {&x, &got[1], &got[2], w, &weight}, &attrs, 1,
                              &evaluated),
                "");
    }
  }
}

TEST(BFloat16BatchNorm, FusedAgreesWithReference) {
  Rng rng(2);
  for (int trial = 0; trial < 60; ++trial) {
    const Dims shape = {Pick(&rng, 1, 9), Pick(&rng, 1, 20), Pick(&rng, 2, 9), Pick(&rng, 1, 12)};
    const Dims channels = {shape[1]};
    const HostArray x = Random(&rng, kShort, shape), dy = Random(&rng, kShort, shape);
    const HostArray more = Random(&rng, kShort, shape), y = Cut(&rng, shape);
    const HostArray weight = Random(&rng, kWide, channels), blank(kShort, shape);
    const auto maybe = [&](const HostArray& array) { return OneIn(&rng, 2) ? &array : nullptr; };
    const FusedBatchNormAttrs attrs{0.1, OneIn(&rng, 2)};
    const HostArray *w = maybe(weight), *addend = maybe(more), *second = maybe(more);
    // A number that is rounded before the addition is larger than the sum may be.
    const double forward = addend == nullptr ? 1 : 16;
    std::vector<HostArray> got = {blank, weight, weight};
    ASSERT_EQ(
        NearReference("fused_batch_norm", {&x, w, maybe(weight), addend}, &attrs, forward, &got),
        "");
    const HostArray* result = attrs.relu ? &y : nullptr;
    const Arrays in = {&dy, second, &x, w, &got[1], &got[2], result};
    // The reference is given the sum as it is rounded.
    HostArray sum(dy);
    if (second != nullptr) {
      const AddAttrs add;
      CHECK_JUST(Call("add.cpu.reference", {&dy, second}, {&sum}, &add));
    }
    const Arrays summed = {&sum, nullptr, &x, w, &got[1], &got[2], result};
    std::vector<HostArray> back = {blank, weight, weight};
    ASSERT_EQ(NearReference("fused_batch_norm_backward", in, &attrs, 2, &back, &summed), "");
    back.push_back(blank);
    ASSERT_EQ(NearReference("fused_batch_norm_add_backward", in, &attrs, 2, &back, &summed), "");
  }
}

TEST(BFloat16BatchNorm, TheComparisonSeesOneOtherElement) {
  Rng rng(3);
  const Dims shape{4, 3, 20};
  const HostArray x = Random(&rng, kShort, shape);
  HostArray changed(x);
  changed.Set(8, x.At(8) + 1.0);
  const Arrays other = {&changed, nullptr, nullptr};
  const BatchNormAttrs attrs;
  std::vector<HostArray> got = {HostArray(kShort, shape), HostArray(kWide, {3}),
                                HostArray(kWide, {3})};
  EXPECT_NE(NearReference("batch_norm", {&x, nullptr, nullptr}, &attrs, 1, &got, &other), "");
}

// Sums of many equal numbers: in bfloat16 256 + 1 is 256.
TEST(BFloat16BatchNorm, SumsAreNotRoundedToBFloat16) {
  const Dims shape{2, 1, 5000};
  HostArray x(kShort, shape), y(kShort, shape);
  for (int64_t i = 0; i < x.count(); ++i) { x.Set(i, i % 2 == 0 ? 100.0 : 100.5); }
  HostArray mean(kWide, {1}), variance(kWide, {1});
  const BatchNormAttrs attrs;
  CHECK_JUST(
      Call("batch_norm.cpu.bfloat16", {&x, nullptr, nullptr}, {&y, &mean, &variance}, &attrs, 1));
  EXPECT_NEAR(mean.At(0), 100.25, 1e-5);
  EXPECT_NEAR(variance.At(0), 0.0625, 1e-6);
}

// What a graph computes after the pass has the bits of what it computed before.
TEST(BFloat16BatchNorm, HasTheBitsOfTheSeparateOps) {
  Rng rng(5);
  for (int64_t pixels : {300, 49}) {
    const Dims shape{3, 5, pixels};
    const HostArray x = Random(&rng, kShort, shape), addend = Random(&rng, kShort, shape);
    const HostArray dy = Random(&rng, kShort, shape), weight = Random(&rng, kWide, {5});
    HostArray y(x), sum(x), want(x), fused(x), dx(x), mean(weight), variance(weight);
    HostArray dw(weight), db(weight), fused_dw(weight), fused_db(weight), kept(x);
    const BatchNormAttrs plain;
    const FusedBatchNormAttrs attrs{0.0, true};
    const AddAttrs add;
    CHECK_JUST(
        Call("batch_norm.cpu.bfloat16", {&x, &weight, &weight}, {&y, &mean, &variance}, &plain));
    CHECK_JUST(Call("add.cpu.reference", {&y, &addend}, {&sum}, &add));
    CHECK_JUST(Call("relu.cpu.reference", {&sum}, {&want}, nullptr));
    CHECK_JUST(Call("fused_batch_norm.cpu.bfloat16", {&x, &weight, &weight, &addend},
                    {&fused, &mean, &variance}, &attrs));
    EXPECT_EQ(Difference(fused, want, 0.0), "");
    CHECK_JUST(Call("add.cpu.reference", {&dy, &addend}, {&sum}, &add));
    CHECK_JUST(Call("relu_backward.cpu.reference", {&sum, &fused}, {&y}, nullptr));
    CHECK_JUST(Call("batch_norm_backward.cpu.bfloat16", {&y, &x, &weight, &mean, &variance},
                    {&want, &dw, &db}, &plain));
    CHECK_JUST(Call("fused_batch_norm_add_backward.cpu.bfloat16",
                    {&dy, &addend, &x, &weight, &mean, &variance, &fused},
                    {&dx, &fused_dw, &fused_db, &kept}, &attrs));
    EXPECT_EQ(Difference(dx, want, 0.0), "");
    EXPECT_EQ(Difference(kept, y, 0.0), "");
    EXPECT_EQ(Difference(fused_dw, dw, 0.0), "");
    EXPECT_EQ(Difference(fused_db, db, 0.0), "");
  }
}

// As a graph calls it where an operand ends: the result is that operand's array.
TEST(BFloat16BatchNorm, WritesOverAnOperand) {
  Rng rng(4);
  const Dims shape{3, 5, 40}, channels{5};
  const FusedBatchNormAttrs attrs{0.1, true};
  const HostArray x = Random(&rng, kShort, shape), y = Cut(&rng, shape);
  const HostArray dy = Random(&rng, kShort, shape), more = Random(&rng, kShort, shape);
  HostArray mean(kWide, channels), variance(mean), dw(mean), db(mean), out(x), kept(x);
  CHECK_JUST(Call("fused_batch_norm.cpu.bfloat16", {&x, nullptr, nullptr, &more},
                  {&out, &mean, &variance}, &attrs));
  const HostArray over_addend(more);
  CHECK_JUST(Call("fused_batch_norm.cpu.bfloat16", {&x, nullptr, nullptr, &over_addend},
                  {&over_addend, &mean, &variance}, &attrs, 2));
  EXPECT_EQ(Difference(over_addend, out, 0.0), "");
  const char* const op = "fused_batch_norm_add_backward.cpu.bfloat16";
  const Arrays backward = {&dy, &more, &x, nullptr, &mean, &variance, &y};
  CHECK_JUST(Call(op, backward, {&out, &dw, &db, &kept}, &attrs));
  for (size_t i : {0, 1, 2, 6}) {
    const HostArray target(*backward[i]);
    Arrays in = backward;
    in[i] = &target;
    CHECK_JUST(Call(op, in, {&target, &dw, &db, &kept}, &attrs, 2));
    EXPECT_EQ(Difference(target, out, 0.0), "") << i;
  }
}

// Past the caches the same numbers arrive.
TEST(BFloat16BatchNorm, StreamsWhatItStores) {
  constexpr int64_t kCount = 1008;  // the last line is half full
  alignas(64) BFloat16 stored[kCount], streamed[kCount];
  BFloat16 x[kCount], dy[kCount];
  for (int64_t i = 0; i < kCount; ++i) {
    x[i] = Narrow(static_cast<float>(i % 17) - 8.0F);
    dy[i] = Narrow(static_cast<float>(i % 5) - 2.0F);
  }
  const auto same = [&] {
    return std::equal(stored, stored + kCount, streamed,
                      [](BFloat16 a, BFloat16 b) { return a.bits == b.bits; });
  };
  const Runs runs{1, 0, kCount};
  for (const Config& config : AllConfigs()) {
    const ScopedIsa isa(config.isa);
    const auto& loops = GetFusedNormLoops<float, BFloat16>();
    for (const BFloat16* addend :
         {static_cast<const BFloat16*>(nullptr), static_cast<const BFloat16*>(dy)}) {
      for (bool stream : {false, true}) {
        loops.run(x, addend, stream ? streamed : stored, runs, 0.5F, 2.0F, 0.1F, true, stream);
      }
      GetStreamLoops().fence();
      EXPECT_TRUE(same()) << IsaName(config.isa);
      for (bool stream : {false, true}) {
        loops.backward({dy, addend, x}, x, stream ? streamed : stored, runs, 0.5F, 0.2F, 0.3F, 2.0F,
                       stream);
      }
      GetStreamLoops().fence();
      EXPECT_TRUE(same()) << IsaName(config.isa);
    }
  }
}

TEST(BFloat16BatchNorm, LeavesTheRestToOthers) {
  const HostArray x(kShort, {2, 3, 4}), stats(kWide, {3}), flat(kShort, {2, 3});
  const HostArray wide(kWide, {2, 3, 4}), turned(kShort, {2, 3, 4}, {12, 1, 3});
  const HostArray halves(DataType::kFloat16, {3});
  const BatchNormAttrs attrs;
  const auto refusal = [&](const HostArray& in, const HostArray* weight) {
    const char* why =
        Refusal("batch_norm.cpu.bfloat16", {&in, weight, nullptr}, {&in, &stats, &stats}, &attrs);
    return std::string(why == nullptr ? "" : why);
  };
  EXPECT_EQ(refusal(x, nullptr), "");
  EXPECT_EQ(refusal(x, &stats), "");
  EXPECT_NE(refusal(x, &halves), "");
  EXPECT_NE(refusal(wide, nullptr), "");
  EXPECT_NE(refusal(turned, nullptr), "");
  EXPECT_EQ(refusal(flat, nullptr), "channels are neighbours");
  const HostArray blocked(kShort, {1, 1, 2, 2, 16}), sixteen(kWide, {16});
  const FusedBatchNormAttrs blocks{0.1, true, true};
  EXPECT_NE(Refusal("fused_batch_norm.cpu.bfloat16", {&blocked, nullptr, nullptr, nullptr},
                    {&blocked, &sixteen, &sixteen}, &blocks),
            nullptr);
}

}  // namespace
}  // namespace testing
}  // namespace cpu
}  // namespace oneflow
