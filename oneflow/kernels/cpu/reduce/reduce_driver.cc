#include "oneflow/kernels/cpu/reduce/reduce_driver.h"

#include <algorithm>

#include "oneflow/device/cpu/parallel.h"
#include "oneflow/kernels/cpu/cost.h"
#include "oneflow/kernels/cpu/elementwise_loops.h"
#include "oneflow/kernels/cpu/strided_loop.h"

namespace oneflow {
namespace cpu {

namespace {

// Elements that one thread reduces before it takes new work.
constexpr int64_t kSplitElements = 1 << 16;
constexpr int64_t kMaxUnitsToSplit = 64;
constexpr int64_t kMaxSplits = 256;

int64_t CountSplits(const ReducePlan& plan) {
  if (plan.units() == 0 || plan.units() > kMaxUnitsToSplit) { return 1; }
  const int64_t columns = std::min(plan.outputs() / plan.units() + 1, kColumnTile);
  const int64_t elements = plan.reduced() * (plan.by_columns() ? columns : 1);
  return std::clamp<int64_t>(elements / kSplitElements, 1, kMaxSplits);
}

// out[i] = x[i * stride] for the loops: float32 for a 16-bit float.
class Packer {
 public:
  Packer(DataType dtype, bool takes_halves) : size_(static_cast<int>(SizeOf(dtype))) {
    if (LoopDtype(dtype) != dtype && !takes_halves) {
      widen_ =
          GetElementwiseLoops().cast[static_cast<int>(dtype)][static_cast<int>(DataType::kFloat)];
    }
  }
  bool widens() const { return widen_ != nullptr; }
  // `out` has room for n floats or elements; n <= kBlock.
  static constexpr int64_t kBlock = 512;
  void Pack(void* out, const char* x, int64_t stride, int64_t n) const {
    if (!widens()) {
      CopyRun(static_cast<char*>(out), size_, x, stride * size_, size_, n);
      return;
    }
    if (stride == 1) { return widen_(out, x, n); }
    uint16_t dense[kBlock];
    CopyRun(reinterpret_cast<char*>(dense), size_, x, stride * size_, size_, n);
    widen_(out, dense, n);
  }

 private:
  int size_;
  UnaryLoop widen_ = nullptr;
};

struct Task {
  const ReducePlan& plan;
  const ReduceLoops& loops;
  const char* data;
  int64_t size;  // bytes of an input element
  Packer packer;

  // states[0..unit.columns) take reduced elements [begin, end) of the unit.
  void Accumulate(const ReducePlan::Unit& unit, int64_t begin, int64_t end, char* states) const {
    const char* base = data + unit.input * size;
    if (plan.by_columns()) {
      plan.ForEachRun(begin, end, [&](int64_t offset, int64_t n, int64_t first) {
        Columns(base + offset * size, n, unit.columns, first, states);
      });
      return;
    }
    if (plan.one_run() && plan.run_stride() == 1 && !packer.widens() && begin == 0) {
      loops.rows(base, end, unit.input_step, unit.columns, states, loops.state_bytes);
      return;
    }
    for (int64_t j = 0; j < unit.columns; ++j) {
      plan.ForEachRun(begin, end, [&](int64_t offset, int64_t n, int64_t first) {
        Row(base + offset * size, n, first, states);
      });
      base += unit.input_step * size;
      states += loops.state_bytes;
    }
  }

  void Row(const char* from, int64_t n, int64_t first, char* state) const {
    const int64_t stride = plan.run_stride();
    if ((stride == 1 || n == 1) && !packer.widens()) { return loops.row(from, n, first, state); }
    alignas(64) char packed[Packer::kBlock * 8];
    for (int64_t at = 0; at < n; at += Packer::kBlock) {
      const int64_t count = std::min(Packer::kBlock, n - at);
      packer.Pack(packed, from + at * stride * size, stride, count);
      loops.row(packed, count, first + at, state);
    }
  }

