// Convolutions of bfloat16 whose channels are many, or odd: products of our own, and what oneDNN is given laid out anew.
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "oneflow/kernels/attrs_spatial.h"
#include "oneflow/kernels/cpu/conv/dot_loops.h"
#include "oneflow/kernels/cpu/kernel_testing.h"

namespace oneflow {
namespace cpu {
namespace testing {
namespace {

constexpr DataType kShort = DataType::kBFloat16;
// Numbers that differ in the last bits of a float32 may be rounded apart, by one step.
constexpr double kStep = 0x1p-7;

struct Case {
  int64_t batch, in, out, height, width, kernel, stride;
};

// Pointwise: whole and partial tiles, an odd depth, tiles across images, one image, a stride. Then windows: channels in
// blocks and not, planes of less than a vector.
const std::vector<Case> kCases = {
    {2, 16, 16, 8, 8, 1, 1},   {3, 37, 21, 7, 7, 1, 1},   {1, 37, 21, 5, 7, 1, 1},
    {2, 64, 24, 13, 11, 1, 1}, {5, 32, 8, 3, 3, 1, 1},    {2, 96, 200, 35, 33, 1, 1},
    {2, 130, 9, 17, 16, 1, 1}, {3, 33, 20, 9, 14, 1, 2},  {2, 32, 32, 14, 14, 1, 2},
    {2, 32, 48, 9, 9, 3, 1},   {2, 32, 16, 12, 10, 3, 2}, {2, 3, 16, 12, 12, 3, 2},
    {2, 128, 32, 7, 7, 3, 1},
};

int64_t OutOf(int64_t size, const Case& c) {
  return (size + 2 * (c.kernel / 2) - c.kernel) / c.stride + 1;
}

struct Operands {
  HostArray src, weight, dst;
  ConvAttrs attrs;

  explicit Operands(const Case& c)
      : src(kShort, {c.batch, c.in, c.height, c.width}),
        weight(kShort, {c.out, c.in, c.kernel, c.kernel}),
        dst(kShort, {c.batch, c.out, OutOf(c.height, c), OutOf(c.width, c)}) {
    attrs.stride = SpatialList(Dims{c.stride, c.stride});
    attrs.padding = SpatialList(Dims{c.kernel / 2, c.kernel / 2});
    attrs.dilation = SpatialList(Dims{1, 1});
    Rng rng(3);
    for (HostArray* array : {&src, &weight, &dst}) { array->Fill(&rng, false); }
  }
};

// What differs from the reference, on each instruction set and with two threads. A machine that multiplies bfloat16 takes
// every case.
std::string Compare(const std::string& op, const Arrays& in, const HostArray& result,
                    const ConvAttrs& attrs) {
  HostArray want(result);
  CHECK_JUST(Call((op + ".cpu.reference").c_str(), in, {&want}, &attrs));
  int compared = 0;
  for (const Config& config : AllConfigs()) {
    const ScopedIsa isa(config.isa);
    HostArray got(result);
    if (Refusal((op + ".cpu.onednn").c_str(), in, {&got}, &attrs) != nullptr) { continue; }
    CHECK_JUST(Call((op + ".cpu.onednn").c_str(), in, {&got}, &attrs, config.threads));
    ++compared;
    const std::string far = Difference(got, want, kStep);
    if (!far.empty()) { return op + " " + IsaName(config.isa) + ": " + far; }
    if (!got.GuardsIntact()) { return op + " writes beside its result"; }
  }
  return compared == 0 && HasDotLoops() ? op + " is refused everywhere" : "";
}

TEST(BFloat16Convolution, AgreesWithReference) {
  for (size_t i = 0; i < kCases.size(); ++i) {
    const Operands a(kCases[i]);
    ASSERT_EQ(Compare("convolution", {&a.src, &a.weight, nullptr}, a.dst, a.attrs), "") << i;
    ASSERT_EQ(Compare("convolution_input_grad", {&a.dst, &a.weight, nullptr}, a.src, a.attrs), "")
        << i;
    ASSERT_EQ(Compare("convolution_weight_grad", {&a.dst, &a.src}, a.weight, a.attrs), "") << i;
  }
}

// The same bits for any number of threads.
TEST(BFloat16Convolution, ProductsDoNotDependOnThreads) {
  const Operands a({5, 66, 40, 7, 9, 1, 1});
  const struct {
    const char* op;
    Arrays in;
    const HostArray& like;
  } calls[] = {{"convolution.cpu.onednn", {&a.src, &a.weight, nullptr}, a.dst},
               {"convolution_input_grad.cpu.onednn", {&a.dst, &a.weight, nullptr}, a.src},
               {"convolution_weight_grad.cpu.onednn", {&a.dst, &a.src}, a.weight}};
  for (const auto& call : calls) {
    HostArray first(call.like);
    CHECK_JUST(Call(call.op, call.in, {&first}, &a.attrs, 1));
    if (!HasDotLoops()) { continue; }  // oneDNN adds up the sums of threads
    for (int threads : {2, 3, 7}) {
      HostArray got(first);
      CHECK_JUST(Call(call.op, call.in, {&got}, &a.attrs, threads));
      EXPECT_EQ(Difference(got, first, 0.0), "") << call.op << threads;
    }
  }
}

TEST(BFloat16Convolution, TheComparisonSeesOneOtherElement) {
  const Operands a(kCases[1]);
  HostArray got(a.dst), changed(a.src), other(a.dst);
  changed.Set(50, a.src.At(50) + 4.0);
  CHECK_JUST(Call("convolution.cpu.onednn", {&a.src, &a.weight, nullptr}, {&got}, &a.attrs));
  CHECK_JUST(Call("convolution.cpu.reference", {&changed, &a.weight, nullptr}, {&other}, &a.attrs));
  EXPECT_NE(Difference(got, other, kStep), "");
}

}  // namespace
}  // namespace testing
}  // namespace cpu
}  // namespace oneflow
