// The oracles of the elementwise kernels: <op>.cpu.reference, for any dtype that the op has.
#include "oneflow/kernels/cpu/math/operands.h"
#include "oneflow/kernels/cpu/math/reference.h"
#include "oneflow/kernels/cpu/reference.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {

namespace {

using reference::ForEachIndex;
using reference::Load;
using reference::OffsetOf;
using reference::ShapeOf;
using reference::Store;
using reference::Value;

Value Compute(RealFn real, WholeFn whole, const Value* x, int count, const MathAttrs& attrs) {
  double reals[kMaxMathOperands] = {};
  int64_t wholes[kMaxMathOperands] = {};
  bool any_real = false;
  for (int i = 0; i < count; ++i) {
    reals[i] = x[i].AsDouble();
    wholes[i] = x[i].i;
    any_real = any_real || x[i].is_float;
  }
  return any_real ? Value::Float(real(reals, attrs)) : Value::Int(whole(wholes, attrs));
}

// bool has no bits but its truth.
MathOp OnTruth(MathOp op, DataType dtype) {
  return op == MathOp::kBitwiseNot && dtype == DataType::kBool ? MathOp::kLogicalNot : op;
}

Maybe<void> RunReference(MathOp op, Form form, const KernelCall& call) {
  Operands o;
  Gather(call, form, &o);
  const ArrayView& out = call.outputs[0];
  op = OnTruth(op, call.inputs[0].dtype);
  if (op == MathOp::kShiftLeft || op == MathOp::kShiftRight) {
    o.attrs.a = 8.0 * static_cast<double>(SizeOf(out.dtype));
  }
  const RealFn real = RealFormula(op);
  const WholeFn whole = WholeFormula(op);
  ForEachIndex(ShapeOf(out), [&](const Dims& index) {
    Value x[kMaxMathOperands];
    for (int i = 0; i < o.count; ++i) { x[i] = Load(o.views[i], OffsetOf(o.views[i], index)); }
    Store(out, OffsetOf(out, index), Compute(real, whole, x, o.count, o.attrs));
  });
  return Ok();
}

template <MathOp op, Form form>
struct ReferenceKernel {
  static Maybe<void> RunIt(const KernelCall& call) { return RunReference(op, form, call); }
  static const char* Accept(const KernelCall& call) { return AcceptMath(op, form, call); }
};

#define ONEFLOW_MATH_KERNEL(name, id, form)                                              \
  ONEFLOW_REGISTER_KERNEL(                                                               \
      name, {#name ".cpu.reference", &ReferenceKernel<MathOp::k##id, Form::form>::RunIt, \
             &ReferenceKernel<MathOp::k##id, Form::form>::Accept});
#define ONEFLOW_TENSORS(id, name, cost) ONEFLOW_MATH_KERNEL(name, id, kTensors)
#define ONEFLOW_NUMBERS(id, name, cost) ONEFLOW_MATH_KERNEL(name, id, kNumbers)
ONEFLOW_FUNCTIONS(ONEFLOW_TENSORS)
ONEFLOW_ACTIVATIONS(ONEFLOW_TENSORS)
ONEFLOW_NUMBERED_ACTIVATIONS(ONEFLOW_NUMBERS)
ONEFLOW_ARITHMETIC_KERNELS(ONEFLOW_MATH_KERNEL)
ONEFLOW_MATH_KERNEL(scalar_pow, Pow, kNumberLast)

}  // namespace

}  // namespace cpu
}  // namespace oneflow
