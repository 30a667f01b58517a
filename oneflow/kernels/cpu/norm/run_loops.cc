// Compiled once for each instruction set: see isa.h.
#include "oneflow/kernels/cpu/norm/run_loops.h"

#include "oneflow/kernels/cpu/norm/run_lanes.h"

namespace oneflow {
namespace cpu {
namespace ONEFLOW_ISA {

namespace {

template <typename T>
double Sum(const T* x, const Runs& runs) {
  double sum;
  SumRuns<T, 1>(
      runs, [=](auto at, auto* terms) { terms[0] = at(x); },
      [=](int64_t i) { Prefetch<0>(x + i, runs.n); }, &sum);
  return sum;
}

template <typename T>
double SumSquares(const T* x, const Runs& runs, T mean) {
  double sum;
  SumRuns<T, 1>(
      runs,
      [=](auto at, auto* terms) {
        const auto d = at(x) - mean;
        terms[0] = d * d;
      },
      [](int64_t) {}, &sum);
  return sum;
}

template <typename T>
void Sums(const T* dy, const T* x, const Runs& runs, T mean, double* sum_dy, double* sum_dyx) {
  double sums[2];
  SumRuns<T, 2>(
      runs,
      [=](auto at, auto* terms) {
        const auto g = at(dy);
        terms[0] = g;
        terms[1] = g * (at(x) - mean);
      },
      [=](int64_t i) {
        Prefetch<0>(dy + i, runs.n);
        Prefetch<0>(x + i, runs.n);
      },
      sums);
  *sum_dy = sums[0];
  *sum_dyx = sums[1];
}

template <typename T>
void Normalize(const T* x, T* out, const Runs& runs, T mean, T scale, T shift) {
  MapRuns(out, runs, [=](auto at) { return (at(x) - mean) * scale + shift; });
}

template <typename T>
void Backward(const T* dy, const T* x, T* dx, const Runs& runs, T mean, T m, T k, T scale) {
  MapRuns(dx, runs, [=](auto at) { return ((at(dy) - m) - (at(x) - mean) * k) * scale; });
}

template <typename T>
constexpr RunLoopsOf<T> LoopsOf() {
  return {&Sum<T>, &SumSquares<T>, &Sums<T>, &Normalize<T>, &Backward<T>};
}

constexpr RunLoopTable kLoops = {LoopsOf<float>(), LoopsOf<double>()};

}  // namespace

const RunLoopTable& GetRunLoopTable() { return kLoops; }

}  // namespace ONEFLOW_ISA
}  // namespace cpu
}  // namespace oneflow
