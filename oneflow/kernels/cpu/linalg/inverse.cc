// The kernel inverse: stacks of matrices, each inverted in double.
#include <atomic>
#include <cstdint>

#include "oneflow/core/shape.h"
#include "oneflow/device/cpu/parallel.h"
#include "oneflow/kernels/cpu/copy.h"
#include "oneflow/kernels/cpu/linalg/inverse_loops.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {

namespace {

// A dense array of doubles in the shape of `view`.
ArrayView Doubles(const ArrayView& view, void* data, const Dims& strides) {
  ArrayView out = view;
  out.data = data;
  out.strides = strides.data();
  out.dtype = DataType::kDouble;
  out.contiguous = true;
  return out;
}

// The matrices, and for each of them the rows of its pivots.
size_t Scratch(const KernelCall& call) {
  const ArrayView& x = call.inputs[0];
  const int64_t n = x.shape[x.ndim - 1];
  const int64_t rows = n == 0 ? 0 : x.Count() / n;
  return static_cast<size_t>(x.Count()) * sizeof(double) +
         static_cast<size_t>(rows) * sizeof(int64_t);
}

// Of several singular matrices the first, whichever thread meets it.
void KeepSmallest(std::atomic<int64_t>* smallest, int64_t value) {
  int64_t before = smallest->load();
  while ((before < 0 || value < before) && !smallest->compare_exchange_weak(before, value)) {}
}

Maybe<void> Run(const KernelCall& call) {
  const ArrayView& x = call.inputs[0];
  const int64_t n = x.shape[x.ndim - 1];
  if (x.Count() == 0) { return Ok(); }
  const int64_t matrices = x.Count() / (n * n);
  const Dims strides = ContiguousStrides(Dims(x.shape, x.ndim));
  auto* work = static_cast<double*>(call.scratch);
  auto* pivots = reinterpret_cast<int64_t*>(work + x.Count());
  CopyArray(Doubles(x, work, strides), x, call.threads);
  std::atomic<int64_t> singular{-1};  // matrix * n + column
  const InvertFn invert = GetInverseLoops().invert;
  ParallelFor(call.threads, matrices, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t column = invert(work + i * n * n, pivots + i * n, n);
      if (column >= 0) { KeepSmallest(&singular, i * n + column); }
    }
  });
  if (singular.load() >= 0) {
    return RuntimeError(
        "[inv] expects invertible matrices, got a singular one, number {} of {} (no "
        "pivot in column {})",
        singular.load() / n, matrices, singular.load() % n);
  }
  CopyArray(call.outputs[0], Doubles(x, work, strides), call.threads);
  return Ok();
}

const char* Accept(const KernelCall& call) {
  const DataType dtype = call.inputs[0].dtype;
  const bool known = dtype == DataType::kFloat || dtype == DataType::kDouble;
  return known && call.outputs[0].dtype == dtype ? nullptr : "dtype not supported";
}

double Cost(const KernelCall& call) {
  const ArrayView& x = call.inputs[0];
  const double count = static_cast<double>(x.Count());
  return 200.0 + count * (2.0 + 0.2 * static_cast<double>(x.shape[x.ndim - 1]));
}

}  // namespace

ONEFLOW_REGISTER_KERNEL(inverse, {"inverse.cpu.vector", &Run, &Accept, &Cost, &Scratch});

}  // namespace cpu
}  // namespace oneflow
