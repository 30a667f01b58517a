#include "oneflow/kernels/cpu/reference.h"

#include <cmath>
#include <cstring>

namespace oneflow {
namespace cpu {
namespace reference {

namespace {

// Rounds to `digits` significant bits, no finer than `min_step`; ties to even.
double RoundBits(double x, int digits, double min_step, double max) {
  if (x == 0.0 || std::isnan(x) || std::isinf(x)) { return x; }
  int exponent = 0;
  std::frexp(x, &exponent);
  const double step = std::fmax(std::ldexp(1.0, exponent - digits), min_step);
  const double rounded = std::nearbyint(x / step) * step;
  return std::fabs(rounded) > max ? std::copysign(INFINITY, x) : rounded;
}

double RoundHalf(double x) { return RoundBits(static_cast<float>(x), 11, 0x1p-24, 65504.0); }
double RoundBFloat16(double x) { return RoundBits(static_cast<float>(x), 8, 0x1p-133, 0x1.fep127); }

double HalfToDouble(uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const double fraction = bits & 1023;
  double x = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  if (exponent == 31) { x = fraction == 0 ? INFINITY : NAN; }
  return (bits & 0x8000) != 0 ? -x : x;
}

// REQUIRES that x is a float16 number.
uint16_t DoubleToHalf(double x) {
  const uint16_t sign = std::signbit(x) ? 0x8000 : 0;
  const double magnitude = std::fabs(x);
  if (std::isnan(x)) { return sign | 0x7e00; }
  if (std::isinf(x)) { return sign | 0x7c00; }
  if (magnitude < 0x1p-14) { return sign | static_cast<uint16_t>(std::ldexp(magnitude, 24)); }
  int exponent = 0;
  const double fraction = std::frexp(magnitude, &exponent);
  const int mantissa = static_cast<int>(std::ldexp(fraction, 11)) - 1024;
  return static_cast<uint16_t>(sign | ((exponent + 14) << 10) | mantissa);
}

template <typename T>
T Read(const ArrayView& view, int64_t offset) {
  T value;
  std::memcpy(&value, view.Data<char>() + offset * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value;
}

template <typename T>
void Write(const ArrayView& view, int64_t offset, T value) {
  std::memcpy(view.Data<char>() + offset * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
}

// The same rule as the cast loops: out of range gives the minimum of int64, or of int32 for a
// narrower type, which then keeps its low bits.
int64_t FloatToInt(DataType dtype, double d) {
  const double limit = dtype == DataType::kInt64 ? 0x1p63 : 0x1p31;
  if (d >= -limit && d < limit) { return static_cast<int64_t>(d); }
  return dtype == DataType::kInt64 ? INT64_MIN : INT32_MIN;
}

int64_t Wrap(DataType dtype, int64_t i) {
  switch (dtype) {
    case DataType::kUInt8: return static_cast<uint8_t>(i);
    case DataType::kInt8: return static_cast<int8_t>(i);
    case DataType::kInt16: return static_cast<int16_t>(i);
    case DataType::kInt32: return static_cast<int32_t>(i);
    default: return i;
  }
}

}  // namespace

Value Round(DataType dtype, const Value& value) {
  switch (dtype) {
    case DataType::kBool: return Value::Int(value.is_float ? value.d != 0.0 : value.i != 0);
    case DataType::kDouble: return Value::Float(value.AsDouble());
    // An int64 goes to float32 in one rounding.
    case DataType::kFloat:
      return Value::Float(value.is_float ? static_cast<float>(value.d)
                                         : static_cast<float>(value.i));
    case DataType::kFloat16: return Value::Float(RoundHalf(Round(DataType::kFloat, value).d));
    case DataType::kBFloat16: return Value::Float(RoundBFloat16(Round(DataType::kFloat, value).d));
    default: return Value::Int(Wrap(dtype, value.is_float ? FloatToInt(dtype, value.d) : value.i));
  }
}

Value FromScalar(DataType dtype, const Scalar& scalar) {
  return Round(dtype, scalar.is_float() ? Value::Float(scalar.To<double>())
                                        : Value::Int(scalar.To<int64_t>()));
}

Value Load(const ArrayView& view, int64_t offset) {
  switch (view.dtype) {
    case DataType::kBool: return Value::Int(Read<uint8_t>(view, offset) != 0);
    case DataType::kUInt8: return Value::Int(Read<uint8_t>(view, offset));
    case DataType::kInt8: return Value::Int(Read<int8_t>(view, offset));
    case DataType::kInt16: return Value::Int(Read<int16_t>(view, offset));
    case DataType::kInt32: return Value::Int(Read<int32_t>(view, offset));
    case DataType::kInt64: return Value::Int(Read<int64_t>(view, offset));
    case DataType::kFloat16: return Value::Float(HalfToDouble(Read<uint16_t>(view, offset)));
    case DataType::kBFloat16: {
      const uint32_t bits = static_cast<uint32_t>(Read<uint16_t>(view, offset)) << 16;
      float f;
      std::memcpy(&f, &bits, sizeof(f));
      return Value::Float(f);
    }
    case DataType::kFloat: return Value::Float(Read<float>(view, offset));
    default: return Value::Float(Read<double>(view, offset));
  }
}

void Store(const ArrayView& view, int64_t offset, const Value& value) {
  const Value v = Round(view.dtype, value);
  switch (view.dtype) {
    case DataType::kBool:
    case DataType::kUInt8: return Write(view, offset, static_cast<uint8_t>(v.i));
    case DataType::kInt8: return Write(view, offset, static_cast<int8_t>(v.i));
    case DataType::kInt16: return Write(view, offset, static_cast<int16_t>(v.i));
    case DataType::kInt32: return Write(view, offset, static_cast<int32_t>(v.i));
    case DataType::kInt64: return Write(view, offset, v.i);
    case DataType::kFloat16: return Write(view, offset, DoubleToHalf(v.d));
    case DataType::kBFloat16: {
      const float f = static_cast<float>(v.d);
      uint32_t bits;
      std::memcpy(&bits, &f, sizeof(bits));
      return Write(view, offset, static_cast<uint16_t>(bits >> 16));
    }
    case DataType::kFloat: return Write(view, offset, static_cast<float>(v.d));
    default: return Write(view, offset, v.d);
  }
}

int64_t OffsetOf(const ArrayView& view, const Dims& index) {
  int64_t offset = 0;
  const int shift = index.size() - view.ndim;
  for (int d = 0; d < view.ndim; ++d) {
    if (view.shape[d] != 1) { offset += index[d + shift] * view.strides[d]; }
  }
  return offset;
}

}  // namespace reference
}  // namespace cpu
}  // namespace oneflow
