#include "oneflow/core/scalar.h"

#include <gtest/gtest.h>

#include <type_traits>

namespace oneflow {
namespace {

static_assert(std::is_trivially_copyable_v<Scalar>, "a Scalar sits in attributes");

TEST(ScalarTest, KeepsKindAndValue) {
  EXPECT_EQ(Scalar().To<int64_t>(), 0);
  EXPECT_EQ(Scalar(true).kind(), Scalar::Kind::kBool);
  EXPECT_EQ(Scalar(3).kind(), Scalar::Kind::kInt);
  EXPECT_EQ(Scalar(0.5).kind(), Scalar::Kind::kFloat);
  EXPECT_EQ(Scalar(int64_t{1} << 60).To<int64_t>(), int64_t{1} << 60);
  EXPECT_EQ(Scalar(-2.75).To<int64_t>(), -2);
  EXPECT_EQ(Scalar(7).To<double>(), 7.0);
  EXPECT_TRUE(Scalar(0.25).To<bool>());
}

TEST(ScalarTest, Prints) {
  EXPECT_EQ(Scalar(true).ToString(), "True");
  EXPECT_EQ(Scalar(false).ToString(), "False");
  EXPECT_EQ(Scalar(-3).ToString(), "-3");
  EXPECT_EQ(Scalar(0.1).ToString(), "0.1");
}

TEST(ScalarTest, ChangesATensorsTypeOnlyByCategory) {
  EXPECT_EQ(Scalar(1.5).ResultType(DataType::kFloat16), DataType::kFloat16);
  EXPECT_EQ(Scalar(1.5).ResultType(DataType::kInt32), DataType::kFloat);
  EXPECT_EQ(Scalar(1.5).ResultType(DataType::kInt32, DataType::kDouble), DataType::kDouble);
  EXPECT_EQ(Scalar(1).ResultType(DataType::kInt8), DataType::kInt8);
  EXPECT_EQ(Scalar(1).ResultType(DataType::kBool), DataType::kInt64);
  EXPECT_EQ(Scalar(true).ResultType(DataType::kBool), DataType::kBool);
  EXPECT_EQ(Scalar(true).ResultType(DataType::kFloat), DataType::kFloat);
}

}  // namespace
}  // namespace oneflow
