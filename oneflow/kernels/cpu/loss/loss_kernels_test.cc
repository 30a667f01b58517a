// pointwise_loss and softmax_loss, forward and backward, against their references.
#include <cmath>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "oneflow/kernels/attrs_norm.h"
#include "oneflow/kernels/cpu/kernel_testing.h"

namespace oneflow {
namespace cpu {
namespace testing {
namespace {

const std::vector<DataType> kDtypes = {DataType::kFloat, DataType::kFloat, DataType::kDouble,
                                       DataType::kFloat16, DataType::kBFloat16};

HostArray Random(Rng* rng, DataType dtype, const Dims& shape) {
  HostArray array = RandomArray(rng, dtype, shape, PickLayout(rng, true));
  array.Fill(rng, false);
  return array;
}

// Numbers in (0, 1), as probabilities are.
HostArray Fractions(Rng* rng, DataType dtype, const Dims& shape) {
  HostArray array = RandomArray(rng, dtype, shape, Layout::kDense);
  for (int64_t i = 0; i < array.count(); ++i) {
    array.Set(i, static_cast<double>(Pick(rng, 5, 95)) / 100.0);
  }
  return array;
}

TEST(PointwiseLoss, AgreesWithReference) {
  Rng rng(1);
  for (int trial = 0; trial < 400; ++trial) {
    const DataType dtype = PickDtype(&rng, kDtypes);
    const Dims shape = RandomShape(&rng, 0, 3);
    PointwiseLossBackwardAttrs attrs;
    attrs.loss.kind = trial % 8;
    attrs.loss.reduction = static_cast<Reduction>(Pick(&rng, 0, 2));
    attrs.loss.beta = 0.75;
    const bool fractions = attrs.loss.kind == static_cast<int64_t>(LossKind::kBinary);
    const HostArray x = fractions ? Fractions(&rng, dtype, shape) : Random(&rng, dtype, shape);
    const HostArray t = OneIn(&rng, 3) ? Random(&rng, dtype, shape) : Fractions(&rng, dtype, shape);
    const HostArray w = Random(&rng, dtype, shape), p = Fractions(&rng, dtype, shape);
    const bool logits = attrs.loss.kind == static_cast<int64_t>(LossKind::kLogits);
    const HostArray* weight = OneIn(&rng, 2) ? &w : nullptr;
    const HostArray* positive = logits && OneIn(&rng, 2) ? &p : nullptr;
    const bool each = attrs.loss.reduction == Reduction::kNone;
    const HostArray loss(dtype, each ? shape : Dims());
    const double tolerance = ToleranceFor(dtype);
    ASSERT_EQ(AgainstReference(
                  {"pointwise_loss", {&x, &t, weight, positive}, {loss}, &attrs.loss, tolerance}),
              "")
        << "kind " << attrs.loss.kind;
    const HostArray dy = Random(&rng, dtype, loss.shape());
    for (bool by_target : {false, true}) {
      attrs.by_target = by_target;
      const HostArray dx = RandomArray(&rng, dtype, shape, PickLayout(&rng, false));
      ASSERT_EQ(AgainstReference({"pointwise_loss_backward",
                                  {&dy, &x, &t, weight, positive},
                                  {dx},
                                  &attrs,
                                  10 * tolerance}),
                "")
          << "kind " << attrs.loss.kind << " by target " << by_target;
    }
  }
}

TEST(SoftmaxLoss, AgreesWithReference) {
  Rng rng(2);
  for (int trial = 0; trial < 300; ++trial) {
    const DataType dtype = PickDtype(&rng, {DataType::kFloat, DataType::kDouble});
    const int64_t classes = Pick(&rng, 1, 12);
    const Dims samples = RandomShape(&rng, 1, 3);
    Dims shape = samples;
    SoftmaxLossAttrs attrs;
    attrs.class_dim = Pick(&rng, 0, samples.size());
    shape.Insert(static_cast<int>(attrs.class_dim), classes);
    attrs.ignore_index = OneIn(&rng, 2) ? -100 : Pick(&rng, 0, classes - 1);
    attrs.reduction = static_cast<Reduction>(Pick(&rng, 0, 2));
    attrs.label_smoothing = OneIn(&rng, 2) ? 0.0 : 0.3;
    const HostArray x = Random(&rng, dtype, shape);
    HostArray target = RandomArray(&rng, DataType::kInt64, samples, PickLayout(&rng, false));
    for (int64_t i = 0; i < target.count(); ++i) {
      const bool ignored = OneIn(&rng, 6);
      target.Set(i, static_cast<double>(ignored ? attrs.ignore_index : Pick(&rng, 0, classes - 1)));
    }
    const HostArray w = Fractions(&rng, dtype, {classes});
    const HostArray* weight = OneIn(&rng, 2) ? &w : nullptr;
    const bool each = attrs.reduction == Reduction::kNone;
    const HostArray loss(dtype, each ? samples : Dims()), row(dtype, samples), one(dtype, {});
    const double tolerance = ToleranceFor(dtype);
    ASSERT_EQ(
        AgainstReference(
            {"softmax_loss", {&x, &target, weight}, {loss, one, row, row}, &attrs, tolerance}),
        "");
    HostArray got(loss), total(one), max(row), log_sum(row);
    CHECK_JUST(Call("softmax_loss.cpu.reference", {&x, &target, weight},
                    {&got, &total, &max, &log_sum}, &attrs));
    const HostArray dy = Random(&rng, dtype, loss.shape());
    const HostArray dx = RandomArray(&rng, dtype, shape, PickLayout(&rng, false));
    ASSERT_EQ(AgainstReference({"softmax_loss_backward",
                                {&dy, &x, &target, weight, &total, &max, &log_sum},
                                {dx},
                                &attrs,
                                10 * tolerance}),
              "");
  }
}

// Logits of bfloat16 with a loss of float32; most samples are ignored. The gradient is rounded once.
TEST(SoftmaxLoss, RowsOfBfloat16AgreeWithReference) {
  Rng rng(4);
  for (int trial = 0; trial < 100; ++trial) {
    const int64_t classes = OneIn(&rng, 4) ? Pick(&rng, 300, 700) : Pick(&rng, 1, 40);
    const Dims samples = OneIn(&rng, 3) ? Dims{2, 3} : Dims{Pick(&rng, 1, 9)};
    Dims shape = samples;
    shape.PushBack(classes);
    SoftmaxLossAttrs attrs;
    attrs.class_dim = samples.size();
    attrs.reduction = static_cast<Reduction>(Pick(&rng, 0, 2));
    attrs.label_smoothing = OneIn(&rng, 2) ? 0.0 : 0.3;
    attrs.wide_loss = true;
    HostArray x(DataType::kBFloat16, shape), target(DataType::kInt64, samples);
    x.Fill(&rng, false);
    for (int64_t i = 0; i < target.count(); ++i) {
      const bool asked = i == 0 || OneIn(&rng, 3);
      target.Set(i, asked ? static_cast<double>(Pick(&rng, 0, classes - 1)) : -100.0);
    }
    const bool each = attrs.reduction == Reduction::kNone;
    const HostArray loss(DataType::kFloat, each ? samples : Dims());
    const HostArray row(DataType::kFloat, samples), one(DataType::kFloat, {});
    ASSERT_EQ(AgainstReference({"softmax_loss",
                                {&x, &target, nullptr},
                                {loss, one, row, row},
                                &attrs,
                                ToleranceFor(DataType::kFloat),
                                "rows"}),
              "");
    HostArray got(loss), total(one), max(row), log_sum(row);
    CHECK_JUST(Call("softmax_loss.cpu.reference", {&x, &target, nullptr},
                    {&got, &total, &max, &log_sum}, &attrs));
    HostArray dy(DataType::kFloat, loss.shape());
    dy.Fill(&rng, false);
    const HostArray dx(DataType::kBFloat16, shape);
    ASSERT_EQ(AgainstReference({"softmax_loss_backward",
                                {&dy, &x, &target, nullptr, &total, &max, &log_sum},
                                {dx},
                                &attrs,
                                ToleranceFor(DataType::kBFloat16),
                                "rows"}),
              "");
  }
}

TEST(Losses, TheComparisonSeesOneOtherTarget) {
  Rng rng(3);
  const HostArray x = Random(&rng, DataType::kFloat, {6, 4}), loss(DataType::kFloat, {});
  const HostArray t = Fractions(&rng, DataType::kFloat, {6, 4});
  HostArray changed(t);
  changed.Set(5, t.At(5) + 0.1);
  const Arrays other = {&x, &changed, nullptr, nullptr};
  PointwiseLossAttrs attrs;
  EXPECT_NE(AgainstReference({"pointwise_loss",
                              {&x, &t, nullptr, nullptr},
                              {loss},
                              &attrs,
                              ToleranceFor(DataType::kFloat)},
                             &other),
            "");
}

}  // namespace
}  // namespace testing
}  // namespace cpu
}  // namespace oneflow
