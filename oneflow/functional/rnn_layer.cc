#include "oneflow/functional/rnn_layer.h"

#include <algorithm>
#include <vector>

#include "oneflow/functional/generated/functional.h"
#include "oneflow/vm/vm.h"

namespace oneflow::functional {

namespace {

struct States {
  TensorPtr h, c;
};

// How many rows each step has. Waits for the sizes.
Maybe<std::vector<int64_t>> StepCounts(const LayerOperands& o) {
  const int64_t batch = o.h0->shape()[0], rows = o.x->shape()[0];
  if (o.sizes == nullptr) {
    return std::vector<int64_t>(static_cast<size_t>(batch == 0 ? 0 : rows / batch), batch);
  }
  const TensorPtr sizes = JUST(contiguous(o.sizes));
  JUST(Vm::Get()->SyncRead(sizes->storage()));
  const auto* data = reinterpret_cast<const int64_t*>(sizes->data());
  std::vector<int64_t> counts(data, data + sizes->shape()[0]);
  int64_t left = rows, most = batch;
  for (const int64_t count : counts) {
    if (count < 0 || count > most) {
      return ValueError("[rnn] expects batch sizes that start at {} at most and never grow, got {} "
                        "after {}",
                        batch, count, most);
    }
    most = count;
    left -= count;
  }
  if (left != 0) {
    return ValueError("[rnn] expects batch sizes that add up to {} rows, got {}", rows,
                      rows - left);
  }
  return counts;
}

Maybe<TensorPtr> Logistic(const TensorPtr& x) {
  const TensorPtr half = JUST(tanh(JUST(scalar_mul(x, Scalar(0.5)))));
  return scalar_add(JUST(scalar_mul(half, Scalar(0.5))), Scalar(0.5), Scalar(1));
}

// Gate number `i` of (n, gates * hidden).
Maybe<TensorPtr> Gate(const TensorPtr& gates, int64_t i, int64_t hidden) {
  return narrow(gates, 1, i * hidden, hidden);
}

Maybe<States> LstmStep(const LayerOperands& o, const TensorPtr& x_gates, const States& old) {
  const int64_t hidden = old.c->shape()[1];
  const TensorPtr h_gates = JUST(linear(old.h, o.w_hh, o.b_hh));
  const TensorPtr gates = JUST(add(x_gates, h_gates, Scalar(1)));
  const TensorPtr in = JUST(Logistic(JUST(Gate(gates, 0, hidden))));
  const TensorPtr forget = JUST(Logistic(JUST(Gate(gates, 1, hidden))));
  const TensorPtr candidate = JUST(tanh(JUST(Gate(gates, 2, hidden))));
  const TensorPtr out = JUST(Logistic(JUST(Gate(gates, 3, hidden))));
  States now;
  now.c = JUST(add(JUST(mul(forget, old.c)), JUST(mul(in, candidate)), Scalar(1)));
  now.h = JUST(mul(out, JUST(tanh(now.c))));
  if (o.w_hr != nullptr) { now.h = JUST(linear(now.h, o.w_hr, nullptr)); }
  return now;
}

Maybe<States> GruStep(const LayerOperands& o, const TensorPtr& x_gates, const States& old) {
  const int64_t hidden = old.h->shape()[1];
  const TensorPtr h_gates = JUST(linear(old.h, o.w_hh, o.b_hh));
  const auto sum_of = [&](int64_t i) -> Maybe<TensorPtr> {
    return add(JUST(Gate(x_gates, i, hidden)), JUST(Gate(h_gates, i, hidden)), Scalar(1));
  };
  const TensorPtr reset = JUST(Logistic(JUST(sum_of(0))));
  const TensorPtr update = JUST(Logistic(JUST(sum_of(1))));
  const TensorPtr part = JUST(mul(reset, JUST(Gate(h_gates, 2, hidden))));
  const TensorPtr candidate =
      JUST(tanh(JUST(add(JUST(Gate(x_gates, 2, hidden)), part, Scalar(1)))));
  States now;
  const TensorPtr difference = JUST(sub(old.h, candidate, Scalar(1)));
  now.h = JUST(add(candidate, JUST(mul(update, difference)), Scalar(1)));
  return now;
}

Maybe<States> SimpleStep(RnnKind kind, const LayerOperands& o, const TensorPtr& x_gates,
                         const States& old) {
  const TensorPtr sum = JUST(add(x_gates, JUST(linear(old.h, o.w_hh, o.b_hh)), Scalar(1)));
  States now;
  now.h = kind == RnnKind::kRelu ? JUST(relu(sum)) : JUST(tanh(sum));
  return now;
}

Maybe<States> Step(RnnKind kind, const LayerOperands& o, const TensorPtr& x_gates,
                   const States& old) {
  if (kind == RnnKind::kLstm) { return LstmStep(o, x_gates, old); }
  if (kind == RnnKind::kGru) { return GruStep(o, x_gates, old); }
  return SimpleStep(kind, o, x_gates, old);
}

Maybe<TensorPtr> Rows(const TensorPtr& t, int64_t first, int64_t count) {
  if (t == nullptr || (first == 0 && count == t->shape()[0])) { return t; }
  return narrow(t, 0, first, count);
}

Maybe<TensorPtr> Joined(const TensorTuple& parts) {
  return parts.size() == 1 ? Maybe<TensorPtr>(parts[0]) : cat(parts, 0);
}

// The states that a step of `count` rows begins with: rows that end leave (to `ended`), rows that
// begin come from the initial states.
Maybe<States> Resized(const LayerOperands& o, const States& now, int64_t count,
                      TensorTuple* h_ended, TensorTuple* c_ended) {
  const int64_t have = now.h->shape()[0];
  if (have == count) { return now; }
  States out;
  if (count < have) {
    h_ended->push_back(JUST(Rows(now.h, count, have - count)));
    out.h = JUST(Rows(now.h, 0, count));
    if (now.c != nullptr) {
      c_ended->push_back(JUST(Rows(now.c, count, have - count)));
      out.c = JUST(Rows(now.c, 0, count));
    }
    return out;
  }
  out.h = JUST(Joined({now.h, JUST(Rows(o.h0, have, count - have))}));
  if (now.c != nullptr) { out.c = JUST(Joined({now.c, JUST(Rows(o.c0, have, count - have))})); }
  return out;
}

// The last states of all rows: those that ended earlier stand behind.
Maybe<TensorPtr> AllRows(const TensorPtr& last, const TensorTuple& ended) {
  TensorTuple parts{last};
  parts.insert(parts.end(), ended.rbegin(), ended.rend());
  return Joined(parts);
}

}  // namespace

Maybe<LayerResults> PlainLayer(RnnKind kind, const LayerOperands& o) {
  std::vector<int64_t> counts = JUST(StepCounts(o));
  std::vector<int64_t> firsts;
  int64_t first = 0;
  for (const int64_t count : counts) {
    firsts.push_back(first);
    first += count;
  }
  if (o.reverse) {
    std::reverse(counts.begin(), counts.end());
    std::reverse(firsts.begin(), firsts.end());
  }
  if (counts.empty()) { return LayerResults{JUST(narrow(o.h0, 0, 0, 0)), o.h0, o.c0}; }
  const TensorPtr x_gates = JUST(linear(o.x, o.w_ih, o.b_ih));
  // A packed sequence may end before any step: those rows keep their initial state.
  States now{o.h0, o.c0};
  TensorTuple ys, h_ended, c_ended;
  if (o.reverse) {
    now.h = JUST(Rows(o.h0, 0, counts[0]));
    now.c = JUST(Rows(o.c0, 0, counts[0]));
  }
  for (size_t t = 0; t < counts.size(); ++t) {
    now = JUST(Resized(o, now, counts[t], &h_ended, &c_ended));
    now = JUST(Step(kind, o, JUST(Rows(x_gates, firsts[t], counts[t])), now));
    ys.push_back(now.h);
  }
  if (o.reverse) {
    std::reverse(ys.begin(), ys.end());
    now = JUST(Resized(o, now, o.h0->shape()[0], &h_ended, &c_ended));
  }
  LayerResults out;
  out.y = JUST(Joined(ys));
  out.hn = JUST(AllRows(now.h, h_ended));
  if (now.c != nullptr) { out.cn = JUST(AllRows(now.c, c_ended)); }
  return out;
}

namespace {

// The kernels read their operands in order.
Maybe<TensorPtr> Dense(const TensorPtr& t) {
  return t == nullptr || t->contiguous() ? Maybe<TensorPtr>(t) : contiguous(t);
}

}  // namespace

Maybe<LayerResults> RunLayer(RnnKind kind, const LayerOperands& o) {
  const DataType dtype = o.x->dtype();
  const bool fast = dtype == DataType::kFloat || dtype == DataType::kDouble;
  if (!fast || o.w_hr != nullptr) { return PlainLayer(kind, o); }
  const TensorPtr x = JUST(Dense(o.x)), sizes = JUST(Dense(o.sizes)), h0 = JUST(Dense(o.h0));
  const TensorPtr w_ih = JUST(Dense(o.w_ih)), w_hh = JUST(Dense(o.w_hh));
  const TensorPtr b_ih = JUST(Dense(o.b_ih)), b_hh = JUST(Dense(o.b_hh));
  if (kind == RnnKind::kLstm) {
    const TensorPtr c0 = JUST(Dense(o.c0));
    const TensorTuple out = JUST(lstm_layer(x, sizes, h0, c0, w_ih, w_hh, b_ih, b_hh, o.reverse));
    return LayerResults{out[0], out[1], out[2]};
  }
  const TensorTuple out = kind == RnnKind::kGru
                              ? JUST(gru_layer(x, sizes, h0, w_ih, w_hh, b_ih, b_hh, o.reverse))
                              : JUST(rnn_layer(x, sizes, h0, w_ih, w_hh, b_ih, b_hh, o.reverse,
                                               kind == RnnKind::kRelu));
  return LayerResults{out[0], out[1], nullptr};
}

}  // namespace oneflow::functional
