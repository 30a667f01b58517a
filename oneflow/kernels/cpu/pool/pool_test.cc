// The kernels of pooling against their references, and the indices that gather and scatter refuse.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "oneflow/core/shape.h"
#include "oneflow/kernels/attrs_spatial.h"
#include "oneflow/kernels/cpu/kernel_testing.h"
#include "oneflow/kernels/cpu/pool/staged_output.h"

namespace oneflow {
namespace cpu {
namespace testing {
namespace {

struct Case {
  Dims image, pooled;
  PoolAttrs attrs;
};

Case PickCase(Rng* rng, bool dilated) {
  Case c;
  const int spatial = static_cast<int>(Pick(rng, 1, 3));
  c.image = c.pooled = {Pick(rng, 0, 3), Pick(rng, 1, 4)};
  Dims kernel, stride, padding, dilation;
  c.attrs.ceil_mode = OneIn(rng, 3);
  for (int d = 0; d < spatial; ++d) {
    kernel.PushBack(Pick(rng, 1, 4));
    stride.PushBack(Pick(rng, 1, 3));
    padding.PushBack(Pick(rng, 0, kernel[d] / 2));
    dilation.PushBack(dilated ? Pick(rng, 1, 2) : 1);
    const int64_t reach = (kernel[d] - 1) * dilation[d] + 1;
    const int64_t in = reach + Pick(rng, 0, spatial == 1 ? 70 : spatial == 2 ? 20 : 5);
    int64_t out =
        (in + 2 * padding[d] - reach + (c.attrs.ceil_mode ? stride[d] - 1 : 0)) / stride[d] + 1;
    if (c.attrs.ceil_mode && (out - 1) * stride[d] >= in + padding[d]) { --out; }
    c.image.PushBack(in);
    c.pooled.PushBack(out);
  }
  c.attrs.kernel = SpatialList(kernel);
  c.attrs.stride = SpatialList(stride);
  c.attrs.padding = SpatialList(padding);
  c.attrs.dilation = SpatialList(dilation);
  c.attrs.count_include_pad = OneIn(rng, 2);
  c.attrs.divisor_override = OneIn(rng, 4) ? 3 : 0;
  return c;
}

Case PickAdaptiveCase(Rng* rng) {
  Case c;
  const int spatial = static_cast<int>(Pick(rng, 1, 3));
  c.image = c.pooled = {Pick(rng, 0, 3), Pick(rng, 1, 4)};
  for (int d = 0; d < spatial; ++d) {
    c.image.PushBack(Pick(rng, 1, spatial == 1 ? 60 : 12));
    c.pooled.PushBack(Pick(rng, 1, 9));
  }
  return c;
}

const std::vector<DataType> kDtypes = {DataType::kFloat, DataType::kFloat, DataType::kDouble,
                                       DataType::kBFloat16, DataType::kFloat16};

double Tolerance(DataType dtype) {
  switch (dtype) {
    case DataType::kDouble: return 1e-13;
    case DataType::kFloat: return 2e-5;
    case DataType::kFloat16: return 2e-3;
    default: return 1.6e-2;
  }
}

// Runs `op` by both kernels; `indices`: it has a second result of them.
void ExpectSameAsReference(const std::string& op, const HostArray& in, const Dims& out,
                           const void* attrs, bool indices) {
  HostArray want(in.dtype(), out);
  HostArray want_indices(DataType::kInt64, out);
  Arrays wanted = {&want};
  if (indices) { wanted.push_back(&want_indices); }
  CHECK_JUST(Call((op + ".cpu.reference").c_str(), {&in}, wanted, attrs));
  for (const Config& config : AllConfigs()) {
    const ScopedIsa isa(config.isa);
    HostArray got(in.dtype(), out);
    HostArray got_indices(DataType::kInt64, out);
    Arrays results = {&got};
    if (indices) { results.push_back(&got_indices); }
    CHECK_JUST(Call((op + ".cpu.vector").c_str(), {&in}, results, attrs, config.threads));
    const double tolerance = indices ? 0.0 : Tolerance(in.dtype());
    ASSERT_EQ(Difference(got, want, tolerance), "")
        << op << " " << IsaName(config.isa) << " " << in.shape().ToString();
    ASSERT_TRUE(got.GuardsIntact()) << op;
    if (indices) { ASSERT_EQ(Difference(got_indices, want_indices, 0.0), "") << op; }
  }
}

HostArray PickArray(Rng* rng, const Dims& shape, bool special) {
  HostArray array = RandomArray(rng, PickDtype(rng, kDtypes), shape, PickLayout(rng, true));
  array.Fill(rng, special);
  return array;
}

TEST(Pool, AgreesWithReference) {
  Rng rng(21);
  for (int trial = 0; trial < 150; ++trial) {
    Case c = PickCase(&rng, true);
    ExpectSameAsReference("max_pool", PickArray(&rng, c.image, OneIn(&rng, 3)), c.pooled, &c.attrs,
                          true);
    c = PickCase(&rng, false);
    ExpectSameAsReference("avg_pool", PickArray(&rng, c.image, false), c.pooled, &c.attrs, false);
    ExpectSameAsReference("avg_pool_grad", PickArray(&rng, c.pooled, false), c.image, &c.attrs,
                          false);
    if (HasFatalFailure()) { return; }
  }
}

// Rows of several blocks, every way of laying them out, and windows of more rows than are kept.
TEST(Pool, WideMaximaAgreeWithReference) {
  Rng rng(25);
  for (int trial = 0; trial < 120; ++trial) {
    Case c;
    c.image = c.pooled = {Pick(&rng, 1, 2), Pick(&rng, 1, 3)};
    const int spatial = static_cast<int>(Pick(&rng, 1, 3));
    Dims kernel, stride, padding, dilation;
    for (int d = 0; d < spatial; ++d) {
      const bool last = d + 1 == spatial;
      const bool tall = spatial == 2 && OneIn(&rng, 8);
      kernel.PushBack(Pick(&rng, tall && !last ? 15 : 1, tall && !last ? 19 : 6 - spatial));
      stride.PushBack(Pick(&rng, 1, last ? 7 : 3));
      padding.PushBack(Pick(&rng, 0, kernel[d] / 2));
      dilation.PushBack(Pick(&rng, 1, 3));
      const int64_t reach = (kernel[d] - 1) * dilation[d] + 1;
      const int64_t in = std::max<int64_t>(1, reach - 2 * padding[d]) +
                         Pick(&rng, 0, last ? 140 - 30 * spatial : 4);
      c.image.PushBack(in);
      c.pooled.PushBack((in + 2 * padding[d] - reach) / stride[d] + 1);
    }
    c.attrs.kernel = SpatialList(kernel);
    c.attrs.stride = SpatialList(stride);
    c.attrs.padding = SpatialList(padding);
    c.attrs.dilation = SpatialList(dilation);
    HostArray image = PickArray(&rng, c.image, OneIn(&rng, 3));
    if (OneIn(&rng, 3)) {  // equal maxima
      for (int64_t i = 0; i < image.count(); ++i) { image.Set(i, std::floor(image.At(i) * 2)); }
    }
    ExpectSameAsReference("max_pool", image, c.pooled, &c.attrs, true);
    if (HasFatalFailure()) { return; }
  }
}

// Windows that are two apart have a loop of their own, with masks at the ends of a row.
TEST(Pool, EveryWidthOfWindowsTwoApart) {
  Rng rng(27);
  for (int64_t width = 1; width < 80; ++width) {
    for (int64_t kernel = 1; kernel <= std::min<int64_t>(3, width); ++kernel) {
      Case c;
      const int64_t padding = OneIn(&rng, 2) ? kernel / 2 : 0;
      c.image = {2, 1, 5, width};
      c.pooled = {2, 1, (5 + 2 * padding - kernel) / 2 + 1, (width + 2 * padding - kernel) / 2 + 1};
      c.attrs.kernel = SpatialList(Dims{kernel, kernel});
      c.attrs.stride = SpatialList(Dims{2, 2});
      c.attrs.padding = SpatialList(Dims{padding, padding});
      c.attrs.dilation = SpatialList(Dims{1, 1});
      HostArray image(DataType::kFloat, c.image);
      image.Fill(&rng, OneIn(&rng, 2));
      for (int64_t i = 0; i < image.count() && OneIn(&rng, 2); ++i) {
        image.Set(i, std::floor(image.At(i)));
      }
      ExpectSameAsReference("max_pool", image, c.pooled, &c.attrs, true);
      if (HasFatalFailure()) { return; }
    }
  }
}

// What is stored past the caches, at every distance from a line.
TEST(StagedOutput, StoresWhatWasWritten) {
  alignas(64) char buffer[8 * 400];
  for (const bool streams : {false, true}) {
    for (int64_t first = 0; first < 9; ++first) {
      for (const int64_t step : {1, 3, 7, 8, 50}) {
        std::vector<int64_t> to(1200, -1);
        StagedOutput<int64_t> staged;
        staged.Start(buffer, to.data() + first, streams);
        int64_t next = 0;
        while (next < 1000) {
          for (int64_t i = 0; i < step + 4; ++i) { staged.at()[i] = next + i; }
          staged.Advance(step);
          next += step;
          if (staged.count() >= 128) { staged.Flush(); }
        }
        staged.Finish();
        for (int64_t i = 0; i < 1200; ++i) {
          const bool inside = i >= first && i < first + next;
          ASSERT_EQ(to[static_cast<size_t>(i)], inside ? i - first : -1);
        }
      }
    }
  }
}

// Windows of two by two in narrow images have a loop of their own.
TEST(Pool, PairsAgreeWithReference) {
  Rng rng(23);
  for (int trial = 0; trial < 60; ++trial) {
    Case c;
    c.image = c.pooled = {Pick(&rng, 1, 3), Pick(&rng, 1, 4)};
    Dims stride, dilation;
    for (int d = 0; d < 2; ++d) {
      stride.PushBack(Pick(&rng, 1, 3));
      dilation.PushBack(Pick(&rng, 1, 2));
      c.image.PushBack(dilation[d] + Pick(&rng, 1, 14));
      c.pooled.PushBack((c.image[2 + d] - dilation[d] - 1) / stride[d] + 1);
    }
    c.attrs.kernel = SpatialList(Dims{2, 2});
    c.attrs.stride = SpatialList(stride);
    c.attrs.padding = SpatialList(Dims{0, 0});
    c.attrs.dilation = SpatialList(dilation);
    ExpectSameAsReference("max_pool", PickArray(&rng, c.image, OneIn(&rng, 2)), c.pooled, &c.attrs,
                          true);
    if (HasFatalFailure()) { return; }
  }
}

TEST(AdaptivePool, AgreesWithReference) {
  Rng rng(22);
  const SpatialSizeAttrs attrs;
  for (int trial = 0; trial < 150; ++trial) {
    const Case c = PickAdaptiveCase(&rng);
    ExpectSameAsReference("adaptive_max_pool", PickArray(&rng, c.image, OneIn(&rng, 3)), c.pooled,
                          &attrs, true);
    ExpectSameAsReference("adaptive_avg_pool", PickArray(&rng, c.image, false), c.pooled, &attrs,
                          false);
    ExpectSameAsReference("adaptive_avg_pool_grad", PickArray(&rng, c.pooled, false), c.image,
                          &attrs, false);
    if (HasFatalFailure()) { return; }
  }
}

TEST(Pixels, ScatterUndoesGatherAndBadIndicesAreRefused) {
  Rng rng(23);
  HostArray image(DataType::kFloat, {2, 3, 5, 4});
  image.Fill(&rng, false);
  HostArray indices(DataType::kInt64, {2, 3, 5, 4});
  for (int64_t i = 0; i < indices.count(); ++i) {
    indices.Set(i, static_cast<double>(19 - i % 20));
  }
  const SpatialSizeAttrs attrs;
  HostArray picked(DataType::kFloat, {2, 3, 5, 4});
  HostArray back(DataType::kFloat, {2, 3, 5, 4});
  CHECK_JUST(Call("gather_pixels.cpu.vector", {&image, &indices}, {&picked}, &attrs, 2));
  EXPECT_EQ(picked.At(0), image.At(19));
  for (const char* kernel : {"scatter_pixels.cpu.vector", "unpool_pixels.cpu.vector"}) {
    CHECK_JUST(Call(kernel, {&picked, &indices}, {&back}, &attrs, 2));
    EXPECT_EQ(Difference(back, image, 0.0), "") << kernel;
  }
  indices.Set(7, 20);
  const Maybe<void> done = Call("gather_pixels.cpu.vector", {&image, &indices}, {&picked}, &attrs);
  ASSERT_FALSE(done.ok());
  EXPECT_NE(done.error()->message().find("got 20"), std::string::npos);
}

// A result that is stored past the caches.
TEST(Pixels, LargePlanesAgreeWithReference) {
  Rng rng(26);
  const Dims pooled = {3, 40, 64, 64};
  HostArray values(DataType::kFloat, pooled), indices(DataType::kInt64, pooled);
  HostArray image(DataType::kFloat, {3, 40, 256, 288});
  values.Fill(&rng, false);
  constexpr int64_t kPixels = 256 * 288;
  for (int64_t i = 0; i < indices.count(); ++i) {
    indices.Set(i, static_cast<double>(i * 5 % 4096 * 18));
  }
  const SpatialSizeAttrs attrs;
  CHECK_JUST(Call("scatter_pixels.cpu.vector", {&values, &indices}, {&image}, &attrs, 2));
  ASSERT_TRUE(image.GuardsIntact());
  double sum = 0;
  for (int64_t i = 0; i < image.count(); ++i) { sum += image.At(i) != 0; }
  double given = 0;
  for (int64_t i = 0; i < values.count(); ++i) {
    given += values.At(i) != 0;
    const auto at = i / 4096 * kPixels + static_cast<int64_t>(indices.At(i));
    ASSERT_EQ(image.At(at), values.At(i)) << i;
  }
  EXPECT_EQ(sum, given);
}

// Which pixel of its plane each maximum is.
HostArray PixelsOf(const HostArray& numbers, const Case& c) {
  HostArray out(DataType::kInt64, c.pooled);
  const PoolAttrs& a = c.attrs;
  for (int64_t i = 0; i < out.count(); ++i) {
    const int64_t row = i / c.pooled[3] % c.pooled[2], column = i % c.pooled[3];
    const auto number = static_cast<int64_t>(numbers.At(i));
    const int64_t r = row * a.stride[0] - a.padding[0] + number / a.kernel[1] * a.dilation[0];
    const int64_t s = column * a.stride[1] - a.padding[1] + number % a.kernel[1] * a.dilation[1];
    out.Set(i, static_cast<double>(r * c.image[3] + s));
  }
  return out;
}

TEST(BlockedPool, AgreesWithReference) {
  Rng rng(25);
  for (int trial = 0; trial < 240; ++trial) {
    Case c = PickCase(&rng, true);
    if (c.image.size() != 4) { continue; }
    c.image[0] = c.pooled[0] = Pick(&rng, 1, 3);
    c.image[1] = c.pooled[1] = 16 * Pick(&rng, 1, 3);
    c.attrs.size = SpatialList(Dims{c.image[2], c.image[3]});
    const DataType dtype = OneIn(&rng, 2) ? DataType::kFloat : DataType::kBFloat16;
    // Sums of bfloat16 are rounded once: the next number at most.
    const double tolerance = dtype == DataType::kFloat ? 1e-6 : 0x1p-7;
    HostArray x(dtype, c.image), dy(dtype, c.pooled);
    x.Fill(&rng, OneIn(&rng, 3));
    dy.Fill(&rng, false);
    HostArray want(x.dtype(), c.pooled), pixels(DataType::kInt64, c.pooled);
    CHECK_JUST(Call("max_pool.cpu.reference", {&x}, {&want, &pixels}, &c.attrs));
    HostArray dx(x.dtype(), c.image);
    const SpatialSizeAttrs size{c.attrs.size};
    CHECK_JUST(Call("scatter_pixels.cpu.vector", {&dy, &pixels}, {&dx}, &size));
    const HostArray in = InBlocks(x), grad = InBlocks(dy);
    for (const Config& config : AllConfigs()) {
      const ScopedIsa isa(config.isa);
      HostArray out(x.dtype(), grad.shape()), numbers(DataType::kUInt8, grad.shape());
      HostArray back(x.dtype(), in.shape());
      CHECK_JUST(
          Call("blocked_max_pool.cpu.vector", {&in}, {&out, &numbers}, &c.attrs, config.threads));
      ASSERT_EQ(Difference(OutOfBlocks(out), want, 0.0), "") << IsaName(config.isa);
      const HostArray found = PixelsOf(OutOfBlocks(numbers), c);
      ASSERT_EQ(Difference(found, pixels, 0.0), "") << IsaName(config.isa);
      CHECK_JUST(Call("blocked_max_pool_backward.cpu.vector", {&grad, &numbers}, {&back}, &c.attrs,
                      config.threads));
      ASSERT_EQ(Difference(OutOfBlocks(back), dx, tolerance), "");
      ASSERT_TRUE(out.GuardsIntact() && numbers.GuardsIntact() && back.GuardsIntact());
    }
  }
}

// Windows of two by two side by side, in images of every width; ties, NaN and infinities among them.
TEST(Pool, SideBySidePairsAgreeWithReference) {
  Rng rng(25);
  int served = 0;
  for (int trial = 0; trial < 120; ++trial) {
    Case c;
    c.image = {Pick(&rng, 0, 3), Pick(&rng, 1, 4), Pick(&rng, 2, 9), Pick(&rng, 2, 40)};
    c.pooled = {c.image[0], c.image[1], c.image[2] / 2, c.image[3] / 2};
    c.attrs.kernel = c.attrs.stride = SpatialList(Dims{2, 2});
    c.attrs.padding = SpatialList(Dims{0, 0});
    c.attrs.dilation = SpatialList(Dims{1, 1});
    HostArray image(DataType::kFloat, c.image);
    image.Fill(&rng, OneIn(&rng, 2));
    // Few values, so that many are equal.
    const bool coarse = OneIn(&rng, 2);
    for (int64_t i = 0; coarse && i < image.count(); ++i) {
      image.Set(i, static_cast<double>(Pick(&rng, -1, 1)));
    }
    HostArray want(DataType::kFloat, c.pooled);
    HostArray want_indices(DataType::kInt64, c.pooled);
    CHECK_JUST(Call("max_pool.cpu.reference", {&image}, {&want, &want_indices}, &c.attrs));
    for (const Config& config : AllConfigs()) {
      const ScopedIsa isa(config.isa);
      HostArray got(DataType::kFloat, c.pooled);
      HostArray got_indices(DataType::kInt64, c.pooled);
      ASSERT_EQ(Refusal("max_pool.cpu.pairs", {&image}, {&got, &got_indices}, &c.attrs), nullptr);
      CHECK_JUST(
          Call("max_pool.cpu.pairs", {&image}, {&got, &got_indices}, &c.attrs, config.threads));
      ASSERT_EQ(Difference(got, want, 0.0), "") << IsaName(config.isa) << c.image.ToString();
      ASSERT_EQ(Difference(got_indices, want_indices, 0.0), "") << c.image.ToString();
      ASSERT_TRUE(got.GuardsIntact() && got_indices.GuardsIntact());
      ++served;
    }
  }
  EXPECT_GT(served, 100);
  // Others are not its business.
  Case c;
  c.image = {1, 1, 5, 5};
  c.pooled = {1, 1, 3, 3};  // ceil_mode: a window reaches outside
  c.attrs.kernel = c.attrs.stride = SpatialList(Dims{2, 2});
  c.attrs.padding = SpatialList(Dims{0, 0});
  c.attrs.dilation = SpatialList(Dims{1, 1});
  HostArray image(DataType::kFloat, c.image);
  HostArray out(DataType::kFloat, c.pooled);
  HostArray where(DataType::kInt64, c.pooled);
  EXPECT_NE(Refusal("max_pool.cpu.pairs", {&image}, {&out, &where}, &c.attrs), nullptr);
}

// The comparison sees one index that is off by one.
TEST(Pool, PlantedFaultIsSeen) {
  Rng rng(24);
  HostArray a(DataType::kInt64, {2, 3, 4});
  a.Fill(&rng, false);
  HostArray b = a;
  b.Set(5, a.At(5) + 1);
  EXPECT_NE(Difference(b, a, 0.0), "");
}

}  // namespace
}  // namespace testing
}  // namespace cpu
}  // namespace oneflow
