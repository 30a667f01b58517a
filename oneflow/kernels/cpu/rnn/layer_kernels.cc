// The kernels lstm_layer, gru_layer, rnn_layer and their gradients: all steps of one direction of one
// layer in one call. The input's part of the gates is one product, for all steps.
#include <algorithm>
#include <cstring>

#include "oneflow/device/cpu/parallel.h"
#include "oneflow/kernels/attrs_linalg.h"
#include "oneflow/kernels/cpu/cost.h"
#include "oneflow/kernels/cpu/inner_gemm.h"
#include "oneflow/kernels/cpu/rnn/rnn_loops.h"
#include "oneflow/kernels/cpu/rnn/sequence.h"
#include "oneflow/kernels/cpu/rnn/step_product.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {

namespace {

// Elements of a state that are worth handing to a thread.
constexpr int64_t kGrainElements = 2048;

enum class Cell { kLstm, kGru, kRnn };

constexpr int64_t GatesOf(Cell cell) {
  return cell == Cell::kLstm ? 4 : cell == Cell::kGru ? 3 : 1;
}
constexpr int64_t SavedOf(Cell cell) {
  return cell == Cell::kLstm ? 5 : cell == Cell::kGru ? 4 : 0;
}

template <Cell cell>
const char* Name() {
  return cell == Cell::kLstm ? "lstm" : cell == Cell::kGru ? "gru" : "rnn";
}

// Rows of an array of `width` columns, addressed by row.
struct Rows {
  char* data = nullptr;
  int64_t bytes = 0;  // of one row

  Rows() = default;
  Rows(const ArrayView& view, int64_t width)
      : data(view.given ? view.Data<char>() : nullptr),
        bytes(width * static_cast<int64_t>(SizeOf(view.dtype))) {}
  Rows(void* memory, int64_t row_bytes) : data(static_cast<char*>(memory)), bytes(row_bytes) {}
  char* At(int64_t row) const { return data == nullptr ? nullptr : data + row * bytes; }
  void CopyTo(const Rows& to, int64_t count) const {
    if (count > 0) { std::memcpy(to.data, data, static_cast<size_t>(count * bytes)); }
  }
};

int64_t Aligned(int64_t bytes) { return (bytes + 63) / 64 * 64; }

// Calls body(first, count) for pieces of [0, rows).
template <typename Body>
void ForRows(int threads, int64_t rows, int64_t hidden, const Body& body) {
  const int64_t grain = std::max<int64_t>(1, kGrainElements / std::max<int64_t>(hidden, 1));
  ParallelFor(rows > grain ? threads : 1, rows, grain,
              [&](int64_t begin, int64_t end) { body(begin, end - begin); });
}

// Whether rows of a batch go through the steps apart from one another, with weights packed for that.
bool GoesApart(const StepProduct& product, int64_t steps, int64_t batch, int threads) {
  return steps > 1 && product.SharesRows(batch, threads);
}

// Calls body(first row, rows) for an equal share of the batch for each thread.
template <typename Body>
void ForShares(int threads, int64_t batch, const Body& body) {
  const int64_t shares = std::min<int64_t>(threads, batch);
  ParallelFor(threads, shares, 1, [&](int64_t share, int64_t) {
    const int64_t first = batch * share / shares;
    body(first, batch * (share + 1) / shares - first);
  });
}

// b (rows x cols) transposed into `to`, so that every step's product reads it in order.
template <typename T>
void TransposeInto(void* to, const void* from, int64_t rows, int64_t cols) {
  T* out = static_cast<T*>(to);
  const T* in = static_cast<const T*>(from);
  constexpr int64_t kTile = 16;
  for (int64_t r0 = 0; r0 < rows; r0 += kTile) {
    for (int64_t c = 0; c < cols; ++c) {
      for (int64_t r = r0; r < std::min(rows, r0 + kTile); ++r) {
        out[c * rows + r] = in[r * cols + c];
      }
    }
  }
}

// ---- forward ------------------------------------------------------------------------------------
// Inputs: x (rows, in), batch_sizes or none, h0 (batch, h), [LSTM: c0,] w_ih (g h, in), w_hh (g h, h),
// b_ih, b_hh (g h) or none. Outputs: y (rows, h), hn (batch, h) [, LSTM: cn] [, saved (rows, s h)].

template <Cell cell>
struct ForwardViews {
  ArrayView x, sizes, h0, c0, w_ih, w_hh, b_ih, b_hh, y, hn, cn, saved;

