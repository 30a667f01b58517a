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

template <int kCount>
struct RowCount {
  static constexpr int kRows = kCount;
};

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
  const auto rest = [&](auto rows) {
    MultiplyRows<T, decltype(rows)::kRows>(to + i * c_stride, c_stride, x + i * a_row, a_row, a_col,
                                           p, add, cols, k);
    i += decltype(rows)::kRows;
  };
  if (kBlock > 4 && m - i >= 4) { rest(RowCount<4>()); }
  if (m - i >= 2) { rest(RowCount<2>()); }
  if (m - i >= 2) { rest(RowCount<2>()); }
  if (i < m) { rest(RowCount<1>()); }
}

template <typename T, int kRows>
void DotsOfRows(T* c, int64_t c_stride, const T* matrix, int64_t row_stride, const T* x,
                const T* bias, int64_t bias_stride, int64_t k) {
  typedef T Vec __attribute__((vector_size(kVectorBytes)));
  constexpr int kLanes = kVectorLanes<T>;
  Vec sums[kRows] = {};
  int64_t i = 0;
  for (; i + kLanes <= k; i += kLanes) {
    Vec v;
    __builtin_memcpy(&v, x + i, sizeof(Vec));
    for (int r = 0; r < kRows; ++r) {
      Vec row;
      __builtin_memcpy(&row, matrix + r * row_stride + i, sizeof(Vec));
      sums[r] += row * v;
    }
  }
  for (int r = 0; r < kRows; ++r) {
    T lanes[kLanes];
    __builtin_memcpy(lanes, &sums[r], sizeof(Vec));
    T sum = lanes[0];
    for (int l = 1; l < kLanes; ++l) { sum += lanes[l]; }
    for (int64_t rest = i; rest < k; ++rest) { sum += matrix[r * row_stride + rest] * x[rest]; }
    c[r * c_stride] = bias == nullptr ? sum : static_cast<T>(sum + bias[r * bias_stride]);
  }
}

template <typename T>
void Dots(void* c, int64_t c_stride, const void* matrix, int64_t row_stride, const void* x,
          const void* bias, int64_t bias_stride, int64_t rows, int64_t k) {
  T* to = static_cast<T*>(c);
  const T* m = static_cast<const T*>(matrix);
  const T* v = static_cast<const T*>(x);
  const T* add = static_cast<const T*>(bias);
  const auto bias_at = [&](int64_t i) { return add == nullptr ? nullptr : add + i * bias_stride; };
  int64_t i = 0;
  for (; i + 4 <= rows; i += 4) {
    DotsOfRows<T, 4>(to + i * c_stride, c_stride, m + i * row_stride, row_stride, v, bias_at(i),
                     bias_stride, k);
  }
  for (; i < rows; ++i) {
    DotsOfRows<T, 1>(to + i * c_stride, c_stride, m + i * row_stride, row_stride, v, bias_at(i),
                     bias_stride, k);
  }
}

template <typename T>
void Sums(void* c, const void* matrix, int64_t row_stride, const void* x, int64_t x_stride,
          const void* bias, int64_t cols, int64_t k) {
  typedef T Vec __attribute__((vector_size(kVectorBytes)));
  constexpr int kLanes = kVectorLanes<T>, kVecs = 4;
  T* to = static_cast<T*>(c);
  const T* m = static_cast<const T*>(matrix);
  const T* v = static_cast<const T*>(x);
  const T* add = static_cast<const T*>(bias);
  int64_t j = 0;
  for (; j + kVecs * kLanes <= cols; j += kVecs * kLanes) {
    Vec sums[kVecs] = {};
    for (int64_t i = 0; i < k; ++i) {
      for (int n = 0; n < kVecs; ++n) {
        Vec row;
        __builtin_memcpy(&row, m + i * row_stride + j + n * kLanes, sizeof(Vec));
        sums[n] += row * v[i * x_stride];
      }
    }
    __builtin_memcpy(to + j, sums, sizeof(sums));
  }
  if (j < cols) {
    for (int64_t r = j; r < cols; ++r) { to[r] = T(0); }
    for (int64_t i = 0; i < k; ++i) {
      const T factor = v[i * x_stride];
      for (int64_t r = j; r < cols; ++r) { to[r] += m[i * row_stride + r] * factor; }
    }
  }
  if (add != nullptr) {
    for (int64_t r = 0; r < cols; ++r) { to[r] += add[r]; }
  }
}

template <typename T>
constexpr void Fill(GemmLoops* table, DataType dtype) {
  table->pack[static_cast<int>(dtype)] = &Pack<T>;
  table->multiply[static_cast<int>(dtype)] = &Multiply<T>;
  table->dots[static_cast<int>(dtype)] = &Dots<T>;
  table->sums[static_cast<int>(dtype)] = &Sums<T>;
}

constexpr GemmLoops MakeLoops() {
  GemmLoops table = {};
  Fill<float>(&table, DataType::kFloat);
  Fill<double>(&table, DataType::kDouble);
  Fill<uint8_t>(&table, DataType::kInt8);  // unsigned: overflow wraps
  Fill<uint8_t>(&table, DataType::kUInt8);
  Fill<uint16_t>(&table, DataType::kInt16);
  Fill<uint32_t>(&table, DataType::kInt32);
  Fill<uint64_t>(&table, DataType::kInt64);
  return table;
}

constexpr GemmLoops kLoops = MakeLoops();

}  // namespace

const GemmLoops& GetGemmLoops() { return kLoops; }

}  // namespace ONEFLOW_ISA
}  // namespace cpu
}  // namespace oneflow
