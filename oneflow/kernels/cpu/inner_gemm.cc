#include "oneflow/kernels/cpu/inner_gemm.h"

#include <cstdlib>
#include <cstring>

#include "oneflow/kernels/cpu/elementwise_loops.h"
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
  p.float_result = gemm.float_result;
  p.m = gemm.m;
  p.n = gemm.n;
  p.k = gemm.k;
  p.a = Layout(gemm.lda, gemm.transpose_a, gemm.m, gemm.k);
  p.b = Layout(gemm.ldb, gemm.transpose_b, gemm.k, gemm.n);
  p.c = Layout(gemm.ldc, false, gemm.m, gemm.n);
  return p;
}

OnednnMatmul* FindIfWorthIt(const MatmulProblem& p, int threads) {
  const bool served = p.dtype == DataType::kFloat || p.dtype == DataType::kBFloat16;
  if (!served || p.Flops() < kMinOnednnFlops || IsVectorProblem(p)) { return nullptr; }
  return FindOnednnMatmul(p, false, threads);
}

size_t Aligned(size_t bytes) { return (bytes + 63) / 64 * 64; }

// bfloat16 operands as dense float32 ones in scratch.
struct WideGemm {
  InnerGemm wide;
  int64_t a_rows, a_cols, b_rows, b_cols;  // as they lie in memory

  explicit WideGemm(const InnerGemm& gemm)
      : wide(gemm),
        a_rows(gemm.transpose_a ? gemm.k : gemm.m),
        a_cols(gemm.transpose_a ? gemm.m : gemm.k),
        b_rows(gemm.transpose_b ? gemm.n : gemm.k),
        b_cols(gemm.transpose_b ? gemm.k : gemm.n) {
    wide.dtype = DataType::kFloat;
    wide.lda = a_cols;
    wide.ldb = b_cols;
  }
  size_t a_bytes() const { return Aligned(static_cast<size_t>(a_rows * a_cols) * sizeof(float)); }
  size_t b_bytes() const { return Aligned(static_cast<size_t>(b_rows * b_cols) * sizeof(float)); }
  size_t bytes(int threads) const {
    return a_bytes() + b_bytes() + InnerGemmScratchBytes(wide, threads);
  }
};

void Widen(float* to, const void* from, int64_t rows, int64_t cols, int64_t stride) {
  const UnaryLoop cast =
      GetElementwiseLoops()
          .cast[static_cast<int>(DataType::kBFloat16)][static_cast<int>(DataType::kFloat)];
  for (int64_t r = 0; r < rows; ++r) {
    cast(to + r * cols, static_cast<const char*>(from) + r * stride * 2, cols);
  }
}

Maybe<void> RunWidened(const InnerGemm& gemm, const void* a, const void* b, void* c, void* memory,
                       int threads) {
  const WideGemm w(gemm);
  auto* wide_a = static_cast<float*>(memory);
  auto* wide_b = reinterpret_cast<float*>(static_cast<char*>(memory) + w.a_bytes());
  Widen(wide_a, a, w.a_rows, w.a_cols, gemm.lda);
  Widen(wide_b, b, w.b_rows, w.b_cols, gemm.ldb);
  GemmScratch rest(reinterpret_cast<char*>(wide_b) + w.b_bytes(),
                   InnerGemmScratchBytes(w.wide, threads));
  return RunInnerGemm(w.wide, wide_a, wide_b, c, &rest, threads);
}

size_t ScratchBytes(const InnerGemm& gemm, const MatmulProblem& p, const OnednnMatmul* matmul,
                    int threads) {
  if (matmul != nullptr) { return OnednnScratchBytes(*matmul); }
  if (p.dtype == DataType::kBFloat16) { return WideGemm(gemm).bytes(threads); }
  return GemmScratchBytes(p, threads);
}

}  // namespace

void GemmScratch::Free::operator()(void* p) const { std::free(p); }

void* GemmScratch::Take(size_t bytes) {
  if (bytes > bytes_) {
    own_.reset();
    own_.reset(std::aligned_alloc(64, Aligned(bytes)));
    data_ = own_.get();
    bytes_ = data_ == nullptr ? 0 : bytes;
  }
  return data_;
}

size_t InnerGemmScratchBytes(const InnerGemm& gemm, int threads) {
  if (gemm.m * gemm.n * gemm.k == 0) { return 0; }
  const MatmulProblem p = Problem(gemm);
  return Aligned(ScratchBytes(gemm, p, FindIfWorthIt(p, threads), threads));
}

Maybe<void> RunInnerGemm(const InnerGemm& gemm, const void* a, const void* b, void* c,
                         GemmScratch* scratch, int threads) {
  if (gemm.m == 0 || gemm.n == 0) { return Ok(); }
  const size_t size = SizeOf(gemm.float_result ? DataType::kFloat : gemm.dtype);
  if (gemm.k == 0) {
    for (int64_t i = 0; i < gemm.m; ++i) {
      std::memset(static_cast<char*>(c) + static_cast<size_t>(i * gemm.ldc) * size, 0,
                  static_cast<size_t>(gemm.n) * size);
    }
    return Ok();
  }
  const MatmulProblem p = Problem(gemm);
  OnednnMatmul* matmul = FindIfWorthIt(p, threads);
  const size_t bytes = ScratchBytes(gemm, p, matmul, threads);
  void* memory = bytes == 0 ? nullptr : scratch->Take(bytes);
  if (bytes > 0 && memory == nullptr) {
    return OutOfMemoryError("[matmul] cannot take {} bytes of scratch", bytes);
  }
  const MatmulPointers at{static_cast<const char*>(a), static_cast<const char*>(b),
                          static_cast<char*>(c)};
  if (matmul != nullptr) { return ExecuteOnednn(matmul, at, nullptr, memory); }
  if (p.dtype == DataType::kBFloat16) { return RunWidened(gemm, a, b, c, memory, threads); }
  RunGemm(p, at, nullptr, memory, threads);
  return Ok();
}

}  // namespace cpu
}  // namespace oneflow
