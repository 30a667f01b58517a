#include <vector>

#include "oneflow/autograd/grad_mode.h"
#include "oneflow/functional/composites_rnn.h"
#include "oneflow/functional/generated/functional.h"
#include "oneflow/functional/recompute.h"
#include "oneflow/functional/rnn_layer.h"
#include "oneflow/vm/vm.h"

namespace oneflow::functional::composites {

namespace {

Maybe<void> CheckCell(const char* op, RnnKind kind, const LayerOperands& o) {
  const Dims& x = o.x->shape();
  const Dims& h = o.h0->shape();
  const int64_t width = h.size() == 2 ? GatesOf(kind) * h[1] : -1;
  const bool fits = x.size() == 2 && h.size() == 2 && x[0] == h[0] &&
                    o.w_ih->shape() == Dims{width, x[1]} && o.w_hh->shape() == Dims{width, h[1]} &&
                    (o.c0 == nullptr || o.c0->shape() == h);
  if (!fits) {
    return RuntimeError(
        "[{}] expects input (batch, in), state (batch, hidden), weights (gates * hidden, "
        "in) and (gates * hidden, hidden), got {}, {}, {} and {}",
        op, x, h, o.w_ih->shape(), o.w_hh->shape());
  }
  return Ok();
}

Maybe<LayerResults> RunCell(const char* op, RnnKind kind, const LayerOperands& o) {
  JUST(CheckCell(op, kind, o));
  return RunLayer(kind, o);
}

LayerOperands CellOperands(const TensorPtr& input, const TensorPtr& hx, const TensorPtr& cx,
                           const TensorPtr& w_ih, const TensorPtr& w_hh, const TensorPtr& b_ih,
                           const TensorPtr& b_hh) {
  LayerOperands o;
  o.x = input;
  o.h0 = hx;
  o.c0 = cx;
  o.w_ih = w_ih;
  o.w_hh = w_hh;
  o.b_ih = b_ih;
  o.b_hh = b_hh;
  return o;
}

}  // namespace

Maybe<TensorTuple> LstmCell(const TensorPtr& input, const TensorTuple& hx, const TensorPtr& w_ih,
                            const TensorPtr& w_hh, const TensorPtr& b_ih, const TensorPtr& b_hh) {
  if (hx.size() != 2) {
    return RuntimeError("[lstm_cell] expects two states, h and c, got {}", hx.size());
  }
  const LayerOperands o = CellOperands(input, hx[0], hx[1], w_ih, w_hh, b_ih, b_hh);
  const LayerResults out = JUST(RunCell("lstm_cell", RnnKind::kLstm, o));
  return TensorTuple{out.hn, out.cn};
}

Maybe<TensorPtr> GruCell(const TensorPtr& input, const TensorPtr& hx, const TensorPtr& w_ih,
                         const TensorPtr& w_hh, const TensorPtr& b_ih, const TensorPtr& b_hh) {
  const LayerOperands o = CellOperands(input, hx, nullptr, w_ih, w_hh, b_ih, b_hh);
  return JUST(RunCell("gru_cell", RnnKind::kGru, o)).hn;
}

Maybe<TensorPtr> RnnTanhCell(const TensorPtr& input, const TensorPtr& hx, const TensorPtr& w_ih,
                             const TensorPtr& w_hh, const TensorPtr& b_ih, const TensorPtr& b_hh) {
  const LayerOperands o = CellOperands(input, hx, nullptr, w_ih, w_hh, b_ih, b_hh);
  return JUST(RunCell("rnn_tanh_cell", RnnKind::kTanh, o)).hn;
}

Maybe<TensorPtr> RnnReluCell(const TensorPtr& input, const TensorPtr& hx, const TensorPtr& w_ih,
                             const TensorPtr& w_hh, const TensorPtr& b_ih, const TensorPtr& b_hh) {
  const LayerOperands o = CellOperands(input, hx, nullptr, w_ih, w_hh, b_ih, b_hh);
  return JUST(RunCell("rnn_relu_cell", RnnKind::kRelu, o)).hn;
}

// ---- gradients of a layer -----------------------------------------------------------------------

namespace {

Maybe<TensorPtr> Dense(const TensorPtr& t) {
  return t == nullptr || t->contiguous() ? Maybe<TensorPtr>(t) : contiguous(t);
}

bool Needs(const TensorPtr& t) { return t != nullptr && t->requires_grad(); }

// With a graph: the layer in other ops, for the inputs x, h0 [, c0], w_ih, w_hh, b_ih, b_hh.
Maybe<TensorTuple> RecomputedLayer(RnnKind kind, const LayerOperands& o, const TensorTuple& dys) {
  const bool lstm = kind == RnnKind::kLstm;
  TensorTuple inputs{o.x, o.h0};
  if (lstm) { inputs.push_back(o.c0); }
  for (const TensorPtr& t : {o.w_ih, o.w_hh, o.b_ih, o.b_hh}) { inputs.push_back(t); }
  const auto run = [&](const TensorTuple& places) -> Maybe<TensorTuple> {
    size_t i = 0;
    LayerOperands again = o;
    again.x = places[i++];
    again.h0 = places[i++];
    if (lstm) { again.c0 = places[i++]; }
    again.w_ih = places[i++];
    again.w_hh = places[i++];
    again.b_ih = places[i++];
    again.b_hh = places[i++];
    const LayerResults out = JUST(PlainLayer(kind, again));
    return lstm ? TensorTuple{out.y, out.hn, out.cn} : TensorTuple{out.y, out.hn};
  };
  return RecomputedGradients(run, inputs, dys);
}

// What the gradient of the input's part of the gates, (rows, gates * hidden), gives x, w_ih and b_ih.
struct InputGradients {
  TensorPtr x, w, b;
};
Maybe<InputGradients> GradientsOfInput(const LayerOperands& o, const TensorPtr& gates) {
  InputGradients out;
  if (Needs(o.x)) { out.x = JUST(matmul_nd(gates, o.w_ih)); }
  if (Needs(o.w_ih)) { out.w = JUST(linear_weight_grad(gates, o.x)); }
  if (Needs(o.b_ih) || Needs(o.b_hh)) { out.b = JUST(sum(gates, Dims{0}, false)); }
  return out;
}

// Where one sum is the gradient of both biases, each gets its own.
Maybe<TensorPtr> BiasGradient(const LayerOperands& o, const TensorPtr& b) {
  if (!Needs(o.b_hh)) { return TensorPtr(); }
  return Needs(o.b_ih) ? copy(b) : Maybe<TensorPtr>(b);
}

}  // namespace

Maybe<TensorTuple> LstmLayerGrad(const TensorPtr& dy, const TensorPtr& dhn, const TensorPtr& dcn,
                                 const TensorPtr& x, const TensorPtr& sizes, const TensorPtr& h0,
                                 const TensorPtr& c0, const TensorPtr& w_ih, const TensorPtr& w_hh,
                                 const TensorPtr& b_ih, const TensorPtr& b_hh, const TensorPtr& y,
                                 const TensorPtr& saved, bool reverse) {
  LayerOperands o = CellOperands(x, h0, c0, w_ih, w_hh, b_ih, b_hh);
  o.sizes = sizes;
  o.reverse = reverse;
  if (GradModeEnabled()) { return RecomputedLayer(RnnKind::kLstm, o, {dy, dhn, dcn}); }
  const TensorTuple parts = JUST(lstm_layer_backward(
      JUST(Dense(dy)), JUST(Dense(dhn)), JUST(Dense(dcn)), sizes, h0, c0, w_hh, y, saved, reverse));
  const InputGradients input = JUST(GradientsOfInput(o, parts[0]));
  return TensorTuple{
      input.x, parts[1], parts[2], input.w, parts[3], input.b, JUST(BiasGradient(o, input.b))};
}

Maybe<TensorTuple> GruLayerGrad(const TensorPtr& dy, const TensorPtr& dhn, const TensorPtr& x,
                                const TensorPtr& sizes, const TensorPtr& h0, const TensorPtr& w_ih,
                                const TensorPtr& w_hh, const TensorPtr& b_ih, const TensorPtr& b_hh,
                                const TensorPtr& y, const TensorPtr& saved, bool reverse) {
  LayerOperands o = CellOperands(x, h0, nullptr, w_ih, w_hh, b_ih, b_hh);
  o.sizes = sizes;
  o.reverse = reverse;
  if (GradModeEnabled()) { return RecomputedLayer(RnnKind::kGru, o, {dy, dhn}); }
  const TensorTuple parts = JUST(
      gru_layer_backward(JUST(Dense(dy)), JUST(Dense(dhn)), sizes, h0, w_hh, y, saved, reverse));
  const InputGradients input = JUST(GradientsOfInput(o, parts[0]));
  return TensorTuple{input.x, parts[1], input.w, parts[2], input.b, parts[3]};
}

Maybe<TensorTuple> RnnLayerGrad(const TensorPtr& dy, const TensorPtr& dhn, const TensorPtr& x,
                                const TensorPtr& sizes, const TensorPtr& h0, const TensorPtr& w_ih,
                                const TensorPtr& w_hh, const TensorPtr& b_ih, const TensorPtr& b_hh,
                                const TensorPtr& y, bool reverse, bool relu) {
  LayerOperands o = CellOperands(x, h0, nullptr, w_ih, w_hh, b_ih, b_hh);
  o.sizes = sizes;
  o.reverse = reverse;
  const RnnKind kind = relu ? RnnKind::kRelu : RnnKind::kTanh;
  if (GradModeEnabled()) { return RecomputedLayer(kind, o, {dy, dhn}); }
  const TensorTuple parts = JUST(
      rnn_layer_backward(JUST(Dense(dy)), JUST(Dense(dhn)), sizes, h0, w_hh, y, reverse, relu));
  const InputGradients input = JUST(GradientsOfInput(o, parts[0]));
  return TensorTuple{input.x, parts[1], input.w, parts[2], input.b, JUST(BiasGradient(o, input.b))};
}

// ---- packing ------------------------------------------------------------------------------------

Maybe<TensorTuple> PackPaddedSequence(const TensorPtr& input, const TensorPtr& lengths,
                                      bool batch_first) {
  if (input->ndim() < 2 || lengths->ndim() != 1 || lengths->dtype() != DataType::kInt64) {
    return RuntimeError("[pack_padded_sequence] expects input (steps, batch, ...) and lengths "
                        "(batch,) of dtype int64, got {} and {} {}",
                        input->shape(), DataTypeName(lengths->dtype()), lengths->shape());
  }
  const TensorPtr steps = batch_first ? JUST(transpose(input, 0, 1)) : input;
  const int64_t batch = steps->shape()[1];
  if (lengths->shape()[0] != batch || batch == 0) {
    return RuntimeError(
        "[pack_padded_sequence] expects a length for each of {} sequences, at least "
        "one, got {}",
        batch, lengths->shape()[0]);
  }
  const TensorPtr on_host = JUST(contiguous(lengths));
  JUST(Vm::Get()->SyncRead(on_host->storage()));
  const auto* length = reinterpret_cast<const int64_t*>(on_host->data());
  for (int64_t i = 0; i < batch; ++i) {
    const int64_t most = i == 0 ? steps->shape()[0] : length[i - 1];
    if (length[i] <= 0 || length[i] > most) {
      return RuntimeError(
          "[pack_padded_sequence] expects lengths from 1 to {} that never grow, got {} "
          "at position {}",
          steps->shape()[0], length[i], i);
    }
  }
  // Steps of the same size are taken together.
  TensorTuple parts;
  const TensorPtr sizes =
      JUST(AllocateHostTensor("pack_padded_sequence", Shape{length[0]}, DataType::kInt64));
  auto* size = reinterpret_cast<int64_t*>(sizes->data());
  int64_t step = 0;
  for (int64_t rows = batch; rows > 0; --rows) {
    const int64_t until = length[rows - 1];
    if (until == step) { continue; }
    const TensorPtr block = JUST(narrow(JUST(narrow(steps, 0, step, until - step)), 1, 0, rows));
    Dims shape = block->shape();
    shape.Erase(0);
    shape[0] = (until - step) * rows;
    parts.push_back(JUST(reshape(block, shape)));
    for (; step < until; ++step) { size[step] = rows; }
  }
  const TensorPtr data = parts.size() == 1 ? JUST(copy(parts[0])) : JUST(cat(parts, 0));
  return TensorTuple{data, sizes};
}

}  // namespace oneflow::functional::composites
