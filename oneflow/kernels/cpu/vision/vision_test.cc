// Resampling gives the same numbers with every instruction set and number of threads, its gradient
// is its transpose, and the weights are what their definition says.
#include <cmath>
#include <string>

#include "gtest/gtest.h"
#include "oneflow/core/shape.h"
#include "oneflow/kernels/attrs_spatial.h"
#include "oneflow/kernels/cpu/kernel_testing.h"
#include "oneflow/kernels/cpu/vision/grid_points.h"
#include "oneflow/kernels/cpu/vision/taps.h"

namespace oneflow {
namespace cpu {
namespace testing {
namespace {

UpsampleAttrs PickAttrs(Rng* rng) {
  UpsampleAttrs attrs;
  attrs.mode = static_cast<UpsampleMode>(Pick(rng, 0, 2));
  attrs.align_corners = attrs.mode != UpsampleMode::kNearest && OneIn(rng, 2);
  return attrs;
}

double Dot(const HostArray& a, const HostArray& b) {
  double sum = 0;
  for (int64_t i = 0; i < a.count(); ++i) { sum += a.At(i) * b.At(i); }
  return sum;
}

TEST(Resample, SameEverywhereAndGradientIsTranspose) {
  Rng rng(31);
  for (int trial = 0; trial < 60; ++trial) {
    const UpsampleAttrs attrs = PickAttrs(&rng);
    const int spatial = attrs.mode == UpsampleMode::kCubic ? 2 : static_cast<int>(Pick(&rng, 1, 3));
    Dims in{Pick(&rng, 1, 2), Pick(&rng, 1, 3)};
    Dims out = in;
    for (int d = 0; d < spatial; ++d) {
      in.PushBack(Pick(&rng, 1, 12));
      out.PushBack(Pick(&rng, 1, spatial == 1 ? 90 : 25));
    }
    const DataType dtype = OneIn(&rng, 2) ? DataType::kFloat : DataType::kDouble;
    HostArray x = RandomArray(&rng, dtype, in, PickLayout(&rng, true));
    HostArray dy(dtype, out);
    x.Fill(&rng, false);
    dy.Fill(&rng, false);
    HostArray y(dtype, out);
    HostArray dx(dtype, in);
    CHECK_JUST(Call("resample.cpu.vector", {&x}, {&y}, &attrs));
    CHECK_JUST(Call("resample_grad.cpu.vector", {&dy}, {&dx}, &attrs));
    const double scale = 1 + std::sqrt(Dot(y, y) * Dot(dy, dy));
    EXPECT_NEAR(Dot(y, dy), Dot(x, dx), (dtype == DataType::kFloat ? 1e-5 : 1e-13) * scale);
    for (const Config& config : AllConfigs()) {
      const ScopedIsa isa(config.isa);
      HostArray again(dtype, out);
      HostArray gradient(dtype, in);
      CHECK_JUST(Call("resample.cpu.vector", {&x}, {&again}, &attrs, config.threads));
      CHECK_JUST(Call("resample_grad.cpu.vector", {&dy}, {&gradient}, &attrs, config.threads));
      ASSERT_EQ(Difference(again, y, 0.0), "") << IsaName(config.isa);
      ASSERT_EQ(Difference(gradient, dx, 0.0), "") << IsaName(config.isa);
    }
  }
}

TEST(Taps, WeightsAddUpToOne) {
  for (UpsampleMode mode : {UpsampleMode::kNearest, UpsampleMode::kLinear, UpsampleMode::kCubic}) {
    for (bool aligned : {false, true}) {
      const AxisTaps taps = MakeTaps(mode, aligned, 7, 19, 0, true);
      for (int64_t o = 0; o < taps.out; ++o) {
        double sum = 0;
        for (int k = 0; k < taps.taps; ++k) {
          sum += taps.WeightAt(k, o);
          EXPECT_GE(taps.IndexAt(k, o), 0);
          EXPECT_LT(taps.IndexAt(k, o), 7);
        }
        EXPECT_NEAR(sum, 1.0, 1e-14);
      }
    }
  }
}

// Slopes against differences of weights, in every mode.
TEST(GridPoints, SlopesAreDerivativesOfWeights) {
  Rng rng(32);
  const int64_t size[] = {5, 6};
  for (int trial = 0; trial < 200; ++trial) {
    GridSampleAttrs attrs;
    attrs.mode = OneIn(&rng, 2) ? GridMode::kBilinear : GridMode::kBicubic;
    attrs.padding = static_cast<GridPadding>(Pick(&rng, 0, 2));
    attrs.align_corners = OneIn(&rng, 2);
    const double at[] = {static_cast<double>(Pick(&rng, -130, 130)) / 100 + 0.00314,
                         static_cast<double>(Pick(&rng, -130, 130)) / 100 + 0.00217};
    const GridPoint here = LocatePoint(attrs, 2, size, at);
    for (int axis = 0; axis < 2; ++axis) {
      constexpr double kStep = 1e-6;
      double moved[] = {at[0], at[1]};
      moved[axis] += kStep;
      const GridPoint after = LocatePoint(attrs, 2, size, moved);
      ASSERT_EQ(after.count, here.count);
      for (int k = 0; k < here.count; ++k) {
        if (here.taps[k].offset != after.taps[k].offset) { continue; }
        const double slope = (after.taps[k].weight - here.taps[k].weight) / kStep;
        EXPECT_NEAR(slope, here.taps[k].slope[axis], 1e-4);
      }
    }
  }
}

TEST(GridPoints, NoNumberLiesOutside) {
  const int64_t size[] = {3, 3};
  const double at[] = {std::nan(""), 0.0};
  const GridPoint point = LocatePoint(GridSampleAttrs(), 2, size, at);
  for (int k = 0; k < point.count; ++k) { EXPECT_EQ(point.taps[k].offset, -1); }
}

}  // namespace
}  // namespace testing
}  // namespace cpu
}  // namespace oneflow
