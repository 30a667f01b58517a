// The kernels sum, mean and argmax.
#include <algorithm>

#include "oneflow/device/cpu/parallel.h"
#include "oneflow/kernels/attrs.h"
#include "oneflow/kernels/cpu/cost.h"
#include "oneflow/kernels/cpu/reduce_loops.h"
#include "oneflow/kernels/cpu/reduce_plan.h"
#include "oneflow/kernels/cpu/strided_loop.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {

namespace {

// Elements that one thread reduces before it takes new work. Where few outputs have many elements
// each, the elements are split too, at places that depend on the shape alone.
constexpr int64_t kSplitElements = 1 << 16;
constexpr int64_t kMaxUnitsToSplit = 64;
constexpr int64_t kMaxSplits = 256;

int64_t CountSplits(const ReducePlan& plan) {
  if (plan.units() == 0 || plan.units() > kMaxUnitsToSplit) { return 1; }
  const int64_t columns = std::min(plan.outputs() / plan.units() + 1, kColumnTile);
  const int64_t elements = plan.reduced() * (plan.by_columns() ? columns : 1);
  return std::clamp<int64_t>(elements / kSplitElements, 1, kMaxSplits);
}

// ---- sums ---------------------------------------------------------------------------------------

struct SumTask {
  const ReducePlan& plan;
  const ArrayView& input;
  SumRowFn row;
  SumColumnsFn columns;
  int64_t size;  // bytes of an input element

  // sums[0..unit.columns) += reduced elements [begin, end) of the unit.
  void Accumulate(const ReducePlan::Unit& unit, int64_t begin, int64_t end, Sum* sums) const {
    const char* base = input.Data<char>() + unit.input * size;
    const int64_t stride = plan.run_stride();
    plan.ForEachRun(begin, end, [&](int64_t offset, int64_t n, int64_t) {
      const char* from = base + offset * size;
      if (plan.by_columns()) { return columns(from, stride, n, unit.columns, sums); }
      if (stride == 1 || n == 1) { return row(from, n, sums); }
      AccumulateStrided(from, stride, n, sums);
    });
  }

