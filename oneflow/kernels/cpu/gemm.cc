#include "oneflow/kernels/cpu/gemm.h"

#include <algorithm>
#include <cstring>

#include "oneflow/device/cpu/parallel.h"
#include "oneflow/kernels/cpu/gemm_loops.h"

namespace oneflow {
namespace cpu {

namespace {

constexpr int64_t kRowBlock = 64;
// Multiply-adds that are worth handing to a thread.
constexpr int64_t kGrainMultiplyAdds = 1 << 18;

struct Gemm {
  const MatmulProblem& p;
  GemmPackFn pack;
  GemmPanelFn multiply;
  int64_t size;   // bytes of an element
  int64_t width;  // columns of a panel
  int64_t num_panels;
  char* panels;
  const char* bias;

  char* Panel(int64_t i) const { return panels + i * p.k * kGemmPanelBytes; }
  int64_t Columns(int64_t i) const { return std::min(width, p.n - i * width); }

  void PackPanels(const char* b, int threads) const {
    const int64_t grain = std::max<int64_t>(1, (1 << 14) / std::max<int64_t>(p.k * width, 1));
    ParallelFor(threads, num_panels, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        pack(Panel(i), b + i * width * p.b.col * size, p.k, Columns(i), p.b.row, p.b.col);
      }
    });
  }

  void MultiplyBlock(const char* a, char* c, int64_t block, int64_t panel) const {
    const int64_t row = block * kRowBlock;
    const int64_t column = panel * width;
    multiply(c + (row * p.c.row + column) * size, p.c.row, a + row * p.a.row * size, p.a.row,
             p.a.col, Panel(panel), bias == nullptr ? nullptr : bias + column * size,
             std::min(kRowBlock, p.m - row), Columns(panel), p.k);
  }

  void MultiplyAll(const char* a, char* c, int threads) const {
    const int64_t blocks = (p.m + kRowBlock - 1) / kRowBlock;
    const int64_t work = kRowBlock * width * std::max<int64_t>(p.k, 1);
    ParallelFor(threads, blocks * num_panels, std::max<int64_t>(1, kGrainMultiplyAdds / work),
                [&](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) {
                    MultiplyBlock(a, c, i / num_panels, i % num_panels);
                  }
                });
  }
};

}  // namespace

bool GemmSupports(DataType dtype) {
  return GetGemmLoops().multiply[static_cast<int>(dtype)] != nullptr;
}

namespace {

// Bytes of one b in panels.
int64_t PanelBytes(const MatmulProblem& p) {
  const int64_t width = kGemmPanelBytes / static_cast<int64_t>(SizeOf(p.dtype));
  return (p.n + width - 1) / width * p.k * kGemmPanelBytes;
}

// Products of a batch are shared among the threads, if there are enough.
bool SharesBatch(const MatmulProblem& p, int threads) { return threads > 1 && p.batch >= threads; }

// A product with a vector: rows of a matrix times it, or its entries times rows.
class VectorProduct {
 public:
  VectorProduct(const MatmulProblem& p, const void* bias, void* memory)
      : p_(p),
        size_(static_cast<int64_t>(SizeOf(p.dtype))),
        dots_(GetGemmLoops().dots[static_cast<int>(p.dtype)]),
        sums_(GetGemmLoops().sums[static_cast<int>(p.dtype)]),
        bias_(static_cast<const char*>(bias)),
        memory_(static_cast<char*>(memory)) {}

  void Run(const char* a, const char* b, char* c, int threads) const {
    if (p_.m == 1 && p_.b.row == 1) { return Dots(b, p_.b.col, p_.n, a, p_.a.col, c, 1, threads); }
    if (p_.m == 1 && p_.n > 1) { return Sums(b, p_.b.row, p_.n, a, p_.a.col, c, threads); }
    const bool rows_dense = p_.a.col == 1;
    if (rows_dense) { return Dots(a, p_.a.row, p_.m, b, p_.b.row, c, p_.c.row, threads); }
    Sums(a, p_.a.col, p_.m, b, p_.b.row, c, threads);
  }

  // One operand must be dense along k, or the other's entries multiply whole rows.
  static bool Serves(const MatmulProblem& p, bool has_bias) {
    if (p.m == 1) { return p.n > 1 || p.b.row == 1 || p.a.col == 1; }
    return p.a.col == 1 || (p.a.row == 1 && p.c.row == 1 && !has_bias);
  }