  explicit ForwardViews(const KernelCall& call) {
    int i = 0;
    c0.given = cn.given = saved.given = false;
    x = call.inputs[i++];
    sizes = call.inputs[i++];
    h0 = call.inputs[i++];
    if (cell == Cell::kLstm) { c0 = call.inputs[i++]; }
    w_ih = call.inputs[i++];
    w_hh = call.inputs[i++];
    b_ih = call.inputs[i++];
    b_hh = call.inputs[i++];
    int o = 0;
    y = call.outputs[o++];
    hn = call.outputs[o++];
    if (cell == Cell::kLstm) { cn = call.outputs[o++]; }
    if (cell != Cell::kRnn) { saved = call.outputs[o++]; }
  }
  int64_t batch() const { return h0.shape[0]; }
  int64_t hidden() const { return h0.shape[1]; }
  int64_t rows() const { return x.shape[0]; }
};

struct ForwardScratch {
  int64_t x_gates, weights, gates, x_bias, h_bias, gemm_at;  // offsets in bytes; weights: packed

  ForwardScratch(Cell cell, DataType dtype, int64_t rows, int64_t batch, int64_t hidden) {
    const auto size = static_cast<int64_t>(SizeOf(dtype));
    const int64_t width = GatesOf(cell) * hidden;
    x_gates = 0;
    weights = Aligned(rows * width * size);
    gates = weights + Aligned(static_cast<int64_t>(StepProduct(dtype, hidden, width).Bytes()));
    x_bias = gates + Aligned(batch * width * size);
    h_bias = x_bias + Aligned(width * size);
    gemm_at = h_bias + Aligned(width * size);
  }
};

InnerGemm StepGemm(DataType dtype, int64_t m, int64_t n, int64_t k) {
  InnerGemm gemm;
  gemm.dtype = dtype;
  gemm.m = m;
  gemm.n = n;
  gemm.k = k;
  gemm.lda = k;
  gemm.ldb = n;
  gemm.ldc = n;
  return gemm;
}

// All of the input's part of the gates: x (rows, in) w_ih^T.
template <Cell cell>
InnerGemm InputGemm(const ForwardViews<cell>& v) {
  const int64_t in = v.x.shape[1];
  InnerGemm gemm = StepGemm(v.y.dtype, v.rows(), GatesOf(cell) * v.hidden(), in);
  gemm.transpose_b = true;
  gemm.ldb = in;
  return gemm;
}

template <Cell cell>
size_t ForwardScratchBytes(const KernelCall& call) {
  const ForwardViews<cell> v(call);
  const ForwardScratch at(cell, v.y.dtype, v.rows(), v.batch(), v.hidden());
  const InnerGemm step = StepGemm(v.y.dtype, v.batch(), GatesOf(cell) * v.hidden(), v.hidden());
  return static_cast<size_t>(at.gemm_at) +
         std::max(InnerGemmScratchBytes(step, call.threads),
                  InnerGemmScratchBytes(InputGemm(v), call.threads));
}

// The biases into scratch: GRU keeps the state's apart, the others add it to the input's.
template <Cell cell>
void PrepareBias(const ForwardViews<cell>& v, void* x_bias, void* h_bias) {
  const int64_t width = GatesOf(cell) * v.hidden();
  const auto bytes = static_cast<size_t>(width) * SizeOf(v.y.dtype);
  std::memset(x_bias, 0, bytes);
  std::memset(h_bias, 0, bytes);
  const AccumulateFn add = GetRnnLoops().accumulate[static_cast<int>(v.y.dtype)];
  if (v.b_ih.given) { add(x_bias, v.b_ih.data, width); }
  if (v.b_hh.given) { add(cell == Cell::kGru ? h_bias : x_bias, v.b_hh.data, width); }
}

template <Cell cell>
StepForwardFn ForwardLoop(const KernelCall& call) {
  const RnnLoops& loops = GetRnnLoops();
  const int dtype = static_cast<int>(call.outputs[0].dtype);
  if (cell == Cell::kLstm) { return loops.lstm[dtype]; }
  if (cell == Cell::kGru) { return loops.gru[dtype]; }
  return call.GetAttrs<SequenceAttrs>().relu ? loops.relu[dtype] : loops.tanh[dtype];
}

// One call: everything but the input's part of the gates.
template <Cell cell>
struct ForwardRun {
  const KernelCall& call;
  const ForwardViews<cell>& v;
  const ForwardScratch& at;
  const Sequence& sequence;
  const int64_t hidden = v.hidden();
  const int64_t width = GatesOf(cell) * hidden;
  char* const memory = static_cast<char*>(call.scratch);
  const StepForwardFn loop = ForwardLoop<cell>(call);
  const Rows x{memory + at.x_gates, width* static_cast<int64_t>(SizeOf(v.y.dtype))};
  const Rows gates{memory + at.gates, x.bytes};
  const Rows y{v.y, hidden}, h{v.hn, hidden}, c{v.cn, hidden};
  const Rows saved{v.saved, SavedOf(cell) * hidden};

