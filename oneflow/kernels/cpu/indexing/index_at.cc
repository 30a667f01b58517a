// The kernels index_at (reads rows), index_at_put_ (writes or adds rows) and index_at_backward (adds
// rows to zeros). What an index adds to is added in the order of the indices, whatever the number of
// threads.
//
// index_at: x, indices ... -> out. index_at_put_: target, values, indices ... -> target.
// index_at_backward: dy, indices ... -> dx.
#include <algorithm>
#include <cstring>

#include "oneflow/device/cpu/parallel.h"
#include "oneflow/kernels/cpu/cost.h"
#include "oneflow/kernels/cpu/indexing/indexed_rows.h"
#include "oneflow/kernels/cpu/indexing/indices.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {

namespace {

constexpr int64_t kGrainBytes = 65536;

// One call, either way: the indexed side, the plain side, the indices.
struct Problem {
  Problem(const KernelCall& call, const ArrayView& indexed_side, const ArrayView& plain_side,
          int first_index)
      : attrs(*static_cast<const IndexAtAttrs*>(call.attrs)),
        indexed(indexed_side),
        plain(plain_side),
        indices(call.inputs + first_index),
        count(call.num_inputs - first_index),
        rows(indexed, plain, static_cast<int>(attrs.dim), count, indices[0].ndim) {}

  const IndexAtAttrs& attrs;
  const ArrayView& indexed;
  const ArrayView& plain;
  const ArrayView* indices;
  int count;
  IndexedRows rows;

