// Node: one step of the tape. It maps gradients of an op's outputs to gradients of its inputs.
//
// The tape knows no op: nodes come from the functional layer (OpNode), from api/python
// (autograd.Function), and from here (AccumulateGrad, for leaves).
//
// Thread safety: a graph of nodes is run by one thread at a time. Ownership: a tensor owns its
// grad_fn; a node owns the nodes of its inputs. Long chains are destroyed without recursion.
#ifndef ONEFLOW_AUTOGRAD_NODE_H_
#define ONEFLOW_AUTOGRAD_NODE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "oneflow/common/maybe.h"
#include "oneflow/common/stack_context.h"
#include "oneflow/common/stack_source.h"
#include "oneflow/core/tensor_meta.h"
#include "oneflow/tensor/autograd_meta.h"
#include "oneflow/tensor/tensor.h"

namespace oneflow {

class Node;
using NodePtr = IntrusivePtr<Node>;

// Null once the node died.
struct WeakNode : public RefCounted<WeakNode> {
  Node* node = nullptr;
};

struct Edge {
  NodePtr node;       // nullptr: this input needs no gradient
  int32_t index = 0;  // which output of `node` the gradient belongs to
};

class Node : public GradFnBase {
 public:
  explicit Node(int num_outputs);
  ~Node() override;

  virtual const char* name() const = 0;
  // `dys[i]` is the gradient of output i, nullptr where none arrived; fills `dxs[i]` for each edge
  // that is connected (nullptr: zero). Runs with the stack of the forward op as current stack.
  virtual Maybe<void> Apply(const TensorTuple& dys, TensorTuple* dxs) = 0;
  // Drops what was saved for backward (after backward() without retain_graph).
  virtual void ReleaseSaved() {}
  // True for the node of a leaf: it runs as soon as it can, so that a gradient which is complete can
  // be used (reduced over ranks) while backward goes on.
  virtual bool IsLeaf() const { return false; }
  const std::vector<Edge>& edges() const { return edges_; }
  void AddEdge(Edge edge) { edges_.push_back(std::move(edge)); }
  int num_outputs() const { return num_outputs_; }
  StackId stack() const { return stack_; }
  // Beside it, where backward() made this node: the call; else nullptr.
  const StackContext* stack_context() const { return stack_context_.get(); }
  // Creation order; backward runs later nodes first among those that are ready.
  uint64_t sequence() const { return sequence_; }

  // Hooks of the output tensors, run in order on a gradient before Apply sees it. A result that is
  // not null replaces the gradient.
  void AddHook(int output, TensorHook hook) { hooks_.emplace_back(output, std::move(hook)); }
  bool RemoveHook(int64_t id);
  const std::vector<std::pair<int, TensorHook>>& hooks() const { return hooks_; }
  Maybe<void> RunHooks(TensorTuple* dys) const;

  // What it owns beside edges and hooks, for the host language's garbage collector: every reference
  // to a tensor, and to an object of the host.
  virtual void VisitTensors(const std::function<void(const Tensor*)>&) const {}
  virtual std::vector<void*> HostObjects() const { return {}; }

  // A reference that does not keep the node alive.
  const IntrusivePtr<WeakNode>& Weak();

 private:
  const int num_outputs_;
  const StackId stack_;
  const StackContextPtr stack_context_;
  const uint64_t sequence_;
  std::vector<Edge> edges_;
  std::vector<std::pair<int, TensorHook>> hooks_;
  IntrusivePtr<WeakNode> weak_;  // made on demand

  friend class Engine;
  // Where the last walk that met this node put it: a hint that means nothing to any other walk.
  int32_t slot_ = -1;
};

// A leaf's node: adds what arrives into `tensor.grad`. It does not own the tensor: the tensor owns
// the node, and a leaf that died needs no gradient.
class AccumulateGrad : public Node {
 public:
  explicit AccumulateGrad(const TensorPtr& leaf) : Node(1), leaf_(leaf->Weak()) {}
  const char* name() const override { return "AccumulateGrad"; }
  Maybe<void> Apply(const TensorTuple& dys, TensorTuple* dxs) override;
  bool IsLeaf() const override { return true; }

 private:
  IntrusivePtr<WeakTensor> leaf_;
};

// The few ops that the tape itself needs, registered once by the functional layer.
struct GradientOps {
  // The node that makes a view, by its place in memory, from its base.
  NodePtr (*view_node)(const TensorPtr& base, const TensorMeta& view) = nullptr;
  Maybe<TensorPtr> (*add)(const TensorPtr& a, const TensorPtr& b) = nullptr;
  // The same into the memory of `sum`, which nobody has seen: an op that fails poisons it.
  Maybe<void> (*add_into)(const TensorPtr& sum, const TensorPtr& b) = nullptr;
  Maybe<void> (*add_in_place)(const TensorPtr& target, const TensorPtr& b) = nullptr;
  Maybe<TensorPtr> (*clone)(const TensorPtr& t) = nullptr;
  Maybe<TensorPtr> (*ones_like)(const TensorPtr& t) = nullptr;
  Maybe<TensorPtr> (*cast)(const TensorPtr& t, DataType dtype) = nullptr;
  Maybe<bool> (*has_nan)(const TensorPtr& t) = nullptr;  // of a floating dtype; waits
};
void SetGradientOps(const GradientOps& ops);
// Can nobody but the holder of this one reference see the tensor or its memory, which is dense?
bool OnlyHeldBy(const TensorPtr& holder);
const GradientOps& GetGradientOps();

// The edge along which a tensor's gradient travels; {nullptr, 0} if it needs none. Makes the
// AccumulateGrad node of a leaf on first use.
Edge GradientEdge(const TensorPtr& tensor);

// Makes `tensor` output `index` of `node`.
void SetHistory(const TensorPtr& tensor, const NodePtr& node, int index);
// It does not depend on anything any more.
void DropHistory(const TensorPtr& tensor);

// Views follow their base: once an op in place gave the base another history, that of a view is made
// anew when it is next asked for. Whoever looks at requires_grad or grad_fn calls this first.
void RenewViewHistory(const TensorPtr& view);
inline void FollowBase(const TensorPtr& tensor) {
  const AutogradMeta* meta = tensor->autograd();
  if (__builtin_expect(meta == nullptr || meta->view_base == nullptr, 1)) { return; }
  const AutogradMeta* base = meta->view_base->autograd();
  if ((base == nullptr ? 0 : base->history) != meta->base_history) { RenewViewHistory(tensor); }
}

}  // namespace oneflow

#endif  // ONEFLOW_AUTOGRAD_NODE_H_