  void Begin() const {
    PrepareBias(v, memory + at.x_bias, memory + at.h_bias);
    Rows(v.h0, hidden).CopyTo(h, v.batch());
    if (cell == Cell::kLstm) { Rows(v.c0, hidden).CopyTo(c, v.batch()); }
  }

  // Rows [r, r + count) of a step, whose part of the gates is there.
  void Finish(const SequenceStep& step, int64_t r, int64_t count) const {
    const int64_t row = step.first + r;
    loop(StepForward{count, hidden, x.At(row), gates.At(r), memory + at.x_bias, memory + at.h_bias,
                     h.At(r), c.At(r), y.At(row), saved.At(row)});
  }

  void RowsApart(StepProduct* product) const {
    product->Pack(memory + at.weights, v.w_hh.data, 1, hidden, call.threads);
    ForShares(call.threads, v.batch(), [&](int64_t first, int64_t rows) {
      for (const SequenceStep& step : sequence.steps()) {
        const int64_t count = std::min(rows, step.rows - first);
        if (count <= 0) { continue; }
        product->Multiply(h.At(first), gates.At(first), count);
        Finish(step, first, count);
      }
    });
  }

  Maybe<void> StepByStep(GemmScratch* gemm_scratch) const {
    // Transposing pays where the weights are read again.
    const bool single = sequence.steps().size() <= 1;
    if (!single) {
      (v.y.dtype == DataType::kFloat
           ? &TransposeInto<float>
           : &TransposeInto<double>)(memory + at.weights, v.w_hh.data, width, hidden);
    }
    for (const SequenceStep& step : sequence.steps()) {
      InnerGemm gemm = StepGemm(v.y.dtype, step.rows, width, hidden);
      gemm.transpose_b = single;
      gemm.ldb = single ? hidden : width;
      JUST(RunInnerGemm(gemm, h.data, single ? v.w_hh.data : memory + at.weights, gates.data,
                        gemm_scratch, call.threads));
      ForRows(call.threads, step.rows, hidden,
              [&](int64_t r, int64_t count) { Finish(step, r, count); });
    }
    return Ok();
  }
};

template <Cell cell>
Maybe<void> Forward(const KernelCall& call) {
  const ForwardViews<cell> v(call);
  const DataType dtype = v.y.dtype;
  const Sequence sequence = JUST(Sequence::Make(Name<cell>(), v.sizes, v.rows(), v.batch(),
                                                call.GetAttrs<SequenceAttrs>().reverse));
  const ForwardScratch at(cell, dtype, v.rows(), v.batch(), v.hidden());
  GemmScratch gemm_scratch(static_cast<char*>(call.scratch) + at.gemm_at,
                           call.scratch_bytes - static_cast<size_t>(at.gemm_at));
  const ForwardRun<cell> run{call, v, at, sequence};
  JUST(RunInnerGemm(InputGemm(v), v.x.data, v.w_ih.data, run.x.data, &gemm_scratch, call.threads));
  run.Begin();
  StepProduct product(dtype, run.hidden, run.width);
  const auto steps = static_cast<int64_t>(sequence.steps().size());
  if (!GoesApart(product, steps, v.batch(), call.threads)) { return run.StepByStep(&gemm_scratch); }
  run.RowsApart(&product);
  return Ok();
}

// ---- backward -----------------------------------------------------------------------------------
// Inputs: dy, dhn [, LSTM: dcn] (each or none), batch_sizes or none, h0 [, LSTM: c0], w_hh, y
// [, saved]. Outputs: dx_gates, dh0 [, LSTM: dc0], dw_hh [, GRU: db_hh].

template <Cell cell>
struct BackwardViews {
  ArrayView dy, dhn, dcn, sizes, h0, c0, w_hh, y, saved, dx, dh0, dc0, dw, db;

