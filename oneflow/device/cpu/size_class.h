// Size classes of the CPU pool: multiples of 64 bytes up to 256, from there four steps for each power
// of two, so that rounding up costs at most a quarter.
//
// Thread safety: pure functions.
#ifndef ONEFLOW_DEVICE_CPU_SIZE_CLASS_H_
#define ONEFLOW_DEVICE_CPU_SIZE_CLASS_H_

#include <cstddef>

namespace oneflow {
namespace cpu {

inline constexpr size_t kMaxBlockBytes = size_t{1} << 47;  // more than an address space holds
inline constexpr int kNumSizeClasses = 164;

// REQUIRES 1 <= bytes <= kMaxBlockBytes.
inline int SizeClassOf(size_t bytes) {
  const size_t units = (bytes - 1) >> 6;
  if (units < 4) { return static_cast<int>(units); }
  const int exponent = 63 - __builtin_clzll(units);
  return (exponent - 1) * 4 + static_cast<int>((units >> (exponent - 2)) & 3);
}

// The largest request that belongs to the class.
inline size_t SizeOfClass(int size_class) {
  if (size_class < 4) { return (static_cast<size_t>(size_class) + 1) * 64; }
  const int exponent = size_class / 4 + 1;
  return (static_cast<size_t>(size_class % 4 + 5) << (exponent - 2)) * 64;
}

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_DEVICE_CPU_SIZE_CLASS_H_
