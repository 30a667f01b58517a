#include "oneflow/kernels/cpu/scalar_bits.h"

#include <cstring>

#include "oneflow/kernels/cpu/elementwise_loops.h"

namespace oneflow {
namespace cpu {

namespace {

template <typename T>
ScalarBits Pack(T value) {
  ScalarBits out = {};
  std::memcpy(out.bytes, &value, sizeof(T));
  return out;
}

}  // namespace

ScalarBits ToScalarBits(const Scalar& value, DataType dtype) {
  if (!value.is_float()) {
    const int64_t i = value.To<int64_t>();
    switch (dtype) {
      case DataType::kBool: return Pack<uint8_t>(i != 0);
      case DataType::kUInt8: return Pack(static_cast<uint8_t>(i));
      case DataType::kInt8: return Pack(static_cast<int8_t>(i));
      case DataType::kInt16: return Pack(static_cast<int16_t>(i));
      case DataType::kInt32: return Pack(static_cast<int32_t>(i));
      case DataType::kInt64: return Pack(i);
      default: break;
    }
  }
  const double d = value.To<double>();
  if (dtype == DataType::kDouble) { return Pack(d); }
  if (dtype == DataType::kFloat) { return Pack(static_cast<float>(d)); }
  ScalarBits out = {};
  const auto& cast = GetElementwiseLoops().cast;
  const int to = static_cast<int>(dtype);
  if (dtype == DataType::kFloat16 || dtype == DataType::kBFloat16) {
    const float f = static_cast<float>(d);
    cast[static_cast<int>(DataType::kFloat)][to](out.bytes, &f, 1);
  } else {
    cast[static_cast<int>(DataType::kDouble)][to](out.bytes, &d, 1);
  }
  return out;
}

Scalar Negated(const Scalar& value) {
  if (value.is_float()) { return Scalar(-value.To<double>()); }
  return Scalar(static_cast<int64_t>(0 - static_cast<uint64_t>(value.To<int64_t>())));
}

bool IsOne(const Scalar& value) {
  return value.is_float() ? value.To<double>() == 1.0 : value.To<int64_t>() == 1;
}

}  // namespace cpu
}  // namespace oneflow
