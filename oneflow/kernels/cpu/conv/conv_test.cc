// The kernels of convolution against their reference: random geometries, layouts and dtypes.
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "oneflow/core/shape.h"
#include "oneflow/kernels/attrs_spatial.h"
#include "oneflow/kernels/cpu/conv/conv_geometry.h"
#include "oneflow/kernels/cpu/kernel_testing.h"

namespace oneflow {
namespace cpu {
namespace testing {
namespace {

struct Case {
  Dims src, weight, dst;
  ConvAttrs attrs;
  int64_t terms = 1;  // of the longest sum
};

struct Window {
  int64_t in, out, kernel, stride, padding, dilation;
};

Window PickWindow(Rng* rng, int64_t longest) {
  Window w;
  w.kernel = Pick(rng, 1, 3);
  w.stride = Pick(rng, 1, 3);
  w.dilation = Pick(rng, 1, 2);
  w.padding = Pick(rng, 0, 2);
  const int64_t reach = (w.kernel - 1) * w.dilation + 1;
  w.in = Pick(rng, std::max<int64_t>(1, reach - 2 * w.padding), longest + reach);
  w.out = (w.in + 2 * w.padding - reach) / w.stride + 1;
  return w;
}

Case PickCase(Rng* rng) {
  Case c;
  const int spatial = static_cast<int>(Pick(rng, 1, 3));
  const bool depthwise = OneIn(rng, 3);
  const int64_t groups = depthwise ? 16 : OneIn(rng, 3) ? Pick(rng, 2, 3) : 1;
  const int64_t in = depthwise ? 1 : OneIn(rng, 2) ? 16 : Pick(rng, 1, 5);
  const int64_t out = depthwise ? 1 : OneIn(rng, 2) ? 16 : Pick(rng, 1, 5);
  const int64_t batch = OneIn(rng, 15) ? 0 : Pick(rng, 1, 3);
  c.src = {batch, in * groups};
  c.weight = {out * groups, in};
  c.dst = {batch, out * groups};
  Dims stride, padding, dilation;
  c.terms = in;
  const bool pointwise = OneIn(rng, 4);
  for (int d = 0; d < spatial; ++d) {
    Window w = PickWindow(rng, spatial == 3 ? 3 : spatial == 2 ? 12 : 60);
    if (pointwise) { w = {21, 21, 1, 1, 0, 1}; }
    c.src.PushBack(w.in);
    c.weight.PushBack(w.kernel);
    c.dst.PushBack(w.out);
    stride.PushBack(w.stride);
    padding.PushBack(w.padding);
    dilation.PushBack(w.dilation);
    c.terms *= std::max(w.kernel, w.out);
  }
  c.attrs.stride = SpatialList(stride);
  c.attrs.padding = SpatialList(padding);
  c.attrs.dilation = SpatialList(dilation);
  c.attrs.groups = groups;
  c.terms *= std::max<int64_t>(batch, 1) * out;
  return c;
}

// Dense, channels-last, or anything.
HostArray PickArray(Rng* rng, DataType dtype, const Dims& shape) {
  if (OneIn(rng, 3)) { return RandomArray(rng, dtype, shape, PickLayout(rng, true)); }
  if (OneIn(rng, 2)) { return HostArray(dtype, shape); }
  Dims strides = shape;
  int64_t stride = shape[1];
  strides[1] = 1;
  for (int d = shape.size() - 1; d >= 0; --d) {
    if (d == 1) { continue; }
    strides[d] = stride;
    stride *= std::max<int64_t>(shape[d], 1);
  }
  return HostArray(dtype, shape, strides);
}

double Tolerance(DataType dtype, int64_t terms) {
  switch (dtype) {
    case DataType::kDouble: return 1e-14 * static_cast<double>(terms + 8);
    case DataType::kFloat: return 1e-6 * static_cast<double>(terms + 8);
    case DataType::kFloat16: return 1e-2;
    default: return 4e-2;
  }
}

using Counts = std::map<std::string, int>;  // how often each kind of kernel ran

void ExpectSameAsReference(const std::string& op, const Arrays& in, const HostArray& blank,
                           const Case& c, Counts* counts) {
  HostArray want = blank;
  CHECK_JUST(Call((op + ".cpu.reference").c_str(), in, {&want}, &c.attrs));
  for (const Config& config : AllConfigs()) {
    const ScopedIsa isa(config.isa);
    for (const char* kind : {".cpu.gemm", ".cpu.onednn", ".cpu.depthwise"}) {
      const std::string kernel = op + kind;
      HostArray got = blank;
      if (FindKernel(kernel.c_str()) == nullptr) { continue; }  // no depthwise weight gradient
      if (Refusal(kernel.c_str(), in, {&got}, &c.attrs) != nullptr) { continue; }
      ++(*counts)[kind];
      CHECK_JUST(Call(kernel.c_str(), in, {&got}, &c.attrs, config.threads));
      ASSERT_EQ(Difference(got, want, Tolerance(blank.dtype(), c.terms)), "")
          << kernel << " " << IsaName(config.isa) << " " << DataTypeName(blank.dtype()) << " src "
          << c.src.ToString() << " weight " << c.weight.ToString() << " dst " << c.dst.ToString();
      ASSERT_TRUE(got.GuardsIntact()) << kernel;
    }
  }
}

const std::vector<DataType> kDtypes = {DataType::kFloat, DataType::kFloat, DataType::kDouble,
                                       DataType::kBFloat16, DataType::kFloat16};

TEST(Convolution, AgreesWithReference) {
  Rng rng(11);
  Counts counts;
  for (int trial = 0; trial < 90; ++trial) {
    const DataType dtype = PickDtype(&rng, kDtypes);
    const Case c = PickCase(&rng);
    HostArray src = PickArray(&rng, dtype, c.src);
    HostArray weight = PickArray(&rng, dtype, c.weight);
    HostArray dst = PickArray(&rng, dtype, c.dst);
    HostArray bias(dtype, {c.dst[1]});
    HostArray src_bias(dtype, {c.src[1]});
    for (HostArray* array : {&src, &weight, &dst, &bias, &src_bias}) { array->Fill(&rng, false); }
    const bool with_bias = OneIn(&rng, 2);
    ExpectSameAsReference("convolution", {&src, &weight, with_bias ? &bias : nullptr},
                          HostArray(dtype, c.dst), c, &counts);
    ExpectSameAsReference("convolution_input_grad",
                          {&dst, &weight, with_bias ? &src_bias : nullptr}, HostArray(dtype, c.src),
                          c, &counts);
    ExpectSameAsReference("convolution_weight_grad", {&dst, &src}, HostArray(dtype, c.weight), c,
                          &counts);
    if (HasFatalFailure()) { return; }
  }
  EXPECT_GT(counts[".cpu.onednn"], 150);
  EXPECT_GT(counts[".cpu.gemm"], 500);
  EXPECT_GT(counts[".cpu.depthwise"], 10);
}

// Channels enough for every layout that oneDNN is given.
TEST(Convolution, ManyChannels) {
  Rng rng(14);
  Counts counts;
  for (int64_t kernel : {1, 3}) {
    for (int64_t stride : {1, 2}) {
      Case c;
      const int64_t padding = kernel / 2;
      const int64_t out = (14 + 2 * padding - kernel) / stride + 1;
      c.src = {1, 256, 14, 14};
      c.weight = {8, 256, kernel, kernel};
      c.dst = {1, 8, out, out};
      c.attrs.stride = SpatialList(Dims{stride, stride});
      c.attrs.padding = SpatialList(Dims{padding, padding});
      c.attrs.dilation = SpatialList(Dims{1, 1});
      c.terms = 256 * kernel * kernel;
      HostArray src(DataType::kFloat, c.src);
      HostArray weight(DataType::kFloat, c.weight);
      HostArray dst(DataType::kFloat, c.dst);
      for (HostArray* array : {&src, &weight, &dst}) { array->Fill(&rng, false); }
      ExpectSameAsReference("convolution", {&src, &weight}, HostArray(DataType::kFloat, c.dst), c,
                            &counts);
      ExpectSameAsReference("convolution_input_grad", {&dst, &weight},
                            HostArray(DataType::kFloat, c.src), c, &counts);
      ExpectSameAsReference("convolution_weight_grad", {&dst, &src},
                            HostArray(DataType::kFloat, c.weight), c, &counts);
    }
  }
  EXPECT_GT(counts[".cpu.onednn"], 40);
}

// Batches of which a few images are computed at a time.
TEST(Convolution, LargeBatches) {
  Rng rng(15);
  for (const int64_t batch : {5, 6}) {
    Case c;
    c.src = c.dst = {batch, 32, 112, 112};
    c.weight = {32, 32, 3, 3};
    c.attrs.stride = c.attrs.padding = c.attrs.dilation = SpatialList(Dims{1, 1});
    HostArray src(DataType::kFloat, c.src), weight(DataType::kFloat, c.weight);
    HostArray dst(DataType::kFloat, c.dst), bias(DataType::kFloat, {32});
    for (HostArray* array : {&src, &weight, &dst, &bias}) { array->Fill(&rng, false); }
    const double tolerance = Tolerance(DataType::kFloat, 32 * 9);
    for (const int threads : {1, 2}) {
      for (const bool gradient : {false, true}) {
        const std::string op = gradient ? "convolution_input_grad" : "convolution";
        HostArray want(DataType::kFloat, c.src), got(DataType::kFloat, c.src);
        const Arrays in = {gradient ? &dst : &src, &weight, &bias};
        CHECK_JUST(Call((op + ".cpu.gemm").c_str(), in, {&want}, &c.attrs, 2));
        CHECK_JUST(Call((op + ".cpu.onednn").c_str(), in, {&got}, &c.attrs, threads));
        ASSERT_EQ(Difference(got, want, tolerance), "") << op << batch;
        ASSERT_TRUE(got.GuardsIntact());
      }
    }
  }
}

// More columns than are made at a time.
TEST(Convolution, ManyColumns) {
  Rng rng(12);
  Counts counts;
  Case c;
  c.src = {1, 64, 70, 70};
  c.weight = {2, 64, 3, 3};
  c.dst = {1, 2, 70, 70};
  c.attrs.stride = c.attrs.padding = c.attrs.dilation = SpatialList(Dims{1, 1});
  c.terms = 70 * 70;
  HostArray src(DataType::kDouble, c.src);
  HostArray weight(DataType::kDouble, c.weight);
  HostArray dst(DataType::kDouble, c.dst);
  for (HostArray* array : {&src, &weight, &dst}) { array->Fill(&rng, false); }
  ExpectSameAsReference("convolution", {&src, &weight}, HostArray(DataType::kDouble, c.dst), c,
                        &counts);
  ExpectSameAsReference("convolution_input_grad", {&dst, &weight},
                        HostArray(DataType::kDouble, c.src), c, &counts);
  ExpectSameAsReference("convolution_weight_grad", {&dst, &src},
                        HostArray(DataType::kDouble, c.weight), c, &counts);
  EXPECT_EQ(counts[".cpu.onednn"], 0);
}

// ---- channels in blocks of 16 -------------------------------------------------------------------

// A weight as (O / 16, C / 16, KH, KW, 16 of C, 16 of O), and back.
HostArray InFilterBlocks(const HostArray& plain) {
  HostArray moved = plain;
  CHECK_JUST(Call("filter_blocks.cpu.arrange", {}, {&moved}, nullptr));
  const Dims& s = plain.shape();
  HostArray blocked(DataType::kFloat, Dims{s[0] / 16, s[1] / 16, s[2], s[3], 16, 16});
  for (int64_t i = 0; i < moved.count(); ++i) { blocked.Set(i, moved.At(i)); }
  return blocked;
}
HostArray OutOfFilterBlocks(const HostArray& blocked, const Dims& shape) {
  HostArray plain(DataType::kFloat, shape);
  for (int64_t i = 0; i < plain.count(); ++i) { plain.Set(i, blocked.At(i)); }
  CHECK_JUST(Call("filter_blocks.cpu.restore", {}, {&plain}, nullptr));
  return plain;
}

// Runs a kernel on blocks with two threads; the result as a plain array. nullptr: it refuses.
std::unique_ptr<HostArray> Blocked(const std::string& op, const Arrays& in, const HostArray& blank,
                                   const Case& c) {
  const std::string kernel = op + ".cpu.onednn";
  if (Refusal(kernel.c_str(), in, {&blank}, &c.attrs) != nullptr) { return nullptr; }
  HostArray got = blank;
  CHECK_JUST(Call(kernel.c_str(), in, {&got}, &c.attrs, 2));
  EXPECT_TRUE(got.GuardsIntact()) << kernel;
  const int ndim = got.shape().size();
  return std::make_unique<HostArray>(ndim == 6   ? OutOfFilterBlocks(got, c.weight)
                                     : ndim == 5 ? OutOfBlocks(got)
                                                 : got);
}

Case PickBlockedCase(Rng* rng) {
  Case c;
  c.src = {Pick(rng, 1, 3), OneIn(rng, 4) ? 3 : 16 * Pick(rng, 1, 4)};
  c.dst = {c.src[0], 16 * Pick(rng, 1, 4)};
  c.weight = {c.dst[1], c.src[1]};
  c.terms = c.src[0] * c.src[1] * c.dst[1];
  Dims stride, padding, dilation;
  const bool pointwise = OneIn(rng, 3);
  for (int d = 0; d < 2; ++d) {
    Window w = PickWindow(rng, 20);
    if (pointwise) { w = {19, 10, 1, 2, 0, 1}; }
    c.src.PushBack(w.in);
    c.weight.PushBack(w.kernel);
    c.dst.PushBack(w.out);
    stride.PushBack(w.stride);
    padding.PushBack(w.padding);
    dilation.PushBack(w.dilation);
    c.terms *= std::max(w.kernel, w.out);
  }
  c.attrs.stride = SpatialList(stride);
  c.attrs.padding = SpatialList(padding);
  c.attrs.dilation = SpatialList(dilation);
  return c;
}

// Numbers that become those of `array` when they are rounded to its bfloat16.
HostArray Unrounded(const HostArray& array) {
  HostArray wide(DataType::kFloat, array.shape());
  for (int64_t i = 0; i < wide.count(); ++i) { wide.Set(i, array.At(i) * (1.0 + 0x1p-11)); }
  return wide;
}

struct BlockedOperands {
  HostArray src, weight, dst;
  bool picture;

