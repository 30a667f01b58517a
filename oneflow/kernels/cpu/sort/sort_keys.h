// Order-preserving keys: any element as an unsigned integer, so that sorting and selecting are
// written once, for integers.
//
// A NaN is greater than every number, and -0 equals 0. Keyed<Key> is a key together with the place
// where the element was; no two are equal, so any sorting is stable.
// Thread safety: plain values.
#ifndef ONEFLOW_KERNELS_CPU_SORT_SORT_KEYS_H_
#define ONEFLOW_KERNELS_CPU_SORT_SORT_KEYS_H_

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "oneflow/core/dtype.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {

// The key above, the index below: one 64-bit integer.
struct Keyed32 {
  using Key = uint32_t;
  uint64_t both;

  static Keyed32 Of(Key key, int64_t index) {
    return {static_cast<uint64_t>(key) << 32 | static_cast<uint64_t>(index)};
  }
  Key key() const { return static_cast<Key>(both >> 32); }
  int64_t index() const { return static_cast<int64_t>(both & 0xffffffffU); }
  bool operator<(const Keyed32& other) const { return both < other.both; }
};

struct Keyed64 {
  using Key = uint64_t;
  uint64_t high;
  uint64_t low;

  static Keyed64 Of(Key key, int64_t index) { return {key, static_cast<uint64_t>(index)}; }
  Key key() const { return high; }
  int64_t index() const { return static_cast<int64_t>(low); }
  bool operator<(const Keyed64& other) const {
    return high != other.high ? high < other.high : low < other.low;
  }
};

// Signed integers: the sign bit flipped. `Bits` is what lies in memory.
template <typename T, typename KeyedType>
struct IntegerKeys {
  using Bits = T;
  using Keyed = KeyedType;
  static constexpr bool kIsFloat = false;
  static constexpr bool kSigned = static_cast<T>(-1) < T(0);
  using Key = typename Keyed::Key;
  static constexpr Key kFlip = kSigned ? static_cast<Key>(Key(1) << (sizeof(Key) * 8 - 1)) : Key(0);

  static Key Of(Bits x) { return static_cast<Key>(x) ^ kFlip; }
  static bool IsNan(Bits) { return false; }
  // Whether x may go before v, in ascending or descending order: true wherever it does, and quick.
  template <bool kDescending>
  static bool MayPrecede(Bits x, Bits v) {
    return kDescending ? x > v : x < v;
  }
};

// Floating-point numbers: negative ones with all bits flipped, the others with the sign bit set.
template <typename BitsType, BitsType kInfinity, typename KeyedType>
struct FloatKeys {
  using Bits = BitsType;
  using Keyed = KeyedType;
  using Key = typename Keyed::Key;
  static constexpr bool kIsFloat = true;
  static constexpr Bits kSign = static_cast<Bits>(Bits(1) << (sizeof(Bits) * 8 - 1));

  static bool IsNan(Bits x) { return static_cast<Bits>(x & ~kSign) > kInfinity; }
  static Key Of(Bits x) {
    // Without branches: the signs of numbers cannot be foretold.
    const bool nan = IsNan(x);
    x = x == kSign ? Bits(0) : x;
    const Bits negative = static_cast<Bits>(-static_cast<Bits>(x >> (sizeof(Bits) * 8 - 1)));
    const Key key = static_cast<Bits>(x ^ (negative | kSign));
    return static_cast<Key>(key | -static_cast<Key>(nan));
  }
  template <bool kDescending>
  static bool MayPrecede(Bits x, Bits v) {
    if constexpr (sizeof(Bits) == 2) {
      return kDescending ? Of(x) > Of(v) : Of(x) < Of(v);
    } else {
      using Float = std::conditional_t<sizeof(Bits) == 4, float, double>;
      Float a, b;
      std::memcpy(&a, &x, sizeof(a));
      std::memcpy(&b, &v, sizeof(b));
      return kDescending ? !(a <= b) : a < b;
    }
  }
};

using FloatSortKeys = FloatKeys<uint32_t, 0x7f800000U, Keyed32>;
using DoubleSortKeys = FloatKeys<uint64_t, 0x7ff0000000000000U, Keyed64>;
using HalfSortKeys = FloatKeys<uint16_t, 0x7c00U, Keyed32>;
using BFloat16SortKeys = FloatKeys<uint16_t, 0x7f80U, Keyed32>;

// Calls body(keys) with the keys of a dtype. `Body` is a generic lambda.
template <typename Body>
auto WithSortKeys(DataType dtype, const Body& body) {
  switch (dtype) {
    case DataType::kBool:
    case DataType::kUInt8: return body(IntegerKeys<uint8_t, Keyed32>());
    case DataType::kInt8: return body(IntegerKeys<int8_t, Keyed32>());
    case DataType::kInt16: return body(IntegerKeys<int16_t, Keyed32>());
    case DataType::kInt32: return body(IntegerKeys<int32_t, Keyed32>());
    case DataType::kInt64: return body(IntegerKeys<int64_t, Keyed64>());
    case DataType::kFloat16: return body(HalfSortKeys());
    case DataType::kBFloat16: return body(BFloat16SortKeys());
    case DataType::kFloat: return body(FloatSortKeys());
    default: return body(DoubleSortKeys());
  }
}

// The largest number of elements of a vector that can be told apart.
inline constexpr int64_t kMaxSortLength = (int64_t{1} << 32) - 1;

// An array as vectors along one dim.
struct Vectors {
  int64_t outer = 1, n = 1, inner = 1;

  Vectors(const ArrayView& view, int64_t dim) {
    for (int d = 0; d < view.ndim; ++d) {
      (d < dim ? outer : d == dim ? n : inner) *= view.shape[d];
    }
  }
  int64_t count() const { return outer * inner; }
};

// A dense array with `length` elements along the dim, beside one that Vectors describes: where
// vector v starts. Its elements are `inner` apart.
inline int64_t DenseStart(const Vectors& vectors, int64_t v, int64_t length) {
  return v / vectors.inner * length * vectors.inner + v % vectors.inner;
}

// Where vector v of an array of any strides starts.
inline int64_t StridedStart(const ArrayView& view, int64_t dim, int64_t v) {
  int64_t offset = 0;
  for (int d = view.ndim - 1; d >= 0; --d) {
    if (d == dim) { continue; }
    offset += v % view.shape[d] * view.strides[d];
    v /= view.shape[d];
  }
  return offset;
}

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_SORT_SORT_KEYS_H_
