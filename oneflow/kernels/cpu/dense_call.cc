#include "oneflow/kernels/cpu/dense_call.h"

#include "oneflow/core/shape.h"
#include "oneflow/kernels/cpu/copy.h"

namespace oneflow {
namespace cpu {

namespace {

bool Widens(const ArrayView& view, const DensePolicy& policy) {
  if (policy.keeps_dtypes) { return false; }
  return view.dtype == DataType::kFloat16 ||
         (view.dtype == DataType::kBFloat16 && !policy.keeps_bfloat16);
}

bool NeedsCopy(const ArrayView& view, const DensePolicy& policy) {
  if (!view.given) { return false; }
  if (Widens(view, policy)) { return true; }
  if (view.contiguous) { return false; }
  return policy.keeps_layout == nullptr || !policy.keeps_layout(view);
}

size_t CopyBytes(const ArrayView& view, const DensePolicy& policy) {
  if (!NeedsCopy(view, policy)) { return 0; }
  const size_t size = Widens(view, policy) ? sizeof(float) : SizeOf(view.dtype);
  return (static_cast<size_t>(view.Count()) * size + 63) / 64 * 64;
}

}  // namespace

size_t DenseCall::ScratchBytes(const KernelCall& call, const DensePolicy& policy) {
  size_t bytes = 0;
  for (int i = 0; i < call.num_inputs; ++i) { bytes += CopyBytes(call.inputs[i], policy); }
  for (int i = 0; i < call.num_outputs; ++i) { bytes += CopyBytes(call.outputs[i], policy); }
  return bytes;
}

DenseCall::DenseCall(const KernelCall& call, const DensePolicy& policy)
    : original_(call), policy_(policy), dense_(call) {
  auto* scratch = static_cast<char*>(call.scratch);
  size_t used = 0;
  const int total = call.num_inputs + call.num_outputs;
  for (int i = 0; i < total; ++i) {
    const bool is_input = i < call.num_inputs;
    const ArrayView& from = is_input ? call.inputs[i] : call.outputs[i - call.num_inputs];
    views_[i] = from;
    if (!NeedsCopy(from, policy)) { continue; }
    strides_[i] = ContiguousStrides(Dims(from.shape, from.ndim));
    views_[i].data = scratch + used;
    views_[i].strides = strides_[i].data();
    views_[i].contiguous = true;
    if (Widens(from, policy)) { views_[i].dtype = DataType::kFloat; }
    used += CopyBytes(from, policy);
    if (is_input) { CopyArray(views_[i], from, call.threads); }
  }
  dense_.inputs = views_;
  dense_.outputs = views_ + call.num_inputs;
  dense_.scratch = scratch + used;
  dense_.scratch_bytes = call.scratch_bytes > used ? call.scratch_bytes - used : 0;
}

void DenseCall::Finish() const {
  for (int i = 0; i < original_.num_outputs; ++i) {
    if (NeedsCopy(original_.outputs[i], policy_)) {
      CopyArray(original_.outputs[i], dense_.outputs[i], original_.threads);
    }
  }
}

const char* AcceptOneFloatingDtype(const KernelCall& call) {
  const DataType dtype = call.outputs[0].dtype;
  if (!IsFloating(dtype)) { return "dtype is not floating"; }
  for (int i = 0; i < call.num_inputs; ++i) {
    const ArrayView& input = call.inputs[i];
    if (input.given && IsFloating(input.dtype) && input.dtype != dtype) {
      return "operands of different dtypes";
    }
  }
  return nullptr;
}

}  // namespace cpu
}  // namespace oneflow
