// DataType: the element types of tensors.
//
// Thread safety: plain values and constant tables.
#ifndef ONEFLOW_CORE_DTYPE_H_
#define ONEFLOW_CORE_DTYPE_H_

#include <cstddef>
#include <cstdint>

namespace oneflow {

// The order is the promotion order within each category (see PromoteTypes).
enum class DataType : uint8_t {
  kBool,
  kUInt8,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kFloat16,
  kBFloat16,
  kFloat,
  kDouble,
};
inline constexpr int kNumDataTypes = 10;

// Bytes of one element.
constexpr size_t SizeOf(DataType dtype) {
  constexpr size_t kSizes[kNumDataTypes] = {1, 1, 1, 2, 4, 8, 2, 2, 4, 8};
  return kSizes[static_cast<int>(dtype)];
}
// "float32", "int64", "bool", ...: the name as users read and write it.
const char* DataTypeName(DataType dtype);

inline bool IsFloating(DataType t) { return t >= DataType::kFloat16; }
inline bool IsIntegral(DataType t) { return t >= DataType::kUInt8 && t <= DataType::kInt64; }
inline bool IsBool(DataType t) { return t == DataType::kBool; }

// The type in which an operation on `a` and `b` is done: bool < integers < floats; within integers
// the wider one (uint8 with a signed type gives the next signed type that holds both); float16 with
// bfloat16 gives float32.
DataType PromoteTypes(DataType a, DataType b);

// Maps a C++ type to its DataType: DataTypeOf<float>::value.
template <typename T>
struct DataTypeOf;
#define ONEFLOW_DATA_TYPE_OF(cpp, dtype)               \
  template <>                                          \
  struct DataTypeOf<cpp> {                             \
    static constexpr DataType value = DataType::dtype; \
  };
ONEFLOW_DATA_TYPE_OF(bool, kBool)
ONEFLOW_DATA_TYPE_OF(uint8_t, kUInt8)
ONEFLOW_DATA_TYPE_OF(int8_t, kInt8)
ONEFLOW_DATA_TYPE_OF(int16_t, kInt16)
ONEFLOW_DATA_TYPE_OF(int32_t, kInt32)
ONEFLOW_DATA_TYPE_OF(int64_t, kInt64)
ONEFLOW_DATA_TYPE_OF(float, kFloat)
ONEFLOW_DATA_TYPE_OF(double, kDouble)
#undef ONEFLOW_DATA_TYPE_OF

}  // namespace oneflow

#endif  // ONEFLOW_CORE_DTYPE_H_
