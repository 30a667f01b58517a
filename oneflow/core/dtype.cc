#include "oneflow/core/dtype.h"

#include <algorithm>

namespace oneflow {

namespace {
constexpr const char* kNames[kNumDataTypes] = {"bool",    "uint8",  "int8",    "int16",
                                               "int32",   "int64",  "float16", "bfloat16",
                                               "float32", "float64"};
}  // namespace

const char* DataTypeName(DataType dtype) { return kNames[static_cast<int>(dtype)]; }

DataType PromoteTypes(DataType a, DataType b) {
  if (a == b) { return a; }
  const DataType low = std::min(a, b);
  const DataType high = std::max(a, b);
  if (low == DataType::kUInt8 && high == DataType::kInt8) { return DataType::kInt16; }
  if (low == DataType::kFloat16 && high == DataType::kBFloat16) { return DataType::kFloat; }
  return high;
}

}  // namespace oneflow
