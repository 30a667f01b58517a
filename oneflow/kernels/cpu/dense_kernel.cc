#include "oneflow/kernels/cpu/dense_kernel.h"

#include "oneflow/kernels/cpu/dense_call.h"

namespace oneflow {
namespace cpu {
namespace dense_kernel_detail {

namespace {

DataType ComputingDtype(const KernelCall& call) {
  for (int i = 0; i < call.num_inputs; ++i) {
    const ArrayView& view = call.inputs[i];
    if (view.given && IsFloating(view.dtype)) {
      return view.dtype == DataType::kDouble ? DataType::kDouble : DataType::kFloat;
    }
  }
  return call.outputs[0].dtype == DataType::kDouble ? DataType::kDouble : DataType::kFloat;
}

DensePolicy PolicyFor(const KernelCall& call) {
  DensePolicy policy;
  policy.converts = true;
  policy.computing = ComputingDtype(call);
  return policy;
}

}  // namespace

Maybe<void> Run(const DenseKernel& kernel, const KernelCall& call) {
  return RunDense(call, kernel.run, PolicyFor(call));
}

size_t ScratchBytes(const DenseKernel& kernel, const KernelCall& call) {
  const auto own = [&](const KernelCall& dense) {
    return kernel.scratch == nullptr ? 0 : kernel.scratch(dense);
  };
  const DensePolicy policy = PolicyFor(call);
  if (!DenseCall::Copies(call, policy)) { return own(call); }
  return DenseCall::ScratchBytes(call, policy) + own(DenseCall(call, policy).call());
}

const char* Accept(const DenseKernel& kernel, const KernelCall& call) {
  if (call.num_inputs + call.num_outputs > DenseCall::kMaxArrays) { return "too many operands"; }
  return kernel.accepts == nullptr ? nullptr : kernel.accepts(call);
}

}  // namespace dense_kernel_detail
}  // namespace cpu
}  // namespace oneflow
