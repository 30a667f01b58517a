// The kernels topk, kthvalue (which also gives medians), median_flat and mode.
#include <algorithm>
#include <limits>
#include <type_traits>

#include "oneflow/device/cpu/parallel.h"
#include "oneflow/kernels/attrs_reduce.h"
#include "oneflow/kernels/cpu/sort/radix_sort.h"
#include "oneflow/kernels/cpu/sort/select_loops.h"
#include "oneflow/kernels/cpu/sort/sort_keys.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {

namespace {

// One vector of the input.
template <typename Keys>
struct Source {
  using Keyed = typename Keys::Keyed;
  using Bits = typename Keys::Bits;
  using Key = typename Keys::Key;

  const Bits* x;
  int64_t step;
  Key flip;

  Key KeyAt(int64_t i) const { return static_cast<Key>(Keys::Of(x[i * step]) ^ flip); }
  Keyed At(int64_t i) const { return Keyed::Of(KeyAt(i), i); }
  // The first of elements [i, end), all of them behind `last`, that goes before it all the same.
  int64_t NextBefore(int64_t i, int64_t end, const Keyed& last) const {
    const Key key = last.key();
    if (step == 1) {
      const Bits value = x[last.index()];
      i = flip == 0 ? SkipBlocks<false>(i, end, value) : SkipBlocks<true>(i, end, value);
    }
    while (i < end && !(KeyAt(i) < key)) { ++i; }
    return i;
  }
  template <bool kDescending>
  int64_t SkipBlocks(int64_t i, int64_t end, Bits value) const {
    constexpr int64_t kBlock = 32;
    for (; i + kBlock <= end; i += kBlock) {
      // Counted without leaving early, so that the compiler can use vectors.
      int before = 0;
      for (int64_t j = 0; j < kBlock; ++j) {
        before |= Keys::template MayPrecede<kDescending>(x[i + j], value) ? 1 : 0;
      }
      if (before != 0) { break; }
    }
    return i;
  }
  void Pack(Keyed* room, int64_t n) const {
    for (int64_t i = 0; i < n; ++i) { room[i] = At(i); }
  }
};

template <typename Keys>
Source<Keys> SourceOf(const ArrayView& view, int64_t dim, int64_t v, bool descending) {
  using Key = typename Keys::Key;
  return {view.Data<typename Keys::Bits>() + StridedStart(view, dim, v),
          view.ndim == 0 ? 0 : view.strides[dim], descending ? static_cast<Key>(~Key(0)) : Key(0)};
}

// body(v, room) for each vector; each thread has room for `each` elements of its own.
template <typename Keyed, typename Body>
void ForEachVector(const KernelCall& call, const Vectors& vectors, int64_t each, const Body& body) {
  const int64_t part = (vectors.count() + call.threads - 1) / call.threads;
  auto* room = static_cast<Keyed*>(call.scratch);
  ParallelFor(call.threads, vectors.count(), part, [&](int64_t begin, int64_t end) {
    for (int64_t v = begin; v < end; ++v) { body(v, room + begin / part * each); }
  });
}

// The k-th smallest of x[0..n), from 0 on. Reorders x.
template <typename Keyed>
Keyed Kth(Keyed* x, int64_t n, int64_t k) {
  constexpr int kBits = 11;
  constexpr int64_t kFew = 4096;
  constexpr int kKeyBits = static_cast<int>(sizeof(typename Keyed::Key)) * 8;
  // Counts by the leading bits first: what is in another bucket than the k-th need not be ordered.
  for (int shift = kKeyBits - kBits; n > kFew && shift >= 0; shift -= kBits) {
    int64_t counts[1 << kBits] = {};
    const auto bucket_of = [&](const Keyed& e) {
      return static_cast<int64_t>(e.key() >> shift) & ((1 << kBits) - 1);
    };
    for (int64_t i = 0; i < n; ++i) { ++counts[bucket_of(x[i])]; }
    int64_t bucket = 0;
    while (k >= counts[bucket]) { k -= counts[bucket++]; }
    int64_t kept = 0;
    for (int64_t i = 0; i < n; ++i) {
      if (bucket_of(x[i]) == bucket) { x[kept++] = x[i]; }
    }
    n = kept;
  }
  std::nth_element(x, x + k, x + n);
  return x[k];
}

// ---- topk ---------------------------------------------------------------------------------------

// So few are kept in order, which is less work than choosing among more.
constexpr int64_t kFewBest = 4;

// Where a good part is wanted, all elements are sorted.
bool SortsAll(int64_t n, int64_t k) { return 4 * k >= n && (k > kFewBest || n <= k); }

// Room for all elements and as many again, or for twice as many candidates as are wanted.
int64_t TopkRoom(int64_t n, int64_t k) { return SortsAll(n, k) ? 2 * n : 2 * k + 64; }

// The k first of elements [begin, end) in order, k <= kFewBest. Returns their number.
template <typename Keys, typename Keyed = typename Keys::Keyed>
int64_t FewBest(const Source<Keys>& source, int64_t begin, int64_t end, int64_t k, Keyed* room) {
  int64_t count = 0;
  for (int64_t i = begin; i < end; ++i) {
    if (count == k) {
      i = source.NextBefore(i, end, room[k - 1]);
      if (i == end) { break; }
    }
    const Keyed found = source.At(i);
    int64_t j = count < k ? count++ : k - 1;
    for (; j > 0 && found < room[j - 1]; --j) { room[j] = room[j - 1]; }
    room[j] = found;
  }
  return count;
}

// The most that SelectLoops chooses among.
constexpr int64_t kQuickBest = 32;
constexpr int64_t kQuickRoom = 2 * kQuickBest + 64;

// Elements of dense float32 that hold the k first of [begin, end); returns their number. 0: too many to
// be worth it, or not served.
template <typename Keys, typename Keyed = typename Keys::Keyed>
int64_t QuickCandidates(const Source<Keys>& source, int64_t begin, int64_t end, int64_t k,
                        Keyed* room, int64_t size) {
  if constexpr (std::is_same_v<Keys, FloatSortKeys>) {
    const int64_t n = end - begin;
    if (source.step != 1 || k > kQuickBest || n < 4 * kSelectLanes) { return 0; }
    const SelectLoops& loops = GetSelectLoops();
    const auto* x = reinterpret_cast<const float*>(source.x) + begin;
    int64_t indices[kQuickRoom];
    const int64_t most = std::min(size, kQuickRoom);
    const bool greatest = source.flip != 0;
    const float bound = loops.bound(x, n, k, greatest);
    const int64_t found = loops.collect(x, n, bound, greatest, indices, most);
    if (found > most) { return 0; }
    for (int64_t i = 0; i < found; ++i) { room[i] = source.At(begin + indices[i]); }
    return found;
  }
  return 0;
}

// The k first of elements [begin, end), at the start of `room`, in order if k <= kFewBest. Returns
// their number.
template <typename Keys, typename Keyed = typename Keys::Keyed>
int64_t Candidates(const Source<Keys>& source, int64_t begin, int64_t end, int64_t k, Keyed* room,
                   int64_t size) {
  if (const int64_t found = QuickCandidates(source, begin, end, k, room, size); found > 0) {
    k <= kFewBest ? std::partial_sort(room, room + k, room + found)
                  : std::nth_element(room, room + k - 1, room + found);
    return k;
  }
  if (k <= kFewBest) { return FewBest(source, begin, end, k, room); }
  int64_t count = 0;
  int64_t i = begin;
  for (; i < end && count < size; ++i) { room[count++] = source.At(i); }
  while (count > k) {
    std::nth_element(room, room + k - 1, room + count);
    count = k;
    // From now on only what goes before the last of them is of interest.
    const Keyed last = room[k - 1];
    while (i < end && count < size) {
      i = source.NextBefore(i, end, last);
      if (i < end) { room[count++] = source.At(i++); }
    }
  }
  return count;
}

template <typename Keys>
void StoreTopk(const KernelCall& call, const Vectors& vectors, const Source<Keys>& source,
               int64_t v, const typename Keys::Keyed* sorted) {
  const int64_t k = call.GetAttrs<TopkAttrs>().k;
  const int64_t start = DenseStart(vectors, v, k);
  auto* values = call.outputs[0].Data<typename Keys::Bits>() + start;
  int64_t* indices = call.outputs[1].Data<int64_t>() + start;
  for (int64_t i = 0; i < k; ++i) {
    const int64_t index = sorted[i].index();
    values[i * vectors.inner] = source.x[index * source.step];
    indices[i * vectors.inner] = index;
  }
}

constexpr int64_t kPart = 1 << 16;  // elements of a long vector that one thread looks through

// One long vector by several threads: candidates of each part, then the best of them.
template <typename Keys>
void TopkTogether(const KernelCall& call, const Vectors& vectors) {
  using Keyed = typename Keys::Keyed;
  const TopkAttrs& attrs = call.GetAttrs<TopkAttrs>();
  const int64_t size = TopkRoom(kPart, attrs.k);
  const int64_t parts = (vectors.n + kPart - 1) / kPart;
  auto* room = static_cast<Keyed*>(call.scratch);
  for (int64_t v = 0; v < vectors.count(); ++v) {
    const Source<Keys> source = SourceOf<Keys>(call.inputs[0], attrs.dim, v, attrs.largest);
    ParallelFor(call.threads, vectors.n, kPart, [&](int64_t begin, int64_t end) {
      Keyed* own = room + begin / kPart * size;
      const int64_t found = Candidates(source, begin, end, attrs.k, own, size);
      // A short last part may have fewer than k: the rest must not be mistaken for candidates.
      for (int64_t i = found; i < attrs.k; ++i) {
        own[i] = Keyed::Of(static_cast<typename Keys::Key>(~typename Keys::Key(0)), vectors.n);
      }
    });
    for (int64_t p = 1; p < parts; ++p) {
      std::copy(room + p * size, room + p * size + attrs.k, room + p * attrs.k);
    }
    std::partial_sort(room, room + attrs.k, room + parts * attrs.k);
    StoreTopk<Keys>(call, vectors, source, v, room);
  }
}

bool IsTogether(const KernelCall& call, const Vectors& vectors) {
  return call.threads > 1 && vectors.count() < call.threads && vectors.n >= 2 * kPart &&
         call.GetAttrs<TopkAttrs>().k <= kPart / 8;
}

template <typename Keys>
Maybe<void> TopkOf(const KernelCall& call) {
  using Keyed = typename Keys::Keyed;
  const TopkAttrs& attrs = call.GetAttrs<TopkAttrs>();
  const Vectors vectors(call.inputs[0], attrs.dim);
  if (attrs.k == 0 || vectors.count() == 0) { return Ok(); }
  if (IsTogether(call, vectors)) {
    TopkTogether<Keys>(call, vectors);
    return Ok();
  }
  const int64_t size = TopkRoom(vectors.n, attrs.k);
  ForEachVector<Keyed>(call, vectors, size, [&](int64_t v, Keyed* room) {
    const Source<Keys> source = SourceOf<Keys>(call.inputs[0], attrs.dim, v, attrs.largest);
    const Keyed* sorted = room;
    if (SortsAll(vectors.n, attrs.k)) {
      source.Pack(room, vectors.n);
      sorted = SortKeyed(room, room + vectors.n, vectors.n, 1);
    } else {
      Candidates(source, 0, vectors.n, attrs.k, room, size);
      if (attrs.k > kFewBest) { std::sort(room, room + attrs.k); }
    }
    StoreTopk<Keys>(call, vectors, source, v, sorted);
  });
  return Ok();
}

Maybe<void> RunTopk(const KernelCall& call) {
  return WithSortKeys(call.inputs[0].dtype,
                      [&](auto keys) { return TopkOf<decltype(keys)>(call); });
}

size_t KeyedBytes(const KernelCall& call, int64_t elements) {
  return WithSortKeys(call.inputs[0].dtype, [&](auto keys) {
    return static_cast<size_t>(elements) * sizeof(typename decltype(keys)::Keyed);
  });
}

size_t TopkScratch(const KernelCall& call) {
  const TopkAttrs& attrs = call.GetAttrs<TopkAttrs>();
  const Vectors vectors(call.inputs[0], attrs.dim);
  if (IsTogether(call, vectors)) {
    return KeyedBytes(call, (vectors.n + kPart - 1) / kPart * TopkRoom(kPart, attrs.k));
  }
  return KeyedBytes(call, call.threads * TopkRoom(vectors.n, attrs.k));
}

// ---- one element by its rank --------------------------------------------------------------------

// The first NaN, or -1.
template <typename Keys>
int64_t FirstNan(const Source<Keys>& source, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    if (Keys::IsNan(source.x[i * source.step])) { return i; }
  }
  return -1;
}

