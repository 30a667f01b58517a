// Reference kernels of softmax, log_softmax and their backward.
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

// As std::max, but for NaN, which stays.
double Larger(double a, double b) { return std::isnan(a) || a > b ? a : b; }

template <bool kLog>
Maybe<void> Run(const KernelCall& call) {
  const ArrayView& x = call.inputs[0];
  const int64_t dim = call.GetAttrs<LogSoftmaxAttrs>().dim;
  ForEachVector(x, dim, [&](const Dims& start, int64_t n) {
    double max = At(x, start, dim, 0);
    for (int64_t i = 1; i < n; ++i) { max = Larger(max, At(x, start, dim, i)); }
    double sum = 0.0;
    for (int64_t i = 0; i < n; ++i) { sum += std::exp(At(x, start, dim, i) - max); }
    for (int64_t i = 0; i < n; ++i) {
      const double log = At(x, start, dim, i) - max - std::log(sum);
      StoreAt(call.outputs[0], start, dim, i, kLog ? log : std::exp(log));
    }
  });
  return Ok();
}

// dy, out -> dx.
template <bool kLog>
Maybe<void> RunBackward(const KernelCall& call) {
  const ArrayView& dy = call.inputs[0];
  const ArrayView& out = call.inputs[1];
  const int64_t dim = call.GetAttrs<LogSoftmaxAttrs>().dim;
  ForEachVector(dy, dim, [&](const Dims& start, int64_t n) {
    double sum = 0.0;
    for (int64_t i = 0; i < n; ++i) {
      sum += At(dy, start, dim, i) * (kLog ? 1.0 : At(out, start, dim, i));
    }
    for (int64_t i = 0; i < n; ++i) {
      const double g = At(dy, start, dim, i);
      const double y = At(out, start, dim, i);
      StoreAt(call.outputs[0], start, dim, i, kLog ? g - std::exp(y) * sum : y * (g - sum));
    }
  });
  return Ok();
}

double Cost(const KernelCall& call) { return 60.0 * static_cast<double>(call.inputs[0].Count()); }

}  // namespace

ONEFLOW_REGISTER_KERNEL(softmax, {"softmax.cpu.reference", &Run<false>, nullptr, &Cost});
ONEFLOW_REGISTER_KERNEL(softmax_backward,
                        {"softmax_backward.cpu.reference", &RunBackward<false>, nullptr, &Cost});
ONEFLOW_REGISTER_KERNEL(log_softmax, {"log_softmax.cpu.reference", &Run<true>, nullptr, &Cost});
ONEFLOW_REGISTER_KERNEL(log_softmax_backward,
                        {"log_softmax_backward.cpu.reference", &RunBackward<true>, nullptr, &Cost});

}  // namespace reference
}  // namespace cpu
}  // namespace oneflow
