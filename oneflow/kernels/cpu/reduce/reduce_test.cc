// The reductions against their references.
#include <cmath>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "oneflow/kernels/attrs_reduce.h"
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

const ReduceAttrs& ReduceOf(const ReduceAttrs& attrs) { return attrs; }
template <typename Attrs>
const ReduceAttrs& ReduceOf(const Attrs& attrs) {
  return attrs.reduce;
}

// Compares with the reference, and the configurations with each other, bit for bit.
template <typename Attrs>
void ExpectSameAsReference(const std::string& op, const HostArray& x, DataType out_dtype,
                           const Attrs& attrs, double tolerance) {
  const ReduceAttrs& reduce = ReduceOf(attrs);
  const HostArray blank(out_dtype, ReducedShape(x.shape(), reduce.dims, reduce.keepdim));
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

// Six roundings on the way into a double and one at the end, whatever the number of elements.
TEST(Sum, IsOffBySevenRoundings) {
  constexpr double kUnit = 0x1p-24;
  Rng rng(5);
  for (const int64_t count : {100, 1000, 5000, 3000000}) {
    HostArray x(DataType::kFloat, {count});
    double sum = 0.0;
    for (int64_t i = 0; i < count; ++i) {
      const auto value = static_cast<float>(Pick(&rng, 1, 1 << 24)) * 0x1p-24f;
      x.view().Data<float>()[i] = value;
      sum += value;
    }
    HostArray out(DataType::kFloat, {});
    ReduceAttrs attrs;
    CHECK_JUST(Call("sum.cpu.vector", {&x}, {&out}, &attrs, 2));
    EXPECT_NEAR(out.At(0), sum, 7.01 * kUnit * sum) << count;
  }
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

// ---- every op in every dtype ---------------------------------------------------------------------

const std::vector<DataType> kFloats = {DataType::kFloat16, DataType::kBFloat16, DataType::kFloat,
                                       DataType::kDouble};

double ToleranceOf(DataType dtype) {
  switch (dtype) {
    case DataType::kDouble: return 1e-12;
    case DataType::kFloat: return 2e-6;
    case DataType::kFloat16: return 2e-3;
    case DataType::kBFloat16: return 1.6e-2;
    default: return 0.0;
  }
}

struct Case {
  const char* op;
  bool integers;
  bool needs_elements;
  DataType result;  // kDouble: the input's dtype, kInt64 for integers where `wide`
  bool wide;
};

// Numbers near one, so that products and sums keep their accuracy; now and then a special one.
HostArray CaseInput(Rng* rng, const Case& c) {
  std::vector<DataType> dtypes = kFloats;
  if (c.integers) {
    dtypes.insert(dtypes.end(), kNumbers.begin(), kNumbers.end());
    dtypes.push_back(DataType::kBool);
  }
  const DataType dtype = PickDtype(rng, dtypes);
  HostArray x = RandomArray(rng, dtype, RandomShape(rng, 0, 5), PickLayout(rng, true));
  x.Fill(rng, !IsFloating(dtype));
  if (!IsFloating(dtype)) { return x; }
  for (int64_t i = 0; i < x.count(); ++i) { x.Set(i, static_cast<double>(Pick(rng, 3, 5)) / 4.0); }
  if (x.count() > 0 && OneIn(rng, 4)) {
    x.Set(Pick(rng, 0, x.count() - 1), OneIn(rng, 2) ? NAN : OneIn(rng, 2) ? INFINITY : -INFINITY);
  }
  return x;
}

DataType CaseResult(const Case& c, DataType in) {
  if (c.result != DataType::kDouble) { return c.result; }
  return c.wide && !IsFloating(in) ? DataType::kInt64 : in;
}

TEST(Folds, AgreeWithReference) {
  Rng rng(4);
  const Case cases[] = {
      {"sum", true, false, DataType::kDouble, true},
      {"nansum", true, false, DataType::kDouble, true},
      {"prod", true, false, DataType::kDouble, true},
      {"mean", false, false, DataType::kDouble, false},
      {"count_nonzero", true, false, DataType::kInt64, false},
      {"all", true, false, DataType::kBool, false},
      {"any", true, false, DataType::kBool, false},
      {"amax", true, true, DataType::kDouble, false},
      {"amin", true, true, DataType::kDouble, false},
      {"logsumexp", false, false, DataType::kDouble, false},
  };
  for (const Case& c : cases) {
    for (int trial = 0; trial < 80; ++trial) {
      const HostArray x = CaseInput(&rng, c);
      ReduceAttrs attrs;
      attrs.dims = PickDims(&rng, x.shape().size(), kMaxDims);
      attrs.keepdim = OneIn(&rng, 2);
      if (c.needs_elements && x.count() == 0) { continue; }
      const DataType out = CaseResult(c, x.dtype());
      ExpectSameAsReference(c.op, x, out, attrs, ToleranceOf(out));
    }
  }
}

TEST(Folds, NormsAgreeWithReference) {
  Rng rng(5);
  const Case c = {"vector_norm", false, true, DataType::kDouble, false};
  for (double ord :
       {0.0, 1.0, 2.0, static_cast<double>(INFINITY), -static_cast<double>(INFINITY)}) {
    for (int trial = 0; trial < 40; ++trial) {
      const HostArray x = CaseInput(&rng, c);
      NormAttrs attrs;
      attrs.ord = ord;
      attrs.reduce.dims = PickDims(&rng, x.shape().size(), kMaxDims);
      if (x.count() == 0) { continue; }
      ExpectSameAsReference(c.op, x, x.dtype(), attrs, ToleranceOf(x.dtype()));
    }
  }
}

TEST(Folds, MomentsAgreeWithReference) {
  Rng rng(6);
  for (const char* op : {"var", "std"}) {
    const Case c = {op, false, false, DataType::kDouble, false};
    for (int trial = 0; trial < 100; ++trial) {
      const HostArray x = CaseInput(&rng, c);
      MomentAttrs attrs;
      attrs.correction = static_cast<double>(Pick(&rng, 0, 1));
      attrs.reduce.dims = PickDims(&rng, x.shape().size(), kMaxDims);
      ExpectSameAsReference(op, x, x.dtype(), attrs, ToleranceOf(x.dtype()));
    }
  }
}

// The textbook formula, squares less the square of the mean, would give 0 or less here.
TEST(Folds, VarianceFarFromZeroIsAccurate) {
  HostArray x(DataType::kDouble, {200000});
  for (int64_t i = 0; i < x.count(); ++i) { x.Set(i, 1e9 + (i % 2 == 0 ? 0.25 : -0.25)); }
  HostArray out(DataType::kDouble, {});
  MomentAttrs attrs;
  attrs.correction = 0.0;
  CHECK_JUST(Call("var.cpu.vector", {&x}, {&out}, &attrs, 2));
  EXPECT_NEAR(out.At(0), 0.0625, 1e-12);
}

// Three times 0.1, divided by 3, is not 0.1.
TEST(Folds, EqualElementsHaveNoVariance) {
  for (const Dims& shape : {Dims{3}, Dims{10007}, Dims{3, 300}, Dims{301, 7}}) {
    for (DataType dtype : {DataType::kFloat, DataType::kDouble}) {
      HostArray x(dtype, shape);
      for (int64_t i = 0; i < x.count(); ++i) { x.Set(i, 0.1); }
      for (int dim = 0; dim < shape.size(); ++dim) {
        MomentAttrs attrs;
        attrs.reduce.dims = IntList(Dims{dim});
        HostArray out(dtype, ReducedShape(shape, attrs.reduce.dims, false));
        CHECK_JUST(Call("std.cpu.vector", {&x}, {&out}, &attrs));
        for (int64_t i = 0; i < out.count(); ++i) { ASSERT_EQ(out.At(i), 0.0); }
      }
    }
  }
}

// Long and narrow, few outputs, many short rows: each way to walk.
TEST(Folds, ShapesThatAreWalkedInTheirOwnWay) {
  Rng rng(7);
  for (const Dims& shape : {Dims{30000, 3}, Dims{3, 30000}, Dims{200000}, Dims{7, 301, 40}}) {
    HostArray x(DataType::kFloat, shape);
    x.Fill(&rng, false);
    for (int dim = 0; dim < shape.size(); ++dim) {
      ReduceAttrs attrs;
      attrs.dims = IntList(Dims{dim});
      for (const char* op : {"sum", "amax", "logsumexp"}) {
        ExpectSameAsReference(op, x, DataType::kFloat, attrs, 1e-5);
      }
      ExpectSameAsReference("argmin", x, DataType::kInt64, attrs, 0.0);
    }
  }
}

// Infinity in one block, a number whose exponential overflows in another, either first.
TEST(Folds, LogSumExpOfInfinity) {
  for (const Dims& shape : {Dims{9000, 1}, Dims{1, 9000}, Dims{90, 3}}) {
    for (const int64_t first : {0, 1}) {
      HostArray x(DataType::kDouble, shape);
      for (int64_t i = 0; i < x.count(); ++i) { x.Set(i, 0.0); }
      x.Set(first == 0 ? 0 : x.count() - 1, INFINITY);
      x.Set(first == 0 ? x.count() - 1 : 0, 5000.0);
      if (shape[1] == 3) { x.Set(first == 0 ? x.count() - 3 : 2, 5000.0); }
      ReduceAttrs attrs;
      attrs.dims = IntList(Dims{shape[1] == 9000 ? 1 : 0});
      HostArray out(DataType::kDouble, ReducedShape(shape, attrs.dims, false));
      CHECK_JUST(Call("logsumexp.cpu.vector", {&x}, {&out}, &attrs));
      EXPECT_EQ(out.At(first == 0 ? 0 : out.count() - 1), INFINITY) << shape.ToString();
    }
  }
}

TEST(Extremes, ValuesAndIndices) {
  Rng rng(8);
  for (int trial = 0; trial < 100; ++trial) {
    const Case c = {"max_dim", true, true, DataType::kDouble, false};
    const HostArray x = CaseInput(&rng, c);
    if (x.count() == 0 || x.shape().size() == 0) { continue; }
    ReduceAttrs attrs;
    attrs.dims = IntList(Dims{Pick(&rng, 0, x.shape().size() - 1)});
    const Dims shape = ReducedShape(x.shape(), attrs.dims, false);
    for (const std::string op : {"max_dim", "min_dim"}) {
      HostArray want(x.dtype(), shape);
      HostArray want_index(DataType::kInt64, shape);
      HostArray got(x.dtype(), shape);
      HostArray index(DataType::kInt64, shape);
      CHECK_JUST(Call((op + ".cpu.reference").c_str(), {&x}, {&want, &want_index}, &attrs));
      CHECK_JUST(Call((op + ".cpu.vector").c_str(), {&x}, {&got, &index}, &attrs));
      ASSERT_EQ(Difference(got, want, 0.0), "") << op;
      ASSERT_EQ(Difference(index, want_index, 0.0), "") << op;
    }
  }
}

}  // namespace
}  // namespace testing
}  // namespace cpu
}  // namespace oneflow
