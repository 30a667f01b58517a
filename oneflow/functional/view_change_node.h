// ViewChangeNode: the tape's node for an op in place on a view. It gives the view's base its new value:
// the old one, with what the op made in place of the view.
//
// Thread safety: as Node. Ownership: owns the op's own node, which is reachable through this one only.
#ifndef ONEFLOW_FUNCTIONAL_VIEW_CHANGE_NODE_H_
#define ONEFLOW_FUNCTIONAL_VIEW_CHANGE_NODE_H_

#include <functional>

#include "oneflow/autograd/node.h"
#include "oneflow/functional/op_node.h"

namespace oneflow {

class ViewChangeNode : public Node {
 public:
  // Before `base` gets its new history. `change` is the op's node, nullptr if nothing that the op read
  // needs a gradient. `read` says which of its operands is the view, -1 for none.
  ViewChangeNode(const char* op, const TensorPtr& base, TensorMeta view,
                 IntrusivePtr<OpNode> change, int read);

  const char* name() const override { return op_; }
  Maybe<void> Apply(const TensorTuple& dys, TensorTuple* dxs) override;
  void ReleaseSaved() override;
  void VisitTensors(const std::function<void(const Tensor*)>& visit) const override;

 private:
  const char* const op_;
  const TensorMeta base_;
  const TensorMeta view_;
  const IntrusivePtr<OpNode> change_;
  const int read_;
};

// How the gradient of a base is taken apart and put together; registered once by the functional layer.
struct ViewOps {
  // The elements of `dy`, of the base's shape, that lie where the view has its own.
  Maybe<TensorPtr> (*take)(const TensorPtr& dy, const TensorMeta& base,
                           const TensorMeta& view) = nullptr;
  // A copy of `dy` with `part` in their place; zeros, if that is nullptr.
  Maybe<TensorPtr> (*put)(const TensorPtr& dy, const TensorPtr& part, const TensorMeta& base,
                          const TensorMeta& view) = nullptr;
};
void SetViewOps(const ViewOps& ops);

}  // namespace oneflow

#endif  // ONEFLOW_FUNCTIONAL_VIEW_CHANGE_NODE_H_
