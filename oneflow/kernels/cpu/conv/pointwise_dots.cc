#include "oneflow/kernels/cpu/conv/pointwise_dots.h"

#include <algorithm>
#include <cstring>

#include "oneflow/device/cpu/parallel.h"
#include "oneflow/kernels/cpu/conv/dot_loops.h"
#include "oneflow/kernels/cpu/conv/lines_ahead.h"
#include "oneflow/kernels/cpu/stream_loops.h"

namespace oneflow {
namespace cpu {

namespace {

// Packed columns that a thread multiplies all rows by: they stay in its second-level cache.
constexpr int64_t kColumnBytes = 384 << 10;

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

// result (rows x columns) = weight (rows x depth) source (depth x columns) for each image; the columns of all images are
// counted as one.
class Product {
 public:
  explicit Product(const ConvProblem& p)
      : g_(p.geometry), forward_(p.kind == ConvKind::kForward), threads_(p.threads) {
    rows_ = forward_ ? g_.out_channels : g_.in_channels;
    depth_ = forward_ ? g_.in_channels : g_.out_channels;
    panels_ = CeilDiv(g_.batch * g_.OutPixels(), kDotColumns);
    row_blocks_ = CeilDiv(rows_, kDotRows);
    pairs_ = DotPairs(depth_);
    const int64_t most = std::max<int64_t>(1, kColumnBytes / PanelBytes());
    tasks_ = std::min(panels_, threads_ * CeilDiv(panels_, threads_ * most));
    panels_of_task_ = CeilDiv(panels_, tasks_);
  }

  size_t ScratchBytes() const {
    return static_cast<size_t>(RowBytes() + threads_ * panels_of_task_ * PanelBytes());
  }

  void Run(const ConvPointers& at, void* scratch) {
    source_ = static_cast<const uint16_t*>(forward_ ? at.src : at.dst);
    result_ = static_cast<uint16_t*>(forward_ ? at.dst : at.src);
    const int64_t bytes = g_.batch * rows_ * g_.OutPixels() * kElementBytes;
    const int64_t read = g_.batch * depth_ * g_.OutPixels() * kElementBytes;
    past_ =
        g_.OutPixels() * kElementBytes % 64 == 0 && WorthStreaming(result_, bytes, bytes + read);
    auto* rows = static_cast<uint32_t*>(scratch);
    PackRows(static_cast<const uint16_t*>(at.weight), rows);
    // A thread's tasks are neighbours; each thread has its own columns.
    const int64_t threads = std::min<int64_t>(threads_, tasks_);
    uint32_t* columns = rows + RowBytes() / kPairBytes;
    const int64_t own = panels_of_task_ * PanelBytes() / kPairBytes;
    ParallelFor(static_cast<int>(threads), threads, 1, [&](int64_t thread, int64_t) {
      const int64_t end = (thread + 1) * tasks_ / threads;
      for (int64_t task = thread * tasks_ / threads; task < end; ++task) {
        RunTask(rows, columns + thread * own, task, task + 1 < end);
      }
      if (past_) { FenceDots(); }
    });
  }

 private:
  static constexpr int64_t kPairBytes = 4;
  static constexpr int64_t kElementBytes = 2;

  // Lines of panels that are used together lie in different sets of a cache.
  int64_t PanelWords() const { return (pairs_ + 1) * kDotColumns; }
  int64_t PanelBytes() const { return PanelWords() * kPairBytes; }
  int64_t RowBytes() const {
    return CeilDiv(row_blocks_ * pairs_ * kDotRows * kPairBytes, 64) * 64;
  }

  void PackRows(const uint16_t* weight, uint32_t* to) const {
    const int64_t row = forward_ ? depth_ : 1;
    const int64_t step = forward_ ? 1 : rows_;
    ParallelFor(threads_, row_blocks_, 4, [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) {
        PackDotRows(weight + b * kDotRows * row, row, step,
                    std::min(kDotRows, rows_ - b * kDotRows), depth_, to + b * pairs_ * kDotRows);
      }
    });
  }

  // Calls body(first column of these, columns, image, first pixel) for those of each image, of columns [begin, end).
  template <typename Body>
  void ForEachSegment(int64_t begin, int64_t end, const Body& body) const {
    const int64_t pixels = g_.OutPixels();
    for (int64_t c = begin; c < end;) {
      const int64_t count = std::min(pixels - c % pixels, end - c);
      body(c - begin, count, c / pixels, c % pixels);
      c += count;
    }
  }