  void AccumulateStrided(const char* from, int64_t stride, int64_t n, Sum* sum) const {
    constexpr int64_t kBlock = 512;
    alignas(64) char packed[kBlock * 8];
    for (int64_t at = 0; at < n; at += kBlock) {
      const int64_t count = std::min(kBlock, n - at);
      CopyRun(packed, size, from + at * stride * size, stride * size, static_cast<int>(size),
              count);
      row(packed, count, sum);
    }
  }
};

// Writes finished sums, divided by `divisor` if the output is floating.
void StoreSums(const ArrayView& out, const Sum* sums, int64_t first, int64_t step, int64_t n,
               double divisor) {
  switch (out.dtype) {
    case DataType::kFloat:
      for (int64_t j = 0; j < n; ++j) {
        out.Data<float>()[first + j * step] = static_cast<float>(sums[j].d / divisor);
      }
      return;
    case DataType::kDouble:
      for (int64_t j = 0; j < n; ++j) {
        out.Data<double>()[first + j * step] = sums[j].d / divisor;
      }
      return;
    default:
      for (int64_t j = 0; j < n; ++j) { out.Data<uint64_t>()[first + j * step] = sums[j].u; }
  }
}

void ClearSums(Sum* sums, int64_t n) {
  for (int64_t j = 0; j < n; ++j) { sums[j].u = 0; }  // all bits zero are 0.0, too
}

void SumUnits(const SumTask& task, const ArrayView& out, double divisor, int threads) {
  const ReducePlan& plan = task.plan;
  const int64_t columns = plan.by_columns() ? kColumnTile : 1;
  const int64_t grain =
      std::max<int64_t>(1, kSplitElements / std::max<int64_t>(plan.reduced() * columns, 1));
  ParallelFor(threads, plan.units(), grain, [&](int64_t begin, int64_t end) {
    Sum sums[kColumnTile];
    for (int64_t i = begin; i < end; ++i) {
      const ReducePlan::Unit unit = plan.GetUnit(i);
      ClearSums(sums, unit.columns);
      task.Accumulate(unit, 0, plan.reduced(), sums);
      StoreSums(out, sums, unit.output, unit.output_step, unit.columns, divisor);
    }
  });
}

// `partial` holds splits x outputs sums.
void SumSplit(const SumTask& task, const ArrayView& out, double divisor, int64_t splits,
              Sum* partial, int threads) {
  const ReducePlan& plan = task.plan;
  const int64_t step = (plan.reduced() + splits - 1) / splits;
  ParallelFor(threads, plan.units() * splits, 1, [&](int64_t item, int64_t) {
    const ReducePlan::Unit unit = plan.GetUnit(item / splits);
    const int64_t split = item % splits;
    Sum sums[kColumnTile];
    ClearSums(sums, unit.columns);
    task.Accumulate(unit, std::min(split * step, plan.reduced()),
                    std::min((split + 1) * step, plan.reduced()), sums);
    for (int64_t j = 0; j < unit.columns; ++j) {
      partial[split * plan.outputs() + unit.output + j * unit.output_step] = sums[j];
    }
  });
  const bool floats = IsFloating(out.dtype);
  for (int64_t o = 0; o < plan.outputs(); ++o) {
    Sum total = partial[o];
    for (int64_t s = 1; s < splits; ++s) {
      const Sum& more = partial[s * plan.outputs() + o];
      if (floats) {
        total.d += more.d;
      } else {
        total.u += more.u;
      }
    }
    StoreSums(out, &total, o, 1, 1, divisor);
  }
}

ReducePlan PlanSum(const KernelCall& call) {
  return ReducePlan(call.inputs[0], call.GetAttrs<ReduceAttrs>().dims, ReducePlan::Order::kAny);
}

Maybe<void> RunReduction(const KernelCall& call, bool mean) {
  const ArrayView& input = call.inputs[0];
  const ReducePlan plan = PlanSum(call);
  const ReduceLoops& loops = GetReduceLoops();
  const int dtype = static_cast<int>(input.dtype);
  const SumTask task{plan, input, loops.sum_row[dtype], loops.sum_columns[dtype],
                     static_cast<int64_t>(SizeOf(input.dtype))};
  const double divisor = mean ? static_cast<double>(plan.reduced()) : 1.0;
  const int64_t splits = CountSplits(plan);
  const auto needed = static_cast<size_t>(splits * plan.outputs()) * sizeof(Sum);
  if (splits == 1 || call.scratch_bytes < needed) {
    SumUnits(task, call.outputs[0], divisor, call.threads);
  } else {
    SumSplit(task, call.outputs[0], divisor, splits, static_cast<Sum*>(call.scratch), call.threads);
  }
  return Ok();
}

Maybe<void> RunSum(const KernelCall& call) { return RunReduction(call, false); }
Maybe<void> RunMean(const KernelCall& call) { return RunReduction(call, true); }

size_t SumScratch(const KernelCall& call) {
  const ReducePlan plan = PlanSum(call);
  const int64_t splits = CountSplits(plan);
  return splits == 1 ? 0 : static_cast<size_t>(splits * plan.outputs()) * sizeof(Sum);
}

const char* AcceptSum(const KernelCall& call) {
  const DataType in = call.inputs[0].dtype;
  if (GetReduceLoops().sum_row[static_cast<int>(in)] == nullptr) { return "dtype not supported"; }
  if (!call.outputs[0].contiguous) { return "output is not dense"; }
  const DataType expected = IsFloating(in) ? in : DataType::kInt64;
  return call.outputs[0].dtype == expected ? nullptr : "an output of another dtype";
}

const char* AcceptMean(const KernelCall& call) {
  return IsFloating(call.inputs[0].dtype) ? AcceptSum(call) : "dtype is not floating";
}

// ---- argmax -------------------------------------------------------------------------------------

struct ArgmaxTask {
  const ReducePlan& plan;
  const ArrayView& input;
  ArgmaxRowFn row;
  ArgmaxColumnsFn columns;
  int64_t size;

