// sum, mean and argmax against their references.
#include <cmath>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "oneflow/kernels/attrs.h"
#include "oneflow/kernels/cpu/kernel_testing.h"

namespace oneflow {
namespace cpu {
namespace testing {
namespace {

const std::vector<DataType> kNumbers = {DataType::kUInt8, DataType::kInt8,  DataType::kInt16,
                                        DataType::kInt32, DataType::kInt64, DataType::kFloat,
                                        DataType::kDouble};

Dims ReducedShape(const Dims& shape, const IntList& dims, bool keepdim) {
  Dims out;
  for (int d = 0; d < shape.size(); ++d) {
    bool reduce = !dims.given || dims.count == 0;
    for (int i = 0; i < dims.count; ++i) { reduce = reduce || dims.values[i] == d; }
    if (!reduce) { out.PushBack(shape[d]); }
    if (reduce && keepdim) { out.PushBack(1); }
  }
  return out;
}

IntList PickDims(Rng* rng, int ndim, int max_count) {
  if (OneIn(rng, 4)) { return IntList(); }
  Dims dims;
  for (int d = 0; d < ndim && dims.size() < max_count; ++d) {
    if (OneIn(rng, 2)) { dims.PushBack(d); }
  }
  return IntList(dims);
}

// Compares with the reference, and the configurations with each other, bit for bit.
template <typename Attrs>
void ExpectSameAsReference(const std::string& op, const HostArray& x, DataType out_dtype,
                           const Attrs& attrs, double tolerance) {
  const HostArray blank(out_dtype, ReducedShape(x.shape(), attrs.dims, attrs.keepdim));
  HostArray want = blank;
  CHECK_JUST(Call((op + ".cpu.reference").c_str(), {&x}, {&want}, &attrs));
  HostArray first = blank;
  bool is_first = true;
  for (const Config& config : AllConfigs()) {
    const ScopedIsa isa(config.isa);
    HostArray got = blank;
    CHECK_JUST(Call((op + ".cpu.vector").c_str(), {&x}, {&got}, &attrs, config.threads));
    ASSERT_EQ(Difference(got, want, tolerance), "")
        << op << " of " << x.shape().ToString() << " " << IsaName(config.isa);
    ASSERT_TRUE(got.GuardsIntact());
    if (!is_first) { ASSERT_EQ(Difference(got, first, 0.0), "") << IsaName(config.isa); }
    if (is_first) { CHECK_JUST(Call((op + ".cpu.vector").c_str(), {&x}, {&first}, &attrs)); }
    is_first = false;
  }
}

TEST(Sum, AgreesWithReference) {
  Rng rng(1);
  std::vector<DataType> dtypes = kNumbers;
  dtypes.push_back(DataType::kBool);
  for (int trial = 0; trial < 500; ++trial) {
    const DataType dtype = PickDtype(&rng, dtypes);
    HostArray x = RandomArray(&rng, dtype, RandomShape(&rng, 0, 5), PickLayout(&rng, true));
    x.Fill(&rng, !IsFloating(dtype));
    // Not the other special values: 3e38 - 3e38 + 1 has no right answer in floating point.
    if (IsFloating(dtype) && x.count() > 0 && OneIn(&rng, 5)) {
      x.Set(Pick(&rng, 0, x.count() - 1), OneIn(&rng, 2) ? NAN : INFINITY);
    }
    ReduceAttrs attrs;
    attrs.dims = PickDims(&rng, x.shape().size(), kMaxDims);
    attrs.keepdim = OneIn(&rng, 2);
    const DataType out = IsFloating(dtype) ? dtype : DataType::kInt64;
    ExpectSameAsReference("sum", x, out, attrs, dtype == DataType::kDouble ? 1e-12 : 1e-6);
    if (IsFloating(dtype)) {
      ExpectSameAsReference("mean", x, out, attrs, dtype == DataType::kDouble ? 1e-12 : 1e-6);
    }
  }
}

// Few outputs of many elements: the reduction itself is split.
TEST(Sum, SplitsLongReductions) {
  Rng rng(2);
  HostArray x(DataType::kFloat, {300007});
  x.Fill(&rng, false);
  ExpectSameAsReference("sum", x, DataType::kFloat, ReduceAttrs(), 1e-6);
  HostArray columns(DataType::kFloat, {40000, 5});
  columns.Fill(&rng, false);
  ReduceAttrs attrs;
  attrs.dims = IntList(Dims{0});
  ExpectSameAsReference("sum", columns, DataType::kFloat, attrs, 1e-6);
  HostArray wide(DataType::kInt32, {700, 300});
  wide.Fill(&rng, true);
  ExpectSameAsReference("sum", wide, DataType::kInt64, attrs, 0.0);
}

// A naive float32 sum of ten million 0.1 is off by some percent.
TEST(Sum, IsAccurate) {
  constexpr int64_t kCount = 10000000;
  HostArray x(DataType::kFloat, {kCount});
  for (int64_t i = 0; i < kCount; ++i) { x.view().Data<float>()[i] = 0.1f; }
  HostArray out(DataType::kFloat, {});
  ReduceAttrs attrs;
  CHECK_JUST(Call("sum.cpu.vector", {&x}, {&out}, &attrs, 2));
  EXPECT_EQ(out.At(0), static_cast<float>(static_cast<double>(0.1f) * kCount));
}

TEST(Sum, OfNothing) {
  const HostArray x(DataType::kFloat, {0, 3});
  HostArray out(DataType::kFloat, {});
  ReduceAttrs attrs;
  CHECK_JUST(Call("sum.cpu.vector", {&x}, {&out}, &attrs));
  EXPECT_EQ(out.At(0), 0.0);
  CHECK_JUST(Call("mean.cpu.vector", {&x}, {&out}, &attrs));
  EXPECT_TRUE(std::isnan(out.At(0)));
}

TEST(Argmax, AgreesWithReference) {
  Rng rng(3);
  int done = 0;
  for (int trial = 0; trial < 500; ++trial) {
    const DataType dtype = PickDtype(&rng, kNumbers);
    HostArray x = RandomArray(&rng, dtype, RandomShape(&rng, 0, 4), PickLayout(&rng, true));
    x.Fill(&rng, OneIn(&rng, 2));
    ArgmaxAttrs attrs;
    if (x.shape().size() > 0 && !OneIn(&rng, 4)) {
      attrs.dims = IntList(Dims{Pick(&rng, 0, x.shape().size() - 1)});
    }
    attrs.keepdim = OneIn(&rng, 2);
    if (x.count() == 0) { continue; }
    ++done;
    ExpectSameAsReference("argmax", x, DataType::kInt64, attrs, 0.0);
  }
  EXPECT_GT(done, 300);
}

TEST(Argmax, FirstOfEqualsAndNan) {
  HostArray x(DataType::kFloat, {600});
  for (int64_t i = 0; i < 600; ++i) { x.Set(i, -5.0); }
  x.Set(300, 7.0);
  x.Set(599, 7.0);
  HostArray out(DataType::kInt64, {});
  ArgmaxAttrs attrs;
  CHECK_JUST(Call("argmax.cpu.vector", {&x}, {&out}, &attrs));
  EXPECT_EQ(out.At(0), 300);
  x.Set(450, NAN);
  x.Set(470, INFINITY);
  x.Set(500, NAN);
  CHECK_JUST(Call("argmax.cpu.vector", {&x}, {&out}, &attrs));
  EXPECT_EQ(out.At(0), 450);
}

TEST(Argmax, OfNothingIsAnError) {
  const HostArray x(DataType::kFloat, {3, 0});
  HostArray out(DataType::kInt64, {3});
  ArgmaxAttrs attrs;
  attrs.dims = IntList(Dims{1});
  for (const char* kernel : {"argmax.cpu.vector", "argmax.cpu.reference"}) {
    const Maybe<void> ran = Call(kernel, {&x}, {&out}, &attrs);
    ASSERT_FALSE(ran.ok()) << kernel;
    EXPECT_EQ(ran.error()->kind(), ErrorKind::kIndex);
  }
}

}  // namespace
}  // namespace testing
}  // namespace cpu
}  // namespace oneflow
