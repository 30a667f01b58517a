// The kernels of max_pool and adaptive_max_pool.
#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "oneflow/device/cpu/parallel.h"
#include "oneflow/kernels/attrs_spatial.h"
#include "oneflow/kernels/cpu/batch_parts.h"
#include "oneflow/kernels/cpu/cost.h"
#include "oneflow/kernels/cpu/dense_call.h"
#include "oneflow/kernels/cpu/pool/max_loops.h"
#include "oneflow/kernels/cpu/pool/pool_plan.h"
#include "oneflow/kernels/cpu/pool/staged_output.h"
#include "oneflow/kernels/cpu/thread_index.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {

namespace {

// Elements that are worth handing to a thread.
constexpr int64_t kGrainElements = 1 << 15;
// Of a narrower image windows of two by two are gone through one by one.
constexpr int64_t kNarrow = 16;
// Results that a thread collects before it stores them.
constexpr int64_t kStage = 1024;
// Rows of a window that are kept for the windows below it, at most.
constexpr int64_t kMaxSlots = 16;

template <typename T>
using IndexOf = std::conditional_t<std::is_same_v<T, float>, int32_t, int64_t>;

template <typename T>
const auto& LoopsFor() {
  if constexpr (std::is_same_v<T, float>) {
    return GetMaxLoops().single;
  } else {
    return GetMaxLoops().wide;
  }
}

int64_t RoundUp(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

// What each thread has in scratch. Sizes are in elements of 8 bytes, whatever the dtype.
struct MaxLayout {
  RowWindows windows;
  int64_t width = 0;     // of the image
  int64_t out = 0;       // results of a line
  int64_t room = 0;      // the same, with room for whole blocks
  int64_t slots = 1;     // rows whose maxima are kept
  int64_t row_room = 0;  // a row as Split lays it out, or twice the image's where rows go first
  int64_t Elements() const { return row_room + 2 * room * (slots + 1) + 2 * (kStage + room + 16); }
  size_t Bytes() const { return static_cast<size_t>(RoundUp(Elements() * 8, 64)) + 64; }
};

// `fixed`: the windows along a row are of one size, at one distance.
void LayRowOut(bool fixed, MaxLayout* m) {
  RowWindows& w = m->windows;
  m->room = RoundUp(m->out, kMaxBlock);
  if (!fixed) {
    m->row_room = 2 * RoundUp(m->width, kMaxBlock);
    return;
  }
  const int64_t reach = (w.kernel - 1) * w.dilation;
  if (!w.IsSplit()) {
    w.out = m->out;
    m->row_room = std::max((m->out - 1) * w.stride + reach + 1, w.before + m->width);
    return;
  }
  w.out = m->room;
  w.pitch = std::max(m->room + reach / w.stride, (w.before + m->width) / w.stride) + kMaxBlock;
  m->row_room = w.pitch * w.stride;
}

template <bool kAdaptive>
MaxLayout LayoutOf(const KernelCall& call) {
  const ArrayView& image = call.inputs[0];
  const ArrayView& pooled = call.outputs[0];
  const int last = image.ndim - 1;
  MaxLayout m;
  m.width = image.shape[last];
  m.out = pooled.shape[last];
  RowWindows& w = m.windows;
  if constexpr (kAdaptive) {
    w.kernel = w.stride = m.width / std::max<int64_t>(1, m.out);
    LayRowOut(m.out > 1 && m.width % m.out == 0, &m);
  } else {
    const auto& attrs = call.GetAttrs<PoolAttrs>();
    const int s = attrs.kernel.count - 1;
    w.kernel = attrs.kernel[s];
    w.stride = attrs.stride[s];
    w.dilation = attrs.dilation[s];
    w.before = attrs.padding[s];
    LayRowOut(true, &m);
    if (s == 1) {
      const int64_t span = (attrs.kernel[0] - 1) * attrs.dilation[0] + 1;
      m.slots = span <= kMaxSlots ? span : 1;
    }
  }
  return m;
}

template <typename T>
class MaxPool {
  using I = IndexOf<T>;
  using Maxima = RowMaxima<T, I>;
  static constexpr T kLeast = -std::numeric_limits<T>::infinity();

 public:
  MaxPool(const PoolPlan& plan, const MaxLayout& layout, const KernelCall& call)
      : p_(plan),
        m_(layout),
        call_(call),
        lines_(p_.axes[0].out * p_.axes[1].out),
        image_(call.inputs[0].Data<T>()) {
    const std::vector<PoolRange>& ranges = p_.axes[2].ranges;
    for (int64_t o = 0; o < m_.out; ++o) {
      if (ranges[static_cast<size_t>(o)].count == 0) { empty_.push_back(o); }
    }
    while (leading_ < m_.out && leading_ * m_.windows.stride < m_.windows.before) { ++leading_; }
  }

  void Run() const {
    const int64_t work = p_.axes[2].in * (p_.axes[1].in / std::max<int64_t>(1, p_.axes[1].out) + 1);
    const int64_t grain = std::max<int64_t>(1, kGrainElements / std::max<int64_t>(1, work));
    const bool pairs = IsOfPairs();
    ParallelFor(call_.threads, p_.planes * lines_, grain, [&](int64_t begin, int64_t end) {
      if (pairs) {
        for (int64_t i = begin; i < end; ++i) { RunPairs(i / lines_, i % lines_); }
      } else {
        RunLines(begin, end);
      }
    });
  }

 private:
  // A thread's part of scratch, and what it holds.
  struct Worker {
    T* line;
    I* line_index;  // where rows go first
    T* slots;       // of each, `room` maxima
    I* columns;
    T* part;  // maxima of the rows so far
    I* part_index;
    StagedOutput<T> values;
    StagedOutput<int64_t> where;
    int64_t keys[kMaxSlots];  // the row of the image in each slot
  };

  Worker MakeWorker(int64_t first_line) const {
    char* at = static_cast<char*>(call_.scratch) + m_.Bytes() * static_cast<size_t>(ThreadIndex());
    at += (64 - reinterpret_cast<uintptr_t>(at) % 64) % 64;
    const auto take = [&at](int64_t elements) {
      char* taken = at;
      at += RoundUp(elements * 8, 64);
      return taken;
    };
    Worker w;
    const int64_t stage = kStage + m_.room + 8;
    const bool streams = BytesOf(call_.inputs[0]) + BytesOf(call_.outputs[1]) >
                         static_cast<double>(LastCacheBytes());
    w.where.Start(take(stage), call_.outputs[1].Data<int64_t>() + first_line * m_.out, streams);
    w.values.Start(take(stage), call_.outputs[0].Data<T>() + first_line * m_.out, false);
    w.slots = reinterpret_cast<T*>(take(m_.slots * m_.room));
    w.columns = reinterpret_cast<I*>(take(m_.slots * m_.room));
    w.part = reinterpret_cast<T*>(take(m_.room));
    w.part_index = reinterpret_cast<I*>(take(m_.room));
    w.line = reinterpret_cast<T*>(at);
    w.line_index = reinterpret_cast<I*>(w.line + RoundUp(m_.width, kMaxBlock));
    if (p_.fixed) { std::fill_n(w.line, m_.row_room, kLeast); }
    std::fill_n(w.columns, m_.slots * m_.room, I{0});  // loops read whole blocks
    std::fill_n(w.keys, kMaxSlots, int64_t{-1});
    return w;
  }

  void RunLines(int64_t begin, int64_t end) const {
    Worker w = MakeWorker(begin);
    // Divisions would take as long as the rest.
    int64_t plane = begin / lines_;
    int64_t d = begin % lines_ / p_.axes[1].out;
    int64_t h = begin % lines_ % p_.axes[1].out;
    for (int64_t i = begin; i < end; ++i) {
      RunLine(plane, p_.axes[0].ranges[static_cast<size_t>(d)],
              p_.axes[1].ranges[static_cast<size_t>(h)], &w);
      w.values.Advance(m_.out);
      w.where.Advance(m_.out);
      if (w.values.count() >= kStage) {
        w.values.Flush();
        w.where.Flush();
      }
      if (++h < p_.axes[1].out) { continue; }
      h = 0;
      if (++d < p_.axes[0].out) { continue; }
      d = 0;
      ++plane;
    }
    w.values.Finish();
    w.where.Finish();
  }

  void RunLine(int64_t plane, const PoolRange& depth, const PoolRange& height, Worker* w) const {
    T* out = w->values.at();
    int64_t* where = w->where.at();
    if (depth.count * height.count == 0) {
      std::fill_n(out, m_.out, kLeast);
      std::fill_n(where, m_.out, int64_t{0});
      return;
    }
    if (p_.fixed) {
      FoldRows(plane, depth, height, out, where, w);
    } else {
      FoldRanges(plane, depth, height, out, where, w);
    }
    // A window of padding alone chooses nothing; its index must still be one of the image.
    for (int64_t o : empty_) { where[o] = 0; }
  }

  // The row of the image that element (i, j) of a line's windows, i in depth, j in height, lies in.
  int64_t RowAt(const PoolRange& depth, const PoolRange& height, int64_t i, int64_t j) const {
    return (depth.begin + i * p_.axes[0].step) * p_.axes[1].in + height.begin + j * p_.axes[1].step;
  }

  // ---- windows of one size: each row by itself, then the rows ----

  void FoldRows(int64_t plane, const PoolRange& depth, const PoolRange& height, T* out,
                int64_t* where, Worker* w) const {
    const auto& loops = LoopsFor<T>();
    const int most = m_.slots > 1 ? kMaxRows : 1;  // of rows that are held at once
    int64_t left = depth.count * height.count;
    bool first = true;
    Maxima held[kMaxRows];
    int n = 0;
    for (int64_t i = 0; i < depth.count; ++i) {
      int64_t slot = height.begin % m_.slots;
      for (int64_t j = 0; j < height.count; ++j, slot += p_.axes[1].step) {
        if (slot >= m_.slots) { slot = m_.slots == 1 ? 0 : slot - m_.slots; }
        held[n++] = MaximaOf(plane, RowAt(depth, height, i, j), slot, w);
        if (--left == 0) { return loops.rows(held, n, m_.room, out, where); }
        // A fold of the rows so far takes the place of one.
        if (n == most + (most == 1 && !first ? 1 : 0)) {
          loops.part(held, n, m_.room, w->part, w->part_index);
          held[0] = {w->part, w->part_index, 0};
          n = 1;
        }
        first = false;
      }
    }
  }

  // `slot`: the row's place among those that are kept.
  Maxima MaximaOf(int64_t plane, int64_t row, int64_t slot, Worker* w) const {
    const int64_t key = plane * p_.axes[0].in * p_.axes[1].in + row;
    T* best = w->slots + slot * m_.room;
    I* column = w->columns + slot * m_.room;
    const Maxima maxima = {best, column, static_cast<I>(row * m_.width)};
    if (w->keys[slot] == key) { return maxima; }
    w->keys[slot] = key;
    const auto& loops = LoopsFor<T>();
    const RowWindows& windows = m_.windows;
    const T* from = image_ + key * m_.width;
    if (loops.pairs != nullptr && windows.stride == 2 && windows.kernel <= kMaxPairs &&
        windows.dilation == 1) {
      loops.pairs(from, m_.width, windows, best, column);
    } else {
      loops.split(from, m_.width, windows, w->line);
      loops.row(w->line, windows, best, column);
    }
    // Padding before the data is never chosen, not even where all is minus infinity.
    for (int64_t o = 0; o < leading_; ++o) {
      column[o] =
          std::max(column[o], static_cast<I>(p_.axes[2].ranges[static_cast<size_t>(o)].begin));
    }
    return maxima;
  }

  // ---- windows of many sizes: the rows, then each window ----

  void FoldRanges(int64_t plane, const PoolRange& depth, const PoolRange& height, T* out,
                  int64_t* where, Worker* w) const {
    const auto& loops = LoopsFor<T>();
    const T* image = image_ + plane * p_.InPixels();
    for (int64_t k = 0; k < depth.count * height.count; ++k) {
      const int64_t at = RowAt(depth, height, k / height.count, k % height.count) * m_.width;
      (k == 0 ? loops.start : loops.merge)(image + at, static_cast<I>(at), w->line, w->line_index,
                                           m_.width);
    }
    for (int64_t o = 0; o < m_.out; ++o) {
      const PoolRange& range = p_.axes[2].ranges[static_cast<size_t>(o)];
      FoldRange(w->line + range.begin, w->line_index + range.begin, range.count, out + o,
                where + o);
    }
  }

  // Among equal maxima that of the smallest index, among NaN that of the largest.
  static void FoldRange(const T* best, const I* index, int64_t count, T* out, int64_t* where) {
    T value = kLeast;
    I at = 0;
    for (int64_t i = 0; i < count; ++i) {
      const T next = best[i];
      const bool later_nan = (next != next) & ((value == value) | (index[i] > at));
      const bool earlier = (next == value) & (index[i] < at);
      if ((i == 0) | (next > value) | later_nan | earlier) {
        value = next;
        at = index[i];
      }
    }
    *out = value;
    *where = at;
  }

  // ---- windows of two by two, all inside ----

  bool IsOfPairs() const {
    return p_.fixed && p_.axes[2].in <= kNarrow && p_.line.kernel == 2 &&
           p_.before + p_.after == 0 && AllCount(p_.axes[0], 1) && AllCount(p_.axes[1], 2);
  }
  static bool AllCount(const PoolAxis& axis, int64_t count) {
    return std::all_of(axis.ranges.begin(), axis.ranges.end(),
                       [count](const PoolRange& range) { return range.count == count; });
  }

  void RunPairs(int64_t plane, int64_t line) const {
    const PoolRange& depth = p_.axes[0].ranges[static_cast<size_t>(line / p_.axes[1].out)];
    const PoolRange& height = p_.axes[1].ranges[static_cast<size_t>(line % p_.axes[1].out)];
    const int64_t row = RowAt(depth, height, 0, 0) * m_.width;
    const int64_t offset = (plane * lines_ + line) * m_.out;
    T* out = call_.outputs[0].Data<T>() + offset;
    int64_t* where = call_.outputs[1].Data<int64_t>() + offset;
    const int64_t right = p_.line.dilation;
    const int64_t below = p_.axes[1].step * m_.width;
    const T* upper = image_ + plane * p_.InPixels() + row;
    const T* lower = upper + below;
    for (int64_t o = 0; o < m_.out; ++o) {
      const int64_t at = o * p_.line.stride;
      // The first of equals, the last NaN; without branches that cannot be foretold.
      const auto takes = [](T a, T b) { return static_cast<int64_t>((b > a) | (b != b)); };
      const T a = upper[at], b = upper[at + right], c = lower[at], d = lower[at + right];
      const int64_t u = takes(a, b);
      const int64_t l = takes(c, d);
      const T top = u != 0 ? b : a;
      const T bottom = l != 0 ? d : c;
      const int64_t s = takes(top, bottom);
      out[o] = s != 0 ? bottom : top;
      where[o] = row + at + (s != 0 ? below + l * right : u * right);
    }
  }

  const PoolPlan& p_;
  const MaxLayout& m_;
  const KernelCall& call_;
  const int64_t lines_;  // of a plane
  const T* image_;
  std::vector<int64_t> empty_;  // windows without an element of a row
  int64_t leading_ = 0;         // windows that begin in padding
};

// ---- kernels ------------------------------------------------------------------------------------

template <typename T, bool kAdaptive>
void RunAs(const KernelCall& call) {
  const MaxLayout layout = LayoutOf<kAdaptive>(call);
  const PoolPlan plan =
      kAdaptive ? AdaptivePlan(call.inputs[0], call.outputs[0])
                : FixedPlan(call.GetAttrs<PoolAttrs>(), call.inputs[0], call.outputs[0]);
  MaxPool<T>(plan, layout, call).Run();
}

template <bool kAdaptive>
Maybe<void> Run(const KernelCall& call) {
  return RunDenseByParts(call, [](const KernelCall& dense) -> Maybe<void> {
    if (dense.outputs[0].Count() == 0) { return Ok(); }
    if (dense.outputs[0].dtype == DataType::kDouble) {
      RunAs<double, kAdaptive>(dense);
    } else {
      RunAs<float, kAdaptive>(dense);
    }
    return Ok();
  });
}

template <bool kAdaptive>
size_t ScratchOfPart(const KernelCall& call) {
  if (call.outputs[0].Count() == 0) { return DenseCall::ScratchBytes(call); }
  return DenseCall::ScratchBytes(call) +
         LayoutOf<kAdaptive>(call).Bytes() * static_cast<size_t>(std::max(call.threads, 1)) + 64;
}

template <bool kAdaptive>
size_t Scratch(const KernelCall& call) {
  return ScratchByParts(call, &ScratchOfPart<kAdaptive>);
}

template <bool kAdaptive>
double Cost(const KernelCall& call) {
  const double bytes =
      BytesOf(call.inputs[0]) + BytesOf(call.outputs[0]) + BytesOf(call.outputs[1]);
  const auto elements = static_cast<double>(call.inputs[0].Count() + call.outputs[0].Count());
  double each = (kAdaptive ? 0.5 : 0.15) * elements;
  if (!kAdaptive) {
    const auto& attrs = call.GetAttrs<PoolAttrs>();
    for (int d = 0; d + 1 < attrs.kernel.count; ++d) {
      each *= std::max(1.0,
                       static_cast<double>(attrs.kernel[d]) / static_cast<double>(attrs.stride[d]));
    }
  }
  return 200.0 + MemoryCostNs(bytes) + each;
}

}  // namespace

ONEFLOW_REGISTER_KERNEL(max_pool, {"max_pool.cpu.vector", &Run<false>, &AcceptOneFloatingDtype,
                                   &Cost<false>, &Scratch<false>});
ONEFLOW_REGISTER_KERNEL(adaptive_max_pool, {"adaptive_max_pool.cpu.vector", &Run<true>,
                                            &AcceptOneFloatingDtype, &Cost<true>, &Scratch<true>});

}  // namespace cpu
}  // namespace oneflow