  void Columns(const char* from, int64_t n, int64_t columns, int64_t first, char* states) const {
    const int64_t stride = plan.run_stride();
    if (!packer.widens()) { return DenseColumns(from, stride, n, columns, first, states); }
    constexpr int64_t kRows = 16;
    alignas(64) float packed[kRows * kColumnTile];
    for (int64_t at = 0; at < n; at += kRows) {
      const int64_t rows = std::min(kRows, n - at);
      for (int64_t r = 0; r < rows; ++r) {
        packer.Pack(packed + r * columns, from + (at + r) * stride * size, 1, columns);
      }
      loops.columns(packed, columns, rows, columns, first + at, states);
    }
  }

  // A few columns only would leave most of a vector unused: where the rows follow each other without
  // gaps, several are taken as one.
  void DenseColumns(const char* from, int64_t stride, int64_t n, int64_t columns, int64_t first,
                    char* states) const {
    const int64_t together = kColumnTile / columns;
    if (loops.positional || stride != columns || columns > 64 || n < 4 * together) {
      return loops.columns(from, stride, n, columns, first, states);
    }
    alignas(64) char wide[kColumnTile * kMaxStateBytes];
    loops.init(wide, columns * together);
    const int64_t rows = n / together;
    loops.columns(from, stride * together, rows, columns * together, first, wide);
    for (int64_t k = 0; k < together; ++k) {
      loops.merge(states, wide + k * columns * loops.state_bytes, columns);
    }
    const int64_t done = rows * together;
    loops.columns(from + done * stride * size, stride, n - done, columns, first + done, states);
  }
};

struct Sink {
  StoreStates store;
  const void* context;
};

void ReduceUnits(const Task& task, const Sink& sink, int threads) {
  const ReducePlan& plan = task.plan;
  const int64_t columns = plan.outputs() / std::max<int64_t>(plan.units(), 1) + 1;
  const int64_t grain =
      std::max<int64_t>(1, kSplitElements / std::max<int64_t>(plan.reduced() * columns, 1));
  ParallelFor(threads, plan.units(), grain, [&](int64_t begin, int64_t end) {
    alignas(64) char states[kColumnTile * kMaxStateBytes];
    for (int64_t i = begin; i < end; ++i) {
      const ReducePlan::Unit unit = plan.GetUnit(i);
      task.loops.init(states, unit.columns);
      task.Accumulate(unit, 0, plan.reduced(), states);
      sink.store(states, unit.output, unit.output_step, unit.columns, sink.context);
    }
  });
}

// `partial` holds units x splits tiles of states.
void ReduceSplit(const Task& task, const Sink& sink, int64_t splits, char* partial, int threads) {
  const ReducePlan& plan = task.plan;
  const int64_t step = (plan.reduced() + splits - 1) / splits;
  const int64_t tile = kColumnTile * task.loops.state_bytes;
  ParallelFor(threads, plan.units() * splits, 1, [&](int64_t item, int64_t) {
    const ReducePlan::Unit unit = plan.GetUnit(item / splits);
    const int64_t split = item % splits;
    char* states = partial + item * tile;
    task.loops.init(states, unit.columns);
    task.Accumulate(unit, std::min(split * step, plan.reduced()),
                    std::min((split + 1) * step, plan.reduced()), states);
  });
  for (int64_t u = 0; u < plan.units(); ++u) {
    const ReducePlan::Unit unit = plan.GetUnit(u);
    char* states = partial + u * splits * tile;
    for (int64_t s = 1; s < splits; ++s) {
      task.loops.merge(states, states + s * tile, unit.columns);
    }
    sink.store(states, unit.output, unit.output_step, unit.columns, sink.context);
  }
}

template <typename Out, typename In>
void StoreAs(const ArrayView& out, const In* values, int64_t first, int64_t step, int64_t n) {
  Out* to = out.Data<Out>() + first;
  for (int64_t j = 0; j < n; ++j) { to[j * step] = static_cast<Out>(values[j]); }
}

// By way of float32, in the arithmetic of the cast kernels.
template <typename In>
void StoreHalves(const ArrayView& out, const In* values, int64_t first, int64_t step, int64_t n) {
  const UnaryLoop narrow =
      GetElementwiseLoops().cast[static_cast<int>(DataType::kFloat)][static_cast<int>(out.dtype)];
  for (int64_t at = 0; at < n; at += kColumnTile) {
    const int64_t count = std::min(kColumnTile, n - at);
    float floats[kColumnTile];
    uint16_t halves[kColumnTile];
    for (int64_t j = 0; j < count; ++j) { floats[j] = static_cast<float>(values[at + j]); }
    narrow(halves, floats, count);
    uint16_t* to = out.Data<uint16_t>() + first + at * step;
    for (int64_t j = 0; j < count; ++j) { to[j * step] = halves[j]; }
  }
}

template <typename In>
void StoreNumbers(const ArrayView& out, const In* values, int64_t first, int64_t step, int64_t n) {
  switch (out.dtype) {
    case DataType::kBool: {
      uint8_t* to = out.Data<uint8_t>() + first;
      for (int64_t j = 0; j < n; ++j) { to[j * step] = values[j] != In(0) ? 1 : 0; }
      return;
    }
    case DataType::kUInt8: return StoreAs<uint8_t>(out, values, first, step, n);
    case DataType::kInt8: return StoreAs<int8_t>(out, values, first, step, n);
    case DataType::kInt16: return StoreAs<int16_t>(out, values, first, step, n);
    case DataType::kInt32: return StoreAs<int32_t>(out, values, first, step, n);
    case DataType::kInt64: return StoreAs<int64_t>(out, values, first, step, n);
    case DataType::kFloat16:
    case DataType::kBFloat16: return StoreHalves(out, values, first, step, n);
    case DataType::kFloat: return StoreAs<float>(out, values, first, step, n);
    case DataType::kDouble: return StoreAs<double>(out, values, first, step, n);
  }
}

}  // namespace

void StoreDoubles(const ArrayView& out, const double* values, int64_t first, int64_t step,
                  int64_t n) {
  StoreNumbers(out, values, first, step, n);
}

void StoreIntegers(const ArrayView& out, const int64_t* values, int64_t first, int64_t step,
                   int64_t n) {
  StoreNumbers(out, values, first, step, n);
}

void StoreElements(const ArrayView& out, const void* values, int64_t first, int64_t step,
                   int64_t n) {
  if (LoopDtype(out.dtype) != out.dtype) {
    return StoreHalves(out, static_cast<const float*>(values), first, step, n);
  }
  const auto size = static_cast<int64_t>(SizeOf(out.dtype));
  CopyRun(out.Data<char>() + first * size, step * size, static_cast<const char*>(values), size,
          static_cast<int>(size), n);
}

void Reduce(const KernelCall& call, const ReducePlan& plan, const ReduceLoops& loops,
            StoreStates store, const void* context) {
  const ArrayView& input = call.inputs[0];
  const Task task{plan, loops, input.Data<char>(), static_cast<int64_t>(SizeOf(input.dtype)),
                  Packer(input.dtype, loops.takes_halves)};
  const Sink sink{store, context};
  const int64_t splits = CountSplits(plan);
  if (splits == 1 || call.scratch_bytes < ReduceScratch(plan, loops)) {
    return ReduceUnits(task, sink, call.threads);
  }
  ReduceSplit(task, sink, splits, static_cast<char*>(call.scratch), call.threads);
}

size_t ReduceScratch(const ReducePlan& plan, const ReduceLoops& loops) {
  const int64_t splits = CountSplits(plan);
  if (splits == 1) { return 0; }
  return static_cast<size_t>(splits * plan.units() * kColumnTile * loops.state_bytes);
}

double ReduceCost(const KernelCall& call) {
  const double elements = static_cast<double>(call.inputs[0].Count());
  const double outputs = static_cast<double>(call.outputs[0].Count());
  const double halves = LoopDtype(call.inputs[0].dtype) == call.inputs[0].dtype ? 0.0 : 0.1;
  return 50.0 + MemoryCostNs(BytesOf(call.inputs[0])) + (0.03 + halves) * elements + 2.0 * outputs;
}

}  // namespace cpu
}  // namespace oneflow
