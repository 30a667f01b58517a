// Compiled once for each instruction set: see isa.h.
#include "oneflow/kernels/cpu/rnn/rnn_loops.h"

#include "oneflow/kernels/cpu/rnn/gate_math.h"

namespace oneflow {
namespace cpu {
namespace ONEFLOW_ISA {

namespace {

template <typename T>
T* At(void* base, int64_t offset) {
  return static_cast<T*>(base) + offset;
}
template <typename T>
const T* At(const void* base, int64_t offset) {
  return static_cast<const T*>(base) + offset;
}

template <typename T>
void Lstm(const StepForward& s) {
  const int64_t n = s.hidden;
  for (int64_t row = 0; row < s.n; ++row) {
    const T* x = At<T>(s.x_gates, row * 4 * n);
    const T* g = At<T>(s.h_gates, row * 4 * n);
    const T* b = At<T>(s.x_bias, 0);
    T* saved = At<T>(s.saved, row * 5 * n);
    T* h = At<T>(s.h, row * n);
    T* c = At<T>(s.c, row * n);
    T* y = At<T>(s.y, row * n);
#pragma GCC ivdep
    for (int64_t j = 0; j < n; ++j) {
      const T in = Logistic(x[j] + b[j] + g[j]);
      const T forget = Logistic(x[n + j] + b[n + j] + g[n + j]);
      const T candidate = Tanh(x[2 * n + j] + b[2 * n + j] + g[2 * n + j]);
      const T out = Logistic(x[3 * n + j] + b[3 * n + j] + g[3 * n + j]);
      const T cell = forget * c[j] + in * candidate;
      const T state = out * Tanh(cell);
      saved[j] = in;
      saved[n + j] = forget;
      saved[2 * n + j] = candidate;
      saved[3 * n + j] = out;
      saved[4 * n + j] = cell;
      c[j] = cell;
      h[j] = state;
      y[j] = state;
    }
  }
}

template <typename T>
void LstmBackward(const StepBackward& s) {
  const int64_t n = s.hidden;
  for (int64_t row = 0; row < s.n; ++row) {
    const T* saved = At<T>(s.saved, row * 5 * n);
    const T* old = At<T>(s.old, row * s.old_stride);
    const T* dh = At<T>(s.dh, row * n);
    const T* dy = s.dy == nullptr ? nullptr : At<T>(s.dy, row * n);
    T* dc = At<T>(s.dc, row * n);
    T* d = At<T>(s.dx_gates, row * 4 * n);
#pragma GCC ivdep
    for (int64_t j = 0; j < n; ++j) {
      const T in = saved[j], forget = saved[n + j];
      const T candidate = saved[2 * n + j], out = saved[3 * n + j];
      const T squashed = Tanh(saved[4 * n + j]);
      const T g = dy == nullptr ? dh[j] : dh[j] + dy[j];
      const T gc = dc[j] + g * out * (T(1) - squashed * squashed);
      d[j] = gc * candidate * in * (T(1) - in);
      d[n + j] = gc * old[j] * forget * (T(1) - forget);
      d[2 * n + j] = gc * in * (T(1) - candidate * candidate);
      d[3 * n + j] = g * squashed * out * (T(1) - out);
      dc[j] = gc * forget;
    }
  }
}

template <typename T>
void Gru(const StepForward& s) {
  const int64_t n = s.hidden;
  for (int64_t row = 0; row < s.n; ++row) {
    const T* x = At<T>(s.x_gates, row * 3 * n);
    const T* g = At<T>(s.h_gates, row * 3 * n);
    const T* xb = At<T>(s.x_bias, 0);
    const T* hb = At<T>(s.h_bias, 0);
    T* saved = At<T>(s.saved, row * 4 * n);
    T* h = At<T>(s.h, row * n);
    T* y = At<T>(s.y, row * n);
#pragma GCC ivdep
    for (int64_t j = 0; j < n; ++j) {
      const T reset = Logistic(x[j] + xb[j] + (g[j] + hb[j]));
      const T update = Logistic(x[n + j] + xb[n + j] + (g[n + j] + hb[n + j]));
      const T part = g[2 * n + j] + hb[2 * n + j];
      const T candidate = Tanh(x[2 * n + j] + xb[2 * n + j] + reset * part);
      const T state = candidate + update * (h[j] - candidate);
      saved[j] = reset;
      saved[n + j] = update;
      saved[2 * n + j] = candidate;
      saved[3 * n + j] = part;
      h[j] = state;
      y[j] = state;
    }
  }
}

template <typename T>
void GruBackward(const StepBackward& s) {
  const int64_t n = s.hidden;
  for (int64_t row = 0; row < s.n; ++row) {
    const T* saved = At<T>(s.saved, row * 4 * n);
    const T* old = At<T>(s.old, row * s.old_stride);
    const T* dy = s.dy == nullptr ? nullptr : At<T>(s.dy, row * n);
    T* dh = At<T>(s.dh, row * n);
    T* dx = At<T>(s.dx_gates, row * 3 * n);
    T* dg = At<T>(s.dh_gates, row * 3 * n);
#pragma GCC ivdep
    for (int64_t j = 0; j < n; ++j) {
      const T reset = saved[j], update = saved[n + j];
      const T candidate = saved[2 * n + j], part = saved[3 * n + j];
      const T g = dy == nullptr ? dh[j] : dh[j] + dy[j];
      const T dn = g * (T(1) - update) * (T(1) - candidate * candidate);
      const T dz = g * (old[j] - candidate) * update * (T(1) - update);
      const T dr = dn * part * reset * (T(1) - reset);
      dx[j] = dr;
      dx[n + j] = dz;
      dx[2 * n + j] = dn;
      dg[j] = dr;
      dg[n + j] = dz;
      dg[2 * n + j] = dn * reset;
      dh[j] = g * update;
    }
  }
}

template <typename T, bool kRelu>
void Simple(const StepForward& s) {
  const int64_t n = s.hidden;
  for (int64_t row = 0; row < s.n; ++row) {
    const T* x = At<T>(s.x_gates, row * n);
    const T* g = At<T>(s.h_gates, row * n);
    const T* b = At<T>(s.x_bias, 0);
    T* h = At<T>(s.h, row * n);
    T* y = At<T>(s.y, row * n);
#pragma GCC ivdep
    for (int64_t j = 0; j < n; ++j) {
      const T sum = x[j] + b[j] + g[j];
      const T state = kRelu ? (sum <= T(0) ? T(0) : sum) : Tanh(sum);
      h[j] = state;
      y[j] = state;
    }
  }
}

template <typename T, bool kRelu>
void SimpleBackward(const StepBackward& s) {
  const T* dh = At<T>(s.dh, 0);
  const T* dy = s.dy == nullptr ? nullptr : At<T>(s.dy, 0);
  const T* y = At<T>(s.y, 0);
  T* d = At<T>(s.dx_gates, 0);
#pragma GCC ivdep
  for (int64_t j = 0; j < s.n * s.hidden; ++j) {
    const T g = dy == nullptr ? dh[j] : dh[j] + dy[j];
    d[j] = kRelu ? (y[j] > T(0) ? g : T(0)) : g * (T(1) - y[j] * y[j]);
  }
}

template <typename T>
void Accumulate(void* to, const void* from, int64_t n) {
  T* sum = At<T>(to, 0);
  const T* x = At<T>(from, 0);
#pragma GCC ivdep
  for (int64_t j = 0; j < n; ++j) { sum[j] += x[j]; }
}

template <typename T>
constexpr void Fill(RnnLoops* table, DataType dtype) {
  const int d = static_cast<int>(dtype);
  table->lstm[d] = &Lstm<T>;
  table->gru[d] = &Gru<T>;
  table->tanh[d] = &Simple<T, false>;
  table->relu[d] = &Simple<T, true>;
  table->lstm_backward[d] = &LstmBackward<T>;
  table->gru_backward[d] = &GruBackward<T>;
  table->tanh_backward[d] = &SimpleBackward<T, false>;
  table->relu_backward[d] = &SimpleBackward<T, true>;
  table->accumulate[d] = &Accumulate<T>;
}

constexpr RnnLoops MakeLoops() {
  RnnLoops table = {};
  Fill<float>(&table, DataType::kFloat);
  Fill<double>(&table, DataType::kDouble);
  return table;
}

constexpr RnnLoops kLoops = MakeLoops();

}  // namespace

const RnnLoops& GetRnnLoops() { return kLoops; }

}  // namespace ONEFLOW_ISA
}  // namespace cpu
}  // namespace oneflow
