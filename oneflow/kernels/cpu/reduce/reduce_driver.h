// Reduce: walks a ReducePlan with the loops of reduce_loops.h, on several threads.
//
// Where few outputs have many elements each, the elements are split too, at places that depend on
// the shape alone. float16 and bfloat16 go through the loops of float32, a few hundred elements at a
// time. Thread safety: pure functions. Blocking: waits for its own threads only.
#ifndef ONEFLOW_KERNELS_CPU_REDUCE_REDUCE_DRIVER_H_
#define ONEFLOW_KERNELS_CPU_REDUCE_REDUCE_DRIVER_H_

#include <cstddef>
#include <cstdint>

#include "oneflow/kernels/cpu/reduce/reduce_loops.h"
#include "oneflow/kernels/cpu/reduce/reduce_plan.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {

// The dtype whose loops serve an input: float32 for the 16-bit floats.
inline DataType LoopDtype(DataType dtype) {
  return dtype == DataType::kFloat16 || dtype == DataType::kBFloat16 ? DataType::kFloat : dtype;
}

// Writes the outputs first, first + step, ... of finished states; `context` is the caller's.
using StoreStates = void (*)(const void* states, int64_t first, int64_t step, int64_t n,
                             const void* context);

void Reduce(const KernelCall& call, const ReducePlan& plan, const ReduceLoops& loops,
            StoreStates store, const void* context);
// Bytes of scratch that Reduce wants; with less it does not split.
size_t ReduceScratch(const ReducePlan& plan, const ReduceLoops& loops);

// A store that is a lambda: store(states, first, step, n).
template <typename Store>
void ReduceInto(const KernelCall& call, const ReducePlan& plan, const ReduceLoops& loops,
                const Store& store) {
  const StoreStates call_store = [](const void* states, int64_t first, int64_t step, int64_t n,
                                    const void* context) {
    (*static_cast<const Store*>(context))(states, first, step, n);
  };
  Reduce(call, plan, loops, call_store, &store);
}

// Writes n numbers as elements first, first + step, ... of a dense array of any dtype: floats are
// rounded, integers wrap, and bool takes what is not 0.
void StoreDoubles(const ArrayView& out, const double* values, int64_t first, int64_t step,
                  int64_t n);
void StoreIntegers(const ArrayView& out, const int64_t* values, int64_t first, int64_t step,
                   int64_t n);
// Elements of out's own type, or of float32 where out is a 16-bit float.
void StoreElements(const ArrayView& out, const void* values, int64_t first, int64_t step,
                   int64_t n);

double ReduceCost(const KernelCall& call);

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_REDUCE_REDUCE_DRIVER_H_
