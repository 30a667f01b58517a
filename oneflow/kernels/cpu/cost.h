// How long a kernel takes on one thread, roughly: decides inline or queued, and how many threads.
//
// Thread safety: pure functions.
#ifndef ONEFLOW_KERNELS_CPU_COST_H_
#define ONEFLOW_KERNELS_CPU_COST_H_

#include <cstdint>

#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {

// Streaming: about 100 GB/s inside the second-level cache, 50 inside the third, 20 beyond (one core
// of a server of 2023, measured by kernel_benchmark). Rather too fast than too slow: a call that is
// handed to a sleeping thread for nothing loses more than one that runs inline a little too long.
inline double MemoryCostNs(double bytes) {
  return bytes / (bytes <= 1e6 ? 100.0 : bytes <= 16e6 ? 50.0 : 20.0);
}

inline double BytesOf(const ArrayView& view) {
  return static_cast<double>(view.Count()) * static_cast<double>(SizeOf(view.dtype));
}

// Every operand is streamed once; elements that do not lie densely cost about a nanosecond more.
inline double ElementwiseCostNs(const KernelCall& call) {
  double bytes = 0;
  bool dense = true;
  for (int i = 0; i < call.num_inputs; ++i) {
    if (!call.inputs[i].given) { continue; }
    bytes += BytesOf(call.inputs[i]);
    dense = dense && call.inputs[i].contiguous;
  }
  double elements = 0;
  for (int i = 0; i < call.num_outputs; ++i) {
    bytes += BytesOf(call.outputs[i]);
    elements += static_cast<double>(call.outputs[i].Count());
    dense = dense && call.outputs[i].contiguous;
  }
  return MemoryCostNs(bytes) + (dense ? 0.0 : elements);
}

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_COST_H_
