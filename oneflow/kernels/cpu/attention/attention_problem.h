// What the kernels of attention, forward and backward, share: sizes, operands, how work is shared.
//
// Thread safety: values; pure functions. Ownership: borrows the operands of the call.
#ifndef ONEFLOW_KERNELS_CPU_ATTENTION_ATTENTION_PROBLEM_H_
#define ONEFLOW_KERNELS_CPU_ATTENTION_ATTENTION_PROBLEM_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "oneflow/device/cpu/parallel.h"
#include "oneflow/kernels/attrs_linalg.h"
#include "oneflow/kernels/cpu/attention/attention_loops.h"
#include "oneflow/kernels/cpu/inner_gemm.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {
namespace attention {

// Scores that are in work at once, on each thread: they should stay in the second-level cache.
inline constexpr int64_t kBlockScores = 1 << 18;
inline constexpr int64_t kMinQueries = 16, kMaxQueries = 128;

inline int64_t Aligned(int64_t bytes) { return (bytes + 63) / 64 * 64; }

// An operand (b0, b1, rows, cols), or (b0, rows, b1, cols), whose columns lie densely.
struct Heads {
  char* data = nullptr;
  int64_t s0 = 0, s1 = 0, row = 0, size = 0;

  explicit Heads(const ArrayView& v, bool rows_first = false)
      : data(v.Data<char>()),
        s0(v.strides[0]),
        s1(v.strides[rows_first ? 2 : 1]),
        row(v.strides[rows_first ? 1 : 2]),
        size(static_cast<int64_t>(SizeOf(v.dtype))) {}
  char* At(int64_t i0, int64_t i1, int64_t r) const {
    return data + (i0 * s0 + i1 * s1 + r * row) * size;
  }
};

struct Problem {
  DataType dtype;      // of the operands
  DataType computing;  // of scores and sums: float32 for bfloat16
  bool narrow;         // do these differ?
  int64_t size;        // of a number of `computing`
  int64_t b0, b1, queries, keys, width, value_width;
  int64_t block;         // queries
  double scale, factor;  // of scores, and of the weights that dropout keeps
  bool is_causal, rows_first;

  Problem(const ArrayView& q, const ArrayView& k, const ArrayView& v, const AttentionAttrs& attrs)
      : dtype(q.dtype),
        computing(q.dtype == DataType::kBFloat16 ? DataType::kFloat : q.dtype),
        narrow(computing != dtype),
        size(static_cast<int64_t>(SizeOf(computing))),
        b0(q.shape[0]),
        b1(q.shape[1]),
        queries(q.shape[2]),
        keys(k.shape[2]),
        width(q.shape[3]),
        value_width(v.shape[3]),
        scale(attrs.scale),
        factor(attrs.dropout < 1.0 ? 1.0 / (1.0 - attrs.dropout) : 0.0),
        is_causal(attrs.is_causal),
        rows_first(attrs.rows_first) {
    const int64_t wanted = kBlockScores / std::max<int64_t>(keys, 1) / kMinQueries * kMinQueries;
    block = std::min(std::max(wanted, kMinQueries), kMaxQueries);
    block = std::max<int64_t>(1, std::min(block, queries));
  }
  int64_t heads() const { return b0 * b1; }
  int64_t blocks() const { return (queries + block - 1) / block; }
  int d() const { return static_cast<int>(computing); }
  // Keys that some query of the block from `first` sees.
  int64_t KeysFor(int64_t first, int64_t rows) const {
    return is_causal ? std::min(keys, first + rows) : keys;
  }
  int64_t ValidFor(int64_t query) const { return is_causal ? std::min(keys, query + 1) : keys; }
  // Bytes of the scores of a block, and of the same in bfloat16.
  int64_t ScoreBytes() const { return Aligned(block * keys * size); }
  int64_t NarrowBytes() const { return narrow ? Aligned(block * keys * 2) : 0; }
};

// The mask, which broadcasts to (b0, b1, queries, keys).
struct Mask {
  const char* data = nullptr;
  int64_t strides[4] = {};
  int64_t size = 1;
  DataType dtype = DataType::kBool;

