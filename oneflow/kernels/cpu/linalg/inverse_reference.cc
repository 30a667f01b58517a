// The reference kernel of the inverse: each matrix beside the identity, reduced by rows.
#include <cmath>
#include <utility>

#include "oneflow/kernels/cpu/reference_arrays.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {
namespace reference {

namespace {

// An n x n matrix at `at` of a list.
struct Matrix {
  double* at;
  int64_t n;
  double& operator()(int64_t row, int64_t col) const { return at[row * n + col]; }
  void SwapRows(int64_t a, int64_t b) const {
    for (int64_t c = 0; c < n; ++c) { std::swap((*this)(a, c), (*this)(b, c)); }
  }
  void AddRow(int64_t from, double factor, int64_t to) const {
    for (int64_t c = 0; c < n; ++c) { (*this)(to, c) += factor * (*this)(from, c); }
  }
  void ScaleRow(int64_t row, double factor) const {
    for (int64_t c = 0; c < n; ++c) { (*this)(row, c) *= factor; }
  }
};

// Turns `a` into the identity and `inverse`, which was that, into its inverse. Returns the column
// without a pivot, or -1.
int64_t Reduce(const Matrix& a, const Matrix& inverse) {
  for (int64_t c = 0; c < a.n; ++c) {
    int64_t pivot = c;
    for (int64_t r = c; r < a.n; ++r) {
      if (std::abs(a(r, c)) > std::abs(a(pivot, c))) { pivot = r; }
    }
    if (a(pivot, c) == 0.0) { return c; }
    for (const Matrix& m : {a, inverse}) { m.SwapRows(c, pivot); }
    const double scale = 1.0 / a(c, c);
    for (const Matrix& m : {a, inverse}) { m.ScaleRow(c, scale); }
    for (int64_t r = 0; r < a.n; ++r) {
      const double factor = -a(r, c);
      if (r == c || factor == 0.0) { continue; }
      for (const Matrix& m : {a, inverse}) { m.AddRow(c, factor, r); }
    }
  }
  return -1;
}

Maybe<void> Run(const KernelCall& call) {
  const int64_t n = call.inputs[0].shape[call.inputs[0].ndim - 1];
  Reals x = RealsOf(call.inputs[0]);
  if (x.empty()) { return Ok(); }
  Reals out(x.size(), 0.0);
  const auto matrices = static_cast<int64_t>(x.size()) / (n * n);
  for (int64_t i = 0; i < matrices; ++i) {
    const Matrix a{x.data() + i * n * n, n}, inverse{out.data() + i * n * n, n};
    for (int64_t d = 0; d < n; ++d) { inverse(d, d) = 1.0; }
    const int64_t column = Reduce(a, inverse);
    if (column >= 0) {
      return RuntimeError("[inv] expects invertible matrices, got a singular one, number {} of {} "
                          "(no pivot in column {})",
                          i, matrices, column);
    }
  }
  Put(call.outputs[0], out);
  return Ok();
}

double Cost(const KernelCall& call) { return 500.0 * static_cast<double>(call.inputs[0].Count()); }

}  // namespace

ONEFLOW_REGISTER_KERNEL(inverse, {"inverse.cpu.reference", &Run, nullptr, &Cost});

}  // namespace reference
}  // namespace cpu
}  // namespace oneflow
