#include "oneflow/kernels/cpu/dense_kernel.h"

#include "oneflow/core/dims.h"
#include "oneflow/core/shape.h"
#include "oneflow/kernels/cpu/copy.h"

namespace oneflow {
namespace cpu {
namespace dense_kernel_detail {

namespace {

constexpr int kMaxViews = 16;

size_t Aligned(size_t bytes) { return (bytes + 63) / 64 * 64; }

DataType ComputingDtype(const KernelCall& call) {
  for (int i = 0; i < call.num_inputs; ++i) {
    const ArrayView& view = call.inputs[i];
    if (view.given && IsFloating(view.dtype)) {
      return view.dtype == DataType::kDouble ? DataType::kDouble : DataType::kFloat;
    }
  }
  return call.outputs[0].dtype == DataType::kDouble ? DataType::kDouble : DataType::kFloat;
}

DataType WantedDtype(DataType have, DataType computing) {
  if (IsFloating(have)) { return computing; }
  return have == DataType::kBool || have == DataType::kUInt8 ? have : DataType::kInt64;
}

bool IsReady(const ArrayView& view, DataType computing) {
  return !view.given || (view.contiguous && view.dtype == WantedDtype(view.dtype, computing));
}

// The operands as the kernel wants them; those that are not get a place in scratch.
class DenseOperands {
 public:
  explicit DenseOperands(const KernelCall& call) : call_(call), dense_(call) {
    const DataType computing = ComputingDtype(call);
    const int count = call.num_inputs + call.num_outputs;
    for (int i = 0; i < count; ++i) {
      views_[i] = At(i);
      if (IsReady(views_[i], computing)) { continue; }
      strides_[i] = ContiguousStrides(Dims(views_[i].shape, views_[i].ndim));
      views_[i].strides = strides_[i].data();
      views_[i].contiguous = true;
      views_[i].dtype = WantedDtype(views_[i].dtype, computing);
      const auto bytes = static_cast<size_t>(views_[i].Count()) * SizeOf(views_[i].dtype);
      views_[i].data = static_cast<char*>(call.scratch) + bytes_;
      packed_[i] = true;
      bytes_ += Aligned(bytes);
    }
    dense_.inputs = views_;
    dense_.outputs = views_ + call.num_inputs;
  }

  // Bytes of scratch before the kernel's own.
  size_t bytes() const { return bytes_; }
  const KernelCall& call() const { return dense_; }

  void PackInputs() {
    for (int i = 0; i < call_.num_inputs; ++i) {
      if (packed_[i]) { CopyArray(views_[i], call_.inputs[i], call_.threads); }
    }
    dense_.scratch = static_cast<char*>(call_.scratch) + bytes_;
    dense_.scratch_bytes = call_.scratch_bytes - bytes_;
  }
  void UnpackOutputs() const {
    for (int i = 0; i < call_.num_outputs; ++i) {
      const int at = call_.num_inputs + i;
      if (packed_[at]) { CopyArray(call_.outputs[i], views_[at], call_.threads); }
    }
  }

 private:
  const ArrayView& At(int i) const {
    return i < call_.num_inputs ? call_.inputs[i] : call_.outputs[i - call_.num_inputs];
  }

  const KernelCall& call_;
  KernelCall dense_;
  ArrayView views_[kMaxViews];
  Dims strides_[kMaxViews];
  bool packed_[kMaxViews] = {};
  size_t bytes_ = 0;
};

bool AllReady(const KernelCall& call) {
  const DataType computing = ComputingDtype(call);
  for (int i = 0; i < call.num_inputs; ++i) {
    if (!IsReady(call.inputs[i], computing)) { return false; }
  }
  for (int i = 0; i < call.num_outputs; ++i) {
    if (!IsReady(call.outputs[i], computing)) { return false; }
  }
  return true;
}

}  // namespace

Maybe<void> Run(const DenseKernel& kernel, const KernelCall& call) {
  if (AllReady(call)) { return kernel.run(call); }
  DenseOperands operands(call);
  operands.PackInputs();
  JUST(kernel.run(operands.call()));
  operands.UnpackOutputs();
  return Ok();
}

size_t ScratchBytes(const DenseKernel& kernel, const KernelCall& call) {
  if (AllReady(call)) { return kernel.scratch == nullptr ? 0 : kernel.scratch(call); }
  const DenseOperands operands(call);
  return operands.bytes() + (kernel.scratch == nullptr ? 0 : kernel.scratch(operands.call()));
}

const char* Accept(const DenseKernel& kernel, const KernelCall& call) {
  if (call.num_inputs + call.num_outputs > kMaxViews) { return "too many operands"; }
  return kernel.accepts == nullptr ? nullptr : kernel.accepts(call);
}

}  // namespace dense_kernel_detail
}  // namespace cpu
}  // namespace oneflow
