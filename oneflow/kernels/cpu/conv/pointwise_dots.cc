#include "oneflow/kernels/cpu/conv/pointwise_dots.h"

#include <algorithm>
#include <cstring>

#include "oneflow/device/cpu/parallel.h"
#include "oneflow/kernels/cpu/conv/dot_loops.h"

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
    auto* rows = static_cast<uint32_t*>(scratch);
    PackRows(static_cast<const uint16_t*>(at.weight), rows);
    // A thread's tasks are neighbours; each thread has its own columns.
    const int64_t threads = std::min<int64_t>(threads_, tasks_);
    uint32_t* columns = rows + RowBytes() / kPairBytes;
    const int64_t own = panels_of_task_ * PanelBytes() / kPairBytes;
    ParallelFor(static_cast<int>(threads), threads, 1, [&](int64_t thread, int64_t) {
      const int64_t end = (thread + 1) * tasks_ / threads;
      for (int64_t task = thread * tasks_ / threads; task < end; ++task) {
        RunTask(rows, columns + thread * own, task * panels_ / tasks_,
                (task + 1) * panels_ / tasks_);
      }
    });
  }

 private:
  static constexpr int64_t kPairBytes = 4;

  int64_t PanelBytes() const { return pairs_ * kDotColumns * kPairBytes; }
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

  // Calls body(first column in the panel, columns, image, first pixel) for those of each image.
  template <typename Body>
  void ForEachSegment(int64_t panel, const Body& body) const {
    const int64_t pixels = g_.OutPixels();
    const int64_t end = std::min((panel + 1) * kDotColumns, g_.batch * pixels);
    for (int64_t c = panel * kDotColumns; c < end;) {
      const int64_t count = std::min(pixels - c % pixels, end - c);
      body(c - panel * kDotColumns, count, c / pixels, c % pixels);
      c += count;
    }
  }

  void PackPanel(int64_t panel, uint32_t* to) const {
    const int64_t pixels = g_.OutPixels();
    ForEachSegment(panel, [&](int64_t at, int64_t count, int64_t image, int64_t first) {
      PackDotColumns(source_ + image * depth_ * pixels + first, pixels, depth_, count, to + at);
    });
  }

  void RunTask(const uint32_t* rows, uint32_t* columns, int64_t begin, int64_t end) const {
    const int64_t panel_pairs = pairs_ * kDotColumns;
    for (int64_t panel = begin; panel < end; ++panel) {
      PackPanel(panel, columns + (panel - begin) * panel_pairs);
    }
    for (int64_t b = 0; b < row_blocks_; ++b) {
      for (int64_t panel = begin; panel < end; ++panel) {
        Multiply(rows + b * pairs_ * kDotRows, columns + (panel - begin) * panel_pairs,
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
      return DotTile(rows, columns, pairs_, count, to, pixels);
    }
    alignas(64) uint16_t tile[kDotRows * kDotColumns];
    DotTile(rows, columns, pairs_, count, tile, kDotColumns);
    ForEachSegment(panel, [&](int64_t at, int64_t n, int64_t image, int64_t first) {
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