  explicit BackwardViews(const KernelCall& call) {
    int i = 0;
    dcn.given = c0.given = saved.given = dc0.given = db.given = false;
    dy = call.inputs[i++];
    dhn = call.inputs[i++];
    if (cell == Cell::kLstm) { dcn = call.inputs[i++]; }
    sizes = call.inputs[i++];
    h0 = call.inputs[i++];
    if (cell == Cell::kLstm) { c0 = call.inputs[i++]; }
    w_hh = call.inputs[i++];
    y = call.inputs[i++];
    if (cell != Cell::kRnn) { saved = call.inputs[i++]; }
    int o = 0;
    dx = call.outputs[o++];
    dh0 = call.outputs[o++];
    if (cell == Cell::kLstm) { dc0 = call.outputs[o++]; }
    dw = call.outputs[o++];
    if (cell == Cell::kGru) { db = call.outputs[o++]; }
  }
  int64_t batch() const { return h0.shape[0]; }
  int64_t hidden() const { return h0.shape[1]; }
  int64_t rows() const { return y.shape[0]; }
};

struct BackwardScratch {
  int64_t gates, product, old, weights, gemm_at;  // offsets in bytes; weights: packed

  // GRU keeps the gradient of the state's part of the gates apart from that of the input's.
  BackwardScratch(Cell cell, DataType dtype, int64_t rows, int64_t batch, int64_t hidden) {
    const auto size = static_cast<int64_t>(SizeOf(dtype));
    gates = 0;
    product = cell == Cell::kGru ? Aligned(rows * 3 * hidden * size) : 0;
    old = product + (cell == Cell::kGru ? Aligned(batch * hidden * size) : 0);
    weights = old + Aligned(rows * hidden * size);
    const StepProduct packed(dtype, GatesOf(cell) * hidden, hidden);
    gemm_at = weights + Aligned(static_cast<int64_t>(packed.Bytes()));
  }
};

// dw (width x hidden) = gates^T (rows x width) old states (rows x hidden).
InnerGemm WeightGemm(DataType dtype, int64_t rows, int64_t width, int64_t hidden) {
  InnerGemm gemm = StepGemm(dtype, width, hidden, rows);
  gemm.transpose_a = true;
  gemm.lda = width;
  return gemm;
}

template <Cell cell>
size_t BackwardScratchBytes(const KernelCall& call) {
  const BackwardViews<cell> v(call);
  const int64_t width = GatesOf(cell) * v.hidden();
  const BackwardScratch at(cell, v.y.dtype, v.rows(), v.batch(), v.hidden());
  const InnerGemm step = StepGemm(v.y.dtype, v.batch(), v.hidden(), width);
  const InnerGemm weight = WeightGemm(v.y.dtype, v.rows(), width, v.hidden());
  return static_cast<size_t>(at.gemm_at) + std::max(InnerGemmScratchBytes(step, call.threads),
                                                    InnerGemmScratchBytes(weight, call.threads));
}

template <Cell cell>
StepBackwardFn BackwardLoop(const KernelCall& call) {
  const RnnLoops& loops = GetRnnLoops();
  const int dtype = static_cast<int>(call.outputs[0].dtype);
  if (cell == Cell::kLstm) { return loops.lstm_backward[dtype]; }
  if (cell == Cell::kGru) { return loops.gru_backward[dtype]; }
  const bool relu = call.GetAttrs<SequenceAttrs>().relu;
  return relu ? loops.relu_backward[dtype] : loops.tanh_backward[dtype];
}

// Each row's state before its step: from the step before, or the initial one.
void GatherOld(const Sequence& sequence, const Rows& y, const Rows& h0, const Rows& old) {
  for (const SequenceStep& step : sequence.steps()) {
    Rows(y.At(step.old_first), y.bytes).CopyTo(Rows(old.At(step.first), old.bytes), step.old_rows);
    Rows(h0.At(step.old_rows), h0.bytes)
        .CopyTo(Rows(old.At(step.first + step.old_rows), old.bytes), step.rows - step.old_rows);
  }
}

// The state that the elementwise part needs of before the step, for rows from `r` on: LSTM's cell
// state is in what was saved.
template <Cell cell>
struct OldState {
  const Rows& old;  // gathered h
  const Rows& c0;
  const Rows& saved;
  int64_t size, hidden;

