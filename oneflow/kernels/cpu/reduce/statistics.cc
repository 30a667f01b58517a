// The kernels argmax, argmin, max_dim, min_dim, var, std and logsumexp.
#include <cmath>
#include <cstring>

#include "oneflow/kernels/attrs_reduce.h"
#include "oneflow/kernels/cpu/reduce/reduce_driver.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {

namespace {

using LoopsOf = ReduceLoops[kNumDataTypes];

template <LoopsOf StatisticTable::* loops>
const ReduceLoops& Loops(const KernelCall& call) {
  return (GetStatisticTable().*loops)[static_cast<int>(LoopDtype(call.inputs[0].dtype))];
}

template <LoopsOf StatisticTable::* loops>
ReducePlan Plan(const KernelCall& call) {
  const bool positional = Loops<loops>(call).positional;
  return ReducePlan(call.inputs[0], call.GetAttrs<ReduceAttrs>().dims,
                    positional ? ReducePlan::Order::kRowMajor : ReducePlan::Order::kAny);
}

template <LoopsOf StatisticTable::* loops>
size_t Scratch(const KernelCall& call) {
  return ReduceScratch(Plan<loops>(call), Loops<loops>(call));
}

Maybe<void> CheckNotEmpty(const KernelCall& call, const ReducePlan& plan) {
  if (plan.outputs() == 0 || plan.reduced() > 0) { return Ok(); }
  return IndexError("[argmax] expects at least one element along the reduced dimension, got {}",
                    Dims(call.inputs[0].shape, call.inputs[0].ndim));
}

void StoreIndices(const ArrayView& out, const void* states, int64_t first, int64_t step,
                  int64_t n) {
  const ArgState* from = static_cast<const ArgState*>(states);
  for (int64_t j = 0; j < n; ++j) { out.Data<int64_t>()[first + j * step] = from[j].index; }
}

void StoreValues(const ArrayView& out, const void* states, int64_t first, int64_t step, int64_t n) {
  const ArgState* from = static_cast<const ArgState*>(states);
  const size_t size = SizeOf(LoopDtype(out.dtype));
  alignas(8) unsigned char values[kColumnTile * 8];
  for (int64_t j = 0; j < n; ++j) {
    std::memcpy(values + static_cast<size_t>(j) * size, from[j].value, size);
  }
  StoreElements(out, values, first, step, n);
}

template <LoopsOf StatisticTable::* loops>
Maybe<void> RunArg(const KernelCall& call) {
  const ReducePlan plan = Plan<loops>(call);
  JUST(CheckNotEmpty(call, plan));
  ReduceInto(call, plan, Loops<loops>(call),
             [&](const void* states, int64_t first, int64_t step, int64_t n) {
               StoreIndices(call.outputs[0], states, first, step, n);
             });
  return Ok();
}

template <LoopsOf StatisticTable::* loops>
Maybe<void> RunValueAndIndex(const KernelCall& call) {
  const ReducePlan plan = Plan<loops>(call);
  JUST(CheckNotEmpty(call, plan));
  ReduceInto(call, plan, Loops<loops>(call),
             [&](const void* states, int64_t first, int64_t step, int64_t n) {
               StoreValues(call.outputs[0], states, first, step, n);
               StoreIndices(call.outputs[1], states, first, step, n);
             });
  return Ok();
}

Maybe<void> RunMoment(const KernelCall& call, bool root) {
  const ReducePlan plan = Plan<&StatisticTable::moments>(call);
  const double count = static_cast<double>(plan.reduced());
  const double divisor = std::fmax(0.0, count - call.GetAttrs<MomentAttrs>().correction);
  ReduceInto(call, plan, Loops<&StatisticTable::moments>(call),
             [&](const void* states, int64_t first, int64_t step, int64_t n) {
               const MomentState* from = static_cast<const MomentState*>(states);
               double values[kColumnTile];
               for (int64_t j = 0; j < n; ++j) {
                 const double var = from[j].squares / divisor;
                 values[j] = root ? std::sqrt(var) : var;
               }
               StoreDoubles(call.outputs[0], values, first, step, n);
             });
  return Ok();
}

Maybe<void> RunVar(const KernelCall& call) { return RunMoment(call, false); }
Maybe<void> RunStd(const KernelCall& call) { return RunMoment(call, true); }

Maybe<void> RunLogSumExp(const KernelCall& call) {
  ReduceInto(call, Plan<&StatisticTable::log_sum_exp>(call),
             Loops<&StatisticTable::log_sum_exp>(call),
             [&](const void* states, int64_t first, int64_t step, int64_t n) {
               const LogSumExpState* from = static_cast<const LogSumExpState*>(states);
               double values[kColumnTile];
               for (int64_t j = 0; j < n; ++j) { values[j] = std::log(from[j].sum) + from[j].max; }
               StoreDoubles(call.outputs[0], values, first, step, n);
             });
  return Ok();
}

const char* AcceptArg(const KernelCall& call) {
  if (!call.outputs[0].contiguous) { return "output is not dense"; }
  return call.outputs[0].dtype == DataType::kInt64 ? nullptr : "output is not int64";
}

const char* AcceptValueAndIndex(const KernelCall& call) {
  const ArrayView* out = call.outputs;
  if (!out[0].contiguous || !out[1].contiguous) { return "an output is not dense"; }
  if (out[1].dtype != DataType::kInt64) { return "the indices are not int64"; }
  return out[0].dtype == call.inputs[0].dtype ? nullptr : "values of another dtype";
}

const char* AcceptFloating(const KernelCall& call) {
  if (!IsFloating(call.inputs[0].dtype)) { return "dtype is not floating"; }
  return call.outputs[0].contiguous ? nullptr : "output is not dense";
}

double ArgCost(const KernelCall& call) {
  return ReduceCost(call) + 0.1 * static_cast<double>(call.inputs[0].Count());
}
double MomentCost(const KernelCall& call) {
  return ReduceCost(call) + 0.2 * static_cast<double>(call.inputs[0].Count());
}
double LogSumExpCost(const KernelCall& call) {
  return ReduceCost(call) + 0.7 * static_cast<double>(call.inputs[0].Count());
}

}  // namespace

