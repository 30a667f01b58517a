#include "oneflow/functional/view_change_node.h"

#include <utility>

namespace oneflow {

namespace {

ViewOps view_ops;

}  // namespace

void SetViewOps(const ViewOps& ops) { view_ops = ops; }

ViewChangeNode::ViewChangeNode(const char* op, const TensorPtr& base, TensorMeta view,
                               IntrusivePtr<OpNode> change, int read)
    : Node(1),
      op_(op),
      base_(base->meta()),
      view_(std::move(view)),
      change_(std::move(change)),
      read_(read) {
  AddEdge(GradientEdge(base));
  for (int i = 0; change_ != nullptr && i < change_->num_inputs(); ++i) {
    if (i != read_) { AddEdge(change_->edges()[static_cast<size_t>(i)]); }
  }
}

Maybe<void> ViewChangeNode::Apply(const TensorTuple& dys, TensorTuple* dxs) {
  const TensorPtr& dy = dys[0];
  if (dy == nullptr) { return Ok(); }
  TensorPtr before;  // gradient of the view's old value
  if (change_ != nullptr) {
    TensorTuple inner(change_->edges().size());
    JUST(change_->Apply({JUST(view_ops.take(dy, base_, view_))}, &inner));
    size_t next = 1;
    for (int i = 0; i < change_->num_inputs(); ++i) {
      TensorPtr& dx = inner[static_cast<size_t>(i)];
      (i == read_ ? before : (*dxs)[next++]) = std::move(dx);
    }
  }
  if (edges()[0].node != nullptr) { (*dxs)[0] = JUST(view_ops.put(dy, before, base_, view_)); }
  return Ok();
}

void ViewChangeNode::ReleaseSaved() {
  if (change_ != nullptr) { change_->ReleaseSaved(); }
}

void ViewChangeNode::VisitTensors(const std::function<void(const Tensor*)>& visit) const {
  if (change_ != nullptr) { change_->VisitTensors(visit); }
}

}  // namespace oneflow
