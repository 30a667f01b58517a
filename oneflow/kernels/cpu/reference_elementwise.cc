// Reference kernels of the elementwise ops, fill, arange and copy.
#include <cstdint>

#include "oneflow/kernels/attrs.h"
#include "oneflow/kernels/cpu/reference.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {
namespace reference {

namespace {

// out[index] = f(x[index], y[index]); y is optional.
template <typename F>
Maybe<void> Elementwise(const KernelCall& call, const F& f) {
  const ArrayView& out = call.outputs[0];
  ForEachIndex(ShapeOf(out), [&](const Dims& index) {
    const Value x = Load(call.inputs[0], OffsetOf(call.inputs[0], index));
    Value y;
    if (call.num_inputs > 1) { y = Load(call.inputs[1], OffsetOf(call.inputs[1], index)); }
    Store(out, OffsetOf(out, index), f(x, y));
  });
  return Ok();
}

// Integers wrap: their arithmetic is that of unsigned numbers.
uint64_t U(const Value& v) { return static_cast<uint64_t>(v.i); }
Value Wrapped(uint64_t v) { return Value::Int(static_cast<int64_t>(v)); }

Value AddValues(const Value& x, const Value& y) {
  return x.is_float ? Value::Float(x.d + y.d) : Wrapped(U(x) + U(y));
}
Value SubValues(const Value& x, const Value& y) {
  return x.is_float ? Value::Float(x.d - y.d) : Wrapped(U(x) - U(y));
}
Value MulValues(const Value& x, const Value& y) {
  return x.is_float ? Value::Float(x.d * y.d) : Wrapped(U(x) * U(y));
}

template <Value (*combine)(const Value&, const Value&)>
Maybe<void> RunScaled(const KernelCall& call) {
  const DataType dtype = call.outputs[0].dtype;
  const Value alpha = FromScalar(dtype, call.GetAttrs<AddAttrs>().alpha);
  return Elementwise(call, [&](const Value& x, const Value& y) {
    return combine(x, Round(dtype, MulValues(alpha, y)));
  });
}

Maybe<void> RunMul(const KernelCall& call) { return Elementwise(call, &MulValues); }

Maybe<void> RunDiv(const KernelCall& call) {
  return Elementwise(call, [](const Value& x, const Value& y) {
    return Value::Float(x.AsDouble() / y.AsDouble());
  });
}

Maybe<void> RunEq(const KernelCall& call) {
  return Elementwise(call, [](const Value& x, const Value& y) {
    return Value::Int(x.is_float || y.is_float ? x.AsDouble() == y.AsDouble() : x.i == y.i);
  });
}

template <Value (*combine)(const Value&, const Value&)>
Maybe<void> RunScalar(const KernelCall& call) {
  const Value scalar = FromScalar(call.outputs[0].dtype, call.GetAttrs<ScalarAttrs>().value);
  return Elementwise(call, [&](const Value& x, const Value&) {
    return combine(Round(call.outputs[0].dtype, x), scalar);
  });
}

Maybe<void> RunRelu(const KernelCall& call) {
  return Elementwise(call, [](const Value& x, const Value&) {
    const bool cut = x.is_float ? x.d <= 0.0 : x.i <= 0;
    return cut ? Value{x.is_float, 0.0, 0} : x;
  });
}

Maybe<void> RunReluBackward(const KernelCall& call) {
  return Elementwise(call, [](const Value& dy, const Value& out) {
    return out.AsDouble() > 0.0 ? dy : Value{dy.is_float, 0.0, 0};
  });
}

Maybe<void> RunCopy(const KernelCall& call) {
  return Elementwise(call, [](const Value& x, const Value&) { return x; });
}

Maybe<void> RunFill(const KernelCall& call) {
  const ArrayView& out = call.outputs[0];
  const Value value = FromScalar(out.dtype, call.GetAttrs<FillAttrs>().value);
  ForEachIndex(ShapeOf(out), [&](const Dims& index) { Store(out, OffsetOf(out, index), value); });
  return Ok();
}

Maybe<void> RunArange(const KernelCall& call) {
  const ArrayView& out = call.outputs[0];
  const auto& attrs = call.GetAttrs<ArangeAttrs>();
  const bool floats = IsFloating(out.dtype) || attrs.start.is_float() || attrs.step.is_float();
  int64_t i = 0;
  ForEachIndex(ShapeOf(out), [&](const Dims& index) {
    const auto start = static_cast<uint64_t>(floats ? 0 : attrs.start.To<int64_t>());
    const auto step = static_cast<uint64_t>(floats ? 0 : attrs.step.To<int64_t>());
    const Value value = floats ? Value::Float(attrs.start.To<double>() +
                                              static_cast<double>(i) * attrs.step.To<double>())
                               : Wrapped(start + static_cast<uint64_t>(i) * step);
    Store(out, OffsetOf(out, index), value);
    ++i;
  });
  return Ok();
}

}  // namespace

ONEFLOW_REGISTER_KERNEL(add, {"add.cpu.reference", &RunScaled<&AddValues>});
ONEFLOW_REGISTER_KERNEL(sub, {"sub.cpu.reference", &RunScaled<&SubValues>});
ONEFLOW_REGISTER_KERNEL(mul, {"mul.cpu.reference", &RunMul});
ONEFLOW_REGISTER_KERNEL(div, {"div.cpu.reference", &RunDiv});
ONEFLOW_REGISTER_KERNEL(eq, {"eq.cpu.reference", &RunEq});
ONEFLOW_REGISTER_KERNEL(scalar_add, {"scalar_add.cpu.reference", &RunScalar<&AddValues>});
ONEFLOW_REGISTER_KERNEL(scalar_mul, {"scalar_mul.cpu.reference", &RunScalar<&MulValues>});
ONEFLOW_REGISTER_KERNEL(relu, {"relu.cpu.reference", &RunRelu});
ONEFLOW_REGISTER_KERNEL(relu_backward, {"relu_backward.cpu.reference", &RunReluBackward});
ONEFLOW_REGISTER_KERNEL(copy, {"copy.cpu.reference", &RunCopy});
ONEFLOW_REGISTER_KERNEL(fill, {"fill.cpu.reference", &RunFill});
ONEFLOW_REGISTER_KERNEL(arange, {"arange.cpu.reference", &RunArange});

}  // namespace reference
}  // namespace cpu
}  // namespace oneflow
