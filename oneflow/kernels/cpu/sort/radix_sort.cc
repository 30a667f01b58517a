#include "oneflow/kernels/cpu/sort/radix_sort.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "oneflow/device/cpu/parallel.h"

namespace oneflow {
namespace cpu {

namespace {

constexpr int64_t kComparisonSort = 96;  // up to here comparing is faster than counting
constexpr int64_t kWideDigits = 8192;    // from here on digits of 11 bits are faster than of 8

template <typename Keyed>
void SortByComparison(Keyed* x, int64_t n) {
  if (n > 24) { return std::sort(x, x + n); }
  for (int64_t i = 1; i < n; ++i) {
    const Keyed moved = x[i];
    int64_t j = i;
    for (; j > 0 && moved < x[j - 1]; --j) { x[j] = x[j - 1]; }
    x[j] = moved;
  }
}

template <typename Keyed, int kBits>
struct Digits {
  static constexpr int kBuckets = 1 << kBits;
  static constexpr int kCount =
      (static_cast<int>(sizeof(typename Keyed::Key)) * 8 + kBits - 1) / kBits;

  static uint32_t Of(const Keyed& x, int digit) {
    return static_cast<uint32_t>(x.key() >> (digit * kBits)) & (kBuckets - 1);
  }
};

// Does one bucket hold all n elements?
bool IsTrivial(const int64_t* counts, int buckets, int64_t n) {
  for (int b = 0; b < buckets; ++b) {
    if (counts[b] != 0) { return counts[b] == n; }
  }
  return true;
}

template <typename Keyed, int kBits>
Keyed* SortByDigits(Keyed* x, Keyed* spare, int64_t n, int bits) {
  using D = Digits<Keyed, kBits>;
  const int digits = (bits + kBits - 1) / kBits;
  int64_t counts[D::kCount][D::kBuckets];
  std::memset(counts, 0, sizeof(counts[0]) * static_cast<size_t>(digits));
  for (int64_t i = 0; i < n; ++i) {
    for (int d = 0; d < digits; ++d) { ++counts[d][D::Of(x[i], d)]; }
  }
  for (int d = 0; d < digits; ++d) {
    int64_t* at = counts[d];
    if (IsTrivial(at, D::kBuckets, n)) { continue; }
    int64_t before = 0;
    for (int b = 0; b < D::kBuckets; ++b) { before += std::exchange(at[b], before); }
    for (int64_t i = 0; i < n; ++i) { spare[at[D::Of(x[i], d)]++] = x[i]; }
    std::swap(x, spare);
  }
  return x;
}

// Each thread counts and moves its own part; the parts of a bucket follow in the order of threads.
template <typename Keyed>
Keyed* SortTogether(Keyed* x, Keyed* spare, int64_t n, int threads, int bits) {
  using D = Digits<Keyed, 11>;
  std::vector<int64_t> counts(static_cast<size_t>(threads) * D::kBuckets);
  const int64_t part = (n + threads - 1) / threads;
  for (int d = 0; d < (bits + 10) / 11; ++d) {
    std::fill(counts.begin(), counts.end(), 0);
    ParallelFor(threads, n, part, [&](int64_t begin, int64_t end) {
      int64_t* own = counts.data() + begin / part * D::kBuckets;
      for (int64_t i = begin; i < end; ++i) { ++own[D::Of(x[i], d)]; }
    });
    int64_t before = 0;
    bool trivial = false;
    for (int b = 0; b < D::kBuckets; ++b) {
      const int64_t first = before;
      for (int t = 0; t < threads; ++t) {
        before += std::exchange(counts[static_cast<size_t>(t * D::kBuckets + b)], before);
      }
      trivial = trivial || before - first == n;
    }
    if (trivial) { continue; }
    ParallelFor(threads, n, part, [&](int64_t begin, int64_t end) {
      int64_t* at = counts.data() + begin / part * D::kBuckets;
      for (int64_t i = begin; i < end; ++i) { spare[at[D::Of(x[i], d)]++] = x[i]; }
    });
    std::swap(x, spare);
  }
  return x;
}

template <typename Keyed>
Keyed* Sort(Keyed* x, Keyed* spare, int64_t n, int threads, int bits) {
  if (n <= kComparisonSort) {
    SortByComparison(x, n);
    return x;
  }
  if (n < kWideDigits) { return SortByDigits<Keyed, 8>(x, spare, n, bits); }
  if (threads <= 1) { return SortByDigits<Keyed, 11>(x, spare, n, bits); }
  return SortTogether(x, spare, n, threads, bits);
}

}  // namespace

Keyed32* SortKeyed(Keyed32* x, Keyed32* spare, int64_t n, int threads, int bits) {
  return Sort(x, spare, n, threads, bits);
}
Keyed64* SortKeyed(Keyed64* x, Keyed64* spare, int64_t n, int threads, int bits) {
  return Sort(x, spare, n, threads, bits);
}

}  // namespace cpu
}  // namespace oneflow