  // Rows [r, r + count) of the step, which must not cross old_rows.
  void Set(const SequenceStep& step, int64_t r, StepBackward* s) const {
    s->old_stride = hidden;
    s->old = old.At(step.first + r);
    if (cell != Cell::kLstm) { return; }
    if (r >= step.old_rows) {
      s->old = c0.At(r);
      return;
    }
    s->old = saved.At(step.old_first + r) + 4 * hidden * size;
    s->old_stride = 5 * hidden;
  }
};

void InitGradient(const Rows& from, const Rows& to, int64_t batch) {
  if (from.data == nullptr) {
    std::memset(to.data, 0, static_cast<size_t>(batch * to.bytes));
  } else {
    from.CopyTo(to, batch);
  }
}

// One call: everything but the weights' gradients.
template <Cell cell>
struct BackwardRun {
  const KernelCall& call;
  const BackwardViews<cell>& v;
  const BackwardScratch& at;
  const Sequence& sequence;
  const DataType dtype = v.y.dtype;
  const int64_t hidden = v.hidden();
  const int64_t width = GatesOf(cell) * hidden;
  char* const memory = static_cast<char*>(call.scratch);
  const StepBackwardFn loop = BackwardLoop<cell>(call);
  const Rows dx{v.dx, width}, dy{v.dy, hidden}, y{v.y, hidden}, h0{v.h0, hidden}, c0{v.c0, hidden};
  const Rows saved{v.saved, SavedOf(cell) * hidden}, old{memory + at.old, y.bytes};
  const Rows dh{v.dh0, hidden}, dc{v.dc0, hidden}, product{memory + at.product, y.bytes};
  const Rows dg = cell == Cell::kGru ? Rows(memory + at.gates, dx.bytes) : dx;
  const OldState<cell> old_state{old, c0, saved, static_cast<int64_t>(SizeOf(dtype)), hidden};

  void Begin() const {
    GatherOld(sequence, y, h0, old);
    InitGradient(Rows(v.dhn, hidden), dh, v.batch());
    if (cell == Cell::kLstm) { InitGradient(Rows(v.dcn, hidden), dc, v.batch()); }
  }

  void Elementwise(const SequenceStep& step, int64_t r, int64_t count) const {
    if (count == 0) { return; }
    const int64_t row = step.first + r;
    StepBackward s{count,   hidden,   hidden,   dy.At(row), saved.At(row), y.At(row),
                   nullptr, dh.At(r), dc.At(r), dx.At(row), dg.At(row)};
    old_state.Set(step, r, &s);
    loop(s);
  }

  // The gates of rows [r, r + count) of a step.
  void Gates(const SequenceStep& step, int64_t r, int64_t count) const {
    const int64_t inside = std::min(std::max<int64_t>(step.old_rows - r, 0), count);
    Elementwise(step, r, inside);
    Elementwise(step, r + inside, count - inside);
  }

  // Where a step's product goes for row r: GRU adds it to what passes by.
  char* To(int64_t r) const { return cell == Cell::kGru ? product.At(r) : dh.At(r); }
  void AddProduct(int64_t r, int64_t count) const {
    if (cell != Cell::kGru) { return; }
    const AccumulateFn add = GetRnnLoops().accumulate[static_cast<int>(dtype)];
    add(dh.At(r), product.At(r), count * hidden);
  }

  void RowsApart(StepProduct* weights) const {
    weights->Pack(memory + at.weights, v.w_hh.data, hidden, 1, call.threads);
    ForShares(call.threads, v.batch(), [&](int64_t first, int64_t rows) {
      for (auto step = sequence.steps().rbegin(); step != sequence.steps().rend(); ++step) {
        const int64_t count = std::min(rows, step->rows - first);
        if (count <= 0) { continue; }
        Gates(*step, first, count);
        weights->Multiply(dg.At(step->first + first), To(first), count);
        AddProduct(first, count);
      }
    });
  }

