#include "oneflow/tensor/tensor.h"

#include "oneflow/vm/vm.h"

namespace oneflow {

AutogradMeta::AutogradMeta() = default;
AutogradMeta::~AutogradMeta() = default;

Tensor::~Tensor() {
  if (autograd_ != nullptr && autograd_->weak != nullptr) { autograd_->weak->tensor = nullptr; }
}

const IntrusivePtr<WeakTensor>& Tensor::Weak() {
  AutogradMeta* meta = MutableAutograd();
  if (meta->weak == nullptr) {
    meta->weak = MakeIntrusive<WeakTensor>();
    meta->weak->tensor = this;
  }
  return meta->weak;
}

namespace {

// Memory that queued instructions still use cannot go back to the system. When there is no other,
// they are waited for.
Maybe<StorageRef> AllocateOrWait(Device device, size_t bytes, StreamIndex stream) {
  Maybe<StorageRef> first = Storage::Allocate(device, bytes, stream);
  if (first.ok() || first.error()->kind() != ErrorKind::kOutOfMemory) { return first; }
  JUST(Vm::Get()->WaitForAll());
  return Storage::Allocate(device, bytes, stream);
}

}  // namespace

Maybe<TensorPtr> AllocateTensor(const char* op, const Shape& shape, DataType dtype, Device device) {
  Stream* stream = JUST(Vm::Get()->StreamFor(device));
  const int64_t bytes = JUST(CheckedBytes(op, shape, dtype));
  TensorMeta meta;
  meta.SetContiguous(shape);
  meta.dtype = dtype;
  meta.device = device;
  return AllocateTensorFor(op, stream, static_cast<size_t>(bytes), std::move(meta));
}

Maybe<TensorPtr> AllocateTensorFor(const char* op, Stream* stream, size_t bytes, TensorMeta meta) {
  StorageRef storage = JUST_MSG(AllocateOrWait(meta.device, bytes, stream->index()),
                                "[{}] expects memory for a tensor of shape {} and dtype {}", op,
                                meta.shape, DataTypeName(meta.dtype));
  return MakeIntrusive<Tensor>(std::move(storage), std::move(meta));
}

Maybe<TensorPtr> AllocateHostTensor(const char* op, const Shape& shape, DataType dtype) {
  const int64_t bytes = JUST(CheckedBytes(op, shape, dtype));
  TensorMeta meta;
  meta.SetContiguous(shape);
  meta.dtype = dtype;
  StorageRef storage = JUST(AllocateOrWait(meta.device, static_cast<size_t>(bytes), kHostStream));
  return MakeIntrusive<Tensor>(std::move(storage), std::move(meta));
}

}  // namespace oneflow
