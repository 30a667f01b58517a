#include "oneflow/kernels/cpu/dense_call.h"

#include "oneflow/core/shape.h"
#include "oneflow/kernels/cpu/copy.h"

namespace oneflow {
namespace cpu {

namespace {

DataType WantedDtype(DataType have, const DensePolicy& policy) {
  if (policy.converts) {
    if (IsFloating(have)) { return policy.computing; }
    return have == DataType::kBool || have == DataType::kUInt8 ? have : DataType::kInt64;
  }
  const bool is_short =
      have == DataType::kFloat16 || (have == DataType::kBFloat16 && !policy.keeps_bfloat16);
  return is_short && !policy.keeps_dtypes ? DataType::kFloat : have;
}

bool NeedsCopy(const ArrayView& view, const DensePolicy& policy) {
  if (!view.given) { return false; }
  if (WantedDtype(view.dtype, policy) != view.dtype) { return true; }
  if (view.contiguous) { return false; }
  return policy.keeps_layout == nullptr || !policy.keeps_layout(view);
}

size_t CopyBytes(const ArrayView& view, const DensePolicy& policy) {
  if (!NeedsCopy(view, policy)) { return 0; }
  const size_t size = SizeOf(WantedDtype(view.dtype, policy));
  return (static_cast<size_t>(view.Count()) * size + 63) / 64 * 64;
}

}  // namespace

size_t DenseCall::ScratchBytes(const KernelCall& call, const DensePolicy& policy) {
  size_t bytes = 0;
  for (int i = 0; i < call.num_inputs; ++i) { bytes += CopyBytes(call.inputs[i], policy); }
  for (int i = 0; i < call.num_outputs; ++i) { bytes += CopyBytes(call.outputs[i], policy); }
  return bytes;
}

bool DenseCall::Copies(const KernelCall& call, const DensePolicy& policy) {
  for (int i = 0; i < call.num_inputs; ++i) {
    if (NeedsCopy(call.inputs[i], policy)) { return true; }
  }
  for (int i = 0; i < call.num_outputs; ++i) {
    if (NeedsCopy(call.outputs[i], policy)) { return true; }
  }
  return false;
}

DenseCall::DenseCall(const KernelCall& call, const DensePolicy& policy)
    : original_(call), policy_(policy), dense_(call) {
  auto* scratch = static_cast<char*>(call.scratch);
  size_t used = 0;
  const int total = call.num_inputs + call.num_outputs;
  for (int i = 0; i < total; ++i) {
    const ArrayView& from =
        i < call.num_inputs ? call.inputs[i] : call.outputs[i - call.num_inputs];
    views_[i] = from;
    if (!NeedsCopy(from, policy)) { continue; }
    strides_[i] = ContiguousStrides(Dims(from.shape, from.ndim));
    views_[i].data = scratch == nullptr ? nullptr : scratch + used;
    views_[i].strides = strides_[i].data();
    views_[i].contiguous = true;
    views_[i].dtype = WantedDtype(from.dtype, policy);
    used += CopyBytes(from, policy);
  }
  dense_.inputs = views_;
  dense_.outputs = views_ + call.num_inputs;
  dense_.scratch = scratch == nullptr ? nullptr : scratch + used;
  dense_.scratch_bytes = call.scratch_bytes > used ? call.scratch_bytes - used : 0;
}

void DenseCall::Start() const {
  for (int i = 0; i < original_.num_inputs; ++i) {
    if (NeedsCopy(original_.inputs[i], policy_)) {
      CopyArray(dense_.inputs[i], original_.inputs[i], original_.threads);
    }
  }
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
