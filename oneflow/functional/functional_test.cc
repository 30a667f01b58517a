// The functional API without Python: what the generated code saves, and what in place means.
#include "oneflow/functional/generated/functional.h"

#include <gtest/gtest.h>

#include "oneflow/autograd/engine.h"
#include "oneflow/autograd/grad_mode.h"
#include "oneflow/boot/boot.h"
#include "oneflow/functional/attr_helpers.h"
#include "oneflow/functional/generated/functional_ops.h"
#include "oneflow/vm/vm.h"

namespace oneflow {
namespace {

namespace f = functional;

class FunctionalTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { CHECK_JUST(StartRuntime()); }

  static TensorPtr Range(int64_t n, DataType dtype = DataType::kFloat) {
    return CHECK_JUST(f::arange(Scalar(0), Scalar(n), Scalar(1), dtype));
  }
  static TensorPtr Leaf(int64_t n) {
    TensorPtr t = Range(n);
    t->MutableAutograd()->requires_grad = true;
    return t;
  }
  static std::vector<float> Values(const TensorPtr& t) {
    const TensorPtr dense = CHECK_JUST(f::contiguous(t));
    CHECK_JUST(Vm::Get()->SyncRead(dense->storage()));
    const float* data = reinterpret_cast<const float*>(dense->data());
    return std::vector<float>(data, data + dense->Count());
  }
  static std::string MessageOf(const Maybe<TensorPtr>& result) {
    if (result.ok()) { return "no error"; }
    result.error()->MarkRead();
    return result.error()->message();
  }
  static Maybe<void> BackwardOf(const TensorPtr& t) {
    return Backward({CHECK_JUST(f::sum(t))}, {nullptr}, BackwardOptions());
  }
};

TEST_F(FunctionalTest, FormulasRunBackwards) {
  const TensorPtr x = Leaf(3);
  const TensorPtr y = Leaf(3);
  CHECK_JUST(BackwardOf(CHECK_JUST(f::mul(x, CHECK_JUST(f::add(x, y, Scalar(2)))))));
  EXPECT_EQ(Values(x->autograd()->grad), (std::vector<float>{0, 4, 8}));  // 2x + 2y
  EXPECT_EQ(Values(y->autograd()->grad), (std::vector<float>{0, 2, 4}));  // 2x
}

TEST_F(FunctionalTest, MasksSayWhatIsSaved) {
  EXPECT_EQ(f::kAddOp.save_inputs, 0u);
  EXPECT_EQ(f::kAddOp.save_metas, 3u);
  EXPECT_EQ(f::kMulOp.save_inputs, 3u);
  EXPECT_EQ(f::kReluOp.save_inputs, 0u);
  EXPECT_EQ(f::kReluOp.save_outputs, 1u);
  EXPECT_EQ(f::kEqOp.backward, nullptr);
}

TEST_F(FunctionalTest, AChangedOperandIsNoticed) {
  const TensorPtr x = Leaf(3);
  const TensorPtr y = Range(3);
  const TensorPtr product = CHECK_JUST(f::mul(x, y));
  CHECK_JUST(f::zero_(y));
  const Maybe<void> result = BackwardOf(product);
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error()->message().find("changed in place"), std::string::npos);
}

TEST_F(FunctionalTest, InPlaceReturnsItsTarget) {
  const TensorPtr x = Range(3);
  EXPECT_EQ(CHECK_JUST(f::add_(x, Range(3), Scalar(10))), x);
  EXPECT_EQ(Values(x), (std::vector<float>{0, 11, 22}));
  EXPECT_EQ(CHECK_JUST(f::copy_(x, Range(3, DataType::kInt64))), x);
  EXPECT_EQ(Values(x), (std::vector<float>{0, 1, 2}));
}

TEST_F(FunctionalTest, InPlaceRefusesWhatDoesNotFit) {
  EXPECT_NE(MessageOf(f::add_(Range(3), Range(4))).find("[add] "), std::string::npos);
  const TensorPtr integers = Range(3, DataType::kInt64);
  EXPECT_NE(MessageOf(f::scalar_add_(integers, Scalar(0.5))).find("int64"), std::string::npos);
  EXPECT_NE(MessageOf(f::add_(integers, Range(3))).find("int64"), std::string::npos);
  const TensorPtr repeated = CHECK_JUST(f::expand(Range(1), Dims{3}));
  EXPECT_NE(MessageOf(f::zero_(repeated)).find("overlap"), std::string::npos);
  EXPECT_NE(MessageOf(f::zero_(Leaf(3))).find("leaf"), std::string::npos);
}

