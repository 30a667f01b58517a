// The cumulative ops against their references.
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "oneflow/kernels/attrs_reduce.h"
#include "oneflow/kernels/cpu/kernel_testing.h"

namespace oneflow {
namespace cpu {
namespace testing {
namespace {

const std::vector<DataType> kDtypes = {DataType::kBool,     DataType::kUInt8, DataType::kInt8,
                                       DataType::kInt32,    DataType::kInt64, DataType::kFloat16,
                                       DataType::kBFloat16, DataType::kFloat, DataType::kDouble};

void ExpectSameAsReference(const std::string& op, const HostArray& x, const CumulativeAttrs& attrs,
                           double tolerance) {
  const DataType dtype = IsFloating(x.dtype()) ? x.dtype() : DataType::kInt64;
  HostArray want(dtype, x.shape());
  CHECK_JUST(Call((op + ".cpu.reference").c_str(), {&x}, {&want}, &attrs));
  HostArray first(dtype, x.shape());
  CHECK_JUST(Call((op + ".cpu.vector").c_str(), {&x}, {&first}, &attrs));
  for (const Config& config : AllConfigs()) {
    const ScopedIsa isa(config.isa);
    HostArray got(dtype, x.shape());
    CHECK_JUST(Call((op + ".cpu.vector").c_str(), {&x}, {&got}, &attrs, config.threads));
    ASSERT_EQ(Difference(got, want, tolerance), "")
        << op << " of " << x.shape().ToString() << " " << IsaName(config.isa);
    ASSERT_TRUE(got.GuardsIntact());
    ASSERT_EQ(Difference(got, first, 0.0), "") << IsaName(config.isa) << config.threads;
  }
}

TEST(Cumulative, AgreesWithReference) {
  Rng rng(1);
  for (int trial = 0; trial < 400; ++trial) {
    const DataType dtype = PickDtype(&rng, kDtypes);
    HostArray x = RandomArray(&rng, dtype, RandomShape(&rng, 0, 4), PickLayout(&rng, true));
    x.Fill(&rng, !IsFloating(dtype));
    for (int64_t i = 0; IsFloating(dtype) && i < x.count(); ++i) {
      x.Set(i, static_cast<double>(Pick(&rng, 3, 5)) / 4.0);
    }
    CumulativeAttrs attrs;
    attrs.dim = x.shape().size() == 0 ? 0 : Pick(&rng, 0, x.shape().size() - 1);
    attrs.reverse = OneIn(&rng, 2);
    const double tolerance = dtype == DataType::kDouble     ? 1e-12
                             : dtype == DataType::kFloat    ? 1e-6
                             : dtype == DataType::kBFloat16 ? 8e-3
                                                            : 1e-3;
    ExpectSameAsReference(OneIn(&rng, 2) ? "cumsum" : "cumprod", x, attrs, tolerance);
  }
}

TEST(Cumulative, RunningExtremes) {
  Rng rng(3);
  for (int trial = 0; trial < 200; ++trial) {
    HostArray x = RandomArray(&rng, PickDtype(&rng, kDtypes), RandomShape(&rng, 0, 3),
                              PickLayout(&rng, true));
    x.Fill(&rng, true);
    CumulativeAttrs attrs;
    attrs.dim = x.shape().size() == 0 ? 0 : Pick(&rng, 0, x.shape().size() - 1);
    const std::string op = OneIn(&rng, 2) ? "cummax" : "cummin";
    HostArray want(x.dtype(), x.shape());
    HostArray want_at(DataType::kInt64, x.shape());
    HostArray got(x.dtype(), x.shape());
    HostArray at(DataType::kInt64, x.shape());
    CHECK_JUST(Call((op + ".cpu.reference").c_str(), {&x}, {&want, &want_at}, &attrs));
    CHECK_JUST(Call((op + ".cpu.vector").c_str(), {&x}, {&got, &at}, &attrs, 2));
    ASSERT_EQ(Difference(got, want, 0.0), "") << op << DataTypeName(x.dtype());
    ASSERT_EQ(Difference(at, want_at, 0.0), "") << op << DataTypeName(x.dtype());
  }
}

// Rows that are cut into chunks, alone and together.
TEST(Cumulative, LongRows) {
  Rng rng(2);
  for (const Dims& shape : {Dims{200003}, Dims{2, 5000}, Dims{9, 1500}, Dims{2048}}) {
    for (bool reverse : {false, true}) {
      HostArray x(DataType::kDouble, shape);
      x.Fill(&rng, false);
      CumulativeAttrs attrs;
      attrs.dim = shape.size() - 1;
      attrs.reverse = reverse;
      ExpectSameAsReference("cumsum", x, attrs, 1e-9);
      HostArray whole(DataType::kInt32, shape);
      whole.Fill(&rng, true);
      ExpectSameAsReference("cumsum", whole, attrs, 0.0);
      ExpectSameAsReference("cumprod", whole, attrs, 0.0);
    }
  }
}

}  // namespace
}  // namespace testing
}  // namespace cpu
}  // namespace oneflow
