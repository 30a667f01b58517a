#include "oneflow/kernels/cpu/rnn/step_product.h"

#include <algorithm>

#include "oneflow/device/cpu/parallel.h"
#include "oneflow/kernels/cpu/gemm_loops.h"

namespace oneflow {
namespace cpu {

namespace {

// Weights that a thread may read again for each of its rows: they come from its second-level cache, or
// are read by many rows at once.
constexpr int64_t kBytesForEachRow = int64_t{1} << 20;

}  // namespace

int64_t StepProduct::Width() const {
  return kGemmPanelBytes / static_cast<int64_t>(SizeOf(dtype_));
}

bool StepProduct::SharesRows(int64_t batch, int threads) const {
  if (GetGemmLoops().multiply[static_cast<int>(dtype_)] == nullptr) { return false; }
  const int64_t rows = std::max<int64_t>(1, batch / std::max(threads, 1));
  return static_cast<int64_t>(Bytes()) <= kBytesForEachRow * rows;
}

size_t StepProduct::Bytes() const {
  return static_cast<size_t>((n_ + Width() - 1) / Width() * k_ * kGemmPanelBytes);
}

void StepProduct::Pack(void* memory, const void* weights, int64_t row_stride, int64_t col_stride,
                       int threads) {
  const auto size = static_cast<int64_t>(SizeOf(dtype_));
  const int64_t width = Width();
  const GemmPackFn pack = GetGemmLoops().pack[static_cast<int>(dtype_)];
  char* to = static_cast<char*>(memory);
  const char* from = static_cast<const char*>(weights);
  packed_ = to;
  ParallelFor(threads, (n_ + width - 1) / width, 1, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      pack(to + p * k_ * kGemmPanelBytes, from + p * width * col_stride * size, k_,
           std::min(width, n_ - p * width), row_stride, col_stride);
    }
  });
}

void StepProduct::Multiply(const char* a, char* c, int64_t rows) const {
  const auto size = static_cast<int64_t>(SizeOf(dtype_));
  const int64_t width = Width();
  const GemmPanelFn multiply = GetGemmLoops().multiply[static_cast<int>(dtype_)];
  for (int64_t p = 0; p * width < n_; ++p) {
    multiply(c + p * width * size, n_, a, k_, 1, packed_ + p * k_ * kGemmPanelBytes, nullptr, rows,
             std::min(width, n_ - p * width), k_);
  }
}

}  // namespace cpu
}  // namespace oneflow
