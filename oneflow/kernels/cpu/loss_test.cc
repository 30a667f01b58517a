// log_softmax and nll_loss, forward and backward, against their references.
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

const std::vector<DataType> kFloats = {DataType::kFloat, DataType::kDouble};

double Tolerance(DataType dtype) { return dtype == DataType::kFloat ? 2e-6 : 1e-13; }

// Outputs of the vector kernel under each configuration, against the reference's; among themselves
// they must have the same bits.
template <typename Attrs>
void ExpectSameAsReference(const std::string& op, const Arrays& in,
                           const std::vector<HostArray>& blank, const Attrs& attrs,
                           double tolerance) {
  std::vector<HostArray> want = blank;
  std::vector<HostArray> first = blank;
  Arrays want_out, first_out;
  for (HostArray& array : want) { want_out.push_back(&array); }
  for (HostArray& array : first) { first_out.push_back(&array); }
  CHECK_JUST(Call((op + ".cpu.reference").c_str(), in, want_out, &attrs));
  CHECK_JUST(Call((op + ".cpu.vector").c_str(), in, first_out, &attrs));
  for (const Config& config : AllConfigs()) {
    const ScopedIsa isa(config.isa);
    std::vector<HostArray> got = blank;
    Arrays out;
    for (HostArray& array : got) { out.push_back(&array); }
    CHECK_JUST(Call((op + ".cpu.vector").c_str(), in, out, &attrs, config.threads));
    for (size_t i = 0; i < got.size(); ++i) {
      ASSERT_EQ(Difference(got[i], want[i], tolerance), "") << op << " " << IsaName(config.isa);
      ASSERT_EQ(Difference(got[i], first[i], 0.0), "") << op << " " << IsaName(config.isa);
      ASSERT_TRUE(got[i].GuardsIntact()) << op;
    }
  }
}

TEST(LogSoftmax, AgreesWithReference) {
  Rng rng(1);
  for (int trial = 0; trial < 300; ++trial) {
    const DataType dtype = PickDtype(&rng, kFloats);
    const Dims shape = RandomShape(&rng, 0, 4);
    HostArray x = RandomArray(&rng, dtype, shape, PickLayout(&rng, true));
    HostArray dy = RandomArray(&rng, dtype, shape, PickLayout(&rng, true));
    x.Fill(&rng, false);
    dy.Fill(&rng, false);
    LogSoftmaxAttrs attrs;
    attrs.dim = shape.empty() ? 0 : Pick(&rng, 0, shape.size() - 1);
    const HostArray blank(dtype, shape);
    ExpectSameAsReference("log_softmax", {&x}, {blank}, attrs, Tolerance(dtype));
    HostArray out = RandomArray(&rng, dtype, shape, PickLayout(&rng, false));
    CHECK_JUST(Call("log_softmax.cpu.reference", {&x}, {&out}, &attrs));
    ExpectSameAsReference("log_softmax_backward", {&dy, &out}, {blank}, attrs,
                          Tolerance(dtype) * 10);
  }
}

TEST(LogSoftmax, LargeValuesDoNotOverflow) {
  LogSoftmaxAttrs attrs;
  for (DataType dtype : kFloats) {
    HostArray x(dtype, {3});
    HostArray out(dtype, {3});
    x.Set(0, 10000.0);
    x.Set(1, -10000.0);
    x.Set(2, 10000.0);
    CHECK_JUST(Call("log_softmax.cpu.vector", {&x}, {&out}, &attrs));
    EXPECT_NEAR(out.At(0), -std::log(2.0), 1e-6);
    EXPECT_EQ(out.At(1), dtype == DataType::kFloat ? -20000.693359375 : out.At(1));
    x.Set(1, -INFINITY);
    CHECK_JUST(Call("log_softmax.cpu.vector", {&x}, {&out}, &attrs));
    EXPECT_NEAR(out.At(2), -std::log(2.0), 1e-6);
    EXPECT_EQ(out.At(1), -INFINITY);
    x.Set(1, NAN);
    CHECK_JUST(Call("log_softmax.cpu.vector", {&x}, {&out}, &attrs));
    EXPECT_TRUE(std::isnan(out.At(0)));
  }
}

// ---- nll_loss -----------------------------------------------------------------------------------

struct NllCase {
  HostArray x;
  HostArray target;
  HostArray weight;
  NllLossAttrs attrs;
};

