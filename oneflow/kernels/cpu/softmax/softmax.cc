// The kernels softmax, log_softmax and their gradients (dy, out -> dx).
#include <algorithm>

#include "oneflow/device/cpu/parallel.h"
#include "oneflow/kernels/attrs.h"
#include "oneflow/kernels/cpu/cost.h"
#include "oneflow/kernels/cpu/dense_kernel.h"
#include "oneflow/kernels/cpu/softmax/softmax_extents.h"
#include "oneflow/kernels/cpu/softmax/softmax_loops.h"
#include "oneflow/kernels/cpu/stream_loops.h"

namespace oneflow {
namespace cpu {

namespace {

template <typename T>
const SoftmaxForms<T>& Forms(bool log) {
  return log ? GetSoftmaxLoops<T>().log_softmax : GetSoftmaxLoops<T>().softmax;
}

// Rows whose results are better stored past the caches; false: they are not.
template <typename T>
bool ForwardPast(const SoftmaxExtents& e, const SoftmaxForms<T>& forms, const T* x, T* out,
                 int threads) {
  const auto row_bytes = e.n * static_cast<int64_t>(sizeof(T));
  const int64_t bytes = e.outer * row_bytes;
  if (e.inner != 1 || e.n > kSoftmaxPast || row_bytes % 64 != 0 || x == out ||
      !WorthStreaming(out, bytes, 2 * bytes)) {
    return false;
  }
  const int64_t grain = std::max<int64_t>(1, SoftmaxExtents::kGrain / e.n);
  ParallelFor(threads, e.outer, grain, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) { forms.row_past(x + r * e.n, out + r * e.n, e.n); }
    GetStreamLoops().fence();
  });
  return true;
}

template <typename T>
void Forward(const KernelCall& call, const SoftmaxForms<T>& forms) {
  const SoftmaxExtents e(call.outputs[0], call.GetAttrs<LogSoftmaxAttrs>().dim);
  if (e.total() == 0) { return; }
  const T* x = call.inputs[0].Data<T>();
  T* out = call.outputs[0].Data<T>();
  if (ForwardPast(e, forms, x, out, call.threads)) { return; }
  ForEachSoftmaxTile(e, call.threads, [&](int64_t at, int64_t columns) {
    if (e.inner == 1) { return forms.row(x + at, out + at, e.n); }
    forms.columns(x + at, out + at, e.inner, e.n, columns);
  });
}

template <typename T>
void Backward(const KernelCall& call, const SoftmaxForms<T>& forms) {
  const SoftmaxExtents e(call.outputs[0], call.GetAttrs<LogSoftmaxAttrs>().dim);
  if (e.total() == 0) { return; }
  const T* dy = call.inputs[0].Data<T>();
  const T* out = call.inputs[1].Data<T>();
  T* dx = call.outputs[0].Data<T>();
  ForEachSoftmaxTile(e, call.threads, [&](int64_t at, int64_t columns) {
    if (e.inner == 1) { return forms.backward_row(dy + at, out + at, dx + at, e.n); }
    forms.backward_columns(dy + at, out + at, dx + at, e.inner, e.n, columns);
  });
}

template <bool kLog>
Maybe<void> RunForward(const KernelCall& call) {
  if (call.outputs[0].dtype == DataType::kDouble) {
    Forward<double>(call, Forms<double>(kLog));
  } else {
    Forward<float>(call, Forms<float>(kLog));
  }
  return Ok();
}

template <bool kLog>
Maybe<void> RunBackward(const KernelCall& call) {
  if (call.outputs[0].dtype == DataType::kDouble) {
    Backward<double>(call, Forms<double>(kLog));
  } else {
    Backward<float>(call, Forms<float>(kLog));
  }
  return Ok();
}

// Operands of one floating dtype and shape.
const char* Accept(const KernelCall& call) {
  const ArrayView& out = call.outputs[0];
  if (!IsFloating(out.dtype)) { return "dtype not supported"; }
  for (int i = 0; i < call.num_inputs; ++i) {
    if (call.inputs[i].dtype != out.dtype) { return "operands of different dtypes"; }
    if (call.inputs[i].ndim != out.ndim) { return "operands of different shapes"; }
  }
  return nullptr;
}

double ExpCost(const KernelCall& call) {
  return 20.0 + 0.35 * static_cast<double>(call.outputs[0].Count()) + ElementwiseCostNs(call);
}
double ProductCost(const KernelCall& call) {
  return 20.0 + 0.2 * static_cast<double>(call.outputs[0].Count()) + ElementwiseCostNs(call);
}

constexpr DenseKernel kSoftmax = {&RunForward<false>, &ExpCost, nullptr, &Accept};
constexpr DenseKernel kSoftmaxBackward = {&RunBackward<false>, &ProductCost, nullptr, &Accept};
constexpr DenseKernel kLogSoftmax = {&RunForward<true>, &ExpCost, nullptr, &Accept};
constexpr DenseKernel kLogSoftmaxBackward = {&RunBackward<true>, &ExpCost, nullptr, &Accept};

}  // namespace

ONEFLOW_REGISTER_DENSE_KERNEL(softmax, "softmax.cpu.vector", kSoftmax);
ONEFLOW_REGISTER_DENSE_KERNEL(softmax_backward, "softmax_backward.cpu.vector", kSoftmaxBackward);
ONEFLOW_REGISTER_DENSE_KERNEL(log_softmax, "log_softmax.cpu.vector", kLogSoftmax);
ONEFLOW_REGISTER_DENSE_KERNEL(log_softmax_backward, "log_softmax_backward.cpu.vector",
                              kLogSoftmaxBackward);

}  // namespace cpu
}  // namespace oneflow
