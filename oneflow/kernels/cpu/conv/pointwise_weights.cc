#include "oneflow/kernels/cpu/conv/pointwise_weights.h"

#include <algorithm>
#include <cstring>

#include "oneflow/device/cpu/parallel.h"
#include "oneflow/kernels/cpu/conv/dot_loops.h"
#include "oneflow/kernels/cpu/conv/lines_ahead.h"

namespace oneflow {
namespace cpu {

namespace {

constexpr int64_t kPairBytes = 4;
// Pairs of pixels that are summed before the next rows are: what they need of one operand stays in the first-level cache.
constexpr int64_t kChunkPairs = 512;
// Both operands are packed for so many bytes at a time: they stay in the last cache.
constexpr int64_t kStageBytes = 4 << 20;

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

// sums (rows x columns) = the product of planes by planes over the pixels of all images. Pixels are cut into pieces of one
// image, a few pieces are a chunk, and chunks are packed a stage at a time: by shapes alone.
class Product {
 public:
  explicit Product(const ConvProblem& p) : g_(p.geometry), threads_(p.threads) {
    // Packing a row costs more than packing a column, and is worth it where many columns use it.
    turned_ = g_.in_channels < g_.out_channels && g_.in_channels <= 128;
    rows_ = turned_ ? g_.in_channels : g_.out_channels;
    columns_ = turned_ ? g_.out_channels : g_.in_channels;
    row_blocks_ = CeilDiv(rows_, kDotRows);
    panels_ = CeilDiv(columns_, kDotColumns);
    const int64_t pixels = g_.OutPixels();
    pieces_of_image_ = CeilDiv(pixels, 2 * kChunkPairs);
    piece_pixels_ = CeilDiv(CeilDiv(pixels, pieces_of_image_), 2) * 2;
    piece_pairs_ = piece_pixels_ / 2;
    pieces_ = g_.batch * pieces_of_image_;
    chunk_pieces_ = std::clamp<int64_t>(kChunkPairs / piece_pairs_, 1, pieces_);
    const int64_t width = panels_ * kDotColumns + row_blocks_ * kDotRows;
    chunk_words_ = CeilDiv(ChunkPairs() * width, 16) * 16;
    const int64_t most = kStageBytes / (chunk_words_ * kPairBytes);
    stage_chunks_ = std::clamp<int64_t>(most, 1, CeilDiv(pieces_, chunk_pieces_));
    if (stage_chunks_ > pieces_of_image_) { stage_chunks_ -= stage_chunks_ % pieces_of_image_; }
  }

  size_t ScratchBytes() const {
    return static_cast<size_t>(SumBytes() + stage_chunks_ * chunk_words_ * kPairBytes);
  }

  void Run(const ConvPointers& at, void* scratch) {
    const auto* src = static_cast<const uint16_t*>(at.src);
    const auto* dst = static_cast<const uint16_t*>(at.dst);
    row_planes_ = turned_ ? src : dst;
    column_planes_ = turned_ ? dst : src;
    sums_ = static_cast<float*>(scratch);
    packed_ = reinterpret_cast<uint32_t*>(static_cast<char*>(scratch) + SumBytes());
    const int64_t chunks = CeilDiv(pieces_, chunk_pieces_);
    for (int64_t chunk = 0; chunk < chunks; chunk += stage_chunks_) {
      const int64_t count = std::min(stage_chunks_, chunks - chunk);
      Pack(chunk, count);
      Multiply(count, chunk);
    }
    Store(static_cast<uint16_t*>(at.weight));
  }

 private:
  int64_t ChunkPairs() const { return chunk_pieces_ * piece_pairs_; }
  int64_t SumBytes() const {
    const int64_t tile = kDotRows * kDotColumns * static_cast<int64_t>(sizeof(float));
    return row_blocks_ * panels_ * tile;
  }
  // Where chunk number `i` of a stage has its row block or panel.
  uint32_t* ColumnsAt(int64_t i, int64_t panel) const {
    return packed_ + i * chunk_words_ + panel * kDotColumns * ChunkPairs();
  }
  uint32_t* RowsAt(int64_t i, int64_t block) const {
    return ColumnsAt(i, panels_) + block * kDotRows * ChunkPairs();
  }
  float* SumsAt(int64_t block, int64_t panel) const {
    return sums_ + (block * panels_ + panel) * kDotRows * kDotColumns;
  }

  // Calls body(piece of the chunk, image, first pixel, pixels); a piece may be empty.
  template <typename Body>
  void ForEachPiece(int64_t chunk, const Body& body) const {
    for (int64_t i = 0; i < chunk_pieces_; ++i) {
      const int64_t piece = chunk * chunk_pieces_ + i;
      const int64_t first = piece % pieces_of_image_ * piece_pixels_;
      const int64_t left = piece < pieces_ ? std::max<int64_t>(0, g_.OutPixels() - first) : 0;
      const int64_t count = std::min(piece_pixels_, left);
      body(i, count == 0 ? 0 : piece / pieces_of_image_, count == 0 ? 0 : first, count);
    }
  }

  void PackItem(int64_t chunk, int64_t i, int64_t item) const {
    const int64_t pixels = g_.OutPixels();
    const bool is_row = item < row_blocks_;
    const int64_t panel = item - row_blocks_;
    const int64_t width = is_row ? kDotRows : kDotColumns;
    const int64_t all = is_row ? rows_ : columns_;
    const int64_t channel = is_row ? item * kDotRows : panel * kDotColumns;
    const uint16_t* planes = is_row ? row_planes_ : column_planes_;
    uint32_t* to = is_row ? RowsAt(i, item) : ColumnsAt(i, panel);
    ForEachPiece(chunk, [&](int64_t piece, int64_t image, int64_t first, int64_t count) {
      uint32_t* at = to + piece * piece_pairs_ * width;
      // What is missing of a piece is 0.
      const int64_t pairs = DotPairs(count);
      std::memset(at + pairs * width, 0,
                  static_cast<size_t>((piece_pairs_ - pairs) * width * kPairBytes));
      const uint16_t* from = planes + (image * all + channel) * pixels + first;
      if (is_row) {
        return PackDotRows(from, pixels, 1, std::min(width, all - channel), count, at);
      }
      PackDotColumnsOfRows(from, pixels, count, std::min(width, all - channel), at);
    });
  }