NllCase RandomNll(Rng* rng) {
  const DataType dtype = PickDtype(rng, kFloats);
  const int64_t classes = Pick(rng, 1, 12);
  Dims targets = RandomShape(rng, 0, 3);
  Dims shape = targets;
  shape.Insert(targets.empty() ? 0 : 1, classes);
  NllCase c{RandomArray(rng, dtype, shape, PickLayout(rng, true)),
            RandomArray(rng, DataType::kInt64, targets, PickLayout(rng, true)),
            RandomArray(rng, dtype, {classes}, PickLayout(rng, true)), NllLossAttrs()};
  c.x.Fill(rng, false);
  c.weight.Fill(rng, false);
  c.attrs.ignore_index = OneIn(rng, 2) ? -100 : Pick(rng, -1, classes - 1);
  c.attrs.reduction = static_cast<Reduction>(Pick(rng, 0, 2));
  for (int64_t i = 0; i < c.target.count(); ++i) {
    const bool ignored = OneIn(rng, 6);
    c.target.Set(i,
                 static_cast<double>(ignored ? c.attrs.ignore_index : Pick(rng, 0, classes - 1)));
  }
  return c;
}

TEST(NllLoss, AgreesWithReference) {
  Rng rng(2);
  for (int trial = 0; trial < 300; ++trial) {
    const NllCase c = RandomNll(&rng);
    const DataType dtype = c.x.dtype();
    const bool each = c.attrs.reduction == Reduction::kNone;
    const HostArray loss(dtype, each ? c.target.shape() : Dims());
    HostArray total(dtype, {});
    const HostArray* weight = OneIn(&rng, 2) ? &c.weight : nullptr;
    ExpectSameAsReference("nll_loss", {&c.x, &c.target, weight}, {loss, total}, c.attrs,
                          Tolerance(dtype));
    HostArray dy = RandomArray(&rng, dtype, loss.shape(), PickLayout(&rng, true));
    dy.Fill(&rng, false);
    total.Set(0, 3.5);
    ExpectSameAsReference("nll_loss_backward", {&dy, &c.target, weight, &total},
                          {HostArray(dtype, c.x.shape())}, c.attrs, Tolerance(dtype));
  }
}

void ExpectIndexError(const char* kernel, const Arrays& in, const Arrays& out,
                      const std::string& message) {
  const NllLossAttrs attrs;
  const Maybe<void> ran = Call(kernel, in, out, &attrs);
  ASSERT_FALSE(ran.ok()) << kernel;
  EXPECT_EQ(ran.error()->kind(), ErrorKind::kIndex);
  EXPECT_EQ(ran.error()->message(), message);
}

TEST(NllLoss, NamesTheBadTarget) {
  HostArray x(DataType::kFloat, {5, 10});
  HostArray target(DataType::kInt64, {5});
  for (int64_t i = 0; i < 5; ++i) { target.Set(i, 1); }
  target.Set(3, 12);
  HostArray loss(DataType::kFloat, {});
  HostArray total(DataType::kFloat, {});
  HostArray dx(DataType::kFloat, {5, 10});
  loss.Set(0, 77.0);
  const std::string expected = " expects target in [0, 10), got 12 at index 3";
  for (const char* kind : {".cpu.vector", ".cpu.reference"}) {
    ExpectIndexError((std::string("nll_loss") + kind).c_str(), {&x, &target}, {&loss, &total},
                     "[nll_loss]" + expected);
    ExpectIndexError((std::string("nll_loss_backward") + kind).c_str(),
                     {&loss, &target, nullptr, &total}, {&dx}, "[nll_loss_backward]" + expected);
  }
  EXPECT_EQ(loss.At(0), 77.0);  // checked before anything was written
}

TEST(NllLoss, NamesTheBadTargetOfManyDims) {
  HostArray x(DataType::kFloat, {2, 4, 3});
  HostArray target(DataType::kInt64, {2, 3});
  for (int64_t i = 0; i < 6; ++i) { target.Set(i, 0); }
  target.Set(5, -1);
  HostArray loss(DataType::kFloat, {});
  HostArray total(DataType::kFloat, {});
  ExpectIndexError("nll_loss.cpu.vector", {&x, &target}, {&loss, &total},
                   "[nll_loss] expects target in [0, 4), got -1 at index (1, 2)");
}

TEST(NllLoss, MeanOfNothingIsNan) {
  HostArray x(DataType::kFloat, {2, 3});
  HostArray target(DataType::kInt64, {2});
  target.Set(0, -100);
  target.Set(1, -100);
  HostArray loss(DataType::kFloat, {});
  HostArray total(DataType::kFloat, {});
  const NllLossAttrs attrs;
  CHECK_JUST(Call("nll_loss.cpu.vector", {&x, &target}, {&loss, &total}, &attrs));
  EXPECT_TRUE(std::isnan(loss.At(0)));
  EXPECT_EQ(total.At(0), 0.0);
}

}  // namespace
}  // namespace testing
}  // namespace cpu
}  // namespace oneflow