  int64_t OfRow(const ReducePlan::Unit& unit) const {
    const char* base = input.Data<char>() + unit.input * size;
    const int64_t stride = plan.run_stride();
    int64_t index = 0;
    const void* best = nullptr;
    plan.ForEachRun(0, plan.reduced(), [&](int64_t offset, int64_t n, int64_t first) {
      const char* from = base + offset * size;
      for (int64_t at = 0; at < n;) {
        // A strided run goes element by element.
        const int64_t count = stride == 1 ? n : 1;
        const char* here = from + at * stride * size;
        const int64_t found = row(here, count, best);
        if (found >= 0) {
          index = first + at + found;
          best = here + found * size;
        }
        at += count;
      }
    });
    return index;
  }
};

ReducePlan PlanArgmax(const KernelCall& call) {
  return ReducePlan(call.inputs[0], call.GetAttrs<ArgmaxAttrs>().dims,
                    ReducePlan::Order::kRowMajor);
}

Maybe<void> RunArgmax(const KernelCall& call) {
  const ArrayView& input = call.inputs[0];
  const ReducePlan plan = PlanArgmax(call);
  if (plan.outputs() == 0) { return Ok(); }
  if (plan.reduced() == 0) {
    return IndexError("[argmax] expects at least one element along the reduced dimension, got {}",
                      Dims(input.shape, input.ndim));
  }
  const ReduceLoops& loops = GetReduceLoops();
  const int dtype = static_cast<int>(input.dtype);
  const ArgmaxTask task{plan, input, loops.argmax_row[dtype], loops.argmax_columns[dtype],
                        static_cast<int64_t>(SizeOf(input.dtype))};
  auto* out = call.outputs[0].Data<int64_t>();
  const int64_t grain = std::max<int64_t>(1, (1 << 14) / plan.reduced());
  ParallelFor(call.threads, plan.units(), grain, [&](int64_t begin, int64_t end) {
    int64_t index[kColumnTile];
    for (int64_t i = begin; i < end; ++i) {
      const ReducePlan::Unit unit = plan.GetUnit(i);
      if (plan.by_columns()) {
        task.columns(input.Data<char>() + unit.input * task.size, plan.run_stride(), plan.reduced(),
                     unit.columns, index);
      } else {
        index[0] = task.OfRow(unit);
      }
      for (int64_t j = 0; j < unit.columns; ++j) {
        out[unit.output + j * unit.output_step] = index[j];
      }
    }
  });
  return Ok();
}

const char* AcceptArgmax(const KernelCall& call) {
  if (GetReduceLoops().argmax_row[static_cast<int>(call.inputs[0].dtype)] == nullptr) {
    return "dtype not supported";
  }
  if (!call.outputs[0].contiguous) { return "output is not dense"; }
  return call.outputs[0].dtype == DataType::kInt64 ? nullptr : "output is not int64";
}

double ReduceCost(const KernelCall& call) {
  const double elements = static_cast<double>(call.inputs[0].Count());
  const double outputs = static_cast<double>(call.outputs[0].Count());
  return 50.0 + ElementwiseCostNs(call) + 0.1 * elements + 10.0 * outputs;
}

}  // namespace

ONEFLOW_REGISTER_KERNEL(sum, {"sum.cpu.vector", &RunSum, &AcceptSum, &ReduceCost, &SumScratch});
ONEFLOW_REGISTER_KERNEL(mean, {"mean.cpu.vector", &RunMean, &AcceptMean, &ReduceCost, &SumScratch});
ONEFLOW_REGISTER_KERNEL(argmax, {"argmax.cpu.vector", &RunArgmax, &AcceptArgmax, &ReduceCost});

}  // namespace cpu
}  // namespace oneflow