template <typename Keys>
int64_t IndexOfRank(const Source<Keys>& source, int64_t n, const SelectAttrs& attrs,
                    typename Keys::Keyed* room) {
  if (attrs.nan_wins) {
    const int64_t nan = FirstNan(source, n);
    if (nan >= 0) { return nan; }
  }
  source.Pack(room, n);
  return Kth(room, n, attrs.k).index();
}

template <typename Keys>
int64_t IndexOfMode(const Source<Keys>& source, int64_t n, typename Keys::Keyed* room) {
  source.Pack(room, n);
  const auto* sorted = SortKeyed(room, room + n, n, 1);
  int64_t best = 0;
  int64_t longest = 0;
  for (int64_t i = 0; i < n;) {
    int64_t end = i + 1;
    while (end < n && sorted[end].key() == sorted[i].key()) { ++end; }
    if (end - i > longest) {
      longest = end - i;
      best = end - 1;
    }
    i = end;
  }
  return sorted[best].index();
}

template <bool mode>
Maybe<void> RunOne(const KernelCall& call) {
  const SelectAttrs& attrs = call.GetAttrs<SelectAttrs>();
  const Vectors vectors(call.inputs[0], attrs.dim);
  WithSortKeys(call.inputs[0].dtype, [&](auto keys) {
    using Keys = decltype(keys);
    using Keyed = typename Keys::Keyed;
    ForEachVector<Keyed>(call, vectors, vectors.n * (mode ? 2 : 1), [&](int64_t v, Keyed* room) {
      const Source<Keys> source = SourceOf<Keys>(call.inputs[0], attrs.dim, v, false);
      const int64_t index = mode ? IndexOfMode<Keys>(source, vectors.n, room)
                                 : IndexOfRank<Keys>(source, vectors.n, attrs, room);
      call.outputs[0].Data<typename Keys::Bits>()[v] = source.x[index * source.step];
      call.outputs[1].Data<int64_t>()[v] = index;
    });
  });
  return Ok();
}

