// The arithmetic of add, x + alpha * y, for each dtype; the same code for GPU and host, so that a
// machine without a GPU can test it.
//
// As on the CPU: integers wrap, bools are or-ed, float16 and bfloat16 round after each step, and no
// step is contracted into another. Thread safety: pure functions.
#ifndef ONEFLOW_KERNELS_CUDA_ADD_CUH_
#define ONEFLOW_KERNELS_CUDA_ADD_CUH_

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>

#include "oneflow/common/maybe.h"
#include "oneflow/core/dtype.h"
#include "oneflow/core/scalar.h"

namespace oneflow {
namespace cuda {

// T: an unsigned integer (the bits of a wrapping result are those of the signed one) or a float.
template <typename T>
struct AddScaled {
  T alpha;
  __host__ __device__ T operator()(T x, T y) const {
    if constexpr (std::is_integral_v<T> && sizeof(T) < 4) {
      // 1u: small types are promoted to int, where a product of two uint16_t could overflow.
      return static_cast<T>(x + 1u * alpha * y);
    } else {
      return x + alpha * y;
    }
  }
};

struct OrScaled {
  uint8_t alpha;  // 0 or 1, as are the elements
  __host__ __device__ uint8_t operator()(uint8_t x, uint8_t y) const {
    return static_cast<uint8_t>(x | (alpha & y));
  }
};

__host__ __device__ inline float ToFloat(__half x) { return __half2float(x); }
__host__ __device__ inline float ToFloat(__nv_bfloat16 x) { return __bfloat162float(x); }
template <typename T>
__host__ __device__ T Rounded(float x) {
  if constexpr (std::is_same_v<T, __half>) {
    return __float2half_rn(x);
  } else {
    return __float2bfloat16_rn(x);
  }
}

// T: __half or __nv_bfloat16. Products and sums of two are rounded by float32 first, which has more
// than twice their bits, so that rounding twice gives what rounding once would.
template <typename T>
struct AddScaledHalf {
  T alpha;
  __host__ __device__ T operator()(T x, T y) const {
    const T scaled = Rounded<T>(ToFloat(alpha) * ToFloat(y));
    return Rounded<T>(ToFloat(x) + ToFloat(scaled));
  }
};

// The integer of a Scalar, before it wraps into T. A float out of range gives the minimum, of 32
// bits for the narrower types, as a cast kernel does.
template <typename T>
uint64_t IntegerOf(const Scalar& value) {
  if (!value.is_float()) { return static_cast<uint64_t>(value.To<int64_t>()); }
  const double x = value.To<double>();
  if constexpr (sizeof(T) == 8) {
    const bool fits = x >= -0x1p63 && x < 0x1p63;
    return static_cast<uint64_t>(fits ? static_cast<int64_t>(x) : INT64_MIN);
  } else {
    const bool fits = x >= -0x1p31 && x < 0x1p31;
    return static_cast<uint64_t>(int64_t{fits ? static_cast<int32_t>(x) : INT32_MIN});
  }
}

// Calls visit(functor, T()) with the functor of `dtype`, on elements of type T.
template <typename Visit>
Maybe<void> WithAdd(DataType dtype, const Scalar& alpha, const Visit& visit) {
  const auto half = static_cast<float>(alpha.To<double>());
  const auto integer = [&](auto zero) {
    using T = decltype(zero);
    return visit(AddScaled<T>{static_cast<T>(IntegerOf<T>(alpha))}, zero);
  };
  switch (dtype) {
    case DataType::kBool:
      return visit(OrScaled{static_cast<uint8_t>(alpha.To<double>() != 0)}, uint8_t());
    case DataType::kUInt8:
    case DataType::kInt8: return integer(uint8_t());
    case DataType::kInt16: return integer(uint16_t());
    case DataType::kInt32: return integer(uint32_t());
    case DataType::kInt64: return integer(uint64_t());
    case DataType::kFloat16:
      return visit(AddScaledHalf<__half>{Rounded<__half>(half)}, Rounded<__half>(0));
    case DataType::kBFloat16:
      return visit(AddScaledHalf<__nv_bfloat16>{Rounded<__nv_bfloat16>(half)},
                   Rounded<__nv_bfloat16>(0));
    case DataType::kFloat: return visit(AddScaled<float>{half}, 0.0f);
    case DataType::kDouble: return visit(AddScaled<double>{alpha.To<double>()}, 0.0);
  }
  return InternalError("[add] no such dtype: {}", dtype);
}

}  // namespace cuda
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CUDA_ADD_CUH_
