// The kernel sort.
#include <algorithm>

#include "oneflow/device/cpu/parallel.h"
#include "oneflow/kernels/attrs_reduce.h"
#include "oneflow/kernels/cpu/sort/radix_sort.h"
#include "oneflow/kernels/cpu/sort/sort_keys.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {

namespace {

constexpr int64_t kTogether = 1 << 16;  // vectors from this length on are sorted by all threads

constexpr int64_t kLong = 256;  // from here on a look at the range of keys pays

// How the vectors are shared out: to each thread its own, or all threads to each.
struct Shares {
  int workers;  // that work on vectors of their own
  int threads;  // that work on one vector

  Shares(const Vectors& vectors, int threads) : workers(threads), threads(1) {
    if (vectors.count() < threads && vectors.n >= kTogether) {
      workers = 1;
      this->threads = threads;
    }
  }
};

template <typename Keys>
struct SortTask {
  using Keyed = typename Keys::Keyed;
  using Key = typename Keys::Key;
  using Bits = typename Keys::Bits;

  const KernelCall& call;
  const SortAttrs& attrs;
  Vectors vectors;
  int threads;

  struct Source {
    const Bits* x;
    int64_t step;
    Key flip;

    Key At(int64_t i) const { return static_cast<Key>(Keys::Of(x[i * step]) ^ flip); }
  };

  void Run(int64_t v, Keyed* room) const {
    const ArrayView& input = call.inputs[0];
    const Source source = {input.Data<Bits>() + StridedStart(input, attrs.dim, v),
                           input.ndim == 0 ? 0 : input.strides[attrs.dim],
                           attrs.descending ? static_cast<Key>(~Key(0)) : Key(0)};
    if (vectors.n < kLong) {
      return SortAs(source, v, room, Key(0), static_cast<int>(sizeof(Key)) * 8);
    }
    // Keys that lie close together have few digits, and short ones where the dtype is long.
    Key low = source.At(0);
    Key high = low;
    for (int64_t i = 1; i < vectors.n; ++i) {
      const Key key = source.At(i);
      low = std::min(low, key);
      high = std::max(high, key);
    }
    const int bits = high == low ? 1 : 64 - __builtin_clzll(static_cast<uint64_t>(high - low));
    if (bits <= 32) { return SortAs(source, v, reinterpret_cast<Keyed32*>(room), low, bits); }
    SortAs(source, v, room, low, bits);
  }

  template <typename Into>
  void SortAs(const Source& source, int64_t v, Into* room, Key low, int bits) const {
    const int64_t n = vectors.n;
    ParallelFor(threads, n, kTogether, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        room[i] = Into::Of(static_cast<typename Into::Key>(source.At(i) - low), i);
      }
    });
    const Into* sorted = SortKeyed(room, room + n, n, threads, bits);
    const int64_t start = DenseStart(vectors, v, n);
    Bits* values = call.outputs[0].Data<Bits>() + start;
    int64_t* indices = call.outputs[1].Data<int64_t>() + start;
    ParallelFor(threads, n, kTogether, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t index = sorted[i].index();
        values[i * vectors.inner] = source.x[index * source.step];
        indices[i * vectors.inner] = index;
      }
    });
  }
};

template <typename Keys>
Maybe<void> RunSort(const KernelCall& call) {
  using Keyed = typename Keys::Keyed;
  const SortAttrs& attrs = call.GetAttrs<SortAttrs>();
  const Vectors vectors(call.inputs[0], attrs.dim);
  if (vectors.count() * vectors.n == 0) { return Ok(); }
  const Shares shares(vectors, call.threads);
  const SortTask<Keys> task{call, attrs, vectors, shares.threads};
  auto* room = static_cast<Keyed*>(call.scratch);
  const int64_t part = (vectors.count() + shares.workers - 1) / shares.workers;
  ParallelFor(shares.workers, vectors.count(), part, [&](int64_t begin, int64_t end) {
    Keyed* own = room + begin / part * 2 * vectors.n;
    for (int64_t v = begin; v < end; ++v) { task.Run(v, own); }
  });
  return Ok();
}

Maybe<void> Run(const KernelCall& call) {
  return WithSortKeys(call.inputs[0].dtype,
                      [&](auto keys) { return RunSort<decltype(keys)>(call); });
}

size_t Scratch(const KernelCall& call) {
  const Vectors vectors(call.inputs[0], call.GetAttrs<SortAttrs>().dim);
  const Shares shares(vectors, call.threads);
  return WithSortKeys(call.inputs[0].dtype, [&](auto keys) {
    return static_cast<size_t>(shares.workers * 2 * vectors.n) *
           sizeof(typename decltype(keys)::Keyed);
  });
}

const char* Accept(const KernelCall& call) {
  if (!call.outputs[0].contiguous || !call.outputs[1].contiguous) { return "output is not dense"; }
  const Vectors vectors(call.inputs[0], call.GetAttrs<SortAttrs>().dim);
  return vectors.n <= kMaxSortLength ? nullptr : "a vector of 2^32 elements or more";
}

double Cost(const KernelCall& call) {
  return 50.0 + 15.0 * static_cast<double>(call.inputs[0].Count());
}

}  // namespace

ONEFLOW_REGISTER_KERNEL(sort, {"sort.cpu.radix", &Run, &Accept, &Cost, &Scratch});

}  // namespace cpu
}  // namespace oneflow
