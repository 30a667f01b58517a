// Reference kernels of the recurrent layers: row by row, number by number.
//
// Forward: x (rows, in), batch_sizes or none, h0 (batch, h), [LSTM: c0,] w_ih (g h, in), w_hh (g h, h),
// b_ih, b_hh (g h) or none -> y (rows, h), hn (batch, h) [, LSTM: cn] [, saved (rows, s h)]. What is
// saved: LSTM: input, forget, candidate and output gate, c; GRU: reset and update gate, candidate, and
// h's part of the candidate.
#include <cmath>
#include <initializer_list>

#include "oneflow/kernels/attrs_linalg.h"
#include "oneflow/kernels/cpu/reference_arrays.h"
#include "oneflow/kernels/cpu/rnn/sequence.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {
namespace reference {

namespace {

enum class Cell { kLstm, kGru, kRnn };

constexpr int64_t GatesOf(Cell cell) {
  return cell == Cell::kLstm ? 4 : cell == Cell::kGru ? 3 : 1;
}
constexpr int64_t SavedOf(Cell cell) {
  return cell == Cell::kLstm ? 5 : cell == Cell::kGru ? 4 : 0;
}
size_t At(int64_t i) { return static_cast<size_t>(i); }
double Sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

// A list as rows of `width`.
struct Table {
  Reals values;
  int64_t width = 0;

  Table() = default;
  Table(const ArrayView& view, int64_t n) : values(RealsOf(view)), width(n) {}
  Table(int64_t rows, int64_t n) : values(At(rows * n), 0.0), width(n) {}
  bool empty() const { return values.empty(); }
  double& operator()(int64_t row, int64_t col) { return values[At(row * width + col)]; }
  double operator()(int64_t row, int64_t col) const { return values[At(row * width + col)]; }
};

// Row `row` of a, times row `other` of b.
double Dot(const Table& a, int64_t row, const Table& b, int64_t other) {
  double sum = 0.0;
  for (int64_t i = 0; i < a.width; ++i) { sum += a(row, i) * b(other, i); }
  return sum;
}

void PutRow(Table* table, int64_t row, int64_t j, int64_t n, std::initializer_list<double> values) {
  int64_t k = 0;
  for (double value : values) { (*table)(row, k++* n + j) = value; }
}

// ---- forward ------------------------------------------------------------------------------------

template <Cell cell>
class Layer {
 public:
  explicit Layer(const KernelCall& call)
      : relu_(call.GetAttrs<SequenceAttrs>().relu), n_(call.inputs[2].shape[1]) {
    const ArrayView* next = call.inputs;
    x_ = Table(next[0], next[0].shape[1]);
    h_ = Table(next[2], n_);
    next += 3;
    if (cell == Cell::kLstm) { c_ = Table(*next++, n_); }
    w_ih_ = Table(next[0], x_.width);
    w_hh_ = Table(next[1], n_);
    b_ih_ = RealsOf(next[2]);
    b_hh_ = RealsOf(next[3]);
    y_ = Table(call.inputs[0].shape[0], n_);
    saved_ = Table(call.inputs[0].shape[0], SavedOf(cell) * n_);
  }

  void Run(const Sequence& sequence) {
    for (const SequenceStep& step : sequence.steps()) {
      for (int64_t b = 0; b < step.rows; ++b) {
        const int64_t row = step.first + b;
        for (int64_t j = 0; j < n_; ++j) { y_(row, j) = NewState(row, b, j); }
        for (int64_t j = 0; j < n_; ++j) { h_(b, j) = y_(row, j); }
      }
    }
  }

  void PutResults(const ArrayView* to) const {
    Put(*to++, y_.values);
    Put(*to++, h_.values);
    if (cell == Cell::kLstm) { Put(*to++, c_.values); }
    if (cell != Cell::kRnn) { Put(*to++, saved_.values); }
  }

 private:
  double ByX(int64_t row, int64_t gate) const {
    return Dot(x_, row, w_ih_, gate) + OrElse(b_ih_, gate, 0.0);
  }
  double ByH(int64_t b, int64_t gate) const {
    return Dot(h_, b, w_hh_, gate) + OrElse(b_hh_, gate, 0.0);
  }

