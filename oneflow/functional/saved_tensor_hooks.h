// SavedTensorHooks: what a thread wants done with the tensors that ops save for backward: to keep them
// elsewhere, or smaller.
//
// Thread safety: the current hooks are thread-local; hooks are called with the host's lock.
#ifndef ONEFLOW_FUNCTIONAL_SAVED_TENSOR_HOOKS_H_
#define ONEFLOW_FUNCTIONAL_SAVED_TENSOR_HOOKS_H_

#include <memory>

#include "oneflow/common/maybe.h"
#include "oneflow/tensor/tensor.h"

namespace oneflow {

// What a saved tensor was made into.
class PackedTensor {
 public:
  virtual ~PackedTensor() = default;
  virtual Maybe<TensorPtr> Unpack() const = 0;
  virtual void* host_object() const = 0;  // the host language's, for its garbage collector
};
using PackedTensorPtr = std::shared_ptr<const PackedTensor>;

class SavedTensorHooks {
 public:
  virtual ~SavedTensorHooks() = default;
  virtual Maybe<PackedTensorPtr> Pack(const TensorPtr& tensor) = 0;
};

inline thread_local SavedTensorHooks* saved_tensor_hooks = nullptr;

}  // namespace oneflow

#endif  // ONEFLOW_FUNCTIONAL_SAVED_TENSOR_HOOKS_H_
