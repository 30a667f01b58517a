#include "oneflow/functional/composites_rnn.h"

#include <string>

#include "oneflow/core/saturated.h"
#include "oneflow/functional/generated/functional.h"
#include "oneflow/functional/rnn_layer.h"

namespace oneflow::functional::composites {

namespace {

// A call of lstm, gru, rnn_tanh or rnn_relu.
struct StackCall {
  const char* op;
  RnnKind kind;
  TensorPtr rows;    // (rows, in)
  TensorPtr sizes;   // of a packed sequence, or null
  TensorPtr h0, c0;  // (layers * directions, batch, hidden)
  TensorTuple params;
  bool has_biases;
  int64_t num_layers;
  double dropout;
  bool train;
  bool bidirectional;

  int64_t directions() const { return bidirectional ? 2 : 1; }
  int64_t parts() const { return SaturatedProduct(num_layers, directions()); }
  int64_t plain_params() const { return has_biases ? 4 : 2; }
  bool projects() const {
    return kind == RnnKind::kLstm &&
           static_cast<int64_t>(params.size()) == SaturatedProduct(parts(), plain_params() + 1);
  }
  int64_t params_each() const { return plain_params() + (projects() ? 1 : 0); }
};

Maybe<void> CheckStates(const StackCall& call, int64_t batch) {
  const Dims& h = call.h0->shape();
  if (h.size() != 3 || h[0] != call.parts() || (batch >= 0 && h[1] != batch)) {
    return RuntimeError(
        "[{}] expects initial states (layers * directions, batch, hidden) = ({}, {}, "
        "...), got {}",
        call.op, call.parts(), batch, h);
  }
  if (call.c0 == nullptr) { return Ok(); }
  const Dims& c = call.c0->shape();
  if (c.size() != 3 || c[0] != h[0] || c[1] != h[1]) {
    return RuntimeError("[{}] expects cell states for the states {}, got {}", call.op, h, c);
  }
  return Ok();
}

Maybe<void> CheckParams(const StackCall& call) {
  if (call.num_layers < 1 || static_cast<int64_t>(call.params.size()) !=
                                 SaturatedProduct(call.parts(), call.params_each())) {
    return RuntimeError("[{}] expects {} parameters for each of {} layers and directions, got {}",
                        call.op, call.params_each(), call.parts(), call.params.size());
  }
  if (call.dropout < 0.0 || call.dropout > 1.0) {
    return ValueError("[{}] expects a dropout in [0, 1], got {}", call.op, call.dropout);
  }
  return Ok();
}

Maybe<LayerOperands> OperandsOf(const StackCall& call, const TensorPtr& rows, int64_t part) {
  const auto first = static_cast<size_t>(part * call.params_each());
  const auto param = [&](int64_t i) { return call.params[first + static_cast<size_t>(i)]; };
  LayerOperands o;
  o.x = rows;
  o.sizes = call.sizes;
  o.h0 = JUST(select(call.h0, 0, part));
  if (call.c0 != nullptr) { o.c0 = JUST(select(call.c0, 0, part)); }
  o.w_ih = param(0);
  o.w_hh = param(1);
  if (call.has_biases) {
    o.b_ih = param(2);
    o.b_hh = param(3);
  }
  if (call.projects()) { o.w_hr = param(call.plain_params()); }
  o.reverse = part % call.directions() == 1;
  const int64_t hidden = call.c0 != nullptr ? o.c0->shape()[1] : o.h0->shape()[1];
  const Dims& w = o.w_ih->shape();
  if (w.size() != 2 || rows->ndim() != 2 || w[1] != rows->shape()[1] ||
      w[0] != GatesOf(call.kind) * hidden || o.w_hh->shape() != Dims{w[0], o.h0->shape()[1]}) {
    return RuntimeError(
        "[{}] expects weights ({}, {}) and ({}, {}) for input {} and state {}, got {} "
        "and {}",
        call.op, GatesOf(call.kind) * hidden, rows->shape().back(), GatesOf(call.kind) * hidden,
        o.h0->shape()[1], rows->shape(), o.h0->shape(), w, o.w_hh->shape());
  }
  return o;
}

bool IsNarrow(const TensorPtr& t) {
  return t->dtype() == DataType::kFloat16 || t->dtype() == DataType::kBFloat16;
}

// float16 and bfloat16, alone or beside float32 (as autocast leaves them), are computed in float32.
Maybe<void> Widen(StackCall* call) {
  const DataType wide = DataType::kFloat;
  call->rows = JUST(cast(call->rows, wide));
  call->h0 = JUST(cast(call->h0, wide));
  if (call->c0 != nullptr) { call->c0 = JUST(cast(call->c0, wide)); }
  for (TensorPtr& param : call->params) { param = JUST(cast(param, wide)); }
  return Ok();
}

// Each element is dropped with probability p; the others grow by 1 / (1 - p).
Maybe<TensorPtr> Dropped(const TensorPtr& rows, double p) {
  const TensorPtr kept = JUST(bernoulli_p(rows, 1.0 - p));
  return mul(rows, JUST(scalar_mul(kept, Scalar(p < 1.0 ? 1.0 / (1.0 - p) : 0.0))));
}

Maybe<TensorPtr> Stacked(const TensorTuple& states) {
  if (states.size() == 1) { return unsqueeze(states[0], 0); }
  return stack(states, 0);
}

// y (rows, directions * hidden), hn [, cn].
Maybe<TensorTuple> RunStack(StackCall call) {
  JUST(CheckParams(call));
  const DataType dtype = call.rows->dtype();
  const bool narrow_floats = IsNarrow(call.rows) || IsNarrow(call.h0) || IsNarrow(call.params[0]);
  if (narrow_floats) { JUST(Widen(&call)); }
  TensorPtr rows = call.rows;
  TensorTuple hs, cs;
  for (int64_t layer = 0; layer < call.num_layers; ++layer) {
    TensorTuple ys;
    for (int64_t direction = 0; direction < call.directions(); ++direction) {
      const LayerOperands o = JUST(OperandsOf(call, rows, layer * call.directions() + direction));
      const LayerResults out = JUST(RunLayer(call.kind, o));
      ys.push_back(out.y);
      hs.push_back(out.hn);
      if (out.cn != nullptr) { cs.push_back(out.cn); }
    }
    rows = ys.size() == 1 ? ys[0] : JUST(cat(ys, 1));
    if (call.train && call.dropout > 0.0 && layer + 1 < call.num_layers) {
      rows = JUST(Dropped(rows, call.dropout));
    }
  }
  TensorTuple results{rows, JUST(Stacked(hs))};
  if (!cs.empty()) { results.push_back(JUST(Stacked(cs))); }
  if (narrow_floats) {
    for (TensorPtr& result : results) { result = JUST(cast(result, dtype)); }
  }
  return results;
}

// Steps of whole batches: input (steps, batch, in), or (batch, steps, in).
Maybe<TensorTuple> RunInput(StackCall call, const TensorPtr& input, bool batch_first) {
  if (input->ndim() != 3) {
    return RuntimeError("[{}] expects input of 3 dims, got {}", call.op, input->shape());
  }
  const TensorPtr steps = batch_first ? JUST(transpose(input, 0, 1)) : input;
  const int64_t count = steps->shape()[0], batch = steps->shape()[1];
  JUST(CheckStates(call, batch));
  call.rows = JUST(reshape(steps, Dims{count * batch, steps->shape()[2]}));
  TensorTuple out = JUST(RunStack(call));
  out[0] = JUST(reshape(out[0], Dims{count, batch, out[0]->shape()[1]}));
  if (batch_first) { out[0] = JUST(transpose(out[0], 0, 1)); }
  return out;
}

Maybe<TensorTuple> RunData(StackCall call, const TensorPtr& data, const TensorPtr& batch_sizes) {
  if (data->ndim() != 2 || batch_sizes->ndim() != 1 || batch_sizes->dtype() != DataType::kInt64) {
    return RuntimeError(
        "[{}] expects data (rows, in) and batch sizes (steps,) of dtype int64, got {} "
        "and {} {}",
        call.op, data->shape(), DataTypeName(batch_sizes->dtype()), batch_sizes->shape());
  }
  JUST(CheckStates(call, -1));
  call.rows = data;
  call.sizes = batch_sizes;
  return RunStack(call);
}

StackCall MakeCall(const char* op, RnnKind kind, const TensorPtr& h0, const TensorPtr& c0,
                   const TensorTuple& params, bool has_biases, int64_t num_layers, double dropout,
                   bool train, bool bidirectional) {
  return StackCall{op,     kind,       nullptr,    nullptr, h0,    c0,
                   params, has_biases, num_layers, dropout, train, bidirectional};
}

Maybe<void> CheckTwoStates(const TensorTuple& hx) {
  if (hx.size() == 2) { return Ok(); }
  return RuntimeError("[lstm] expects two initial states, h and c, got {}", hx.size());
}

}  // namespace

Maybe<TensorTuple> LstmInput(const TensorPtr& input, const TensorTuple& hx,
                             const TensorTuple& params, bool has_biases, int64_t num_layers,
                             double dropout, bool train, bool bidirectional, bool batch_first) {
  JUST(CheckTwoStates(hx));
  return RunInput(MakeCall("lstm", RnnKind::kLstm, hx[0], hx[1], params, has_biases, num_layers,
                           dropout, train, bidirectional),
                  input, batch_first);
}

Maybe<TensorTuple> LstmData(const TensorPtr& data, const TensorPtr& batch_sizes,
                            const TensorTuple& hx, const TensorTuple& params, bool has_biases,
                            int64_t num_layers, double dropout, bool train, bool bidirectional) {
  JUST(CheckTwoStates(hx));
  return RunData(MakeCall("lstm", RnnKind::kLstm, hx[0], hx[1], params, has_biases, num_layers,
                          dropout, train, bidirectional),
                 data, batch_sizes);
}

#define ONEFLOW_DEFINE_RNN(Name, name, kind)                                                     \
  Maybe<TensorTuple> Name##Input(                                                                \
      const TensorPtr& input, const TensorPtr& hx, const TensorTuple& params, bool has_biases,   \
      int64_t num_layers, double dropout, bool train, bool bidirectional, bool batch_first) {    \
    return RunInput(MakeCall(name, kind, hx, nullptr, params, has_biases, num_layers, dropout,   \
                             train, bidirectional),                                              \
                    input, batch_first);                                                         \
  }                                                                                              \
  Maybe<TensorTuple> Name##Data(const TensorPtr& data, const TensorPtr& batch_sizes,             \
                                const TensorPtr& hx, const TensorTuple& params, bool has_biases, \
                                int64_t num_layers, double dropout, bool train,                  \
                                bool bidirectional) {                                            \
    return RunData(MakeCall(name, kind, hx, nullptr, params, has_biases, num_layers, dropout,    \
                            train, bidirectional),                                               \
                   data, batch_sizes);                                                           \
  }

ONEFLOW_DEFINE_RNN(Gru, "gru", RnnKind::kGru)
ONEFLOW_DEFINE_RNN(RnnTanh, "rnn_tanh", RnnKind::kTanh)
ONEFLOW_DEFINE_RNN(RnnRelu, "rnn_relu", RnnKind::kRelu)

#undef ONEFLOW_DEFINE_RNN

}  // namespace oneflow::functional::composites
