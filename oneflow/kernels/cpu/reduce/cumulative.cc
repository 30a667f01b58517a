// The kernels cumsum and cumprod.
#include <algorithm>

#include "oneflow/device/cpu/parallel.h"
#include "oneflow/kernels/attrs_reduce.h"
#include "oneflow/kernels/cpu/cost.h"
#include "oneflow/kernels/cpu/dense_call.h"
#include "oneflow/kernels/cpu/reduce/scan_loops.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {

namespace {

constexpr int64_t kGrainElements = 1 << 15;
// A row is cut into chunks, whose totals give where the next one starts: so results do not depend
// on how many chunks are gone through side by side, or by whom.
constexpr int64_t kChunk = 512;
constexpr int kSide = 4;

// The array as (outer, n, inner): n along the dimension.
struct Extents {
  int64_t outer = 1, n = 1, inner = 1;

  Extents(const ArrayView& view, int64_t dim) {
    for (int d = 0; d < view.ndim; ++d) {
      (d < dim ? outer : d == dim ? n : inner) *= view.shape[d];
    }
  }
};

struct Task {
  Extents extents;
  ScanLoops loops;
  ScanState identity;
  bool reverse;
  const char* x;
  char* out;
  int64_t x_size;
  int64_t out_size;
  Scan scan;
  bool floats;

  int64_t step() const { return reverse ? -1 : 1; }
  int64_t chunks() const { return (extents.n + kChunk - 1) / kChunk; }
  int64_t ChunkSize(int64_t c) const { return std::min(kChunk, extents.n - c * kChunk); }
  // Where chunk c of a row starts: at its last element for `reverse`.
  int64_t ChunkStart(int64_t row, int64_t c) const {
    return row * extents.n + (reverse ? extents.n - 1 - c * kChunk : c * kChunk);
  }

  void Total(int64_t row, int64_t c, ScanState* state) const {
    const int64_t n = ChunkSize(c);
    const int64_t low = reverse ? ChunkStart(row, c) - (n - 1) : ChunkStart(row, c);
    loops.total(x + low * x_size, n, state);
  }

  // Chunk c[k] of row rows[k] from states[k], for k < count; all but the last chunk of a row have
  // one size.
  void Run(const int64_t* rows, const int64_t* c, const ScanState* states, int count) const {
    const void* from[kSide];
    void* to[kSide];
    bool together = count == kSide;
    for (int k = 0; k < count; ++k) {
      const int64_t start = ChunkStart(rows[k], c[k]);
      from[k] = x + start * x_size;
      to[k] = out + start * out_size;
      together = together && ChunkSize(c[k]) == ChunkSize(c[0]);
    }
    if (together) { return loops.rows(from, to, ChunkSize(c[0]), step(), states); }
    for (int k = 0; k < count; ++k) {
      loops.row(from[k], to[k], ChunkSize(c[k]), step(), states[k]);
    }
  }
};

// Up to four rows side by side.
void ScanRows(const Task& task, int64_t first, int64_t last) {
  const int64_t n = task.extents.n;
  const void* from[kSide];
  void* to[kSide];
  ScanState states[kSide];
  const int count = static_cast<int>(last - first);
  for (int k = 0; k < count; ++k) {
    const int64_t start = task.ChunkStart(first + k, 0);
    from[k] = task.x + start * task.x_size;
    to[k] = task.out + start * task.out_size;
    states[k] = task.identity;
  }
  if (count == kSide) { return task.loops.rows(from, to, n, task.step(), states); }
  for (int k = 0; k < count; ++k) { task.loops.row(from[k], to[k], n, task.step(), states[k]); }
}

// Four chunks of one row side by side; `state` is where the first starts, and then where the next
// one does.
void ScanChunks(const Task& task, int64_t row, int64_t first, ScanState* state) {
  const int64_t rows[kSide] = {row, row, row, row};
  int64_t chunk[kSide];
  ScanState states[kSide];
  const int count = static_cast<int>(std::min<int64_t>(kSide, task.chunks() - first));
  for (int k = 0; k < count; ++k) {
    chunk[k] = first + k;
    states[k] = *state;
    if (chunk[k] + 1 < task.chunks()) { task.Total(row, chunk[k], state); }
  }
  task.Run(rows, chunk, states, count);
}

void ScanRow(const Task& task, int64_t row) {
  if (!task.floats) { return ScanRows(task, row, row + 1); }  // integer additions do not wait long
  ScanState state = task.identity;
  for (int64_t c = 0; c < task.chunks(); c += kSide) { ScanChunks(task, row, c, &state); }
}

ScanState Joined(const Task& task, ScanState a, const ScanState& b) {
  if (task.floats) {
    a.d = task.scan == Scan::kProd ? a.d * b.d : a.d + b.d;
  } else {
    a.u = task.scan == Scan::kProd ? a.u * b.u : a.u + b.u;
  }
  return a;
}

// One long row by several threads. `totals` has room for one state a chunk.
void ScanRowTogether(const Task& task, int64_t row, ScanState* totals, int threads) {
  const int64_t grain = kGrainElements / kChunk;
  ParallelFor(threads, task.chunks(), grain, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c) {
      totals[c] = task.identity;
      task.Total(row, c, totals + c);
    }
  });
  ScanState state = task.identity;
  for (int64_t c = 0; c < task.chunks(); ++c) {
    const ScanState total = totals[c];
    totals[c] = state;
    state = Joined(task, state, total);
  }
  ParallelFor(threads, task.chunks(), grain, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; c += kSide) {
      ScanState at = totals[c];
      ScanChunks(task, row, c, &at);
    }
  });
}

