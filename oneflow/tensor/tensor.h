// Tensor: a handle over a storage, its meta, and its place in autograd's record.
//
// Tensors are shared by TensorPtr and behave as references: copies of the pointer are the same
// tensor. Views are other tensors over the same storage.
//
// Thread safety: immutable parts (storage, meta) may be read by any thread; the autograd part, and
// SetData, need external locking (in Python: the GIL).
#ifndef ONEFLOW_TENSOR_TENSOR_H_
#define ONEFLOW_TENSOR_TENSOR_H_

#include <memory>
#include <utility>
#include <vector>

#include "oneflow/common/intrusive_ptr.h"
#include "oneflow/common/maybe.h"
#include "oneflow/core/tensor_meta.h"
#include "oneflow/tensor/autograd_meta.h"
#include "oneflow/tensor/global_meta.h"
#include "oneflow/vm/storage.h"

namespace oneflow {

class Stream;

class Tensor : public RefCounted<Tensor> {
 public:
  Tensor(StorageRef storage, TensorMeta meta)
      : storage_(std::move(storage)), meta_(std::move(meta)) {}
  ~Tensor();

  const TensorMeta& meta() const { return meta_; }
  const Shape& shape() const { return meta_.shape; }
  const Strides& strides() const { return meta_.strides; }
  DataType dtype() const { return meta_.dtype; }
  Device device() const { return meta_.device; }
  int ndim() const { return meta_.shape.size(); }
  int64_t Count() const { return meta_.Count(); }
  bool contiguous() const { return meta_.contiguous; }

  Storage* storage() const { return storage_.get(); }
  const StorageRef& storage_ref() const { return storage_; }
  // Address of element (0, ..., 0). Valid for kernels; the host must sync first (vm).
  char* data() const {
    return static_cast<char*>(storage_->data()) +
           meta_.offset * static_cast<int64_t>(SizeOf(meta_.dtype));
  }

  // Another tensor over the same storage, without history.
  TensorPtr Alias() const {
    TensorPtr alias = MakeIntrusive<Tensor>(storage_, meta_);
    if (global_ != nullptr) { alias->global_ = global_; }
    return alias;
  }
  // `x.data = y`: this tensor becomes a handle over y's storage and meta.
  void SetData(const Tensor& other) {
    storage_ = other.storage_;
    meta_ = other.meta_;
    global_ = other.global_;
  }

  // nullptr for a local tensor. Results of ops on global tensors are global: functional/global_results.h.
  const GlobalMetaPtr& global() const { return global_; }
  void set_global(GlobalMetaPtr global) { global_ = std::move(global); }

  // Autograd (see autograd_meta.h). autograd() is nullptr for a tensor that never took part.
  AutogradMeta* autograd() const { return autograd_.get(); }
  AutogradMeta* MutableAutograd() {
    if (autograd_ == nullptr) { autograd_ = std::make_unique<AutogradMeta>(); }
    return autograd_.get();
  }
  bool requires_grad() const { return autograd_ != nullptr && autograd_->requires_grad; }
  bool is_leaf() const { return autograd_ == nullptr || autograd_->grad_fn == nullptr; }

  const IntrusivePtr<WeakTensor>& Weak();

  // The host language's object for this tensor, borrowed; guarded by the host's lock.
  void* host_object() const { return host_object_; }
  void set_host_object(void* object) { host_object_ = object; }

 private:
  StorageRef storage_;
  TensorMeta meta_;
  std::unique_ptr<AutogradMeta> autograd_;
  GlobalMetaPtr global_;
  void* host_object_ = nullptr;
};

// A contiguous tensor with memory from the device's pool, its values undefined.
Maybe<TensorPtr> AllocateTensor(const char* op, const Shape& shape, DataType dtype, Device device);
// The same for a dense `meta` whose size in bytes is known, at home on `stream`.
Maybe<TensorPtr> AllocateTensorFor(const char* op, Stream* stream, size_t bytes, TensorMeta meta);
// On the CPU, for the host to write at once: no queued instruction can still use this memory.
Maybe<TensorPtr> AllocateHostTensor(const char* op, const Shape& shape, DataType dtype);

}  // namespace oneflow

#endif  // ONEFLOW_TENSOR_TENSOR_H_
