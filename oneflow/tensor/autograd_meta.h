// AutogradMeta: what autograd keeps with a tensor. The tape itself is a layer above; here a node is
// only an object that can be owned.
//
// Thread safety: external locking (in Python: the GIL).
#ifndef ONEFLOW_TENSOR_AUTOGRAD_META_H_
#define ONEFLOW_TENSOR_AUTOGRAD_META_H_

#include <functional>
#include <utility>
#include <vector>

#include "oneflow/common/intrusive_ptr.h"
#include "oneflow/common/maybe.h"

namespace oneflow {

class Tensor;
using TensorPtr = IntrusivePtr<Tensor>;
using TensorTuple = std::vector<TensorPtr>;

// Base of autograd's nodes.
class GradFnBase : public RefCounted<GradFnBase> {
 public:
  virtual ~GradFnBase() = default;
};

// Called with a gradient; a non-null result replaces it. The id is for removal.
struct TensorHook {
  int64_t id;
  std::function<Maybe<TensorPtr>(const TensorPtr&)> call;
  void* host_object = nullptr;  // the host language's object that `call` owns, if any
};

// A reference that does not keep its tensor alive: null once the tensor died.
struct WeakTensor : public RefCounted<WeakTensor> {
  Tensor* tensor = nullptr;
};

struct AutogradMeta {
  AutogradMeta();
  ~AutogradMeta();
  bool requires_grad = false;
  bool retain_grad = false;
  int32_t output_index = 0;              // which output of grad_fn this tensor is
  IntrusivePtr<GradFnBase> grad_fn;      // nullptr for a leaf
  IntrusivePtr<GradFnBase> accumulator;  // a leaf's node that adds into `grad`
  TensorPtr grad;
  std::vector<TensorHook> hooks;  // of a leaf without an accumulator yet
  IntrusivePtr<WeakTensor> weak;  // made on demand, see Tensor::Weak()
  uint64_t history = 0;           // counts how often grad_fn was set or dropped
  TensorPtr view_base;            // the tensor that this one is a view of, or nullptr
  uint64_t base_history = 0;      // the base's `history` that grad_fn was made for
};

}  // namespace oneflow

#endif  // ONEFLOW_TENSOR_AUTOGRAD_META_H_
