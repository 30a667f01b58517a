// Reference kernels of sum, mean, argmax, log_softmax and its backward.
#include <cmath>

#include "oneflow/kernels/attrs.h"
#include "oneflow/kernels/cpu/reference.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {
namespace reference {

namespace {

// The shape with every dimension for which keep is true (false) replaced by 1.
struct Split {
  Dims kept;     // reduced dimensions have size 1
  Dims reduced;  // kept dimensions have size 1

  Split(const ArrayView& input, const IntList& dims) : kept(ShapeOf(input)), reduced(kept) {
    const bool all = !dims.given || dims.count == 0;
    for (int d = 0; d < input.ndim; ++d) {
      bool reduce = all;
      for (int i = 0; i < dims.count; ++i) { reduce = reduce || dims.values[i] == d; }
      (reduce ? kept : reduced)[d] = 1;
    }
  }
};

Dims Plus(const Dims& a, const Dims& b) {
  Dims sum = a;
  for (int d = 0; d < a.size(); ++d) { sum[d] += b[d]; }
  return sum;
}

// Offset of output number i (row-major), whatever its strides.
int64_t OutputOffset(const ArrayView& out, int64_t i) {
  int64_t offset = 0;
  for (int d = out.ndim - 1; d >= 0; --d) {
    offset += i % out.shape[d] * out.strides[d];
    i /= out.shape[d];
  }
  return offset;
}

Maybe<void> Reduce(const KernelCall& call, bool mean) {
  const ArrayView& x = call.inputs[0];
  const Split split(x, call.GetAttrs<ReduceAttrs>().dims);
  int64_t output = 0;
  ForEachIndex(split.kept, [&](const Dims& kept) {
    long double sum = 0.0L;
    uint64_t integer_sum = 0;
    int64_t count = 0;
    ForEachIndex(split.reduced, [&](const Dims& reduced) {
      const Value v = Load(x, OffsetOf(x, Plus(kept, reduced)));
      sum += v.d;
      integer_sum += static_cast<uint64_t>(v.i);
      ++count;
    });
    const Value result = IsFloating(x.dtype)
                             ? Value::Float(static_cast<double>(mean ? sum / count : sum))
                             : Value::Int(static_cast<int64_t>(integer_sum));
    Store(call.outputs[0], OutputOffset(call.outputs[0], output++), result);
  });
  return Ok();
}

Maybe<void> RunSum(const KernelCall& call) { return Reduce(call, false); }
Maybe<void> RunMean(const KernelCall& call) { return Reduce(call, true); }

bool Larger(const Value& x, const Value& best) {
  if (!x.is_float) { return x.i > best.i; }
  return x.d > best.d || (std::isnan(x.d) && !std::isnan(best.d));
}

Maybe<void> RunArgmax(const KernelCall& call) {
  const ArrayView& x = call.inputs[0];
  const Split split(x, call.GetAttrs<ArgmaxAttrs>().dims);
  int64_t output = 0;
  bool empty = false;
  ForEachIndex(split.kept, [&](const Dims& kept) {
    Value best;
    int64_t best_index = -1;
    int64_t i = 0;
    ForEachIndex(split.reduced, [&](const Dims& reduced) {
      const Value v = Load(x, OffsetOf(x, Plus(kept, reduced)));
      if (best_index < 0 || Larger(v, best)) {
        best = v;
        best_index = i;
      }
      ++i;
    });
    empty = empty || best_index < 0;
    if (best_index >= 0) {
      Store(call.outputs[0], OutputOffset(call.outputs[0], output++), Value::Int(best_index));
    }
  });
  if (!empty) { return Ok(); }
  return IndexError("[argmax] expects at least one element along the reduced dimension, got {}",
                    ShapeOf(x));
}

// Calls body(index of element 0, length) for each vector along `dim`.
template <typename Body>
void ForEachVector(const ArrayView& view, int64_t dim, const Body& body) {
  Dims shape = ShapeOf(view);
  int64_t n = 1;
  if (view.ndim > 0) {
    n = shape[static_cast<int>(dim)];
    shape[static_cast<int>(dim)] = n == 0 ? 0 : 1;
  }
  ForEachIndex(shape, [&](const Dims& index) { body(index, n); });
}

double At(const ArrayView& view, const Dims& start, int64_t dim, int64_t i) {
  const int64_t step = view.ndim == 0 ? 0 : view.strides[dim];
  return Load(view, OffsetOf(view, start) + i * step).d;
}

void StoreAt(const ArrayView& view, const Dims& start, int64_t dim, int64_t i, double value) {
  const int64_t step = view.ndim == 0 ? 0 : view.strides[dim];
  Store(view, OffsetOf(view, start) + i * step, Value::Float(value));
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

ONEFLOW_REGISTER_KERNEL(sum, {"sum.cpu.reference", &RunSum, nullptr, &Cost});
ONEFLOW_REGISTER_KERNEL(mean, {"mean.cpu.reference", &RunMean, nullptr, &Cost});
ONEFLOW_REGISTER_KERNEL(argmax, {"argmax.cpu.reference", &RunArgmax, nullptr, &Cost});
ONEFLOW_REGISTER_KERNEL(log_softmax, {"log_softmax.cpu.reference", &RunLogSoftmax, nullptr, &Cost});
ONEFLOW_REGISTER_KERNEL(log_softmax_backward, {"log_softmax_backward.cpu.reference",
                                               &RunLogSoftmaxBackward, nullptr, &Cost});

}  // namespace reference
}  // namespace cpu
}  // namespace oneflow
