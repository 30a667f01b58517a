// One direction of one recurrent layer: by its kernel, or written in other ops.
//
// Thread safety: as functional calls. Blocking: PlainLayer waits for the sizes of a packed sequence.
#ifndef ONEFLOW_FUNCTIONAL_RNN_LAYER_H_
#define ONEFLOW_FUNCTIONAL_RNN_LAYER_H_

#include "oneflow/common/maybe.h"
#include "oneflow/tensor/tensor.h"

namespace oneflow::functional {

enum class RnnKind { kLstm, kGru, kTanh, kRelu };

// Gates of a cell: rows of its weights are so many times its hidden size.
constexpr int64_t GatesOf(RnnKind kind) {
  return kind == RnnKind::kLstm ? 4 : kind == RnnKind::kGru ? 3 : 1;
}

struct LayerOperands {
  TensorPtr x;           // (rows, in): all steps, one after another
  TensorPtr sizes;       // (steps,) int64: rows of each step; null: as many as h0 has
  TensorPtr h0, c0;      // (batch, hidden); with w_hr, h0 is (batch, projected). c0: LSTM
  TensorPtr w_ih, w_hh;  // (gates * hidden, in), (gates * hidden, hidden or projected)
  TensorPtr b_ih, b_hh;  // (gates * hidden,), or null
  TensorPtr w_hr;        // LSTM: (projected, hidden), or null
  bool reverse = false;
};

struct LayerResults {
  TensorPtr y, hn, cn;  // the states of all rows; the last states; LSTM: the last cell states
};

Maybe<LayerResults> PlainLayer(RnnKind kind, const LayerOperands& operands);
Maybe<LayerResults> RunLayer(RnnKind kind, const LayerOperands& operands);

}  // namespace oneflow::functional

#endif  // ONEFLOW_FUNCTIONAL_RNN_LAYER_H_