  // Number j of row `row`, the one of sequence b.
  double NewState(int64_t row, int64_t b, int64_t j) {
    const auto gate = [&](int64_t k) { return ByX(row, k * n_ + j) + ByH(b, k * n_ + j); };
    if (cell == Cell::kRnn) { return relu_ ? std::fmax(gate(0), 0.0) : std::tanh(gate(0)); }
    if (cell == Cell::kLstm) {
      const double in = Sigmoid(gate(0)), forget = Sigmoid(gate(1));
      const double candidate = std::tanh(gate(2)), out = Sigmoid(gate(3));
      c_(b, j) = forget * c_(b, j) + in * candidate;
      PutRow(&saved_, row, j, n_, {in, forget, candidate, out, c_(b, j)});
      return out * std::tanh(c_(b, j));
    }
    const double reset = Sigmoid(gate(0)), update = Sigmoid(gate(1));
    const double part = ByH(b, 2 * n_ + j);
    const double candidate = std::tanh(ByX(row, 2 * n_ + j) + reset * part);
    PutRow(&saved_, row, j, n_, {reset, update, candidate, part});
    return (1.0 - update) * candidate + update * h_(b, j);
  }

  bool relu_;
  int64_t n_;
  Table x_, h_, c_, w_ih_, w_hh_, y_, saved_;
  Reals b_ih_, b_hh_;
};

template <Cell cell>
Maybe<void> RunForward(const KernelCall& call) {
  const Sequence sequence =
      JUST(Sequence::Make("rnn", call.inputs[1], call.inputs[0].shape[0], call.inputs[2].shape[0],
                          call.GetAttrs<SequenceAttrs>().reverse));
  Layer<cell> layer(call);
  layer.Run(sequence);
  layer.PutResults(call.outputs);
  return Ok();
}

// ---- backward -----------------------------------------------------------------------------------
// dy, dhn [, LSTM: dcn] (each or none), batch_sizes or none, h0 [, LSTM: c0], w_hh, y [, saved] ->
// dx_gates (rows, g h), dh0 [, LSTM: dc0], dw_hh [, GRU: db_hh].

template <Cell cell>
class LayerGradients {
 public:
  explicit LayerGradients(const KernelCall& call) : relu_(call.GetAttrs<SequenceAttrs>().relu) {
    constexpr bool kLstm = cell == Cell::kLstm;
    const ArrayView* h0 = call.inputs + (kLstm ? 4 : 3);
    const ArrayView* w_hh = h0 + (kLstm ? 2 : 1);
    n_ = h0->shape[1];
    rows_ = w_hh[1].shape[0];
    batch_ = h0->shape[0];
    h0_ = Table(*h0, n_);
    w_hh_ = Table(*w_hh, n_);
    y_ = Table(w_hh[1], n_);
    dy_ = Table(call.inputs[0], n_);
    dh_ = call.inputs[1].given ? Table(call.inputs[1], n_) : Table(batch_, n_);
    if (kLstm) {
      c0_ = Table(h0[1], n_);
      dc_ = call.inputs[2].given ? Table(call.inputs[2], n_) : Table(batch_, n_);
    }
    if (cell != Cell::kRnn) { saved_ = Table(w_hh[2], SavedOf(cell) * n_); }
    const int64_t width = GatesOf(cell) * n_;
    dx_ = dg_ = Table(rows_, width);
    dw_ = Table(width, n_);
    db_ = Table(1, width);
  }

  int64_t rows() const { return rows_; }
  int64_t batch() const { return batch_; }

  void Run(const Sequence& sequence) {
    for (auto step = sequence.steps().rbegin(); step != sequence.steps().rend(); ++step) {
      for (int64_t b = 0; b < step->rows; ++b) { Row(*step, b); }
    }
  }

  void PutResults(const ArrayView* to) const {
    Put(*to++, dx_.values);
    Put(*to++, dh_.values);
    if (cell == Cell::kLstm) { Put(*to++, dc_.values); }
    Put(*to++, dw_.values);
    if (cell == Cell::kGru) { Put(*to++, db_.values); }
  }

 private:
  double Old(const SequenceStep& step, int64_t b, int64_t j) const {
    return b < step.old_rows ? y_(step.old_first + b, j) : h0_(b, j);
  }

