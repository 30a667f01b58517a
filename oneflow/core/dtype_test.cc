#include "oneflow/core/dtype.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace oneflow {
namespace {

std::vector<DataType> AllTypes() {
  std::vector<DataType> out;
  for (int i = 0; i < kNumDataTypes; ++i) { out.push_back(static_cast<DataType>(i)); }
  return out;
}

TEST(DataTypeTest, NamesAndSizes) {
  EXPECT_STREQ(DataTypeName(DataType::kBool), "bool");
  EXPECT_STREQ(DataTypeName(DataType::kFloat), "float32");
  EXPECT_STREQ(DataTypeName(DataType::kBFloat16), "bfloat16");
  EXPECT_EQ(SizeOf(DataType::kBool), 1u);
  EXPECT_EQ(SizeOf(DataType::kFloat16), 2u);
  EXPECT_EQ(SizeOf(DataType::kInt32), 4u);
  EXPECT_EQ(SizeOf(DataType::kDouble), 8u);
  EXPECT_EQ(DataTypeOf<int64_t>::value, DataType::kInt64);
}

TEST(DataTypeTest, EachTypeIsOfOneCategory) {
  for (DataType t : AllTypes()) {
    EXPECT_EQ(IsBool(t) + IsIntegral(t) + IsFloating(t), 1) << DataTypeName(t);
  }
}

TEST(PromoteTypesTest, KnownPairs) {
  const auto promote = [](DataType a, DataType b) { return DataTypeName(PromoteTypes(a, b)); };
  EXPECT_STREQ(promote(DataType::kBool, DataType::kUInt8), "uint8");
  EXPECT_STREQ(promote(DataType::kUInt8, DataType::kInt8), "int16");
  EXPECT_STREQ(promote(DataType::kUInt8, DataType::kInt16), "int16");
  EXPECT_STREQ(promote(DataType::kInt64, DataType::kFloat16), "float16");
  EXPECT_STREQ(promote(DataType::kFloat16, DataType::kBFloat16), "float32");
  EXPECT_STREQ(promote(DataType::kFloat, DataType::kDouble), "float64");
}

// The laws of a join.
TEST(PromoteTypesTest, IsAJoin) {
  for (DataType a : AllTypes()) {
    EXPECT_EQ(PromoteTypes(a, a), a);
    for (DataType b : AllTypes()) {
      const DataType ab = PromoteTypes(a, b);
      EXPECT_EQ(ab, PromoteTypes(b, a));
      EXPECT_EQ(PromoteTypes(ab, a), ab);
      EXPECT_EQ(IsFloating(ab), IsFloating(a) || IsFloating(b));
      EXPECT_EQ(IsBool(ab), IsBool(a) && IsBool(b));
    }
  }
}

}  // namespace
}  // namespace oneflow