  explicit Mask(const ArrayView& v) {
    if (!v.given) { return; }
    data = v.Data<char>();
    size = static_cast<int64_t>(SizeOf(v.dtype));
    dtype = v.dtype;
    for (int d = 0; d < 4; ++d) {
      const int own = d - (4 - v.ndim);
      strides[d] = own < 0 || v.shape[own] == 1 ? 0 : v.strides[own];
    }
  }
  MaskRow Row(int64_t i0, int64_t i1, int64_t query) const {
    MaskRow row;
    if (data == nullptr) { return row; }
    row.data = data + (i0 * strides[0] + i1 * strides[1] + query * strides[2]) * size;
    row.stride = strides[3];
    row.is_bool = dtype == DataType::kBool;
    row.is_bfloat16 = dtype == DataType::kBFloat16;
    return row;
  }
};

// Rows of scores at `scores`, `keys` apart, of the queries from `first` on; `head` = (i0, i1).
inline ScoreRow RowOf(const Problem& p, const Mask& mask, const ArrayView& kept, int64_t head,
                      int64_t query, void* scores, int64_t keys) {
  ScoreRow row;
  row.scores = scores;
  row.valid = p.ValidFor(query);
  row.n = keys;
  row.scale = p.scale;
  row.mask = mask.Row(head / p.b1, head % p.b1, query);
  if (kept.given) { row.kept = kept.Data<uint8_t>() + (head * p.queries + query) * p.keys; }
  return row;
}

// A product of operands of `dtype`, with a result of p.computing.
inline InnerGemm MakeGemm(const Problem& p, int64_t m, int64_t n, int64_t k, int64_t lda,
                          int64_t ldb, int64_t ldc) {
  InnerGemm gemm;
  gemm.dtype = p.dtype;
  gemm.float_result = p.narrow;
  gemm.m = m;
  gemm.n = n;
  gemm.k = k;
  gemm.lda = lda;
  gemm.ldb = ldb;
  gemm.ldc = ldc;
  return gemm;
}

// How the work is shared: whole tasks for each thread if there are enough, else threads in products.
struct Sharing {
  int outer, inner;
  Sharing(int threads, int64_t tasks)
      : outer(tasks >= threads ? threads : 1), inner(tasks >= threads ? 1 : threads) {}
};

// Runs task(i, scratch of the thread) for all tasks; a thread stops at its first failure.
template <typename Task>
Maybe<void> RunTasks(const KernelCall& call, const Sharing& sharing, int64_t tasks,
                     size_t slice_bytes, const Task& task) {
  std::vector<ErrorPtr> errors(static_cast<size_t>(sharing.outer));
  ParallelFor(sharing.outer, sharing.outer, 1, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      char* scratch = static_cast<char*>(call.scratch) + static_cast<size_t>(t) * slice_bytes;
      ErrorPtr& error = errors[static_cast<size_t>(t)];
      for (int64_t i = t; i < tasks && error == nullptr; i += sharing.outer) {
        error = task(i, scratch).error();
      }
    }
  });
  for (const ErrorPtr& error : errors) {
    if (error != nullptr) { return error; }
  }
  return Ok();
}

// The three matrices from `first_matrix` on; mask, and what is kept, from `mask` on.
inline const char* AcceptOperands(const KernelCall& call, int first_matrix, int mask) {
  const DataType dtype = call.outputs[0].dtype;
  if (GetAttentionLoops().dot[static_cast<int>(dtype)] == nullptr) { return "dtype not supported"; }
  for (int i = first_matrix; i < first_matrix + 3; ++i) {
    const ArrayView& v = call.inputs[i];
    if (v.dtype != dtype || v.ndim != 4) { return "operands of another kind"; }
    if (v.shape[3] > 1 && v.strides[3] != 1) { return "columns are not dense"; }
    if (v.shape[2] > 1 && v.strides[2] < v.shape[3]) { return "rows overlap"; }
  }
  const ArrayView& m = call.inputs[mask];
  if (m.given && m.dtype != DataType::kBool && m.dtype != dtype) { return "mask of another dtype"; }
  const ArrayView& kept = call.inputs[mask + 1];
  if (kept.given && !kept.contiguous) { return "what is kept is not dense"; }
  return nullptr;
}

// Products at 100 operations a nanosecond, and about a nanosecond for each exponential.
inline double CostOf(const Problem& p, double products) {
  const double scores = static_cast<double>(p.heads() * p.queries) * static_cast<double>(p.keys) *
                        (p.is_causal ? 0.5 : 1.0);
  const auto width = static_cast<double>(p.width + p.value_width);
  return 2000.0 + scores * (1.0 + products * width * 2.0 / 100.0);
}

}  // namespace attention
}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_ATTENTION_ATTENTION_PROBLEM_H_
