#include "oneflow/autograd/node.h"

#include <algorithm>
#include <atomic>

#include "oneflow/autograd/grad_mode.h"

namespace oneflow {

namespace {

std::atomic<uint64_t> next_sequence{1};
GradientOps gradient_ops;

StackId CaptureAndPin() {
  const StackId stack = CurrentStack();
  if (stack != kNoStack) { StackSource::Get()->Pin(stack); }
  return stack;
}

// A chain of a million nodes must not be destroyed by a million nested destructors: nodes that die
// while another dies wait in this list.
thread_local std::vector<NodePtr>* dying = nullptr;

}  // namespace

Node::Node(int num_outputs)
    : num_outputs_(num_outputs),
      stack_(CaptureAndPin()),
      stack_context_(CurrentStackContext()),
      sequence_(next_sequence.fetch_add(1, std::memory_order_relaxed)) {}

const IntrusivePtr<WeakNode>& Node::Weak() {
  if (weak_ == nullptr) {
    weak_ = MakeIntrusive<WeakNode>();
    weak_->node = this;
  }
  return weak_;
}

Node::~Node() {
  if (weak_ != nullptr) { weak_->node = nullptr; }
  if (stack_ != kNoStack) {
    if (StackSource* source = StackSource::Get()) { source->Unpin(stack_); }
  }
  if (dying != nullptr) {
    for (Edge& edge : edges_) {
      if (edge.node != nullptr) { dying->push_back(std::move(edge.node)); }
    }
    return;
  }
  std::vector<NodePtr> list;
  dying = &list;
  for (Edge& edge : edges_) {
    if (edge.node != nullptr) { list.push_back(std::move(edge.node)); }
  }
  while (!list.empty()) {
    const NodePtr next = std::move(list.back());
    list.pop_back();
  }
  dying = nullptr;
}

bool Node::RemoveHook(int64_t id) {
  const auto found = std::find_if(hooks_.begin(), hooks_.end(),
                                  [id](const auto& hook) { return hook.second.id == id; });
  if (found == hooks_.end()) { return false; }
  // What the hook owns is destroyed last: that may run code which comes back to this node.
  const TensorHook removed = std::move(found->second);
  hooks_.erase(found);
  return true;
}

Maybe<void> Node::RunHooks(TensorTuple* dys) const {
  const auto hooks = hooks_;  // a hook may add or remove hooks
  for (const auto& [output, hook] : hooks) {
    TensorPtr& dy = (*dys)[static_cast<size_t>(output)];
    if (dy == nullptr) { continue; }
    TensorPtr replaced = JUST(hook.call(dy));
    if (replaced != nullptr) { dy = std::move(replaced); }
  }
  return Ok();
}

void SetGradientOps(const GradientOps& ops) { gradient_ops = ops; }

const GradientOps& GetGradientOps() { return gradient_ops; }

bool OnlyHeldBy(const TensorPtr& holder) {
  return holder->ref_count() == 1 && holder->contiguous() && holder->storage()->Unshared() &&
         !holder->storage()->host_visible();
}

Maybe<void> AccumulateGrad::Apply(const TensorTuple& dys, TensorTuple* dxs) {
  const TensorPtr& dy = dys[0];
  if (leaf_->tensor == nullptr || dy == nullptr) { return Ok(); }
  // Own references: an op may let other threads run, and those may drop the leaf or its gradient.
  const TensorPtr leaf(leaf_->tensor);
  const TensorPtr before = leaf->MutableAutograd()->grad;
  TensorPtr after;
  if (before == nullptr) {
    // Taken over when the engine holds the only reference; else two leaves could come to share one
    // gradient, and a change of one in place would change the other.
    after = OnlyHeldBy(dy) || GradModeEnabled() ? dy : JUST(gradient_ops.clone(dy));
  } else if (GradModeEnabled() || before->storage()->host_visible()) {
    after = JUST(gradient_ops.add(before, dy));
  } else {
    JUST(gradient_ops.add_in_place(before, dy));
    return Ok();
  }
  // What a formula made of shapes alone does not know of placements.
  if (leaf->global() != nullptr) {
    if (after->global() == nullptr && after->ref_count() > 1) { after = after->Alias(); }
    after->set_global(leaf->global());
  }
  leaf->autograd()->grad = std::move(after);
  return Ok();
}

Edge GradientEdge(const TensorPtr& tensor) {
  FollowBase(tensor);
  AutogradMeta* meta = tensor->autograd();
  if (meta == nullptr || !meta->requires_grad) { return {}; }
  if (meta->grad_fn != nullptr) {
    return {NodePtr(static_cast<Node*>(meta->grad_fn.get())), meta->output_index};
  }
  if (meta->accumulator == nullptr) {
    meta->accumulator = MakeIntrusive<AccumulateGrad>(tensor);
    auto* node = static_cast<Node*>(meta->accumulator.get());
    for (TensorHook& hook : meta->hooks) { node->AddHook(0, hook); }
    meta->hooks.clear();
  }
  return {NodePtr(static_cast<Node*>(meta->accumulator.get())), 0};
}

void SetHistory(const TensorPtr& tensor, const NodePtr& node, int index) {
  AutogradMeta* meta = tensor->MutableAutograd();
  meta->requires_grad = true;
  meta->grad_fn = node;
  meta->output_index = index;
  ++meta->history;
}

void DropHistory(const TensorPtr& tensor) {
  AutogradMeta* meta = tensor->MutableAutograd();
  meta->requires_grad = false;
  meta->grad_fn.Reset();
  ++meta->history;
}

void RenewViewHistory(const TensorPtr& view) {
  AutogradMeta* meta = view->autograd();
  const TensorPtr base = meta->view_base;
  meta->base_history = base->MutableAutograd()->history;
  if (view->storage() != base->storage()) {  // its data was replaced: a view no more
    meta->view_base.Reset();
    return;
  }
  // A view that was made a leaf of its own stays one.
  if (meta->requires_grad && meta->grad_fn == nullptr) { return; }
  if (base->requires_grad() && IsFloating(view->dtype())) {
    SetHistory(view, gradient_ops.view_node(base, view->meta()), 0);
  } else if (meta->requires_grad) {
    DropHistory(view);
  }
}

}  // namespace oneflow