  BlockedOperands(Rng* rng, DataType dtype, const Case& c)
      : src(dtype, c.src), weight(dtype, c.weight), dst(dtype, c.dst), picture(c.src[1] % 16 != 0) {
    for (HostArray* array : {&src, &weight, &dst}) { array->Fill(rng, false); }
  }
};

using Runs = std::map<std::string, int>;

// The three kernels on blocks of `dtype`, each with a weight or its gradient in `weight_dtype`.
void ExpectBlockedAsReference(Rng* rng, DataType dtype, DataType weight_dtype, const Case& c,
                              Runs* ran) {
  const BlockedOperands at(rng, dtype, c);
  const bool rounds = weight_dtype != dtype;
  const HostArray weight = rounds ? Unrounded(at.weight) : at.weight;
  const HostArray x = at.picture ? at.src : InBlocks(at.src), dy = InBlocks(at.dst);
  ConvAttrs attrs = c.attrs;
  attrs.float_weight = rounds;
  const auto expect = [&](const char* op, const Arrays& in, const Arrays& plain,
                          const HostArray& blank, const HostArray& like) {
    Case with = c;
    with.attrs = attrs;
    const auto got = Blocked(std::string("blocked_") + op, in, blank, with);
    if (got == nullptr) { return; }
    ++(*ran)[op];
    HostArray want(like.dtype(), like.shape());
    CHECK_JUST(Call((std::string(op) + ".cpu.reference").c_str(), plain, {&want}, &c.attrs));
    // A sum in float32; in bfloat16 it is rounded once: the next number at most.
    const double step = like.dtype() == DataType::kBFloat16 ? 0x1p-7 : 0.0;
    ASSERT_EQ(Difference(*got, want, step + Tolerance(DataType::kFloat, c.terms)), "")
        << op << " src " << c.src.ToString() << " weight " << c.weight.ToString();
  };
  expect("convolution", {&x, &weight}, {&at.src, &at.weight}, dy, at.dst);
  expect("convolution_weight_grad", {&dy, &x}, {&at.dst, &at.src}, weight, weight);
  if (at.picture) { return; }
  expect("convolution_input_grad", {&dy, &weight}, {&at.dst, &at.weight}, x, at.src);
  if (dtype != DataType::kFloat) { return; }
  const HostArray filters = InFilterBlocks(weight);
  expect("convolution", {&x, &filters}, {&at.src, &at.weight}, dy, at.dst);
  expect("convolution_weight_grad", {&dy, &x}, {&at.dst, &at.src}, filters, weight);
  expect("convolution_input_grad", {&dy, &filters}, {&at.dst, &at.weight}, x, at.src);
}

TEST(BlockedConvolution, AgreesWithReference) {
  if (BestIsa() != Isa::kAvx512) { return; }
  const std::pair<DataType, DataType> dtypes[] = {{DataType::kFloat, DataType::kFloat},
                                                  {DataType::kBFloat16, DataType::kBFloat16},
                                                  {DataType::kBFloat16, DataType::kFloat}};
  for (const auto& [dtype, weight_dtype] : dtypes) {
    Rng rng(15);
    Runs ran;
    for (int trial = 0; trial < 60; ++trial) {
      ExpectBlockedAsReference(&rng, dtype, weight_dtype, PickBlockedCase(&rng), &ran);
      if (HasFatalFailure()) { return; }
    }
    EXPECT_GT(ran["convolution"], 30);
    EXPECT_GT(ran["convolution_input_grad"], 20);
    EXPECT_GT(ran["convolution_weight_grad"], 20);
  }
}

TEST(BlockedConvolution, RefusesDtypesThatDoNotGoTogether) {
  const HostArray x(DataType::kBFloat16, {2, 1, 8, 8, 16}), y(DataType::kFloat, {2, 1, 8, 8, 16});
  const HostArray brief(DataType::kBFloat16, {16, 16, 1, 1}), wide(DataType::kFloat, brief.shape());
  ConvAttrs attrs;
  attrs.stride = attrs.dilation = attrs.size = SpatialList(Dims{1, 1});
  attrs.padding = attrs.padding_after = SpatialList(Dims{0, 0});
  const auto refuses = [&](const HostArray& in, const HostArray& weight, const HostArray& out) {
    return Refusal("blocked_convolution.cpu.onednn", {&in, &weight}, {&out}, &attrs) != nullptr;
  };
  EXPECT_TRUE(refuses(y, brief, y));
  EXPECT_TRUE(refuses(x, wide, y));
  const HostArray twice(DataType::kDouble, y.shape());
  EXPECT_TRUE(refuses(twice, HostArray(DataType::kDouble, brief.shape()), twice));
  if (BestIsa() == Isa::kAvx512) { EXPECT_FALSE(refuses(x, wide, x)); }
}

TEST(BlockedConvolution, BlocksAndPlainArraysHoldTheSame) {
  Rng rng(16);
  for (int trial = 0; trial < 40; ++trial) {
    const Dims shape = {Pick(&rng, 0, 3), 16 * Pick(&rng, 1, 3), Pick(&rng, 1, 20),
                        Pick(&rng, 1, 20)};
    const DataType dtype = OneIn(&rng, 2) ? DataType::kFloat : DataType::kBFloat16;
    HostArray plain(dtype, shape);
    plain.Fill(&rng, true);
    const HostArray want = InBlocks(plain);
    HostArray blocked(dtype, want.shape()), back(dtype, shape);
    CHECK_JUST(Call("block_channels.cpu.vector", {&plain}, {&blocked}, nullptr, 2));
    CHECK_JUST(Call("unblock_channels.cpu.vector", {&blocked}, {&back}, nullptr, 2));
    ASSERT_EQ(Difference(blocked, want, 0.0), "");
    ASSERT_EQ(Difference(back, plain, 0.0), "");
    ASSERT_TRUE(blocked.GuardsIntact() && back.GuardsIntact());
  }
}

// The comparison sees one wrong element.
TEST(Convolution, PlantedFaultIsSeen) {
  Rng rng(13);
  HostArray a(DataType::kFloat, {2, 3, 4, 4});
  a.Fill(&rng, false);
  HostArray b = a;
  b.Set(17, b.At(17) + 1.0);
  EXPECT_NE(Difference(b, a, Tolerance(DataType::kFloat, 64)), "");
}

}  // namespace
}  // namespace testing
}  // namespace cpu
}  // namespace oneflow
