// The kernels add, sub, mul, div, eq, scalar_add, scalar_mul, relu and relu_backward.
#include "oneflow/kernels/attrs.h"
#include "oneflow/kernels/cpu/cost.h"
#include "oneflow/kernels/cpu/elementwise.h"
#include "oneflow/kernels/cpu/scalar_bits.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {

namespace {

template <BinaryOp op>
const char* AcceptBinary(const KernelCall& call) {
  const DataType dtype = call.inputs[0].dtype;
  if (call.inputs[1].dtype != dtype) { return "operands of different dtypes"; }
  const DataType expected = op == BinaryOp::kEq ? DataType::kBool : dtype;
  if (call.outputs[0].dtype != expected) { return "an output of another dtype"; }
  return FindLoops(op, dtype).vv == nullptr ? "dtype not supported" : nullptr;
}

const char* AcceptAdd(const KernelCall& call) {
  const bool scales = !IsOne(call.GetAttrs<AddAttrs>().alpha);
  if (scales && call.inputs[0].dtype == DataType::kBFloat16) { return "a factor beside bfloat16"; }
  return AcceptBinary<BinaryOp::kAdd>(call);
}

template <BinaryOp op>
Maybe<void> RunPlain(const KernelCall& call) {
  RunBinary(FindLoops(op, call.inputs[0].dtype), call.outputs[0], call.inputs[0], call.inputs[1],
            nullptr, call.threads);
  return Ok();
}

Maybe<void> RunScaled(const KernelCall& call, const Scalar& alpha) {
  const DataType dtype = call.inputs[0].dtype;
  const ScalarBits param = ToScalarBits(alpha, dtype);
  RunBinary(FindLoops(BinaryOp::kAddScaled, dtype), call.outputs[0], call.inputs[0], call.inputs[1],
            param.bytes, call.threads);
  return Ok();
}

Maybe<void> RunAdd(const KernelCall& call) {
  const Scalar& alpha = call.GetAttrs<AddAttrs>().alpha;
  return IsOne(alpha) ? RunPlain<BinaryOp::kAdd>(call) : RunScaled(call, alpha);
}

Maybe<void> RunSub(const KernelCall& call) {
  const Scalar& alpha = call.GetAttrs<AddAttrs>().alpha;
  return IsOne(alpha) ? RunPlain<BinaryOp::kSub>(call) : RunScaled(call, Negated(alpha));
}

template <BinaryOp op>
const char* AcceptScalar(const KernelCall& call) {
  const DataType dtype = call.inputs[0].dtype;
  if (call.outputs[0].dtype != dtype) { return "an output of another dtype"; }
  if (dtype == DataType::kBFloat16) { return "a number would be rounded to bfloat16"; }
  return FindLoops(op, dtype).vs == nullptr ? "dtype not supported" : nullptr;
}

template <BinaryOp op>
Maybe<void> RunScalar(const KernelCall& call) {
  const DataType dtype = call.inputs[0].dtype;
  ScalarBits value = ToScalarBits(call.GetAttrs<ScalarAttrs>().value, dtype);
  ArrayView y;
  y.data = value.bytes;
  y.dtype = dtype;
  y.contiguous = true;
  RunBinary(FindLoops(op, dtype), call.outputs[0], call.inputs[0], y, nullptr, call.threads);
  return Ok();
}

UnaryLoop ReluLoop(DataType dtype) {
  return GetElementwiseLoops().unary[static_cast<int>(UnaryOp::kRelu)][static_cast<int>(dtype)];
}

const char* AcceptRelu(const KernelCall& call) {
  if (call.outputs[0].dtype != call.inputs[0].dtype) { return "an output of another dtype"; }
  return ReluLoop(call.inputs[0].dtype) == nullptr ? "dtype not supported" : nullptr;
}

Maybe<void> RunRelu(const KernelCall& call) {
  RunUnary(ReluLoop(call.inputs[0].dtype), call.outputs[0], call.inputs[0], call.threads);
  return Ok();
}

}  // namespace

#define ONEFLOW_REGISTER_BINARY(name, op, run) \
  ONEFLOW_REGISTER_KERNEL(name, {#name ".cpu.vector", run, &AcceptBinary<op>, &ElementwiseCostNs})

ONEFLOW_REGISTER_KERNEL(add, {"add.cpu.vector", &RunAdd, &AcceptAdd, &ElementwiseCostNs});
ONEFLOW_REGISTER_BINARY(sub, BinaryOp::kSub, &RunSub);
ONEFLOW_REGISTER_BINARY(mul, BinaryOp::kMul, &RunPlain<BinaryOp::kMul>);
ONEFLOW_REGISTER_BINARY(div, BinaryOp::kDiv, &RunPlain<BinaryOp::kDiv>);
ONEFLOW_REGISTER_BINARY(eq, BinaryOp::kEq, &RunPlain<BinaryOp::kEq>);
ONEFLOW_REGISTER_BINARY(relu_backward, BinaryOp::kReluBackward, &RunPlain<BinaryOp::kReluBackward>);
ONEFLOW_REGISTER_KERNEL(scalar_add, {"scalar_add.cpu.vector", &RunScalar<BinaryOp::kAdd>,
                                     &AcceptScalar<BinaryOp::kAdd>, &ElementwiseCostNs});
ONEFLOW_REGISTER_KERNEL(scalar_mul, {"scalar_mul.cpu.vector", &RunScalar<BinaryOp::kMul>,
                                     &AcceptScalar<BinaryOp::kMul>, &ElementwiseCostNs});
ONEFLOW_REGISTER_KERNEL(relu, {"relu.cpu.vector", &RunRelu, &AcceptRelu, &ElementwiseCostNs});

}  // namespace cpu
}  // namespace oneflow