 private:
  void Dots(const char* matrix, int64_t row_stride, int64_t rows, const char* x, int64_t x_stride,
            char* c, int64_t c_stride, int threads) const {
    if (x_stride != 1 && p_.k > 1) {
      for (int64_t i = 0; i < p_.k; ++i) {
        std::memcpy(memory_ + i * size_, x + i * x_stride * size_, static_cast<size_t>(size_));
      }
      x = memory_;
    }
    const int64_t bias_stride = p_.m == 1 ? 1 : 0;
    ParallelFor(threads, rows, Grain(p_.k, 4), [&](int64_t begin, int64_t end) {
      const char* bias = bias_ == nullptr ? nullptr : bias_ + begin * bias_stride * size_;
      dots_(c + begin * c_stride * size_, c_stride, matrix + begin * row_stride * size_, row_stride,
            x, bias, bias_stride, end - begin, p_.k);
    });
  }

  void Sums(const char* matrix, int64_t row_stride, int64_t cols, const char* x, int64_t x_stride,
            char* c, int threads) const {
    ParallelFor(threads, cols, Grain(p_.k, 256), [&](int64_t begin, int64_t end) {
      const char* bias = bias_ == nullptr ? nullptr : bias_ + begin * size_;
      sums_(c + begin * size_, matrix + begin * size_, row_stride, x, x_stride, bias, end - begin,
            p_.k);
    });
  }

  static int64_t Grain(int64_t k, int64_t multiple) {
    const int64_t wanted = kGrainMultiplyAdds / 8 / std::max<int64_t>(k, 1);
    return std::max<int64_t>(1, wanted / multiple) * multiple;
  }

  const MatmulProblem& p_;
  const int64_t size_;
  const GemmDotsFn dots_;
  const GemmSumsFn sums_;
  const char* const bias_;
  char* const memory_;
};

}  // namespace

size_t GemmScratchBytes(const MatmulProblem& problem, int threads) {
  const int64_t copies = SharesBatch(problem, threads) ? threads : 1;
  const int64_t vector = IsVectorProblem(problem) ? problem.k * 8 : 0;
  return static_cast<size_t>(copies * std::max(PanelBytes(problem), (vector + 63) / 64 * 64));
}

namespace {

// Products [begin, end) of the batch.
void RunPart(const MatmulProblem& problem, const MatmulPointers& at, const void* bias, void* panels,
             int threads, int64_t begin, int64_t end) {
  const GemmLoops& loops = GetGemmLoops();
  const int dtype = static_cast<int>(problem.dtype);
  const auto size = static_cast<int64_t>(SizeOf(problem.dtype));
  const int64_t width = kGemmPanelBytes / size;
  const Gemm gemm{problem,
                  loops.pack[dtype],
                  loops.multiply[dtype],
                  size,
                  width,
                  (problem.n + width - 1) / width,
                  static_cast<char*>(panels),
                  static_cast<const char*>(bias)};
  const VectorProduct vector(problem, bias, panels);
  const bool by_vector =
      IsVectorProblem(problem) && VectorProduct::Serves(problem, bias != nullptr);
  for (int64_t i = begin; i < end; ++i) {
    const char* a = at.a + i * problem.a.batch * size;
    const char* b = at.b + i * problem.b.batch * size;
    char* c = at.c + i * problem.c.batch * size;
    if (by_vector) {
      vector.Run(a, b, c, threads);
      continue;
    }
    if (i == begin || problem.b.batch != 0) { gemm.PackPanels(b, threads); }
    gemm.MultiplyAll(a, c, threads);
  }
}

}  // namespace

void RunGemm(const MatmulProblem& problem, const MatmulPointers& at, const void* bias, void* panels,
             int threads) {
  if (!SharesBatch(problem, threads)) {
    return RunPart(problem, at, bias, panels, threads, 0, problem.batch);
  }
  const size_t slice = GemmScratchBytes(problem, threads) / static_cast<size_t>(threads);
  ParallelFor(threads, threads, 1, [&](int64_t first, int64_t last) {
    for (int64_t t = first; t < last; ++t) {
      RunPart(problem, at, bias, static_cast<char*>(panels) + static_cast<size_t>(t) * slice, 1,
              problem.batch * t / threads, problem.batch * (t + 1) / threads);
    }
  });
}

}  // namespace cpu
}  // namespace oneflow
