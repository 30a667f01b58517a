// dropout, forward and backward, against the reference.
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "oneflow/kernels/attrs_norm.h"
#include "oneflow/kernels/cpu/kernel_testing.h"

namespace oneflow {
namespace cpu {
namespace testing {
namespace {

HostArray Random(Rng* rng, DataType dtype, const Dims& shape) {
  HostArray array = RandomArray(rng, dtype, shape, PickLayout(rng, true));
  array.Fill(rng, false);
  return array;
}

const std::vector<DataType> kDtypes = {DataType::kFloat, DataType::kFloat, DataType::kDouble,
                                       DataType::kFloat16, DataType::kBFloat16};

TEST(Dropout, AgreesWithReference) {
  Rng rng(1);
  for (int trial = 0; trial < 200; ++trial) {
    const DataType dtype = PickDtype(&rng, kDtypes);
    const Dims runs = RandomShape(&rng, 0, 3);
    DropoutAttrs attrs;
    attrs.p = OneIn(&rng, 5) ? 1.0 : static_cast<double>(Pick(&rng, 0, 9)) / 10.0;
    attrs.inner = OneIn(&rng, 2) ? 1 : Pick(&rng, 2, 5);
    attrs.slot.seed = rng();
    // Blocks are counted modulo 2^64.
    attrs.slot.offset = OneIn(&rng, 4) ? ~uint64_t{0} - 1 : rng() % 1000;
    Dims shape = runs;
    if (attrs.inner > 1) { shape.PushBack(attrs.inner); }
    const HostArray x = Random(&rng, dtype, shape), added = Random(&rng, dtype, shape);
    const HostArray* addend = OneIn(&rng, 2) ? &added : nullptr;
    const HostArray y = RandomArray(&rng, dtype, shape, PickLayout(&rng, false));
    HostArray mask(DataType::kBool, runs);
    const double tolerance = ToleranceFor(dtype);
    ASSERT_EQ(AgainstReference({"dropout", {&x, addend}, {y, mask}, &attrs, 4 * tolerance}), "");
    HostArray out(y);
    CHECK_JUST(Call("dropout.cpu.reference", {&x, addend}, {&out, &mask}, &attrs));
    const DropoutBackwardAttrs backward{attrs.p, attrs.inner};
    ASSERT_EQ(AgainstReference({"dropout_backward", {&x, &mask}, {y}, &backward, 4 * tolerance}),
              "");
  }
}

// bfloat16 that lies densely: the same bits as by way of whole copies.
TEST(Dropout, DenseBfloat16AgreesWithReference) {
  Rng rng(5);
  for (int trial = 0; trial < 40; ++trial) {
    const Dims shape = OneIn(&rng, 3) ? Dims{Pick(&rng, 3, 9), 4000} : RandomShape(&rng, 0, 3);
    HostArray x(DataType::kBFloat16, shape), added(DataType::kBFloat16, shape);
    x.Fill(&rng, false);
    added.Fill(&rng, false);
    const HostArray* addend = OneIn(&rng, 2) ? &added : nullptr;
    DropoutAttrs attrs;
    attrs.p = OneIn(&rng, 5) ? 1.0 : static_cast<double>(Pick(&rng, 0, 9)) / 10.0;
    attrs.slot.seed = rng();
    const HostArray y(DataType::kBFloat16, shape);
    HostArray mask(DataType::kBool, shape), other(DataType::kBool, shape);
    const double tolerance = ToleranceFor(DataType::kBFloat16);
    ASSERT_EQ(AgainstReference({"dropout", {&x, addend}, {y, mask}, &attrs, tolerance, "short"}),
              "");
    HostArray by_blocks(y), by_copies(y);
    CHECK_JUST(Call("dropout.cpu.short", {&x, addend}, {&by_blocks, &mask}, &attrs));
    CHECK_JUST(Call("dropout.cpu.vector", {&x, addend}, {&by_copies, &other}, &attrs));
    for (int64_t i = 0; i < y.count(); ++i) { ASSERT_EQ(by_blocks.At(i), by_copies.At(i)); }
    const DropoutBackwardAttrs backward{attrs.p, 1};
    ASSERT_EQ(
        AgainstReference({"dropout_backward", {&x, &mask}, {y}, &backward, tolerance, "short"}),
        "");
  }
}

TEST(Dropout, AMaskAloneIsTheOneThatDropoutDraws) {
  Rng rng(3);
  for (int trial = 0; trial < 60; ++trial) {
    const Dims shape = RandomShape(&rng, 0, 3);
    DropoutAttrs attrs;
    attrs.p = OneIn(&rng, 5) ? 1.0 : static_cast<double>(Pick(&rng, 0, 9)) / 10.0;
    attrs.slot.seed = rng();
    attrs.slot.offset = OneIn(&rng, 4) ? ~uint64_t{0} - 1 : rng() % 1000;
    HostArray mask(DataType::kBool, shape), other(DataType::kBool, shape);
    const ReferenceCase kept{"dropout_kept", {}, {mask}, &attrs, 0.0};
    ASSERT_EQ(AgainstReference(kept), "");
    CHECK_JUST(Call("dropout_kept.cpu.vector", {}, {&mask}, &attrs));
    const HostArray x = Random(&rng, DataType::kFloat, shape);
    HostArray y(DataType::kFloat, shape);
    CHECK_JUST(Call("dropout.cpu.vector", {&x, nullptr}, {&y, &other}, &attrs));
    for (int64_t i = 0; i < mask.count(); ++i) { ASSERT_EQ(mask.At(i), other.At(i)); }
  }
}

TEST(Dropout, TheComparisonSeesOneOtherElement) {
  Rng rng(2);
  const HostArray x = Random(&rng, DataType::kFloat, {20});
  HostArray changed(x);
  for (int64_t i = 0; i < 20; ++i) { changed.Set(i, x.At(i) + 0.5); }
  const Arrays other = {&changed, nullptr};
  const DropoutAttrs attrs;
  const HostArray y(DataType::kFloat, {20}), mask(DataType::kBool, {20});
  EXPECT_NE(AgainstReference({"dropout", {&x, nullptr}, {y, mask}, &attrs, 1e-5}, &other), "");
}

}  // namespace
}  // namespace testing
}  // namespace cpu
}  // namespace oneflow
