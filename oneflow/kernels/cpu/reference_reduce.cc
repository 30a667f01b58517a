// Reference kernels of log_softmax and its backward.
#include <cmath>

#include "oneflow/kernels/attrs.h"
#include "oneflow/kernels/cpu/reference.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {
namespace reference {

namespace {

double At(const ArrayView& view, const Dims& start, int64_t dim, int64_t i) {
  return Load(view, OffsetAlong(view, start, dim, i)).d;
}

void StoreAt(const ArrayView& view, const Dims& start, int64_t dim, int64_t i, double value) {
  Store(view, OffsetAlong(view, start, dim, i), Value::Float(value));
}

Maybe<void> RunLogSoftmax(const KernelCall& call) {
  const ArrayView& x = call.inputs[0];
  const int64_t dim = call.GetAttrs<LogSoftmaxAttrs>().dim;
  ForEachVector(x, dim, [&](const Dims& start, int64_t n) {
    double max = At(x, start, dim, 0);
    for (int64_t i = 1; i < n; ++i) { max = std::fmax(max, At(x, start, dim, i)); }
    double sum = 0.0;
    for (int64_t i = 0; i < n; ++i) { sum += std::exp(At(x, start, dim, i) - max); }
    for (int64_t i = 0; i < n; ++i) {
      StoreAt(call.outputs[0], start, dim, i, At(x, start, dim, i) - max - std::log(sum));
    }
  });
  return Ok();
}

Maybe<void> RunLogSoftmaxBackward(const KernelCall& call) {
  const ArrayView& dy = call.inputs[0];
  const ArrayView& out = call.inputs[1];
  const int64_t dim = call.GetAttrs<LogSoftmaxAttrs>().dim;
  ForEachVector(dy, dim, [&](const Dims& start, int64_t n) {
    double sum = 0.0;
    for (int64_t i = 0; i < n; ++i) { sum += At(dy, start, dim, i); }
    for (int64_t i = 0; i < n; ++i) {
      const double dx = At(dy, start, dim, i) - std::exp(At(out, start, dim, i)) * sum;
      StoreAt(call.outputs[0], start, dim, i, dx);
    }
  });
  return Ok();
}

double Cost(const KernelCall& call) { return 60.0 * static_cast<double>(call.inputs[0].Count()); }

}  // namespace

ONEFLOW_REGISTER_KERNEL(log_softmax, {"log_softmax.cpu.reference", &RunLogSoftmax, nullptr, &Cost});
ONEFLOW_REGISTER_KERNEL(log_softmax_backward, {"log_softmax_backward.cpu.reference",
                                               &RunLogSoftmaxBackward, nullptr, &Cost});

}  // namespace reference
}  // namespace cpu
}  // namespace oneflow