  Maybe<void> StepByStep(GemmScratch* gemm_scratch) const {
    for (auto step = sequence.steps().rbegin(); step != sequence.steps().rend(); ++step) {
      ForRows(call.threads, step->rows, hidden,
              [&](int64_t r, int64_t count) { Gates(*step, r, count); });
      JUST(RunInnerGemm(StepGemm(dtype, step->rows, hidden, width), dg.At(step->first), v.w_hh.data,
                        To(0), gemm_scratch, call.threads));
      AddProduct(0, step->rows);
    }
    return Ok();
  }

  void SumBias() const {
    const AccumulateFn add = GetRnnLoops().accumulate[static_cast<int>(dtype)];
    std::memset(v.db.data, 0, static_cast<size_t>(dx.bytes));
    for (int64_t r = 0; r < v.rows(); ++r) { add(v.db.data, dg.At(r), width); }
  }
};

template <Cell cell>
Maybe<void> Backward(const KernelCall& call) {
  const BackwardViews<cell> v(call);
  const DataType dtype = v.y.dtype;
  const Sequence sequence = JUST(Sequence::Make(Name<cell>(), v.sizes, v.rows(), v.batch(),
                                                call.GetAttrs<SequenceAttrs>().reverse));
  const BackwardScratch at(cell, dtype, v.rows(), v.batch(), v.hidden());
  GemmScratch gemm_scratch(static_cast<char*>(call.scratch) + at.gemm_at,
                           call.scratch_bytes - static_cast<size_t>(at.gemm_at));
  const BackwardRun<cell> run{call, v, at, sequence};
  run.Begin();
  StepProduct weights(dtype, run.width, run.hidden);
  const auto steps = static_cast<int64_t>(sequence.steps().size());
  if (GoesApart(weights, steps, v.batch(), call.threads)) {
    run.RowsApart(&weights);
  } else {
    JUST(run.StepByStep(&gemm_scratch));
  }
  if (cell == Cell::kGru) { run.SumBias(); }
  return RunInnerGemm(WeightGemm(dtype, v.rows(), run.width, run.hidden), run.dg.data, run.old.data,
                      v.dw.data, &gemm_scratch, call.threads);
}

// ---- common -------------------------------------------------------------------------------------

const char* Accept(const KernelCall& call) {
  const DataType dtype = call.outputs[0].dtype;
  if (GetRnnLoops().lstm[static_cast<int>(dtype)] == nullptr) { return "dtype not supported"; }
  for (int i = 0; i < call.num_inputs; ++i) {
    const ArrayView& view = call.inputs[i];
    if (view.given && !view.contiguous) { return "operand is not dense"; }
  }
  return nullptr;
}

// Per row of gates: a product with the weight, and about 40 operations for each element.
double CostOf(Cell cell, int64_t rows, int64_t hidden, double products) {
  const double elements = static_cast<double>(rows * hidden * GatesOf(cell));
  return 1000.0 + elements * (2.0 + products * 2.0 * static_cast<double>(hidden) / 100.0);
}
template <Cell cell>
double ForwardCost(const KernelCall& call) {
  const ForwardViews<cell> v(call);
  const double input = static_cast<double>(v.x.shape[1]) / static_cast<double>(v.hidden() + 1);
  return CostOf(cell, v.rows(), v.hidden(), 1.0 + input);
}
template <Cell cell>
double BackwardCost(const KernelCall& call) {
  const BackwardViews<cell> v(call);
  return CostOf(cell, v.rows(), v.hidden(), 2.0);
}

}  // namespace

#define ONEFLOW_REGISTER_LAYER(name, cell)                                                   \
  ONEFLOW_REGISTER_KERNEL(name##_layer, {#name "_layer.cpu.vector", &Forward<cell>, &Accept, \
                                         &ForwardCost<cell>, &ForwardScratchBytes<cell>});   \
  ONEFLOW_REGISTER_KERNEL(name##_layer_backward,                                             \
                          {#name "_layer_backward.cpu.vector", &Backward<cell>, &Accept,     \
                           &BackwardCost<cell>, &BackwardScratchBytes<cell>})

ONEFLOW_REGISTER_LAYER(lstm, Cell::kLstm);
ONEFLOW_REGISTER_LAYER(gru, Cell::kGru);
ONEFLOW_REGISTER_LAYER(rnn, Cell::kRnn);

}  // namespace cpu
}  // namespace oneflow