template <int factor>
size_t OneScratch(const KernelCall& call) {
  const Vectors vectors(call.inputs[0], call.GetAttrs<SelectAttrs>().dim);
  return KeyedBytes(call, call.threads * factor * vectors.n);
}

// The median of a vector; of nothing NaN, or the least integer.
template <typename Keys>
Maybe<void> MedianOf(const KernelCall& call) {
  using Bits = typename Keys::Bits;
  const ArrayView& input = call.inputs[0];
  const int64_t n = input.Count();
  if (n == 0) {
    const bool floats = IsFloating(input.dtype);
    Bits nothing = static_cast<Bits>(floats ? std::numeric_limits<std::make_unsigned_t<Bits>>::max()
                                            : std::numeric_limits<Bits>::min());
    call.outputs[0].Data<Bits>()[0] = nothing;
    return Ok();
  }
  const Source<Keys> source = SourceOf<Keys>(input, 0, 0, false);
  SelectAttrs attrs;
  attrs.k = (n - 1) / 2;
  attrs.nan_wins = true;
  auto* room = static_cast<typename Keys::Keyed*>(call.scratch);
  call.outputs[0].Data<Bits>()[0] =
      source.x[IndexOfRank<Keys>(source, n, attrs, room) * source.step];
  return Ok();
}