TEST_F(FunctionalTest, AScalarChangesTheDtypeOnlyByItsCategory) {
  EXPECT_EQ(CHECK_JUST(f::scalar_add(Range(2, DataType::kInt64), Scalar(1)))->dtype(),
            DataType::kInt64);
  EXPECT_EQ(CHECK_JUST(f::scalar_add(Range(2, DataType::kInt64), Scalar(0.5)))->dtype(),
            DataType::kFloat);
  EXPECT_EQ(CHECK_JUST(f::scalar_mul(Range(2, DataType::kDouble), Scalar(0.5)))->dtype(),
            DataType::kDouble);
}

TEST_F(FunctionalTest, ReshapeCopiesOnlyWhereItMust) {
  const TensorPtr x = CHECK_JUST(f::view(Range(6), Dims{2, 3}));
  EXPECT_EQ(CHECK_JUST(f::reshape(x, Dims{3, -1}))->storage(), x->storage());
  EXPECT_EQ(CHECK_JUST(f::reshape(x, Dims{2, 3})), x);
  const TensorPtr turned = CHECK_JUST(f::t(x));
  const TensorPtr flat = CHECK_JUST(f::reshape(turned, Dims{6}));
  EXPECT_NE(flat->storage(), x->storage());
  EXPECT_EQ(Values(flat), (std::vector<float>{0, 3, 1, 4, 2, 5}));
}

TEST_F(FunctionalTest, ArangeCountsWithoutOverflow) {
  constexpr int64_t kMax = INT64_MAX;
  EXPECT_EQ(CHECK_JUST(f::ArangeCount("op", Scalar(0), Scalar(10), Scalar(3))), 4);
  EXPECT_EQ(CHECK_JUST(f::ArangeCount("op", Scalar(10), Scalar(0), Scalar(-3))), 4);
  EXPECT_EQ(CHECK_JUST(f::ArangeCount("op", Scalar(-kMax), Scalar(kMax), Scalar(1))),
            int64_t{1} << 62);
  EXPECT_EQ(CHECK_JUST(f::ArangeCount("op", Scalar(-kMax), Scalar(kMax), Scalar(kMax))), 2);
  EXPECT_FALSE(f::ArangeCount("op", Scalar(0), Scalar(1), Scalar(0)).ok());
  EXPECT_FALSE(f::ArangeCount("op", Scalar(0.0), Scalar(1.0 / 0.0), Scalar(1)).ok());
  EXPECT_NE(MessageOf(f::arange(Scalar(0), Scalar(1e30))).find("[arange] "), std::string::npos);
}

TEST_F(FunctionalTest, ASliceIsCutAsPythonCutsIt) {
  const TensorPtr x = Range(5);
  EXPECT_EQ(Values(CHECK_JUST(f::slice(x, 0, -2))), (std::vector<float>{3, 4}));
  EXPECT_EQ(Values(CHECK_JUST(f::slice(x, 0, 1, 100, 2))), (std::vector<float>{1, 3}));
  EXPECT_EQ(Values(CHECK_JUST(f::slice(x, -1, 4, 2))), std::vector<float>());
  EXPECT_FALSE(f::slice(x, 0, 0, 5, 0).ok());
  EXPECT_FALSE(f::slice(x, 1, 0, 5).ok());
}

TEST_F(FunctionalTest, DefaultDtypeIsFloating) {
  EXPECT_FALSE(f::SetDefaultDtype(DataType::kInt64).ok());
  CHECK_JUST(f::SetDefaultDtype(DataType::kDouble));
  EXPECT_EQ(CHECK_JUST(f::zeros(Dims{2}))->dtype(), DataType::kDouble);
  CHECK_JUST(f::SetDefaultDtype(DataType::kFloat));
  EXPECT_EQ(CHECK_JUST(f::zeros(Dims{2}))->dtype(), DataType::kFloat);
}

}  // namespace
}  // namespace oneflow
