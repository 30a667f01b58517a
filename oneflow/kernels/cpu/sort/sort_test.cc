// Sorting, selecting and searching against their references.
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "oneflow/kernels/attrs_reduce.h"
#include "oneflow/kernels/cpu/kernel_testing.h"

namespace oneflow {
namespace cpu {
namespace testing {
namespace {

const std::vector<DataType> kDtypes = {
    DataType::kBool,  DataType::kUInt8,   DataType::kInt8,     DataType::kInt16, DataType::kInt32,
    DataType::kInt64, DataType::kFloat16, DataType::kBFloat16, DataType::kFloat, DataType::kDouble};

// Few different numbers, so that ties are many; now and then all kinds.
HostArray Input(Rng* rng, const Dims& shape) {
  HostArray x = RandomArray(rng, PickDtype(rng, kDtypes), shape, PickLayout(rng, true));
  x.Fill(rng, true);
  if (OneIn(rng, 2)) {
    for (int64_t i = 0; i < x.count(); ++i) { x.Set(i, static_cast<double>(Pick(rng, 0, 5))); }
    if (IsFloating(x.dtype()) && x.count() > 0) { x.Set(Pick(rng, 0, x.count() - 1), NAN); }
  }
  return x;
}

void ExpectSame(const std::string& fast, const std::string& op, const HostArray& x,
                const HostArray& values, const void* attrs) {
  const HostArray indices(DataType::kInt64, values.shape());
  HostArray want = values;
  HostArray want_indices = indices;
  CHECK_JUST(Call((op + ".cpu.reference").c_str(), {&x}, {&want, &want_indices}, attrs));
  for (int threads : {1, 3}) {
    HostArray got = values;
    HostArray got_indices = indices;
    CHECK_JUST(Call(fast.c_str(), {&x}, {&got, &got_indices}, attrs, threads));
    ASSERT_EQ(Difference(got, want, 0.0), "") << op << " of " << x.shape().ToString();
    ASSERT_EQ(Difference(got_indices, want_indices, 0.0), "")
        << op << " of " << x.shape().ToString() << DataTypeName(x.dtype());
    ASSERT_TRUE(got.GuardsIntact());
  }
}

int64_t PickDim(Rng* rng, const Dims& shape) {
  return shape.size() == 0 ? 0 : Pick(rng, 0, shape.size() - 1);
}

TEST(Sort, AgreesWithReference) {
  Rng rng(1);
  for (int trial = 0; trial < 300; ++trial) {
    const HostArray x = Input(&rng, RandomShape(&rng, 0, 4));
    SortAttrs attrs;
    attrs.dim = PickDim(&rng, x.shape());
    attrs.descending = OneIn(&rng, 2);
    ExpectSame("sort.cpu.radix", "sort", x, HostArray(x.dtype(), x.shape()), &attrs);
  }
}

// Each way of sorting: by comparison, by short and by long digits, by several threads.
TEST(Sort, EveryLength) {
  Rng rng(2);
  for (int64_t n : {20, 90, 500, 9000, 70000}) {
    for (DataType dtype : {DataType::kFloat, DataType::kInt64, DataType::kDouble}) {
      HostArray x(dtype, {n});
      x.Fill(&rng, true);
      SortAttrs attrs;
      attrs.descending = OneIn(&rng, 2);
      ExpectSame("sort.cpu.radix", "sort", x, HostArray(dtype, {n}), &attrs);
    }
  }
}

TEST(Topk, AgreesWithReference) {
  Rng rng(3);
  int done = 0;
  for (int trial = 0; trial < 300; ++trial) {
    const HostArray x = Input(&rng, RandomShape(&rng, 1, 3));
    TopkAttrs attrs;
    attrs.dim = PickDim(&rng, x.shape());
    Dims shape = x.shape();
    attrs.k = Pick(&rng, 0, shape[static_cast<int>(attrs.dim)]);
    attrs.largest = OneIn(&rng, 2);
    shape[static_cast<int>(attrs.dim)] = attrs.k;
    ExpectSame("topk.cpu.select", "topk", x, HostArray(x.dtype(), shape), &attrs);
    done += attrs.k > 0 ? 1 : 0;
  }
  EXPECT_GT(done, 100);
}

TEST(Topk, OfLongVectors) {
  Rng rng(4);
  for (int64_t k : {1, 50, 3000, 100000}) {
    HostArray x(DataType::kFloat, {200003});
    x.Fill(&rng, true);
    TopkAttrs attrs;
    attrs.k = k;
    ExpectSame("topk.cpu.select", "topk", x, HostArray(DataType::kFloat, {k}), &attrs);
  }
}

// Few wanted of dense float32: chosen by vectors. With ties, NaNs, and where the firsts lie so close
// together that they crowd each other out.
TEST(Topk, FewOfManyUnderEachInstructionSet) {
  Rng rng(7);
  for (const Config& config : AllConfigs()) {
    const ScopedIsa scoped(config.isa);
    for (int trial = 0; trial < 60; ++trial) {
      const int64_t n = Pick(&rng, 200, 900);
      HostArray x(DataType::kFloat, {3, n});
      x.Fill(&rng, OneIn(&rng, 2));
      const int64_t kinds = OneIn(&rng, 3) ? Pick(&rng, 1, 40) : 1000000;
      const int64_t period = OneIn(&rng, 3) ? 64 : 1;
      for (int64_t i = 0; i < x.count() && !OneIn(&rng, 400); ++i) {
        const double value =
            static_cast<double>(Pick(&rng, 0, kinds)) - 0.5 * static_cast<double>(kinds);
        x.Set(i, i % period == 0 ? 2.0 * value : 0.001 * value);
      }
      TopkAttrs attrs;
      attrs.dim = 1;
      attrs.k = Pick(&rng, 1, 36);
      attrs.largest = OneIn(&rng, 2);
      ExpectSame("topk.cpu.select", "topk", x, HostArray(DataType::kFloat, {3, attrs.k}), &attrs);
    }
  }
}

TEST(Kthvalue, AgreesWithReference) {
  Rng rng(5);
  int done = 0;
  for (int trial = 0; trial < 300; ++trial) {
    const HostArray x = Input(&rng, RandomShape(&rng, 0, 3));
    if (x.count() == 0) { continue; }
    SelectAttrs attrs;
    attrs.dim = PickDim(&rng, x.shape());
    Dims shape = x.shape();
    const int64_t n = shape.size() == 0 ? 1 : shape[static_cast<int>(attrs.dim)];
    if (shape.size() > 0) { shape[static_cast<int>(attrs.dim)] = 1; }
    attrs.k = Pick(&rng, 0, n - 1);
    attrs.nan_wins = OneIn(&rng, 2);
    ExpectSame("kthvalue.cpu.select", "kthvalue", x, HostArray(x.dtype(), shape), &attrs);
    ExpectSame("mode.cpu.radix", "mode", x, HostArray(x.dtype(), shape), &attrs);
    ++done;
  }
  EXPECT_GT(done, 200);
  HostArray long_vector(DataType::kFloat, {100003});
  long_vector.Fill(&rng, true);
  SelectAttrs attrs;
  attrs.k = 70000;
  ExpectSame("kthvalue.cpu.select", "kthvalue", long_vector, HostArray(DataType::kFloat, {1}),
             &attrs);
}

TEST(Median, AgreesWithReference) {
  Rng rng(6);
  for (int trial = 0; trial < 100; ++trial) {
    const HostArray x = Input(&rng, Dims{Pick(&rng, 0, 40)});
    HostArray want(x.dtype(), {});
    HostArray got(x.dtype(), {});
    CHECK_JUST(Call("median_flat.cpu.reference", {&x}, {&want}, nullptr));
    CHECK_JUST(Call("median_flat.cpu.select", {&x}, {&got}, nullptr));
    ASSERT_EQ(Difference(got, want, 0.0), "") << DataTypeName(x.dtype()) << x.count();
  }
}

TEST(Searchsorted, AgreesWithReference) {
  Rng rng(7);
  for (int trial = 0; trial < 200; ++trial) {
    const DataType dtype = PickDtype(&rng, kDtypes);
    const int64_t n = Pick(&rng, 0, 20);
    const bool rows = OneIn(&rng, 2);
    HostArray sequence(dtype, rows ? Dims{3, n} : Dims{n});
    for (int64_t i = 0; i < sequence.count(); ++i) {
      sequence.Set(i, static_cast<double>(i % std::max<int64_t>(n, 1) / 2));
    }
    const Dims shape{3, Pick(&rng, 1, 40)};  // a few values, or many that are searched for together
    HostArray values = RandomArray(&rng, dtype, shape, PickLayout(&rng, true));
    for (int64_t i = 0; i < values.count(); ++i) {
      values.Set(i, static_cast<double>(Pick(&rng, 0, 11)));
    }
    if (IsFloating(dtype) && OneIn(&rng, 4)) { values.Set(Pick(&rng, 0, values.count() - 1), NAN); }
    SearchAttrs attrs;
    attrs.right = OneIn(&rng, 2);
    attrs.dtype = OneIn(&rng, 2) ? DataType::kInt32 : DataType::kInt64;
    HostArray want(attrs.dtype, shape);
    HostArray got(attrs.dtype, shape);
    CHECK_JUST(Call("searchsorted.cpu.reference", {&sequence, &values, nullptr}, {&want}, &attrs));
    CHECK_JUST(Call("searchsorted.cpu.bisect", {&sequence, &values, nullptr}, {&got}, &attrs));
    ASSERT_EQ(Difference(got, want, 0.0), "") << DataTypeName(dtype);
  }
}

TEST(Searchsorted, ASorterThatPointsOutsideIsAnError) {
  const HostArray sequence(DataType::kFloat, {3});
  const HostArray values(DataType::kFloat, {2});
  HostArray sorter(DataType::kInt64, {3});
  sorter.Set(1, 3);
  HostArray out(DataType::kInt64, {2});
  SearchAttrs attrs;
  for (const char* kernel : {"searchsorted.cpu.bisect", "searchsorted.cpu.reference"}) {
    const Maybe<void> ran = Call(kernel, {&sequence, &values, &sorter}, {&out}, &attrs);
    ASSERT_FALSE(ran.ok()) << kernel;
    EXPECT_EQ(ran.error()->kind(), ErrorKind::kIndex);
  }
}

TEST(Ranking, AgreesWithReference) {
  Rng rng(8);
  for (int trial = 0; trial < 50; ++trial) {
    HostArray predictions(OneIn(&rng, 2) ? DataType::kFloat : DataType::kDouble, {6, 9});
    predictions.Fill(&rng, OneIn(&rng, 4));
    HostArray targets(OneIn(&rng, 2) ? DataType::kInt32 : DataType::kInt64, {6});
    for (int64_t i = 0; i < 6; ++i) { targets.Set(i, static_cast<double>(Pick(&rng, 0, 10))); }
    InTopkAttrs attrs;
    attrs.k = Pick(&rng, 1, 9);
    HostArray want(DataType::kBool, {6});
    HostArray got(DataType::kBool, {6});
    CHECK_JUST(Call("in_top_k.cpu.reference", {&targets, &predictions}, {&want}, &attrs));
    CHECK_JUST(Call("in_top_k.cpu.vector", {&targets, &predictions}, {&got}, &attrs));
    ASSERT_EQ(Difference(got, want, 0.0), "");

    HostArray label(DataType::kFloat, {100});
    HostArray score(DataType::kFloat, {100});
    for (int64_t i = 0; i < 100; ++i) {
      label.Set(i, static_cast<double>(Pick(&rng, 0, 1)));
      score.Set(i, static_cast<double>(Pick(&rng, 0, 30)));
    }
    HostArray want_auc(DataType::kFloat, {1});
    HostArray auc(DataType::kFloat, {1});
    CHECK_JUST(Call("roc_auc_score.cpu.reference", {&label, &score}, {&want_auc}, nullptr));
    CHECK_JUST(Call("roc_auc_score.cpu.radix", {&label, &score}, {&auc}, nullptr));
    ASSERT_EQ(Difference(auc, want_auc, 1e-6), "");
  }
}

TEST(Unique, AgreesWithReference) {
  Rng rng(9);
  for (int trial = 0; trial < 100; ++trial) {
    const Dims shape{Pick(&rng, 0, 300)};
    const HostArray x = Input(&rng, shape);
    HostArray values(x.dtype(), shape);
    HostArray inverse(DataType::kInt64, shape);
    HostArray counts(DataType::kInt64, shape);
    HostArray number(DataType::kInt64, {});
    HostArray want_values(values), want_inverse(inverse), want_counts(counts), want_number(number);
    CHECK_JUST(Call("unique.cpu.radix", {&x}, {&values, &inverse, &counts, &number}, nullptr, 2));
    CHECK_JUST(Call("unique.cpu.reference", {&x},
                    {&want_values, &want_inverse, &want_counts, &want_number}, nullptr));
    ASSERT_EQ(Difference(number, want_number, 0.0), "");
    ASSERT_EQ(Difference(inverse, want_inverse, 0.0), "");
    for (int64_t i = 0; i < static_cast<int64_t>(number.At(0)); ++i) {
      ASSERT_EQ(counts.At(i), want_counts.At(i));
      const bool both_nan = std::isnan(values.At(i)) && std::isnan(want_values.At(i));
      ASSERT_TRUE(both_nan || values.At(i) == want_values.At(i));
    }
  }
}

TEST(Bincount, AgreesWithReferenceAndChecksItsInput) {
  Rng rng(10);
  HostArray x(DataType::kInt64, {50});
  HostArray weights(DataType::kDouble, {50});
  weights.Fill(&rng, false);
  for (int64_t i = 0; i < 50; ++i) { x.Set(i, static_cast<double>(Pick(&rng, 0, 8))); }
  BincountAttrs attrs;
  for (const HostArray* given : {static_cast<const HostArray*>(nullptr), &std::as_const(weights)}) {
    const DataType dtype = given == nullptr ? DataType::kInt64 : DataType::kDouble;
    HostArray want(dtype, {9});
    HostArray got(dtype, {9});
    CHECK_JUST(Call("bincount.cpu.reference", {&x, given}, {&want}, &attrs));
    CHECK_JUST(Call("bincount.cpu.dense", {&x, given}, {&got}, &attrs));
    ASSERT_EQ(Difference(got, want, 1e-12), "");
  }
  x.Set(7, -1.0);
  HostArray out(DataType::kInt64, {9});
  for (const char* kernel : {"bincount.cpu.dense", "bincount.cpu.reference"}) {
    ASSERT_FALSE(Call(kernel, {&x, nullptr}, {&out}, &attrs).ok());
  }
}

}  // namespace
}  // namespace testing
}  // namespace cpu
}  // namespace oneflow
