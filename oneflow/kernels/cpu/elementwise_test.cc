// The elementwise kernels, fill, arange and copy against their references: random shapes, layouts,
// dtypes and values, under every instruction set, with one thread and with two.
#include <cmath>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "oneflow/core/shape.h"
#include "oneflow/kernels/attrs.h"
#include "oneflow/kernels/cpu/elementwise_loops.h"
#include "oneflow/kernels/cpu/kernel_testing.h"
#include "oneflow/kernels/cpu/stream_loops.h"

namespace oneflow {
namespace cpu {
namespace testing {
namespace {

constexpr DataType kBool = DataType::kBool;
const std::vector<DataType> kAll = {kBool,
                                    DataType::kUInt8,
                                    DataType::kInt8,
                                    DataType::kInt16,
                                    DataType::kInt32,
                                    DataType::kInt64,
                                    DataType::kFloat,
                                    DataType::kDouble};
const std::vector<DataType> kNumbers(kAll.begin() + 1, kAll.end());
const std::vector<DataType> kFloats = {DataType::kFloat, DataType::kDouble};
const std::vector<DataType> kShort = {DataType::kBFloat16};

struct OpCase {
  std::string op;
  int inputs;
  std::vector<DataType> dtypes;
  DataType out = DataType::kFloat16;  // kFloat16: as the input
  double alpha = 1.0;
};

union AnyAttrs {
  AnyAttrs() : none() {}
  NoAttrs none;
  AddAttrs add;
  ScalarAttrs scalar;
};

AnyAttrs MakeAttrs(const OpCase& c, DataType dtype) {
  AnyAttrs attrs;
  const Scalar number =
      IsFloating(dtype) ? Scalar(c.alpha) : Scalar(static_cast<int64_t>(c.alpha * 2) - 1);
  if (c.op == "add" || c.op == "sub") { attrs.add.alpha = c.alpha == 1.0 ? Scalar(1) : number; }
  if (c.op == "scalar_add" || c.op == "scalar_mul") { attrs.scalar.value = number; }
  return attrs;
}

// One random call, compared with the reference under each configuration. "" when all agree.
std::string CheckOnce(const OpCase& c, const std::string& kernel, Rng* rng) {
  const DataType dtype = PickDtype(rng, c.dtypes);
  const Dims shape = RandomShape(rng, 0, 5);
  std::vector<HostArray> inputs;
  for (int i = 0; i < c.inputs; ++i) {
    const Dims own = c.inputs > 1 || OneIn(rng, 4) ? ShapeThatBroadcasts(rng, shape) : shape;
    inputs.push_back(RandomArray(rng, dtype, own, PickLayout(rng, true)));
    inputs.back().Fill(rng, true);
  }
  Arrays in;
  for (const HostArray& input : inputs) { in.push_back(&input); }
  const AnyAttrs attrs = MakeAttrs(c, dtype);
  const DataType out_dtype = c.out == DataType::kFloat16 ? dtype : c.out;
  const HostArray blank = RandomArray(rng, out_dtype, shape, PickLayout(rng, false));
  HostArray want = blank;
  const Maybe<void> reference = Call((c.op + ".cpu.reference").c_str(), in, {&want}, &attrs);
  if (!reference.ok()) { return reference.error()->message(); }
  for (const Config& config : AllConfigs()) {
    const ScopedIsa isa(config.isa);
    HostArray got = blank;
    const Maybe<void> ran = Call(kernel.c_str(), in, {&got}, &attrs, config.threads);
    if (!ran.ok()) { return ran.error()->message(); }
    std::string difference = Difference(got, want, 0.0);
    if (difference.empty() && !got.GuardsIntact()) { difference = "wrote beside its elements"; }
    if (!difference.empty()) { return std::string(IsaName(config.isa)) + ": " + difference; }
  }
  return "";
}

std::string CheckMany(const OpCase& c, const std::string& kernel, int trials) {
  Rng rng(20261130);
  for (int i = 0; i < trials; ++i) {
    const std::string difference = CheckOnce(c, kernel, &rng);
    if (!difference.empty()) { return kernel + ", trial " + std::to_string(i) + ": " + difference; }
  }
  return "";
}

class Elementwise : public ::testing::TestWithParam<OpCase> {};

TEST_P(Elementwise, AgreesWithReference) {
  EXPECT_EQ(CheckMany(GetParam(), GetParam().op + ".cpu.vector", 200), "");
}

INSTANTIATE_TEST_SUITE_P(
    Ops, Elementwise,
    ::testing::Values(OpCase{"add", 2, kAll}, OpCase{"add", 2, kAll, DataType::kFloat16, 2.5},
                      OpCase{"sub", 2, kNumbers},
                      OpCase{"sub", 2, kNumbers, DataType::kFloat16, -1.5}, OpCase{"mul", 2, kAll},
                      OpCase{"div", 2, kFloats}, OpCase{"eq", 2, kAll, kBool},
                      OpCase{"relu_backward", 2, kFloats}, OpCase{"relu", 1, kNumbers},
                      OpCase{"add", 2, kShort}, OpCase{"relu_backward", 2, kShort},
                      OpCase{"relu", 1, kShort},
                      OpCase{"scalar_add", 1, kAll, DataType::kFloat16, 3.25},
                      OpCase{"scalar_mul", 1, kAll, DataType::kFloat16, -0.75}));

// ---- positive control: the same check finds a kernel with a fault -------------------------------

// Right but for one thing: an output of more than 40 elements has its last one halved.
Maybe<void> RunFaultyAdd(const KernelCall& call) {
  JUST(FindKernel("add.cpu.reference")->run(call));
  const ArrayView& out = call.outputs[0];
  if (out.Count() <= 40 || out.dtype != DataType::kFloat) { return Ok(); }
  int64_t last = 0;
  for (int d = 0; d < out.ndim; ++d) { last += (out.shape[d] - 1) * out.strides[d]; }
  out.Data<float>()[last] *= 0.5f;
  return Ok();
}

// Right, but it writes one element past the end.
Maybe<void> RunOverrunningAdd(const KernelCall& call) {
  JUST(FindKernel("add.cpu.reference")->run(call));
  const ArrayView& out = call.outputs[0];
  if (out.contiguous && out.dtype == DataType::kFloat) { out.Data<float>()[out.Count()] = 1.0f; }
  return Ok();
}

ONEFLOW_REGISTER_KERNEL(faulty_add, {"add.cpu.faulty", &RunFaultyAdd});
ONEFLOW_REGISTER_KERNEL(overrunning_add, {"add.cpu.overrunning", &RunOverrunningAdd});

TEST(PositiveControl, FindsWrongElement) {
  const std::string found = CheckMany(OpCase{"add", 2, kAll}, "add.cpu.faulty", 200);
  EXPECT_NE(found.find("element"), std::string::npos) << found;
}

TEST(PositiveControl, FindsStrayWrite) {
  const std::string found = CheckMany(OpCase{"add", 2, kAll}, "add.cpu.overrunning", 200);
  EXPECT_NE(found.find("wrote beside"), std::string::npos) << found;
}

// ---- in place, dense, long: the path of most calls ----------------------------------------------

TEST(Elementwise, InPlace) {
  Rng rng(1);
  AddAttrs attrs;
  for (const Config& config : AllConfigs()) {
    const ScopedIsa isa(config.isa);
    for (int64_t n : {1, 7, 100, 100001}) {
      HostArray x(DataType::kFloat, {n});
      HostArray y(DataType::kFloat, {n});
      x.Fill(&rng, true);
      y.Fill(&rng, true);
      HostArray want(DataType::kFloat, {n});
      CHECK_JUST(Call("add.cpu.reference", {&x, &y}, {&want}, &attrs));
      HostArray first = x;
      CHECK_JUST(Call("add.cpu.vector", {&first, &y}, {&first}, &attrs, config.threads));
      EXPECT_EQ(Difference(first, want, 0.0), "");
      HostArray second = y;
      CHECK_JUST(Call("add.cpu.vector", {&x, &second}, {&second}, &attrs, config.threads));
      EXPECT_EQ(Difference(second, want, 0.0), "");
    }
  }
}

TEST(Elementwise, NanPassesRelu) {
  NoAttrs attrs;
  HostArray x(DataType::kFloat, {3});
  x.Set(0, NAN);
  x.Set(1, -1.0);
  x.Set(2, 2.0);
  HostArray out(DataType::kFloat, {3});
  CHECK_JUST(Call("relu.cpu.vector", {&x}, {&out}, &attrs));
  EXPECT_TRUE(std::isnan(out.At(0)));
  EXPECT_EQ(out.At(1), 0.0);
  EXPECT_EQ(out.At(2), 2.0);
}

TEST(Elementwise, RefusesWhatItCannotDo) {
  AddAttrs attrs;
  const HostArray f(DataType::kFloat, {2});
  const HostArray d(DataType::kDouble, {2});
  const HostArray i(DataType::kInt64, {2});
  const HostArray b(kBool, {2});
  EXPECT_STREQ(Refusal("add.cpu.vector", {&f, &d}, {&f}, &attrs), "operands of different dtypes");
  EXPECT_STREQ(Refusal("add.cpu.vector", {&f, &f}, {&d}, &attrs), "an output of another dtype");
  EXPECT_STREQ(Refusal("div.cpu.vector", {&i, &i}, {&i}, &attrs), "dtype not supported");
  EXPECT_STREQ(Refusal("sub.cpu.vector", {&b, &b}, {&b}, &attrs), "dtype not supported");
  EXPECT_EQ(Refusal("eq.cpu.vector", {&i, &i}, {&b}, &attrs), nullptr);
}

// ---- fill, arange, copy -------------------------------------------------------------------------

template <typename Attrs>
void ExpectSameAsReference(const std::string& op, const Arrays& in, const HostArray& blank,
                           const Attrs& attrs) {
  HostArray want = blank;
  CHECK_JUST(Call((op + ".cpu.reference").c_str(), in, {&want}, &attrs));
  for (const Config& config : AllConfigs()) {
    const ScopedIsa isa(config.isa);
    HostArray got = blank;
    CHECK_JUST(Call((op + ".cpu.vector").c_str(), in, {&got}, &attrs, config.threads));
    ASSERT_EQ(Difference(got, want, 0.0), "") << op << " " << IsaName(config.isa);
    ASSERT_TRUE(got.GuardsIntact());
  }
}

TEST(Fill, AgreesWithReference) {
  Rng rng(2);
  std::vector<DataType> dtypes = kAll;
  dtypes.push_back(DataType::kFloat16);
  dtypes.push_back(DataType::kBFloat16);
  const Scalar values[] = {Scalar(0),    Scalar(-3),        Scalar(true), Scalar(2.75),
                           Scalar(1e30), Scalar(INT64_MIN), Scalar(NAN),  Scalar(-1e-8)};
  for (int trial = 0; trial < 300; ++trial) {
    const HostArray blank = RandomArray(&rng, PickDtype(&rng, dtypes), RandomShape(&rng, 0, 4),
                                        PickLayout(&rng, false));
    ExpectSameAsReference("fill", {}, blank, FillAttrs{values[Pick(&rng, 0, 7)]});
  }
}

TEST(Arange, AgreesWithReference) {
  Rng rng(3);
  const std::vector<ArangeAttrs> all = {{Scalar(0), Scalar(1)},
                                        {Scalar(5), Scalar(-3)},
                                        {Scalar(INT64_MAX), Scalar(7)},
                                        {Scalar(0.5), Scalar(0.1)},
                                        {Scalar(-2.5), Scalar(1)}};
  for (const ArangeAttrs& attrs : all) {
    for (DataType dtype : kNumbers) {
      for (int64_t n : {0, 1, 9, 40000}) {
        ExpectSameAsReference("arange", {}, HostArray(dtype, {n}), attrs);
      }
    }
  }
}

TEST(Copy, ConvertsAsReference) {
  Rng rng(4);
  std::vector<DataType> dtypes = kAll;
  dtypes.push_back(DataType::kFloat16);
  dtypes.push_back(DataType::kBFloat16);
  for (int trial = 0; trial < 700; ++trial) {
    const Dims shape = RandomShape(&rng, 0, 5);
    const Dims own = OneIn(&rng, 4) ? ShapeThatBroadcasts(&rng, shape) : shape;
    HostArray x = RandomArray(&rng, PickDtype(&rng, dtypes), own, PickLayout(&rng, true));
    x.Fill(&rng, true);
    const HostArray blank =
        RandomArray(&rng, PickDtype(&rng, dtypes), shape, PickLayout(&rng, false));
    ExpectSameAsReference("copy", {&x}, blank, NoAttrs());
  }
}

// Every float16 and bfloat16, and floats around every rounding boundary.
TEST(Copy, HalvesAreExact) {
  for (DataType half : {DataType::kFloat16, DataType::kBFloat16}) {
    HostArray x(half, {65536});
    for (int64_t i = 0; i < 65536; ++i) { x.view().Data<uint16_t>()[i] = static_cast<uint16_t>(i); }
    ExpectSameAsReference("copy", {&x}, HostArray(DataType::kFloat, {65536}), NoAttrs());
    HostArray around(DataType::kFloat, {65536 * 3});
    HostArray as_float(DataType::kFloat, {65536});
    CHECK_JUST(Call("copy.cpu.reference", {&x}, {&as_float}, nullptr));
    for (int64_t i = 0; i < 65536; ++i) {
      const double v = as_float.At(i);
      const double next = as_float.At(i == 65535 ? i : i + 1);
      const auto middle = static_cast<float>((v + next) / 2);
      around.Set(3 * i, middle);
      around.Set(3 * i + 1, std::nextafter(middle, -INFINITY));
      around.Set(3 * i + 2, std::nextafter(middle, INFINITY));
    }
    ExpectSameAsReference("copy", {&around}, HostArray(half, {65536 * 3}), NoAttrs());
  }
}

// A loop that goes past the caches gives the bits of the other one. T: as wide as the dtype. Odd lengths: the rest of a line.
template <typename T>
int CountStreams(DataType dtype, Rng* rng, const T& param) {
  constexpr int64_t kCount = 1003;
  HostArray x(dtype, {kCount});
  HostArray y(dtype, {kCount});
  x.Fill(rng, false);
  y.Fill(rng, false);
  int found = 0;
  for (const auto& row : GetElementwiseLoops().binary) {
    const BinaryLoops& loops = row[static_cast<int>(dtype)];
    const BinaryLoop pairs[][2] = {{loops.vv, loops.stream_vv}, {loops.vs, loops.stream_vs}};
    for (const auto& [loop, streaming] : pairs) {
      if (streaming == nullptr) { continue; }
      ++found;
      alignas(64) T plain[kCount] = {};
      alignas(64) T streamed[kCount] = {};
      loop(plain, x.view().data, y.view().data, kCount, &param);
      streaming(streamed, x.view().data, y.view().data, kCount, &param);
      GetStreamLoops().fence();
      EXPECT_EQ(std::memcmp(plain, streamed, sizeof(plain)), 0) << found;
    }
  }
  return found;
}

TEST(Elementwise, StreamsGiveTheSameBits) {
  Rng rng(6);
  for (const Config& config : AllConfigs()) {
    const ScopedIsa isa(config.isa);
    EXPECT_GE(CountStreams(DataType::kFloat, &rng, 0.5F), 10);
    EXPECT_GE(CountStreams(DataType::kDouble, &rng, 0.5), 10);
    EXPECT_EQ(CountStreams(DataType::kBFloat16, &rng, uint16_t{0}), 4);
  }
}

TEST(Copy, LargeTransposes) {
  Rng rng(5);
  for (DataType dtype : {DataType::kBool, DataType::kInt16, DataType::kFloat, DataType::kDouble}) {
    HostArray x(dtype, {3, 257, 190}, {257 * 190, 1, 257});
    x.Fill(&rng, false);
    ExpectSameAsReference("copy", {&x}, HostArray(dtype, {3, 257, 190}), NoAttrs());
  }
}

}  // namespace
}  // namespace testing
}  // namespace cpu
}  // namespace oneflow
