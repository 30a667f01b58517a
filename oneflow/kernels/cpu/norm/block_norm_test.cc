// Batch norm over blocks of 16 channels, in float32 and bfloat16, against its reference.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "oneflow/kernels/attrs_norm.h"
#include "oneflow/kernels/cpu/kernel_testing.h"
#include "oneflow/kernels/cpu/norm/block_norm_loops.h"
#include "oneflow/kernels/cpu/stream_loops.h"

namespace oneflow {
namespace cpu {
namespace testing {
namespace {

HostArray Random(Rng* rng, DataType dtype, const Dims& shape) {
  HostArray array(dtype, shape);
  array.Fill(rng, false);
  return array;
}

// One in three elements is 0, as relu leaves them.
HostArray Cut(Rng* rng, DataType dtype, const Dims& shape) {
  HostArray array = Random(rng, dtype, shape);
  for (int64_t i = 0; i < array.count(); ++i) {
    if (OneIn(rng, 3)) { array.Set(i, 0.0); }
  }
  return array;
}

// In eighths, so that sums of two are exact in bfloat16.
HostArray Coarse(const HostArray& array) {
  HostArray out = array;
  for (int64_t i = 0; i < out.count(); ++i) { out.Set(i, std::floor(out.At(i) * 8.0) / 8.0); }
  return out;
}

TEST(BlockNorm, AgreesWithReference) {
  Rng rng(18);
  for (int trial = 0; trial < 120; ++trial) {
    const DataType dtype = OneIn(&rng, 2) ? DataType::kFloat : DataType::kBFloat16;
    const bool brief = dtype == DataType::kBFloat16;
    const Dims plain = {Pick(&rng, 1, 4), 16 * Pick(&rng, 1, 4), Pick(&rng, 1, 24),
                        Pick(&rng, 1, 24)};
    const auto random = [&] { return InBlocks(Random(&rng, dtype, plain)); };
    const HostArray x = random(), dy = Coarse(random()), more = Coarse(random());
    const HostArray y = InBlocks(Cut(&rng, dtype, plain));
    const HostArray weight = Random(&rng, DataType::kFloat, {plain[1]});
    const auto maybe = [&](const HostArray& array) { return OneIn(&rng, 2) ? &array : nullptr; };
    const FusedBatchNormAttrs attrs{0.1, OneIn(&rng, 2), true};
    const HostArray *w = maybe(weight), *bias = maybe(weight), *addend = maybe(more);
    // Results of bfloat16 are rounded once: the next number at most, 2^-7 away.
    const double step = brief ? 0x1p-7 : 0.0;
    const std::string kernel = "blocked";
    ASSERT_EQ(AgainstReference({"fused_batch_norm",
                                {&x, w, bias, addend},
                                {x, weight, weight},
                                &attrs,
                                step + 1e-4,
                                kernel}),
              "");
    HostArray mean(weight), variance(weight), out(x);
    CHECK_JUST(Call("fused_batch_norm.cpu.reference", {&x, w, nullptr, nullptr},
                    {&out, &mean, &variance}, &attrs));
    const Arrays in = {&dy, maybe(more), &x, w, &mean, &variance, attrs.relu ? &y : nullptr};
    for (const char* op : {"fused_batch_norm_backward", "fused_batch_norm_add_backward"}) {
      std::vector<HostArray> blank = {x, weight, weight};
      if (std::string(op) == "fused_batch_norm_add_backward") { blank.push_back(x); }
      ASSERT_EQ(AgainstReference({op, in, blank, &attrs, step + 1e-3, kernel}), "");
    }
  }
}

// The kernels on blocks and the others leave each other's calls alone; parameters are float32.
TEST(BlockNorm, RefusesOthers) {
  const HostArray plain(DataType::kFloat, {2, 16, 4, 4}), blocked = InBlocks(plain);
  const HostArray stats(DataType::kFloat, {16}), brief(DataType::kBFloat16, {16});
  const HostArray twice(DataType::kDouble, blocked.shape());
  const FusedBatchNormAttrs in_blocks{0.1, false, true}, as_planes{0.1, false, false};
  const auto refuses = [&](const char* kernel, const HostArray& x, const HostArray& weight,
                           const FusedBatchNormAttrs& attrs) {
    const std::string name = std::string("fused_batch_norm.cpu.") + kernel;
    return Refusal(name.c_str(), {&x, &weight, nullptr, nullptr}, {&x, &stats, &stats}, &attrs) !=
           nullptr;
  };
  EXPECT_FALSE(refuses("blocked", blocked, stats, in_blocks));
  EXPECT_TRUE(refuses("vector", blocked, stats, in_blocks));
  EXPECT_TRUE(refuses("blocked", plain, stats, as_planes));
  EXPECT_FALSE(refuses("vector", plain, stats, as_planes));
  EXPECT_TRUE(refuses("blocked", blocked, brief, in_blocks));
  EXPECT_TRUE(refuses("blocked", twice, stats, in_blocks));
}

// Small numbers, or the bits of some in bfloat16.
template <typename T>
T Small(int64_t i) {
  if constexpr (sizeof(T) == sizeof(float)) { return static_cast<float>(i % 17) - 8.0F; }
  return static_cast<T>(0x3f80 + (i % 2 << 15) + i % 50);
}

// Past the caches the same numbers arrive.
template <typename T>
void ExpectBlocksStream() {
  constexpr int64_t kPixels = 71;
  constexpr int64_t kCount = kPixels * 16;
  alignas(64) T stored[kCount], streamed[kCount];
  T x[kCount], dy[kCount];
  float factors[4][16];
  for (int64_t i = 0; i < kCount; ++i) {
    x[i] = Small<T>(i);
    dy[i] = Small<T>(i * 7);
  }
  for (int64_t i = 0; i < 64; ++i) { factors[i / 16][i % 16] = static_cast<float>(i % 5) * 0.3F; }
  const float *mean = factors[0], *scale = factors[1], *m = factors[2], *k = factors[3];
  const T* none = nullptr;
  for (const Config& config : AllConfigs()) {
    const ScopedIsa isa(config.isa);
    const BlockNormLoops<T>& loops = GetBlockNormLoops<T>();
    for (const T* more : {none, static_cast<const T*>(dy)}) {
      for (bool stream : {false, true}) {
        loops.run(x, more, stream ? streamed : stored, kPixels, mean, scale, m, true, stream);
      }
      GetStreamLoops().fence();
      EXPECT_TRUE(std::equal(stored, stored + kCount, streamed)) << IsaName(config.isa);
      for (bool stream : {false, true}) {
        loops.backward({dy, more, x}, x, stream ? streamed : stored, kPixels, mean, m, k, scale,
                       stream);
      }
      GetStreamLoops().fence();
      EXPECT_TRUE(std::equal(stored, stored + kCount, streamed)) << IsaName(config.isa);
    }
  }
}

TEST(BlockNorm, StreamsWhatItStores) {
  ExpectBlocksStream<float>();
  ExpectBlocksStream<uint16_t>();
}

// Means far from zero: the variance is taken around them.
TEST(BlockNorm, KeepsSmallVariances) {
  const Dims shape = {2, 1, 40, 40, 16};
  HostArray x(DataType::kFloat, shape), y(x);
  for (int64_t i = 0; i < x.count(); ++i) { x.Set(i, 1000.0 + static_cast<double>(i / 16 % 2)); }
  HostArray mean(DataType::kFloat, {16}), variance(mean);
  const FusedBatchNormAttrs attrs{0.0, false, true};
  CHECK_JUST(Call("fused_batch_norm.cpu.blocked", {&x, nullptr, nullptr, nullptr},
                  {&y, &mean, &variance}, &attrs, 2));
  for (int64_t c = 0; c < 16; ++c) {
    EXPECT_EQ(mean.At(c), 1000.5);
    EXPECT_NEAR(variance.At(c), 0.25, 1e-6);
  }
}

// The comparison sees one other element.
TEST(BlockNorm, PlantedFaultIsSeen) {
  Rng rng(21);
  const HostArray x = Random(&rng, DataType::kBFloat16, {2, 1, 3, 3, 16});
  HostArray changed(x);
  changed.Set(8, x.At(8) + 0.5);
  const Arrays other = {&changed, nullptr, nullptr, nullptr};
  const FusedBatchNormAttrs attrs{0.1, false, true};
  const HostArray stats(DataType::kFloat, {16});
  EXPECT_NE(AgainstReference({"fused_batch_norm",
                              {&x, nullptr, nullptr, nullptr},
                              {x, stats, stats},
                              &attrs,
                              0x1p-7,
                              "blocked"},
                             &other),
            "");
}

}  // namespace
}  // namespace testing
}  // namespace cpu
}  // namespace oneflow
