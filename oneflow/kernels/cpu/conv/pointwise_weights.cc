#include "oneflow/kernels/cpu/conv/pointwise_weights.h"

#include <algorithm>
#include <cstring>

#include "oneflow/device/cpu/parallel.h"
#include "oneflow/kernels/cpu/conv/dot_loops.h"

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
      Multiply(count, chunk == 0);
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

  void Multiply(int64_t count, bool is_first) const {
    // Several row blocks by a panel, which is read from the second-level cache then.
    const int64_t grain = std::max<int64_t>(1, CeilDiv(row_blocks_, 4 * threads_));
    ParallelFor(threads_, row_blocks_, grain, [&](int64_t begin, int64_t end) {
      if (is_first) {
        std::memset(
            SumsAt(begin, 0), 0,
            static_cast<size_t>((end - begin) * panels_ * kDotRows * kDotColumns) * sizeof(float));
      }
      for (int64_t i = 0; i < count; ++i) {
        for (int64_t panel = 0; panel < panels_; ++panel) {
          for (int64_t block = begin; block < end; ++block) {
            AddDotTile(RowsAt(i, block), ColumnsAt(i, panel), ChunkPairs(), SumsAt(block, panel));
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
