// The elementwise part of one step of a recurrent layer, forward and backward, one table for each
// instruction set. All arrays are dense; `n` rows of the step, `hidden` columns for each gate.
//
// Thread safety: constants.
#ifndef ONEFLOW_KERNELS_CPU_RNN_RNN_LOOPS_H_
#define ONEFLOW_KERNELS_CPU_RNN_RNN_LOOPS_H_

#include <cstdint>

#include "oneflow/core/dtype.h"
#include "oneflow/kernels/cpu/isa.h"

namespace oneflow {
namespace cpu {

// One step. Which pointers a cell uses, and how wide their rows are, in multiples of `hidden`:
//            x_gates h_gates saved  order of gates
//   LSTM        4       4      5    input, forget, candidate, output (saved: and the new c)
//   GRU         3       3      4    reset, update, candidate (saved: and h's part of the candidate)
//   RNN         1       1      0
struct StepForward {
  int64_t n, hidden;
  const void* x_gates;  // the input's part
  const void* h_gates;  // the old state's part
  const void* x_bias;   // added to the input's part
  const void* h_bias;   // GRU: added to the old state's part
  void* h;              // n x hidden: the state, old in, new out
  void* c;              // LSTM: the cell state, in and out
  void* y;              // the new state again
  void* saved;          // what backward needs
};

// h_old and c_old are the states before the step, with rows `old_stride` apart.
struct StepBackward {
  int64_t n, hidden, old_stride;
  const void* dy;     // gradient of y, or nullptr
  const void* saved;  // of StepForward
  const void* y;      // RNN: the step's result
  const void* old;    // LSTM: c_old. GRU: h_old
  void* dh;  // in: gradient of the new state from later steps; GRU, out: the part that passes by
  void* dc;  // LSTM: in and out
  void* dx_gates;  // gradient of x_gates
  void* dh_gates;  // GRU: gradient of h_gates (for the others it is dx_gates)
};

using StepForwardFn = void (*)(const StepForward& step);
using StepBackwardFn = void (*)(const StepBackward& step);
// to[i] += from[i].
using AccumulateFn = void (*)(void* to, const void* from, int64_t n);

struct RnnLoops {  // nullptr: dtype not supported
  StepForwardFn lstm[kNumDataTypes];
  StepForwardFn gru[kNumDataTypes];
  StepForwardFn tanh[kNumDataTypes];
  StepForwardFn relu[kNumDataTypes];
  StepBackwardFn lstm_backward[kNumDataTypes];
  StepBackwardFn gru_backward[kNumDataTypes];
  StepBackwardFn tanh_backward[kNumDataTypes];
  StepBackwardFn relu_backward[kNumDataTypes];
  AccumulateFn accumulate[kNumDataTypes];
};

ONEFLOW_DECLARE_ISA_TABLE(RnnLoops, GetRnnLoops);

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_RNN_RNN_LOOPS_H_