  bool empty() const { return rows.prefixes() == 0 || rows.indices() == 0 || rows.row() == 0; }
};

Problem Reading(const KernelCall& call) {
  return Problem(call, call.inputs[0], call.outputs[0], 1);
}
Problem Putting(const KernelCall& call) {
  return Problem(call, call.outputs[0], call.inputs[1], 2);
}
Problem Adding(const KernelCall& call) { return Problem(call, call.outputs[0], call.inputs[0], 1); }

// ---- reading -------------------------------------------------------------------------------------

template <typename Word>
void ReadRows(const Problem& problem, const int64_t* offsets, int threads) {
  const IndexedRows& rows = problem.rows;
  const Word* x = problem.indexed.Data<Word>();
  Word* out = problem.plain.Data<Word>();
  const int64_t row_bytes = rows.row() * static_cast<int64_t>(sizeof(Word));
  const int64_t total = rows.prefixes() * rows.indices();
  const int64_t grain = std::max<int64_t>(1, kGrainBytes / row_bytes);
  ParallelFor(threads, total, grain, [&](int64_t begin, int64_t end) {
    int64_t a = 0;
    int64_t b = 0;
    int64_t p = begin / rows.indices();
    int64_t at = begin % rows.indices();
    rows.PrefixAt(p, &a, &b);
    for (int64_t i = begin; i < end; ++i, ++at) {
      if (at == rows.indices()) {
        at = 0;
        rows.PrefixAt(++p, &a, &b);
      }
      const Word* from = x + a + offsets[at];
      Word* to = out + b + at * rows.plain_step();
      if (rows.row() == 1) {
        *to = *from;
        continue;
      }
      rows.ForEachRun(0, rows.columns(),
                      [&](int64_t u, int64_t v, int64_t su, int64_t sv, int64_t n) {
                        if (su == 1 && sv == 1) {
                          std::memcpy(to + v, from + u, static_cast<size_t>(n) * sizeof(Word));
                          return;
                        }
                        for (int64_t k = 0; k < n; ++k) { to[v + k * sv] = from[u + k * su]; }
                      });
    }
  });
}

Maybe<void> RunRead(const KernelCall& call) {
  const Problem problem = Reading(call);
  auto* offsets = static_cast<int64_t*>(call.scratch);
  if (problem.rows.indices() > 0) {
    JUST(OffsetsOf(problem.attrs, problem.indexed, problem.indices, problem.count, call.threads,
                   offsets));
  }
  if (problem.empty()) { return Ok(); }
  switch (SizeOf(problem.indexed.dtype)) {
    case 1: ReadRows<uint8_t>(problem, offsets, call.threads); break;
    case 2: ReadRows<uint16_t>(problem, offsets, call.threads); break;
    case 4: ReadRows<uint32_t>(problem, offsets, call.threads); break;
    default: ReadRows<uint64_t>(problem, offsets, call.threads); break;
  }
  return Ok();
}

// ---- writing -------------------------------------------------------------------------------------

struct Assign {
  template <typename T>
  static void Run(T* to, int64_t to_step, const T* from, int64_t from_step, int64_t n) {
    if (to_step == 1 && from_step == 1) {
      std::memcpy(to, from, static_cast<size_t>(n) * sizeof(T));
      return;
    }
    for (int64_t k = 0; k < n; ++k) { to[k * to_step] = from[k * from_step]; }
  }
};

struct Add {
  template <typename T>
  static void Run(T* to, int64_t to_step, const T* from, int64_t from_step, int64_t n) {
    if (to_step == 1 && from_step == 1) {
      for (int64_t k = 0; k < n; ++k) { to[k] = static_cast<T>(to[k] + from[k]); }
      return;
    }
    for (int64_t k = 0; k < n; ++k) {
      to[k * to_step] = static_cast<T>(to[k * to_step] + from[k * from_step]);
    }
  }
};

// Two indices may name one row: a thread has whole columns, and takes the indices in their order.
template <typename Op, typename T>
void WriteRows(const Problem& problem, const int64_t* offsets, int threads) {
  const IndexedRows& rows = problem.rows;
  T* target = problem.indexed.Data<T>();
  const T* values = problem.plain.Data<T>();
  constexpr int64_t kLine = 64 / static_cast<int64_t>(sizeof(T));
  const int64_t wanted = threads <= rows.prefixes() ? 1 : threads;
  const int64_t width = std::max(kLine, (rows.columns() + wanted - 1) / wanted);
  const int64_t strips = (rows.columns() + width - 1) / width;
  ParallelFor(threads, rows.prefixes() * strips, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t a = 0;
      int64_t b = 0;
      rows.PrefixAt(i / strips, &a, &b);
      const int64_t first = i % strips * width;
      const int64_t last = std::min(first + width, rows.columns());
      for (int64_t at = 0; at < rows.indices(); ++at) {
        T* to = target + a + offsets[at];
        const T* from = values + b + at * rows.plain_step();
        rows.ForEachRun(first, last, [&](int64_t u, int64_t v, int64_t su, int64_t sv, int64_t n) {
          Op::Run(to + u, su, from + v, sv, n);
        });
      }
    }
  });
}

void AssignRows(const Problem& problem, const int64_t* offsets, int threads) {
  switch (SizeOf(problem.indexed.dtype)) {
    case 1: return WriteRows<Assign, uint8_t>(problem, offsets, threads);
    case 2: return WriteRows<Assign, uint16_t>(problem, offsets, threads);
    case 4: return WriteRows<Assign, uint32_t>(problem, offsets, threads);
    default: return WriteRows<Assign, uint64_t>(problem, offsets, threads);
  }
}

void AddRows(const Problem& problem, const int64_t* offsets, int threads) {
  switch (problem.indexed.dtype) {
    case DataType::kUInt8: return WriteRows<Add, uint8_t>(problem, offsets, threads);
    case DataType::kInt8: return WriteRows<Add, int8_t>(problem, offsets, threads);
    case DataType::kInt16: return WriteRows<Add, int16_t>(problem, offsets, threads);
    case DataType::kInt32: return WriteRows<Add, uint32_t>(problem, offsets, threads);
    case DataType::kInt64: return WriteRows<Add, uint64_t>(problem, offsets, threads);
    case DataType::kFloat: return WriteRows<Add, float>(problem, offsets, threads);
    default: return WriteRows<Add, double>(problem, offsets, threads);
  }
}

