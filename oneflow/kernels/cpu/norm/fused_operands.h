// What the kernels of fused batch norm ask of a call, in either layout.
//
// Thread safety: functions of their arguments.
#ifndef ONEFLOW_KERNELS_CPU_NORM_FUSED_OPERANDS_H_
#define ONEFLOW_KERNELS_CPU_NORM_FUSED_OPERANDS_H_

#include <cstdint>

#include "oneflow/kernels/cpu/cost.h"
#include "oneflow/kernels/cpu/stream_loops.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {

// nullptr where the input was not given.
template <typename T>
T* DataOf(const KernelCall& call, int input) {
  return call.HasInput(input) ? call.inputs[input].Data<T>() : nullptr;
}

// Is result 0 better written past the caches? Not where it is the very array of an operand.
inline bool WorthStreamingResult(const KernelCall& call) {
  const ArrayView& to = call.outputs[0];
  double touched = 0;
  for (int i = 0; i < call.num_inputs; ++i) {
    if (!call.inputs[i].given) { continue; }
    touched += BytesOf(call.inputs[i]);
    if (call.inputs[i].data == to.data) { return false; }
  }
  for (int i = 0; i < call.num_outputs; ++i) { touched += BytesOf(call.outputs[i]); }
  return WorthStreaming(to.data, static_cast<int64_t>(BytesOf(to)), static_cast<int64_t>(touched));
}

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_NORM_FUSED_OPERANDS_H_
