// Compiled once for each instruction set: see isa.h.
#include "oneflow/kernels/cpu/gemm_loops.h"

#include "oneflow/kernels/cpu/vector_width.h"

namespace oneflow {
namespace cpu {
namespace ONEFLOW_ISA {

namespace {

template <typename T>
inline constexpr int64_t kWidth = kGemmPanelBytes / static_cast<int64_t>(sizeof(T));

template <typename T>
void Pack(void* panel, const void* b, int64_t k, int64_t cols, int64_t row_stride,
          int64_t col_stride) {
  T* to = static_cast<T*>(panel);
  const T* from = static_cast<const T*>(b);
  for (int64_t i = 0; i < k; ++i) {
    T* row = to + i * kWidth<T>;
    for (int64_t j = 0; j < cols; ++j) { row[j] = from[i * row_stride + j * col_stride]; }
    for (int64_t j = cols; j < kWidth<T>; ++j) { row[j] = T(0); }
  }
}

// kRows rows of c and two vectors of columns at once: their sums stay in registers.
template <typename T, int kRows>
void MultiplyTile(T* c, int64_t c_stride, const T* a, int64_t a_row, int64_t a_col, const T* panel,
                  const T* bias, int64_t cols, int64_t k) {
  typedef T Vec __attribute__((vector_size(kVectorBytes)));
  constexpr int kLanes = kVectorLanes<T>;
  Vec sums[kRows][2] = {};
  for (int64_t i = 0; i < k; ++i) {
    Vec b0, b1;
    __builtin_memcpy(&b0, panel + i * kWidth<T>, sizeof(Vec));
    __builtin_memcpy(&b1, panel + i * kWidth<T> + kLanes, sizeof(Vec));
    for (int r = 0; r < kRows; ++r) {
      const T x = a[r * a_row + i * a_col];
      sums[r][0] += b0 * x;
      sums[r][1] += b1 * x;
    }
  }
  for (int r = 0; r < kRows; ++r) {
    T row[2 * kLanes];
    __builtin_memcpy(row, sums[r], sizeof(row));
    T* out = c + r * c_stride;
    if (bias == nullptr) {
      for (int64_t j = 0; j < cols; ++j) { out[j] = row[j]; }
    } else {
      for (int64_t j = 0; j < cols; ++j) { out[j] = row[j] + bias[j]; }
    }
  }
}

template <typename T, int kRows>
void MultiplyRows(T* c, int64_t c_stride, const T* a, int64_t a_row, int64_t a_col, const T* panel,
                  const T* bias, int64_t cols, int64_t k) {
  constexpr int64_t kTile = 2 * kVectorLanes<T>;
  for (int64_t j = 0; j < cols; j += kTile) {
    const int64_t now = cols - j < kTile ? cols - j : kTile;
    MultiplyTile<T, kRows>(c + j, c_stride, a, a_row, a_col, panel + j,
                           bias == nullptr ? nullptr : bias + j, now, k);
  }
}

template <typename T>
void Multiply(void* c, int64_t c_stride, const void* a, int64_t a_row, int64_t a_col,
              const void* panel, const void* bias, int64_t m, int64_t cols, int64_t k) {
  constexpr int kBlock =
      kVectorBytes == 64 ? 8 : 4;  // two sums for each row, of 32 or 16 registers
  T* to = static_cast<T*>(c);
  const T* x = static_cast<const T*>(a);
  const T* p = static_cast<const T*>(panel);
  const T* add = static_cast<const T*>(bias);
  int64_t i = 0;
  for (; i + kBlock <= m; i += kBlock) {
    MultiplyRows<T, kBlock>(to + i * c_stride, c_stride, x + i * a_row, a_row, a_col, p, add, cols,
                            k);
  }
  for (; i < m; ++i) {
    MultiplyRows<T, 1>(to + i * c_stride, c_stride, x + i * a_row, a_row, a_col, p, add, cols, k);
  }
}

template <typename T>
constexpr void Fill(GemmLoops* table, DataType dtype) {
  table->pack[static_cast<int>(dtype)] = &Pack<T>;
  table->multiply[static_cast<int>(dtype)] = &Multiply<T>;
}

constexpr GemmLoops MakeLoops() {
  GemmLoops table = {};
  Fill<float>(&table, DataType::kFloat);
  Fill<double>(&table, DataType::kDouble);
  Fill<uint32_t>(&table, DataType::kInt32);  // unsigned: overflow wraps
  Fill<uint64_t>(&table, DataType::kInt64);
  return table;
}

constexpr GemmLoops kLoops = MakeLoops();

}  // namespace

const GemmLoops& GetGemmLoops() { return kLoops; }

}  // namespace ONEFLOW_ISA
}  // namespace cpu
}  // namespace oneflow
