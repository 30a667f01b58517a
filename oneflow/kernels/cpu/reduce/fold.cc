// The kernels that fold elements into one number: sum, mean, nansum, prod, amax, amin, all, any,
// count_nonzero, vector_norm.
#include <cmath>
#include <limits>

#include "oneflow/kernels/attrs_reduce.h"
#include "oneflow/kernels/cpu/reduce/reduce_driver.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {

namespace {

const ReduceLoops& Loops(Fold fold, const KernelCall& call) {
  const DataType dtype = call.inputs[0].dtype;
  const ReduceLoops* loops = GetFoldTable().at[static_cast<int>(fold)];
  const ReduceLoops& own = loops[static_cast<int>(dtype)];
  return own.state_bytes != 0 ? own : loops[static_cast<int>(LoopDtype(dtype))];
}

ReducePlan Plan(const KernelCall& call) {
  // Every attribute struct here begins with ReduceAttrs.
  return ReducePlan(call.inputs[0], call.GetAttrs<ReduceAttrs>().dims, ReducePlan::Order::kAny);
}

// A store of sums: doubles for floating input, finished by `finish`; else 64-bit integers.
template <typename Finish>
void FoldSums(const KernelCall& call, Fold fold, const Finish& finish) {
  const ArrayView& out = call.outputs[0];
  const bool floats = IsFloating(call.inputs[0].dtype);
  ReduceInto(call, Plan(call), Loops(fold, call),
             [&](const void* states, int64_t first, int64_t step, int64_t n) {
               if (!floats) {
                 return StoreIntegers(out, static_cast<const int64_t*>(states), first, step, n);
               }
               const double* sums = static_cast<const double*>(states);
               double finished[kColumnTile];
               for (int64_t j = 0; j < n; ++j) { finished[j] = finish(sums[j]); }
               StoreDoubles(out, finished, first, step, n);
             });
}

double Same(double x) { return x; }

template <Fold fold>
Maybe<void> RunSum(const KernelCall& call) {
  FoldSums(call, fold, Same);
  return Ok();
}

Maybe<void> RunMean(const KernelCall& call) {
  const double count = static_cast<double>(Plan(call).reduced());
  FoldSums(call, Fold::kSum, [count](double sum) { return sum / count; });
  return Ok();
}

// Counts are doubles where the input is floating.
Maybe<void> RunCountNonzero(const KernelCall& call) {
  FoldSums(call, Fold::kCountNonzero, Same);
  return Ok();
}

template <Fold fold>
Maybe<void> RunElements(const KernelCall& call) {
  const ArrayView& out = call.outputs[0];
  ReduceInto(call, Plan(call), Loops(fold, call),
             [&](const void* states, int64_t first, int64_t step, int64_t n) {
               StoreElements(out, states, first, step, n);
             });
  return Ok();
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Fold NormFold(double ord) {
  if (ord == kInfinity) { return Fold::kMaxAbs; }
  if (ord == -kInfinity) { return Fold::kMinAbs; }
  if (ord == 0.0) { return Fold::kCountNonzero; }
  return ord == 1.0 ? Fold::kSumAbs : Fold::kSumSquares;
}

Maybe<void> RunNorm(const KernelCall& call) {
  const double ord = call.GetAttrs<NormAttrs>().ord;
  if (ord == kInfinity) { return RunElements<Fold::kMaxAbs>(call); }
  if (ord == -kInfinity) { return RunElements<Fold::kMinAbs>(call); }
  if (ord == 2.0) {
    FoldSums(call, Fold::kSumSquares, [](double sum) { return std::sqrt(sum); });
  } else {
    FoldSums(call, NormFold(ord), Same);
  }
  return Ok();
}

template <Fold fold>
size_t Scratch(const KernelCall& call) {
  return ReduceScratch(Plan(call), Loops(fold, call));
}

size_t NormScratch(const KernelCall& call) {
  return ReduceScratch(Plan(call), Loops(NormFold(call.GetAttrs<NormAttrs>().ord), call));
}

const char* AcceptDense(const KernelCall& call) {
  return call.outputs[0].contiguous ? nullptr : "output is not dense";
}

const char* AcceptSum(const KernelCall& call) {
  const bool to_integer = IsFloating(call.inputs[0].dtype) && !IsFloating(call.outputs[0].dtype);
  return to_integer ? "a floating sum into an integer" : AcceptDense(call);
}

const char* AcceptFloating(const KernelCall& call) {
  return IsFloating(call.inputs[0].dtype) ? AcceptDense(call) : "dtype is not floating";
}

const char* AcceptSameDtype(const KernelCall& call) {
  return call.inputs[0].dtype == call.outputs[0].dtype ? AcceptDense(call)
                                                       : "an output of another dtype";
}

const char* AcceptBool(const KernelCall& call) {
  return call.outputs[0].dtype == DataType::kBool ? AcceptDense(call) : "output is not bool";
}

const char* AcceptCount(const KernelCall& call) {
  return call.outputs[0].dtype == DataType::kInt64 ? AcceptDense(call) : "output is not int64";
}

const char* AcceptNorm(const KernelCall& call) {
  const double ord = call.GetAttrs<NormAttrs>().ord;
  const bool known = ord == 0.0 || ord == 1.0 || ord == 2.0 || std::isinf(ord);
  if (!known) { return "an order that needs powers"; }
  return AcceptFloating(call) == nullptr ? AcceptSameDtype(call) : "dtype is not floating";
}

}  // namespace

ONEFLOW_REGISTER_KERNEL(sum, {"sum.cpu.vector", &RunSum<Fold::kSum>, &AcceptSum, &ReduceCost,
                              &Scratch<Fold::kSum>});
ONEFLOW_REGISTER_KERNEL(nansum, {"nansum.cpu.vector", &RunSum<Fold::kNanSum>, &AcceptSum,
                                 &ReduceCost, &Scratch<Fold::kNanSum>});
ONEFLOW_REGISTER_KERNEL(prod, {"prod.cpu.vector", &RunSum<Fold::kProd>, &AcceptSum, &ReduceCost,
                               &Scratch<Fold::kProd>});
ONEFLOW_REGISTER_KERNEL(mean, {"mean.cpu.vector", &RunMean, &AcceptFloating, &ReduceCost,
                               &Scratch<Fold::kSum>});
ONEFLOW_REGISTER_KERNEL(count_nonzero, {"count_nonzero.cpu.vector", &RunCountNonzero, &AcceptCount,
                                        &ReduceCost, &Scratch<Fold::kCountNonzero>});
ONEFLOW_REGISTER_KERNEL(amax, {"amax.cpu.vector", &RunElements<Fold::kMax>, &AcceptSameDtype,
                               &ReduceCost, &Scratch<Fold::kMax>});
ONEFLOW_REGISTER_KERNEL(amin, {"amin.cpu.vector", &RunElements<Fold::kMin>, &AcceptSameDtype,
                               &ReduceCost, &Scratch<Fold::kMin>});
ONEFLOW_REGISTER_KERNEL(all, {"all.cpu.vector", &RunElements<Fold::kAll>, &AcceptBool, &ReduceCost,
                              &Scratch<Fold::kAll>});
ONEFLOW_REGISTER_KERNEL(any, {"any.cpu.vector", &RunElements<Fold::kAny>, &AcceptBool, &ReduceCost,
                              &Scratch<Fold::kAny>});
ONEFLOW_REGISTER_KERNEL(vector_norm, {"vector_norm.cpu.vector", &RunNorm, &AcceptNorm, &ReduceCost,
                                      &NormScratch});

}  // namespace cpu
}  // namespace oneflow