ONEFLOW_REGISTER_KERNEL(argmax, {"argmax.cpu.vector", &RunArg<&StatisticTable::argmax>, &AcceptArg,
                                 &ArgCost, &Scratch<&StatisticTable::argmax>});
ONEFLOW_REGISTER_KERNEL(argmin, {"argmin.cpu.vector", &RunArg<&StatisticTable::argmin>, &AcceptArg,
                                 &ArgCost, &Scratch<&StatisticTable::argmin>});
ONEFLOW_REGISTER_KERNEL(max_dim,
                        {"max_dim.cpu.vector", &RunValueAndIndex<&StatisticTable::argmax>,
                         &AcceptValueAndIndex, &ArgCost, &Scratch<&StatisticTable::argmax>});
ONEFLOW_REGISTER_KERNEL(min_dim,
                        {"min_dim.cpu.vector", &RunValueAndIndex<&StatisticTable::argmin>,
                         &AcceptValueAndIndex, &ArgCost, &Scratch<&StatisticTable::argmin>});
ONEFLOW_REGISTER_KERNEL(var, {"var.cpu.vector", &RunVar, &AcceptFloating, &MomentCost,
                              &Scratch<&StatisticTable::moments>});
ONEFLOW_REGISTER_KERNEL(std, {"std.cpu.vector", &RunStd, &AcceptFloating, &MomentCost,
                              &Scratch<&StatisticTable::moments>});
ONEFLOW_REGISTER_KERNEL(logsumexp, {"logsumexp.cpu.vector", &RunLogSumExp, &AcceptFloating,
                                    &LogSumExpCost, &Scratch<&StatisticTable::log_sum_exp>});

}  // namespace cpu
}  // namespace oneflow