Maybe<void> Write(const Problem& problem, const KernelCall& call, bool adds) {
  auto* offsets = static_cast<int64_t*>(call.scratch);
  if (problem.rows.indices() == 0) { return Ok(); }
  JUST(OffsetsOf(problem.attrs, problem.indexed, problem.indices, problem.count, call.threads,
                 offsets));
  if (problem.empty()) { return Ok(); }
  adds ? AddRows(problem, offsets, call.threads) : AssignRows(problem, offsets, call.threads);
  return Ok();
}

Maybe<void> RunPut(const KernelCall& call) {
  const Problem problem = Putting(call);
  return Write(problem, call, problem.attrs.accumulate);
}

Maybe<void> RunBackward(const KernelCall& call) {
  const ArrayView& dx = call.outputs[0];
  std::memset(dx.data, 0, static_cast<size_t>(dx.Count()) * SizeOf(dx.dtype));
  return Write(Adding(call), call, true);
}

// ---- which calls, what they cost -------------------------------------------------------------------

const char* AcceptIndices(const Problem& problem) {
  for (int i = 0; i < problem.count; ++i) {
    if (!IsIndexType(problem.indices[i].dtype)) { return "an index of a dtype that is none"; }
  }
  if (problem.indexed.dtype != problem.plain.dtype) { return "operands of two dtypes"; }
  return problem.rows.regular() ? nullptr : "values that repeat irregularly";
}

const char* AcceptAdding(const Problem& problem) {
  const DataType dtype = problem.indexed.dtype;
  if (dtype == DataType::kBool || dtype == DataType::kFloat16 || dtype == DataType::kBFloat16) {
    return "a dtype that is not added up here";
  }
  return AcceptIndices(problem);
}

const char* AcceptRead(const KernelCall& call) { return AcceptIndices(Reading(call)); }

const char* AcceptPut(const KernelCall& call) {
  const Problem problem = Putting(call);
  return problem.attrs.accumulate ? AcceptAdding(problem) : AcceptIndices(problem);
}

const char* AcceptBackward(const KernelCall& call) {
  if (!call.outputs[0].contiguous) { return "output is not dense"; }
  return AcceptAdding(Adding(call));
}

// Rows come from anywhere: a cache line or two for each, beside their bytes.
double CostOf(const ArrayView& plain, const ArrayView& index) {
  const auto rows = static_cast<double>(plain.Count());
  return 2 * MemoryCostNs(BytesOf(plain)) + rows + 2.0 * static_cast<double>(index.Count());
}

double CostRead(const KernelCall& call) {
  const ArrayView& out = call.outputs[0];
  const double each = out.Count() == call.inputs[1].Count() ? 1.5 : 0.0;
  return 2 * MemoryCostNs(BytesOf(out)) + each * static_cast<double>(out.Count()) +
         2.0 * static_cast<double>(call.inputs[1].Count());
}

double CostPut(const KernelCall& call) { return CostOf(call.inputs[1], call.inputs[2]); }

double CostBackward(const KernelCall& call) {
  return MemoryCostNs(BytesOf(call.outputs[0])) + CostOf(call.inputs[0], call.inputs[1]);
}

size_t OffsetBytes(const ArrayView& index) {
  return static_cast<size_t>(std::max<int64_t>(1, index.Count())) * sizeof(int64_t);
}
size_t ScratchAfterOne(const KernelCall& call) { return OffsetBytes(call.inputs[1]); }
size_t ScratchAfterTwo(const KernelCall& call) { return OffsetBytes(call.inputs[2]); }

}  // namespace

ONEFLOW_REGISTER_KERNEL(index_at,
                        {"index_at.cpu.rows", &RunRead, &AcceptRead, &CostRead, &ScratchAfterOne});
ONEFLOW_REGISTER_KERNEL(index_at_put,
                        {"index_at_put.cpu.rows", &RunPut, &AcceptPut, &CostPut, &ScratchAfterTwo});
ONEFLOW_REGISTER_KERNEL(index_at_backward, {"index_at_backward.cpu.rows", &RunBackward,
                                            &AcceptBackward, &CostBackward, &ScratchAfterOne});

}  // namespace cpu
}  // namespace oneflow
