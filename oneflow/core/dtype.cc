#include "oneflow/core/dtype.h"

#include <algorithm>

namespace oneflow {

namespace {
struct Info {
  const char* name;
  size_t size;
};
constexpr Info kInfo[kNumDataTypes] = {
    {"bool", 1},  {"uint8", 1},   {"int8", 1},     {"int16", 2},   {"int32", 4},
    {"int64", 8}, {"float16", 2}, {"bfloat16", 2}, {"float32", 4}, {"float64", 8},
};
}  // namespace

size_t SizeOf(DataType dtype) { return kInfo[static_cast<int>(dtype)].size; }

const char* DataTypeName(DataType dtype) { return kInfo[static_cast<int>(dtype)].name; }

DataType PromoteTypes(DataType a, DataType b) {
  if (a == b) { return a; }
  const DataType low = std::min(a, b);
  const DataType high = std::max(a, b);
  if (low == DataType::kUInt8 && high == DataType::kInt8) { return DataType::kInt16; }
  if (low == DataType::kFloat16 && high == DataType::kBFloat16) { return DataType::kFloat; }
  return high;
}

}  // namespace oneflow
