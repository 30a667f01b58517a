// Recurrent layers and cells. See composites.h.
//
// A layer of float32 or float64 without projection is one kernel call for each direction
// (lstm_layer, gru_layer, rnn_layer). float16 and bfloat16 are computed in float32. Projections, and
// gradients that are asked for with a graph, go through the same steps written in other ops.
// Thread safety: as functional calls. Blocking: waits for the batch sizes of a packed sequence where
// it has to know them.
#ifndef ONEFLOW_FUNCTIONAL_COMPOSITES_RNN_H_
#define ONEFLOW_FUNCTIONAL_COMPOSITES_RNN_H_

#include "oneflow/common/maybe.h"
#include "oneflow/tensor/tensor.h"

namespace oneflow::functional::composites {

// composites_rnn.cc. `hx` (and cx) is (layers * directions, batch, hidden); results: the last layer's
// states of all steps, hn [, cn].
Maybe<TensorTuple> LstmInput(const TensorPtr& input, const TensorTuple& hx,
                             const TensorTuple& params, bool has_biases, int64_t num_layers,
                             double dropout, bool train, bool bidirectional, bool batch_first);
Maybe<TensorTuple> LstmData(const TensorPtr& data, const TensorPtr& batch_sizes,
                            const TensorTuple& hx, const TensorTuple& params, bool has_biases,
                            int64_t num_layers, double dropout, bool train, bool bidirectional);
Maybe<TensorTuple> GruInput(const TensorPtr& input, const TensorPtr& hx, const TensorTuple& params,
                            bool has_biases, int64_t num_layers, double dropout, bool train,
                            bool bidirectional, bool batch_first);
Maybe<TensorTuple> GruData(const TensorPtr& data, const TensorPtr& batch_sizes, const TensorPtr& hx,
                           const TensorTuple& params, bool has_biases, int64_t num_layers,
                           double dropout, bool train, bool bidirectional);
Maybe<TensorTuple> RnnTanhInput(const TensorPtr& input, const TensorPtr& hx,
                                const TensorTuple& params, bool has_biases, int64_t num_layers,
                                double dropout, bool train, bool bidirectional, bool batch_first);
Maybe<TensorTuple> RnnTanhData(const TensorPtr& data, const TensorPtr& batch_sizes,
                               const TensorPtr& hx, const TensorTuple& params, bool has_biases,
                               int64_t num_layers, double dropout, bool train, bool bidirectional);
Maybe<TensorTuple> RnnReluInput(const TensorPtr& input, const TensorPtr& hx,
                                const TensorTuple& params, bool has_biases, int64_t num_layers,
                                double dropout, bool train, bool bidirectional, bool batch_first);
Maybe<TensorTuple> RnnReluData(const TensorPtr& data, const TensorPtr& batch_sizes,
                               const TensorPtr& hx, const TensorTuple& params, bool has_biases,
                               int64_t num_layers, double dropout, bool train, bool bidirectional);

// composites_rnn_cell.cc
Maybe<TensorTuple> LstmCell(const TensorPtr& input, const TensorTuple& hx, const TensorPtr& w_ih,
                            const TensorPtr& w_hh, const TensorPtr& b_ih, const TensorPtr& b_hh);
Maybe<TensorPtr> GruCell(const TensorPtr& input, const TensorPtr& hx, const TensorPtr& w_ih,
                         const TensorPtr& w_hh, const TensorPtr& b_ih, const TensorPtr& b_hh);
Maybe<TensorPtr> RnnTanhCell(const TensorPtr& input, const TensorPtr& hx, const TensorPtr& w_ih,
                             const TensorPtr& w_hh, const TensorPtr& b_ih, const TensorPtr& b_hh);
Maybe<TensorPtr> RnnReluCell(const TensorPtr& input, const TensorPtr& hx, const TensorPtr& w_ih,
                             const TensorPtr& w_hh, const TensorPtr& b_ih, const TensorPtr& b_hh);
// input (steps, batch, ...) or with `batch_first` (batch, steps, ...), lengths (batch,) that never
// grow -> the rows that are no padding, step by step, and how many each step has.
Maybe<TensorTuple> PackPaddedSequence(const TensorPtr& input, const TensorPtr& lengths,
                                      bool batch_first);
// The gradients of lstm_layer for x, h0, c0, w_ih, w_hh, b_ih, b_hh.
Maybe<TensorTuple> LstmLayerGrad(const TensorPtr& dy, const TensorPtr& dhn, const TensorPtr& dcn,
                                 const TensorPtr& x, const TensorPtr& sizes, const TensorPtr& h0,
                                 const TensorPtr& c0, const TensorPtr& w_ih, const TensorPtr& w_hh,
                                 const TensorPtr& b_ih, const TensorPtr& b_hh, const TensorPtr& y,
                                 const TensorPtr& saved, bool reverse);
// The gradients of gru_layer and rnn_layer for x, h0, w_ih, w_hh, b_ih, b_hh.
Maybe<TensorTuple> GruLayerGrad(const TensorPtr& dy, const TensorPtr& dhn, const TensorPtr& x,
                                const TensorPtr& sizes, const TensorPtr& h0, const TensorPtr& w_ih,
                                const TensorPtr& w_hh, const TensorPtr& b_ih, const TensorPtr& b_hh,
                                const TensorPtr& y, const TensorPtr& saved, bool reverse);
Maybe<TensorTuple> RnnLayerGrad(const TensorPtr& dy, const TensorPtr& dhn, const TensorPtr& x,
                                const TensorPtr& sizes, const TensorPtr& h0, const TensorPtr& w_ih,
                                const TensorPtr& w_hh, const TensorPtr& b_ih, const TensorPtr& b_hh,
                                const TensorPtr& y, bool reverse, bool relu);

}  // namespace oneflow::functional::composites

#endif  // ONEFLOW_FUNCTIONAL_COMPOSITES_RNN_H_