  int64_t FirstPanel(int64_t task) const { return task * panels_ / tasks_; }
  int64_t EndOf(int64_t panel) const {
    return std::min(panel * kDotColumns, g_.batch * g_.OutPixels());
  }

  // What the next task packs, where it lies in one image.
  LinesAhead Ahead(int64_t task, int64_t calls) const {
    const int64_t pixels = g_.OutPixels();
    const int64_t first = FirstPanel(task) * kDotColumns;
    const int64_t count = EndOf(FirstPanel(task + 1)) - first;
    if (first % pixels + count > pixels) { return LinesAhead(); }
    return LinesAhead(source_ + first / pixels * depth_ * pixels + first % pixels, depth_,
                      count * kElementBytes, pixels * kElementBytes, calls);
  }

  void RunTask(const uint32_t* rows, uint32_t* columns, int64_t task, bool has_next) const {
    const int64_t pixels = g_.OutPixels();
    const int64_t begin = FirstPanel(task), end = FirstPanel(task + 1);
    ForEachSegment(begin * kDotColumns, EndOf(end),
                   [&](int64_t at, int64_t count, int64_t image, int64_t first) {
                     PackDotColumns(source_ + image * depth_ * pixels + first, pixels, depth_,
                                    count, at, PanelWords(), columns);
                   });
    LinesAhead ahead = has_next ? Ahead(task + 1, row_blocks_ * (end - begin)) : LinesAhead();
    for (int64_t b = 0; b < row_blocks_; ++b) {
      for (int64_t panel = begin; panel < end; ++panel) {
        ahead.Ask();
        Multiply(rows + b * pairs_ * kDotRows, columns + (panel - begin) * PanelWords(),
                 b * kDotRows, panel);
      }
    }
  }

  void Multiply(const uint32_t* rows, const uint32_t* columns, int64_t row, int64_t panel) const {
    const int64_t pixels = g_.OutPixels();
    const int64_t count = std::min(kDotRows, rows_ - row);
    const int64_t column = panel * kDotColumns;
    const int64_t pixel = column % pixels;
    if (pixel + kDotColumns <= pixels && column + kDotColumns <= g_.batch * pixels) {
      uint16_t* to = result_ + (column / pixels * rows_ + row) * pixels + pixel;
      return DotTile(rows, columns, pairs_, count, to, pixels, past_);
    }
    alignas(64) uint16_t tile[kDotRows * kDotColumns];
    DotTile(rows, columns, pairs_, count, tile, kDotColumns, false);
    ForEachSegment(
        column, EndOf(panel + 1), [&](int64_t at, int64_t n, int64_t image, int64_t first) {
          for (int64_t r = 0; r < count; ++r) {
            std::memcpy(result_ + (image * rows_ + row + r) * pixels + first,
                        tile + r * kDotColumns + at, static_cast<size_t>(n) * sizeof(uint16_t));
          }
        });
  }

  const ConvGeometry& g_;
  bool forward_;
  int threads_;
  int64_t rows_, depth_, panels_, row_blocks_, pairs_, tasks_, panels_of_task_;
  const uint16_t* source_ = nullptr;
  uint16_t* result_ = nullptr;
  bool past_ = false;  // the result goes past the caches
};

}  // namespace

bool IsPointwiseDots(const ConvProblem& p) {
  const ConvGeometry& g = p.geometry;
  const bool plain =
      p.src == ConvLayout::kPlain && p.dst == ConvLayout::kPlain && p.weight == ConvLayout::kPlain;
  if (p.dtype != DataType::kBFloat16 || !plain || p.has_bias || g.groups != 1) { return false; }
  if (!g.IsPointwise() || g.Empty() || p.kind == ConvKind::kWeightGrad) { return false; }
  return g.HasUnitStride() && HasDotLoops();
}

size_t PointwiseDotsScratchBytes(const ConvProblem& problem) {
  return Product(problem).ScratchBytes();
}

void RunPointwiseDots(const ConvProblem& problem, const ConvPointers& at, void* scratch) {
  Product(problem).Run(at, scratch);
}

}  // namespace cpu
}  // namespace oneflow
