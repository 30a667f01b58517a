#include "oneflow/tensor/tensor.h"

#include "oneflow/vm/take_memory.h"
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

Maybe<TensorPtr> AllocateOn(const char* op, StreamIndex stream, size_t bytes, TensorMeta&& meta) {
  Allocator* pool = JUST(GetAllocator(meta.device));
  const MemoryRequest request{op, bytes, meta.device, &meta.shape, meta.dtype};
  MemoryBlock* block = JUST(TakeMemory(pool, request, stream));
  StorageRef storage = Storage::Own(pool, block, request, stream);
  return MakeIntrusive<Tensor>(std::move(storage), std::move(meta));
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
  return AllocateOn(op, stream->index(), bytes, std::move(meta));
}

Maybe<TensorPtr> AllocateHostTensor(const char* op, const Shape& shape, DataType dtype) {
  const int64_t bytes = JUST(CheckedBytes(op, shape, dtype));
  TensorMeta meta;
  meta.SetContiguous(shape);
  meta.dtype = dtype;
  return AllocateOn(op, kHostStream, static_cast<size_t>(bytes), std::move(meta));
}

}  // namespace oneflow
