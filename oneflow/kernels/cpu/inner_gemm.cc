#include "oneflow/kernels/cpu/inner_gemm.h"

#include <cstdlib>
#include <cstring>

#include "oneflow/kernels/cpu/gemm.h"
#include "oneflow/kernels/cpu/onednn_matmul.h"

namespace oneflow {
namespace cpu {

namespace {

// Below this many floating-point operations, calling oneDNN costs more than multiplying.
constexpr double kMinOnednnFlops = 40e3;

// The stride of a single row (column) means nothing, but must look dense.
MatrixLayout Layout(int64_t stride, bool transposed, int64_t rows, int64_t cols) {
  MatrixLayout out;
  if (!transposed && rows == 1) { stride = cols; }
  if (transposed && cols == 1) { stride = rows; }
  out.row = transposed ? 1 : stride;
  out.col = transposed ? stride : 1;
  return out;
}

MatmulProblem Problem(const InnerGemm& gemm) {
  MatmulProblem p;
  p.dtype = gemm.dtype;
  p.m = gemm.m;
  p.n = gemm.n;
  p.k = gemm.k;
  p.a = Layout(gemm.lda, gemm.transpose_a, gemm.m, gemm.k);
  p.b = Layout(gemm.ldb, gemm.transpose_b, gemm.k, gemm.n);
  p.c = Layout(gemm.ldc, false, gemm.m, gemm.n);
  return p;
}

OnednnMatmul* FindIfWorthIt(const MatmulProblem& p, int threads) {
  if (p.dtype != DataType::kFloat || p.Flops() < kMinOnednnFlops || IsVectorProblem(p)) {
    return nullptr;
  }
  return FindOnednnMatmul(p, false, threads);
}

size_t ScratchBytes(const MatmulProblem& p, const OnednnMatmul* matmul, int threads) {
  return matmul == nullptr ? GemmScratchBytes(p, threads) : OnednnScratchBytes(*matmul);
}

}  // namespace

void GemmScratch::Free::operator()(void* p) const { std::free(p); }

void* GemmScratch::Take(size_t bytes) {
  if (bytes > bytes_) {
    own_.reset();
    own_.reset(std::aligned_alloc(64, (bytes + 63) / 64 * 64));
    data_ = own_.get();
    bytes_ = data_ == nullptr ? 0 : bytes;
  }
  return data_;
}

size_t InnerGemmScratchBytes(const InnerGemm& gemm, int threads) {
  if (gemm.m * gemm.n * gemm.k == 0) { return 0; }
  const MatmulProblem p = Problem(gemm);
  return (ScratchBytes(p, FindIfWorthIt(p, threads), threads) + 63) / 64 * 64;
}

Maybe<void> RunInnerGemm(const InnerGemm& gemm, const void* a, const void* b, void* c,
                         GemmScratch* scratch, int threads) {
  if (gemm.m == 0 || gemm.n == 0) { return Ok(); }
  const size_t size = SizeOf(gemm.dtype);
  if (gemm.k == 0) {
    for (int64_t i = 0; i < gemm.m; ++i) {
      std::memset(static_cast<char*>(c) + static_cast<size_t>(i * gemm.ldc) * size, 0,
                  static_cast<size_t>(gemm.n) * size);
    }
    return Ok();
  }
  const MatmulProblem p = Problem(gemm);
  OnednnMatmul* matmul = FindIfWorthIt(p, threads);
  const size_t bytes = ScratchBytes(p, matmul, threads);
  void* memory = bytes == 0 ? nullptr : scratch->Take(bytes);
  if (bytes > 0 && memory == nullptr) {
    return OutOfMemoryError("[matmul] cannot take {} bytes of scratch", bytes);
  }
  const MatmulPointers at{static_cast<const char*>(a), static_cast<const char*>(b),
                          static_cast<char*>(c)};
  if (matmul != nullptr) { return ExecuteOnednn(matmul, at, nullptr, memory); }
  RunGemm(p, at, nullptr, memory, threads);
  return Ok();
}

}  // namespace cpu
}  // namespace oneflow
