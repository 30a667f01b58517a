// Compiled once for each instruction set: see isa.h.
#include "oneflow/kernels/cpu/norm/run_loops.h"

#include "oneflow/kernels/cpu/norm/run_lanes.h"

namespace oneflow {
namespace cpu {
namespace ONEFLOW_ISA {

namespace {

template <typename T, typename E>
double Sum(const E* x, const Runs& runs) {
  double sum;
  SumRuns<T, 1, E>(
      runs, [=](auto at, auto* terms) { terms[0] = at(x); },
      [=](int64_t i) { Prefetch<0>(x + i, runs.n); }, &sum);
  return sum;
}

template <typename T, typename E>
double SumSquares(const E* x, const Runs& runs, T mean) {
  double sum;
  SumRuns<T, 1, E>(
      runs,
      [=](auto at, auto* terms) {
        const auto d = at(x) - mean;
        terms[0] = d * d;
      },
      [](int64_t) {}, &sum);
  return sum;
}

template <typename T, typename E>
void Sums(const E* dy, const E* x, const Runs& runs, T mean, double* sum_dy, double* sum_dyx) {
  double sums[2];
  SumRuns<T, 2, E>(
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

template <typename T, typename E>
void Normalize(const E* x, E* out, const Runs& runs, T mean, T scale, T shift) {
  MapRuns<T>(out, runs, [=](auto at) { return (at(x) - mean) * scale + shift; });
}

template <typename T, typename E>
void Backward(const E* dy, const E* x, E* dx, const Runs& runs, T mean, T m, T k, T scale) {
  MapRuns<T>(dx, runs, [=](auto at) { return ((at(dy) - m) - (at(x) - mean) * k) * scale; });
}

template <typename T, typename E>
constexpr RunLoopsOf<T, E> LoopsOf() {
  return {&Sum<T, E>, &SumSquares<T, E>, &Sums<T, E>, &Normalize<T, E>, &Backward<T, E>};
}

constexpr RunLoopTable kLoops = {LoopsOf<float, float>(), LoopsOf<double, double>(),
                                 LoopsOf<float, BFloat16>()};

}  // namespace

const RunLoopTable& GetRunLoopTable() { return kLoops; }

}  // namespace ONEFLOW_ISA
}  // namespace cpu
}  // namespace oneflow