  void Pack(int64_t chunk, int64_t count) const {
    const int64_t items = row_blocks_ + panels_;
    ParallelFor(threads_, count * items, 1, [&](int64_t task, int64_t) {
      PackItem(chunk + task / items, task / items, task % items);
    });
  }

  // How evenly `n` things are split among the threads.
  double Balance(int64_t n) const {
    return static_cast<double>(n) / static_cast<double>(CeilDiv(n, threads_) * threads_);
  }

  // The images of a stage, of rows or columns: part `part` of `parts`.
  LinesAhead Ahead(int64_t chunk, bool of_rows, int64_t part, int64_t parts, int64_t calls) const {
    const int64_t first = chunk * chunk_pieces_ / pieces_of_image_;
    const int64_t last = std::min((chunk + stage_chunks_) * chunk_pieces_, pieces_);
    const int64_t image = (of_rows ? rows_ : columns_) * g_.OutPixels();
    const int64_t bytes = (CeilDiv(last, pieces_of_image_) - first) * image * 2 / parts;
    const uint16_t* planes = (of_rows ? row_planes_ : column_planes_) + first * image;
    return LinesAhead(planes + part * bytes / 2, 1, bytes, 0, calls);
  }

  void Multiply(int64_t count, int64_t chunk) const {
    // A thread has row blocks or panels of its own, so that each operand is read once, or once for each thread.
    const bool by_rows = Balance(row_blocks_) >= Balance(panels_);
    const int64_t all = by_rows ? row_blocks_ : panels_;
    const int64_t grain = CeilDiv(all, threads_);
    const int64_t parts = CeilDiv(all, grain);
    const bool has_next = (chunk + stage_chunks_) * chunk_pieces_ < pieces_;
    ParallelFor(threads_, all, grain, [&](int64_t begin, int64_t end) {
      const int64_t first_block = by_rows ? begin : 0, end_block = by_rows ? end : row_blocks_;
      const int64_t first_panel = by_rows ? 0 : begin, end_panel = by_rows ? panels_ : end;
      LinesAhead rows, columns;
      if (has_next) {
        const int64_t calls = count * (end_block - first_block) * (end_panel - first_panel);
        rows = Ahead(chunk + stage_chunks_, true, begin / grain, parts, calls);
        columns = Ahead(chunk + stage_chunks_, false, begin / grain, parts, calls);
      }
      for (int64_t i = 0; i < count; ++i) {
        for (int64_t panel = first_panel; panel < end_panel; ++panel) {
          for (int64_t block = first_block; block < end_block; ++block) {
            float* sums = SumsAt(block, panel);
            if (chunk == 0 && i == 0) { std::fill_n(sums, kDotRows * kDotColumns, 0.0F); }
            rows.Ask();
            columns.Ask();
            AddDotTile(RowsAt(i, block), ColumnsAt(i, panel), ChunkPairs(), sums);
          }
        }
      }
    });
  }

  void Store(uint16_t* weight) const {
    ParallelFor(threads_, row_blocks_, 4, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin * kDotRows; row < std::min(end * kDotRows, rows_); ++row) {
        for (int64_t panel = 0; panel < panels_; ++panel) {
          const int64_t column = panel * kDotColumns;
          const int64_t count = std::min(kDotColumns, columns_ - column);
          const float* sums = SumsAt(row / kDotRows, panel) + row % kDotRows * kDotColumns;
          if (!turned_) {
            RoundDots(sums, count, weight + row * columns_ + column);
            continue;
          }
          uint16_t line[kDotColumns];
          RoundDots(sums, count, line);
          for (int64_t j = 0; j < count; ++j) { weight[(column + j) * rows_ + row] = line[j]; }
        }
      }
    });
  }

  const ConvGeometry& g_;
  int threads_;
  bool turned_;  // rows are channels of the source
  int64_t rows_, columns_, row_blocks_, panels_;
  int64_t pieces_of_image_, piece_pixels_, piece_pairs_, pieces_, chunk_pieces_, stage_chunks_;
  int64_t chunk_words_;  // of both operands, packed
  const uint16_t* row_planes_ = nullptr;
  const uint16_t* column_planes_ = nullptr;
  float* sums_ = nullptr;
  uint32_t* packed_ = nullptr;
};

}  // namespace

bool IsPointwiseWeights(const ConvProblem& p) {
  const ConvGeometry& g = p.geometry;
  const bool plain =
      p.src == ConvLayout::kPlain && p.dst == ConvLayout::kPlain && p.weight == ConvLayout::kPlain;
  return p.kind == ConvKind::kWeightGrad && p.dtype == DataType::kBFloat16 && plain &&
         g.groups == 1 && g.IsPointwise() && g.HasUnitStride() && !g.Empty() && HasDotLoops();
}

size_t PointwiseWeightsScratchBytes(const ConvProblem& problem) {
  return Product(problem).ScratchBytes();
}

void RunPointwiseWeights(const ConvProblem& problem, const ConvPointers& at, void* scratch) {
  Product(problem).Run(at, scratch);
}

}  // namespace cpu
}  // namespace oneflow
