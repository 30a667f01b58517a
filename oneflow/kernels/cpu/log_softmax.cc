// The kernels log_softmax and log_softmax_backward.
#include <algorithm>

#include "oneflow/core/shape.h"
#include "oneflow/device/cpu/parallel.h"
#include "oneflow/kernels/attrs.h"
#include "oneflow/kernels/cpu/copy.h"
#include "oneflow/kernels/cpu/cost.h"
#include "oneflow/kernels/cpu/softmax_loops.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {

namespace {

constexpr int64_t kGrainElements = 4096;  // an exponential costs about ten times an addition

// The array as (outer, n, inner): n along the dimension.
struct Extents {
  int64_t outer = 1, n = 1, inner = 1;

  Extents(const ArrayView& view, int64_t dim) {
    for (int d = 0; d < view.ndim; ++d) {
      (d < dim ? outer : d == dim ? n : inner) *= view.shape[d];
    }
  }
  int64_t total() const { return outer * n * inner; }
  int64_t tiles() const { return (inner + kSoftmaxTile - 1) / kSoftmaxTile; }
};

// Calls body(element offset, columns) for each vector (inner == 1), or tile of neighbouring
// vectors.
template <typename Body>
void ForEachTile(const Extents& e, int threads, const Body& body) {
  const int64_t per_tile = std::max<int64_t>(1, e.n * std::min(e.inner, kSoftmaxTile));
  const int64_t grain = std::max<int64_t>(1, kGrainElements / per_tile);
  ParallelFor(threads, e.outer * e.tiles(), grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t column = i % e.tiles() * kSoftmaxTile;
      body(i / e.tiles() * e.n * e.inner + column, std::min(kSoftmaxTile, e.inner - column));
    }
  });
}

size_t PackBytes(const ArrayView& view) {
  if (view.contiguous) { return 0; }
  return (static_cast<size_t>(view.Count()) * SizeOf(view.dtype) + 63) / 64 * 64;
}

size_t PackInputsBytes(const KernelCall& call) {
  size_t bytes = 0;
  for (int i = 0; i < call.num_inputs; ++i) { bytes += PackBytes(call.inputs[i]); }
  return bytes;
}

// The data of input i, packed into scratch if it is not dense.
const char* DenseInput(const KernelCall& call, int i) {
  const ArrayView& view = call.inputs[i];
  if (view.contiguous) { return view.Data<char>(); }
  size_t offset = 0;
  for (int k = 0; k < i; ++k) { offset += PackBytes(call.inputs[k]); }
  const Dims strides = ContiguousStrides(Dims(view.shape, view.ndim));
  ArrayView packed = view;
  packed.data = static_cast<char*>(call.scratch) + offset;
  packed.strides = strides.data();
  packed.contiguous = true;
  CopyArray(packed, view, call.threads);
  return packed.Data<char>();
}

const char* Accept(const KernelCall& call) {
  const DataType dtype = call.outputs[0].dtype;
  if (GetSoftmaxLoops().row[static_cast<int>(dtype)] == nullptr) { return "dtype not supported"; }
  if (!call.outputs[0].contiguous) { return "output is not dense"; }
  for (int i = 0; i < call.num_inputs; ++i) {
    if (call.inputs[i].dtype != dtype) { return "operands of different dtypes"; }
    if (call.inputs[i].ndim != call.outputs[0].ndim) { return "operands of different shapes"; }
  }
  return nullptr;
}

Maybe<void> RunForward(const KernelCall& call) {
  const ArrayView& out = call.outputs[0];
  const Extents e(out, call.GetAttrs<LogSoftmaxAttrs>().dim);
  if (e.total() == 0) { return Ok(); }
  const SoftmaxLoops& loops = GetSoftmaxLoops();
  const int dtype = static_cast<int>(out.dtype);
  const auto size = static_cast<int64_t>(SizeOf(out.dtype));
  const char* x = DenseInput(call, 0);
  char* to = out.Data<char>();
  ForEachTile(e, call.threads, [&](int64_t offset, int64_t columns) {
    if (e.inner == 1) { return loops.row[dtype](x + offset * size, to + offset * size, e.n); }
    loops.columns[dtype](x + offset * size, to + offset * size, e.inner, e.n, columns);
  });
  return Ok();
}

Maybe<void> RunBackward(const KernelCall& call) {
  const ArrayView& dx = call.outputs[0];
  const Extents e(dx, call.GetAttrs<LogSoftmaxAttrs>().dim);
  if (e.total() == 0) { return Ok(); }
  const SoftmaxLoops& loops = GetSoftmaxLoops();
  const int dtype = static_cast<int>(dx.dtype);
  const auto size = static_cast<int64_t>(SizeOf(dx.dtype));
  const char* dy = DenseInput(call, 0);
  const char* out = DenseInput(call, 1);
  char* to = dx.Data<char>();
  ForEachTile(e, call.threads, [&](int64_t offset, int64_t columns) {
    const int64_t at = offset * size;
    if (e.inner == 1) { return loops.backward_row[dtype](dy + at, out + at, to + at, e.n); }
    loops.backward_columns[dtype](dy + at, out + at, to + at, e.inner, e.n, columns);
  });
  return Ok();
}

double Cost(const KernelCall& call) {
  const double elements = static_cast<double>(call.outputs[0].Count());
  return 20.0 + 1.0 * elements + ElementwiseCostNs(call);
}

}  // namespace

ONEFLOW_REGISTER_KERNEL(log_softmax,
                        {"log_softmax.cpu.vector", &RunForward, &Accept, &Cost, &PackInputsBytes});
ONEFLOW_REGISTER_KERNEL(log_softmax_backward, {"log_softmax_backward.cpu.vector", &RunBackward,
                                               &Accept, &Cost, &PackInputsBytes});

}  // namespace cpu
}  // namespace oneflow
