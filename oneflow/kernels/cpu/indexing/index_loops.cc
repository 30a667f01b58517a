// Compiled once for each instruction set: see isa.h.
#include "oneflow/kernels/cpu/indexing/index_loops.h"

namespace oneflow {
namespace cpu {
namespace ONEFLOW_ISA {

namespace {

// Without a branch for each index, so that the compiler can use vectors.
template <typename I>
bool InRange(const I* index, int64_t n, int64_t size) {
  constexpr I kMost = static_cast<I>((uint64_t{1} << (sizeof(I) * 8 - 1)) - 1);
  const I last = size - 1 < kMost ? static_cast<I>(size - 1) : kMost;
  I least = 0;
  I most = 0;
  for (int64_t i = 0; i < n; ++i) {
    least = index[i] < least ? index[i] : least;
    most = index[i] > most ? index[i] : most;
  }
  return n == 0 || (least >= 0 && most <= last);
}

// Bytes are counted in bytes, a stretch at a time that does not overflow them.
int64_t CountBytes(const uint8_t* x, int64_t n) {
  constexpr int64_t kLanes = 64;
  constexpr int64_t kStretch = 255 * kLanes;
  int64_t count = 0;
  int64_t i = 0;
  while (i + kLanes <= n) {
    const int64_t end = n - i < kStretch ? n : i + kStretch;
    uint8_t lanes[kLanes] = {};
    for (; i + kLanes <= end; i += kLanes) {
      for (int l = 0; l < kLanes; ++l) {
        lanes[l] = static_cast<uint8_t>(lanes[l] + (x[i + l] != 0 ? 1 : 0));
      }
    }
    for (const uint8_t lane : lanes) { count += lane; }
  }
  for (; i < n; ++i) { count += x[i] != 0 ? 1 : 0; }
  return count;
}

// A branch for each byte would be foretold wrongly.
int64_t FindBytes(const uint8_t* x, int64_t n, uint16_t* places) {
  int64_t count = 0;
  for (int64_t i = 0; i < n; ++i) {
    places[count] = static_cast<uint16_t>(i);
    count += x[i] != 0 ? 1 : 0;
  }
  return count;
}

constexpr IndexLoops kLoops = {&InRange<int32_t>, &InRange<int64_t>, &CountBytes, &FindBytes};

}  // namespace

const IndexLoops& GetIndexLoops() { return kLoops; }

}  // namespace ONEFLOW_ISA
}  // namespace cpu
}  // namespace oneflow