Maybe<void> RunMedian(const KernelCall& call) {
  return WithSortKeys(call.inputs[0].dtype,
                      [&](auto keys) { return MedianOf<decltype(keys)>(call); });
}

size_t MedianScratch(const KernelCall& call) { return KeyedBytes(call, call.inputs[0].Count()); }

const char* Accept(const KernelCall& call) {
  for (int i = 0; i < call.num_outputs; ++i) {
    if (!call.outputs[i].contiguous) { return "output is not dense"; }
  }
  if (call.inputs[0].Count() > kMaxSortLength) { return "2^32 elements or more"; }
  return nullptr;
}

double Cost(const KernelCall& call) {
  return 50.0 + 5.0 * static_cast<double>(call.inputs[0].Count());
}

}  // namespace

ONEFLOW_REGISTER_KERNEL(topk, {"topk.cpu.select", &RunTopk, &Accept, &Cost, &TopkScratch});
ONEFLOW_REGISTER_KERNEL(kthvalue,
                        {"kthvalue.cpu.select", &RunOne<false>, &Accept, &Cost, &OneScratch<1>});
ONEFLOW_REGISTER_KERNEL(mode, {"mode.cpu.radix", &RunOne<true>, &Accept, &Cost, &OneScratch<2>});
ONEFLOW_REGISTER_KERNEL(median,
                        {"median_flat.cpu.select", &RunMedian, &Accept, &Cost, &MedianScratch});

}  // namespace cpu
}  // namespace oneflow
