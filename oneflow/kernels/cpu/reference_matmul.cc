// Reference kernels of matmul and linear.
#include <cmath>

#include "oneflow/kernels/attrs.h"
#include "oneflow/kernels/cpu/reference.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {
namespace reference {

namespace {

// sum + a * b; in double for floating-point numbers, wrapping for integers.
Value MultiplyAdd(const Value& sum, const Value& a, const Value& b) {
  if (a.is_float) { return Value::Float(sum.AsDouble() + a.d * b.d); }
  return Value::Int(static_cast<int64_t>(static_cast<uint64_t>(sum.i) +
                                         static_cast<uint64_t>(a.i) * static_cast<uint64_t>(b.i)));
}

Maybe<void> RunMatmul(const KernelCall& call) {
  const ArrayView& a = call.inputs[0];
  const ArrayView& b = call.inputs[1];
  const ArrayView& out = call.outputs[0];
  const int64_t k = a.shape[a.ndim - 1];
  const int64_t step_a = a.strides[a.ndim - 1];
  const int64_t step_b = b.strides[b.ndim - 2];
  ForEachIndex(ShapeOf(out), [&](const Dims& index) {
    // Element (..., i, 0) of a and (..., 0, j) of b.
    Dims first_a = index;
    first_a[index.size() - 1] = 0;
    Dims first_b = index;
    first_b[index.size() - 2] = 0;
    const int64_t at_a = OffsetOf(a, first_a);
    const int64_t at_b = OffsetOf(b, first_b);
    Value sum;
    for (int64_t i = 0; i < k; ++i) {
      sum = MultiplyAdd(sum, Load(a, at_a + i * step_a), Load(b, at_b + i * step_b));
    }
    Store(out, OffsetOf(out, index), sum);
  });
  return Ok();
}

Maybe<void> RunLinear(const KernelCall& call) {
  const ArrayView& x = call.inputs[0];
  const ArrayView& w = call.inputs[1];
  const ArrayView& out = call.outputs[0];
  const int64_t k = w.shape[1];
  ForEachIndex(ShapeOf(out), [&](const Dims& index) {
    const int64_t column = index.back();
    Dims first_x = index;
    first_x[index.size() - 1] = 0;
    const int64_t at_x = OffsetOf(x, first_x);
    Value sum;
    for (int64_t i = 0; i < k; ++i) {
      sum = MultiplyAdd(sum, Load(x, at_x + i * x.strides[x.ndim - 1]),
                        Load(w, column * w.strides[0] + i * w.strides[1]));
    }
    if (call.HasInput(2)) {
      const Value bias = Load(call.inputs[2], column * call.inputs[2].strides[0]);
      sum = MultiplyAdd(sum, bias, bias.is_float ? Value::Float(1.0) : Value::Int(1));
    }
    Store(out, OffsetOf(out, index), sum);
  });
  return Ok();
}

double Cost(const KernelCall& call) {
  const ArrayView& a = call.inputs[0];
  return 30.0 * static_cast<double>(call.outputs[0].Count()) *
         static_cast<double>(a.shape[a.ndim - 1] + 1);
}

}  // namespace

ONEFLOW_REGISTER_KERNEL(matmul, {"matmul.cpu.reference", &RunMatmul, nullptr, &Cost});
ONEFLOW_REGISTER_KERNEL(linear, {"linear.cpu.reference", &RunLinear, nullptr, &Cost});

}  // namespace reference
}  // namespace cpu
}  // namespace oneflow
