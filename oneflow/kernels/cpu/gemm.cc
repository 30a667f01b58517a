#include "oneflow/kernels/cpu/gemm.h"

#include <algorithm>

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

size_t GemmScratchBytes(const MatmulProblem& problem) {
  const int64_t width = kGemmPanelBytes / static_cast<int64_t>(SizeOf(problem.dtype));
  const int64_t panels = (problem.n + width - 1) / width;
  return static_cast<size_t>(panels * problem.k * kGemmPanelBytes);
}

void RunGemm(const MatmulProblem& problem, const MatmulPointers& at, const void* bias, void* panels,
             int threads) {
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
  for (int64_t i = 0; i < problem.batch; ++i) {
    if (i == 0 || problem.b.batch != 0) {
      gemm.PackPanels(at.b + i * problem.b.batch * size, threads);
    }
    gemm.MultiplyAll(at.a + i * problem.a.batch * size, at.c + i * problem.c.batch * size, threads);
  }
}

}  // namespace cpu
}  // namespace oneflow