void ScanColumns(const Task& task, int threads) {
  const Extents& e = task.extents;
  const int64_t tiles = (e.inner + kScanTile - 1) / kScanTile;
  const int64_t grain = std::max<int64_t>(1, kGrainElements / (e.n * std::min(e.inner, kScanTile)));
  const int64_t stride = task.reverse ? -e.inner : e.inner;
  ParallelFor(threads, e.outer * tiles, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t column = i % tiles * kScanTile;
      const int64_t row = task.reverse ? e.n - 1 : 0;
      const int64_t at = (i / tiles * e.n + row) * e.inner + column;
      task.loops.columns(task.x + at * task.x_size, task.out + at * task.out_size, stride, e.n,
                         std::min(kScanTile, e.inner - column));
    }
  });
}

template <Scan scan>
Maybe<void> RunOnDense(const KernelCall& call) {
  const ArrayView& input = call.inputs[0];
  const CumulativeAttrs& attrs = call.GetAttrs<CumulativeAttrs>();
  const Extents e(input, attrs.dim);
  if (e.outer * e.n * e.inner == 0) { return Ok(); }
  const bool floats = IsFloating(input.dtype);
  ScanState identity;
  identity.u = scan == Scan::kProd ? 1 : 0;
  if (floats) { identity.d = scan == Scan::kProd ? 1.0 : 0.0; }
  const Task task = {e,
                     GetScanTable().at[static_cast<int>(scan)][static_cast<int>(input.dtype)],
                     identity,
                     attrs.reverse,
                     input.Data<char>(),
                     call.outputs[0].Data<char>(),
                     static_cast<int64_t>(SizeOf(input.dtype)),
                     static_cast<int64_t>(SizeOf(call.outputs[0].dtype)),
                     scan,
                     floats};
  if (e.inner > 1) {
    ScanColumns(task, call.threads);
  } else if (e.outer >= kSide) {
    const int64_t groups = (e.outer + kSide - 1) / kSide;
    const int64_t grain = std::max<int64_t>(1, kGrainElements / (e.n * kSide));
    ParallelFor(call.threads, groups, grain, [&](int64_t begin, int64_t end) {
      for (int64_t g = begin; g < end; ++g) {
        ScanRows(task, g * kSide, std::min(e.outer, (g + 1) * kSide));
      }
    });
  } else {
    auto* totals = static_cast<ScanState*>(call.scratch);
    for (int64_t row = 0; row < e.outer; ++row) {
      if (call.threads > 1 && e.n >= 2 * kGrainElements) {
        ScanRowTogether(task, row, totals, call.threads);
      } else {
        ScanRow(task, row);
      }
    }
  }
  return Ok();
}

template <Scan scan>
Maybe<void> Run(const KernelCall& call) {
  return RunDense(call, &RunOnDense<scan>);
}

size_t Scratch(const KernelCall& call) {
  const Extents e(call.inputs[0], call.GetAttrs<CumulativeAttrs>().dim);
  return DenseCall::ScratchBytes(call) +
         static_cast<size_t>((e.n + kChunk - 1) / kChunk) * sizeof(ScanState);
}

const char* Accept(const KernelCall& call) {
  const DataType in = call.inputs[0].dtype;
  const DataType expected = IsFloating(in) ? in : DataType::kInt64;
  return call.outputs[0].dtype == expected ? nullptr : "an output of another dtype";
}

double Cost(const KernelCall& call) {
  return 30.0 + ElementwiseCostNs(call) + 0.5 * static_cast<double>(call.outputs[0].Count());
}

}  // namespace

ONEFLOW_REGISTER_KERNEL(cumsum, {"cumsum.cpu.vector", &Run<Scan::kSum>, &Accept, &Cost, &Scratch});
ONEFLOW_REGISTER_KERNEL(cumprod,
                        {"cumprod.cpu.vector", &Run<Scan::kProd>, &Accept, &Cost, &Scratch});

}  // namespace cpu
}  // namespace oneflow