  void Row(const SequenceStep& step, int64_t b) {
    const int64_t row = step.first + b;
    for (int64_t j = 0; j < n_; ++j) {
      const double g = dh_(b, j) + (dy_.empty() ? 0.0 : dy_(row, j));
      dh_(b, j) = cell == Cell::kLstm  ? Lstm(step, b, j, g)
                  : cell == Cell::kGru ? Gru(step, b, j, g)
                                       : Simple(row, j, g);
    }
    for (int64_t gate = 0; gate < dg_.width; ++gate) {
      db_(0, gate) += dg_(row, gate);
      for (int64_t i = 0; i < n_; ++i) {
        dh_(b, i) += dg_(row, gate) * w_hh_(gate, i);
        dw_(gate, i) += dg_(row, gate) * Old(step, b, i);
      }
    }
  }

  // Each sets the gradients of the gates, and returns what of g goes straight to the old state.
  double Simple(int64_t row, int64_t j, double g) {
    const double y = y_(row, j);
    const double slope = relu_ ? (y > 0.0 ? 1.0 : 0.0) : 1.0 - y * y;
    dx_(row, j) = dg_(row, j) = g * slope;
    return 0.0;
  }

  double Lstm(const SequenceStep& step, int64_t b, int64_t j, double g) {
    const int64_t row = step.first + b;
    const double in = saved_(row, j), forget = saved_(row, n_ + j);
    const double candidate = saved_(row, 2 * n_ + j), out = saved_(row, 3 * n_ + j);
    const double squashed = std::tanh(saved_(row, 4 * n_ + j));
    const double c_old = b < step.old_rows ? saved_(step.old_first + b, 4 * n_ + j) : c0_(b, j);
    const double dc = dc_(b, j) + g * out * (1.0 - squashed * squashed);
    const double d_in = dc * candidate * in * (1.0 - in);
    const double d_forget = dc * c_old * forget * (1.0 - forget);
    const double d_candidate = dc * in * (1.0 - candidate * candidate);
    const double d_out = g * squashed * out * (1.0 - out);
    PutRow(&dx_, row, j, n_, {d_in, d_forget, d_candidate, d_out});
    PutRow(&dg_, row, j, n_, {d_in, d_forget, d_candidate, d_out});
    dc_(b, j) = dc * forget;
    return 0.0;
  }

  double Gru(const SequenceStep& step, int64_t b, int64_t j, double g) {
    const int64_t row = step.first + b;
    const double reset = saved_(row, j), update = saved_(row, n_ + j);
    const double candidate = saved_(row, 2 * n_ + j), part = saved_(row, 3 * n_ + j);
    const double d_candidate = g * (1.0 - update) * (1.0 - candidate * candidate);
    const double d_update = g * (Old(step, b, j) - candidate) * update * (1.0 - update);
    const double d_reset = d_candidate * part * reset * (1.0 - reset);
    PutRow(&dx_, row, j, n_, {d_reset, d_update, d_candidate});
    PutRow(&dg_, row, j, n_, {d_reset, d_update, d_candidate * reset});
    return g * update;
  }

  bool relu_;
  int64_t n_ = 0, rows_ = 0, batch_ = 0;
  Table h0_, c0_, w_hh_, y_, saved_, dy_, dh_, dc_, dx_, dg_, dw_, db_;
};

template <Cell cell>
Maybe<void> RunBackward(const KernelCall& call) {
  LayerGradients<cell> gradients(call);
  const ArrayView& sizes = call.inputs[cell == Cell::kLstm ? 3 : 2];
  gradients.Run(JUST(Sequence::Make("rnn", sizes, gradients.rows(), gradients.batch(),
                                    call.GetAttrs<SequenceAttrs>().reverse)));
  gradients.PutResults(call.outputs);
  return Ok();
}

double Cost(const KernelCall& call) {
  return 1000.0 * static_cast<double>(call.outputs[0].Count() * call.outputs[1].Count());
}

}  // namespace

#define ONEFLOW_REGISTER_LAYER(name, cell)                                                    \
  ONEFLOW_REGISTER_KERNEL(name##_layer,                                                       \
                          {#name "_layer.cpu.reference", &RunForward<cell>, nullptr, &Cost}); \
  ONEFLOW_REGISTER_KERNEL(name##_layer_backward, {#name "_layer_backward.cpu.reference",      \
                                                  &RunBackward<cell>, nullptr, &Cost})

ONEFLOW_REGISTER_LAYER(lstm, Cell::kLstm);
ONEFLOW_REGISTER_LAYER(gru, Cell::kGru);
ONEFLOW_REGISTER_LAYER(rnn, Cell::kRnn);

}  // namespace reference
}  // namespace cpu
}  // namespace oneflow
