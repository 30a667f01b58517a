// Compiled once for each instruction set: see isa.h.
#include "oneflow/kernels/cpu/linalg/inverse_loops.h"

namespace oneflow {
namespace cpu {
namespace ONEFLOW_ISA {

namespace {

double Magnitude(double x) { return x < 0 ? -x : x; }

int64_t PivotRow(const double* a, int64_t n, int64_t k) {
  int64_t best = k;
  for (int64_t i = k + 1; i < n; ++i) {
    if (Magnitude(a[i * n + k]) > Magnitude(a[best * n + k])) { best = i; }
  }
  return best;
}

void SwapRows(double* x, double* y, int64_t n) {
#pragma GCC ivdep
  for (int64_t j = 0; j < n; ++j) {
    const double kept = x[j];
    x[j] = y[j];
    y[j] = kept;
  }
}

// Clears column k in all other rows; it then holds the inverse's.
void Eliminate(double* a, int64_t n, int64_t k) {
  double* row = a + k * n;
  const double factor = 1.0 / row[k];
  row[k] = 1.0;
  for (int64_t j = 0; j < n; ++j) { row[j] *= factor; }
  for (int64_t i = 0; i < n; ++i) {
    if (i == k) { continue; }
    double* other = a + i * n;
    const double f = other[k];
    other[k] = 0.0;
#pragma GCC ivdep
    for (int64_t j = 0; j < n; ++j) { other[j] -= f * row[j]; }
  }
}

int64_t Invert(double* a, int64_t* pivots, int64_t n) {
  for (int64_t k = 0; k < n; ++k) {
    const int64_t p = PivotRow(a, n, k);
    pivots[k] = p;
    if (a[p * n + k] == 0.0) { return k; }
    if (p != k) { SwapRows(a + p * n, a + k * n, n); }
    Eliminate(a, n, k);
  }
  for (int64_t k = n - 1; k >= 0; --k) {
    const int64_t p = pivots[k];
    if (p == k) { continue; }
    for (int64_t i = 0; i < n; ++i) {
      const double kept = a[i * n + k];
      a[i * n + k] = a[i * n + p];
      a[i * n + p] = kept;
    }
  }
  return -1;
}

constexpr InverseLoops kLoops = {&Invert};

}  // namespace

const InverseLoops& GetInverseLoops() { return kLoops; }

}  // namespace ONEFLOW_ISA
}  // namespace cpu
}  // namespace oneflow
