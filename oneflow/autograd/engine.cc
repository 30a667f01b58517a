#include "oneflow/autograd/engine.h"

#include <algorithm>
#include <chrono>
#include <queue>

#include "oneflow/autograd/anomaly_mode.h"
#include "oneflow/autograd/grad_mode.h"
#include "oneflow/common/host_hooks.h"
#include "oneflow/common/planted_fault.h"

namespace oneflow {

namespace {

using Clock = std::chrono::steady_clock;
constexpr int kClockEvery = 16;
constexpr auto kYieldAfter = std::chrono::milliseconds(5);  // CPython's own switch interval

Maybe<TensorPtr> RootGradient(const TensorPtr& root, const TensorPtr& given) {
  FollowBase(root);
  if (!root->requires_grad()) {
    return RuntimeError("[backward] expects a tensor that requires grad, got one of shape {} that "
                        "does not, and has no grad_fn",
                        root->shape());
  }
  if (!IsFloating(root->dtype())) {
    return RuntimeError("[backward] expects a floating-point tensor, got {}",
                        DataTypeName(root->dtype()));
  }
  if (given == nullptr) {
    if (root->Count() != 1) {
      return RuntimeError("[backward] expects a tensor with one element when no gradient is given, "
                          "got shape {}",
                          root->shape());
    }
    TensorPtr ones = JUST(GetGradientOps().ones_like(root));
    ones->set_global(root->global());
    return ones;
  }
  if (given->shape() != root->shape()) {
    return RuntimeError("[backward] expects a gradient of shape {} and dtype {}, got {} and {}",
                        root->shape(), DataTypeName(root->dtype()), given->shape(),
                        DataTypeName(given->dtype()));
  }
  return given->dtype() == root->dtype() ? given : GetGradientOps().cast(given, root->dtype());
}

}  // namespace

// One run of the tape. Start() finds the nodes and their edges' slots; it calls nothing that could let
// another thread, or a hook, begin a run over the same nodes (two graphs may share leaves). From then
// on the run looks at its own tables alone.
class Engine {
 public:
  explicit Engine(const BackwardOptions& options)
      : options_(options),
        call_(CurrentStack()),
        context_(StackContext::InBackward(nullptr, call_)),
        last_yield_(Clock::now()) {}

  // With `wanted`, only gradients of those are wanted; leaves are left alone.
  Maybe<void> Start(const TensorTuple& roots, const TensorTuple& grads,
                    const std::vector<Edge>* wanted) {
    TensorTuple dys;
    for (size_t i = 0; i < roots.size(); ++i) {
      dys.push_back(JUST(RootGradient(roots[i], i < grads.size() ? grads[i] : TensorPtr())));
      if (ChecksGradients() && JUST(HasNan(dys.back()))) {
        return RuntimeError(
            "[backward] anomaly: the gradient to start from, of shape {}, has a NaN",
            dys.back()->shape());
      }
    }
    std::vector<Target> targets;
    for (const TensorPtr& root : roots) {
      const Edge edge = GradientEdge(root);
      if (edge.node == nullptr) {  // another thread turned it off meanwhile
        return RuntimeError("[backward] expects a tensor that requires grad");
      }
      targets.push_back({Discover(edge.node), edge.index});
    }
    if (wanted != nullptr) { CaptureOnly(*wanted); }
    for (size_t i = 0; i < roots.size(); ++i) { JUST(Deliver(targets[i], std::move(dys[i]))); }
    return Ok();
  }

  Maybe<void> Run() {
    for (size_t slot = 0; slot < work_.size(); ++slot) {
      if (work_[slot].pending == 0) { ready_.push(static_cast<int>(slot)); }
    }
    int count = 0;
    while (!ready_.empty()) {
      const int slot = ready_.top();
      ready_.pop();
      JUST(RunNode(slot));
      if (++count % kClockEvery == 0) { JUST(Yield()); }
    }
    return Ok();
  }

  TensorTuple& captured() { return captured_; }

 private:
  struct Target {
    int slot = -1;  // -1: no gradient is wanted here
    int index = 0;
  };

  struct Work {
    NodePtr node;
    TensorTuple dys;
    size_t first_target = 0;  // its edges in targets_
    int pending = 0;          // edges into this node whose gradient has not been delivered
    bool needed = true;       // its gradient is, or is needed for, one that is wanted
    bool applied = true;      // the gradients of its inputs are needed
    std::vector<std::pair<int, int>> captures;  // (output, position among the wanted inputs)
  };

  Work& At(int slot) { return work_[static_cast<size_t>(slot)]; }

  // The node's slot; it gets one where it has none. Marks left by earlier runs are never believed:
  // a slot counts only if it names this very node.
  int SlotOf(const NodePtr& node) {
    const auto marked = static_cast<size_t>(node->slot_);
    if (marked < work_.size() && work_[marked].node == node) { return node->slot_; }
    Work work;
    work.node = node;
    work.dys.resize(static_cast<size_t>(node->num_outputs()));
    node->slot_ = static_cast<int32_t>(work_.size());
    work_.push_back(std::move(work));
    return node->slot_;
  }

  // Gives a slot to every node that can be reached, and counts the edges into it.
  int Discover(const NodePtr& root) {
    size_t next = work_.size();
    const int slot = SlotOf(root);
    for (; next < work_.size(); ++next) {
      const NodePtr node = work_[next].node;
      work_[next].first_target = targets_.size();
      for (const Edge& edge : node->edges()) {
        Target target;
        if (edge.node != nullptr) {
          target = {SlotOf(edge.node), edge.index};
          ++At(target.slot).pending;
        }
        targets_.push_back(target);
      }
    }
    return slot;
  }

  void CaptureOnly(const std::vector<Edge>& edges) {
    captured_.resize(edges.size());
    const size_t reached = work_.size();
    for (size_t i = 0; i < edges.size(); ++i) {
      if (edges[i].node == nullptr) { continue; }
      const auto marked = static_cast<size_t>(edges[i].node->slot_);
      if (marked >= reached || work_[marked].node != edges[i].node) { continue; }
      work_[marked].captures.emplace_back(edges[i].index, static_cast<int>(i));
    }
    MarkNeeded();
  }

  // A node is needed if a captured one can be reached from it. Nodes finish before those that they
  // depend on, so that one pass in order of age settles it, youngest last.
  void MarkNeeded() {
    std::vector<int> order(work_.size());
    for (size_t i = 0; i < order.size(); ++i) { order[i] = static_cast<int>(i); }
    std::sort(order.begin(), order.end(), [this](int a, int b) { return Age(a) < Age(b); });
    for (int slot : order) {
      Work& work = At(slot);
      work.applied = false;
      for (size_t i = 0; i < work.node->edges().size(); ++i) {
        const Target& target = targets_[work.first_target + i];
        work.applied = work.applied || (target.slot >= 0 && At(target.slot).needed);
      }
      work.needed = work.applied || !work.captures.empty();
    }
  }

  // Leaves come before everything: they have no edges.
  uint64_t Age(int slot) { return At(slot).node->IsLeaf() ? 0 : At(slot).node->sequence(); }

  Maybe<void> Deliver(const Target& target, TensorPtr grad) {
    if (grad == nullptr) { return Ok(); }
    TensorPtr& sum = At(target.slot).dys[static_cast<size_t>(target.index)];
    if (sum == nullptr) {
      sum = std::move(grad);
      return Ok();
    }
    const Node& node = *At(target.slot).node;
    ScopedGradMode mode(options_.create_graph);
    ScopedStack stack(node.stack(), ContextFor(node));
    if (MayAddInto(sum, *grad)) {
      JUST(GetGradientOps().add_into(sum, grad));
    } else {
      sum = JUST(GetGradientOps().add(sum, grad));
    }
    return CheckNan(node, sum, "the sum of the gradients that flow into output", target.index);
  }

  // In a trace sums stay apart: passes over graphs look for them.
  bool MayAddInto(const TensorPtr& sum, const Tensor& grad) const {
    return !options_.create_graph && OnlyHeldBy(sum) && !sum->storage()->traced() &&
           sum->shape() == grad.shape() && sum->dtype() == grad.dtype() &&
           sum->global() == nullptr && grad.global() == nullptr;
  }

  Maybe<void> RunNode(int slot) {
    const NodePtr node = At(slot).node;
    TensorTuple dxs(node->edges().size());
    TensorTuple dys = std::move(At(slot).dys);
    bool any = false;
    for (const TensorPtr& dy : dys) { any = any || dy != nullptr; }
    if (any && At(slot).needed) {
      if (!node->hooks().empty()) { JUST(RunHooks(*node, &dys)); }
      for (const auto& [output, position] : At(slot).captures) {
        captured_[static_cast<size_t>(position)] = dys[static_cast<size_t>(output)];
      }
      if (At(slot).applied) { JUST(Apply(node.get(), dys, &dxs)); }
    }
    dys.clear();  // their memory serves what follows
    for (size_t i = 0; i < dxs.size(); ++i) {
      const Target target = targets_[At(slot).first_target + i];
      if (target.slot < 0) { continue; }
      JUST(Deliver(target, std::move(dxs[i])));
      if (--At(target.slot).pending == 0) { ready_.push(target.slot); }
    }
    return Ok();
  }

  Maybe<void> Apply(Node* node, const TensorTuple& dys, TensorTuple* dxs) {
    ScopedGradMode mode(options_.create_graph);
    ScopedStack stack(node->stack(), ContextFor(*node));
    const Maybe<void> applied = node->Apply(dys, dxs);
    if (!applied.ok()) { return Blame(*node, applied.error()); }
    if (!options_.retain_graph) { node->ReleaseSaved(); }
    if (!ChecksGradients()) { return Ok(); }
    for (size_t i = 0; i < dxs->size(); ++i) {
      JUST(CheckNan(*node, (*dxs)[i], "the gradient that its backward gave for input", i));
    }
    return Ok();
  }

  // In anomaly mode: an error that names the line of the node's forward op.
  template <typename Index>
  Maybe<void> CheckNan(const Node& node, const TensorPtr& grad, const char* what, Index index) {
    if (!ChecksGradients() || !JUST(HasNan(grad))) { return Ok(); }
    if (FaultPlanted(Fault::kAnomalyNamesALaterNan) && nans_++ == 0) { return Ok(); }
    return Blame(node, RuntimeError("[{}] anomaly: {} {} has a NaN (shape {})", node.name(), what,
                                    index, grad->shape()));
  }

  // A leaf's node was made for the first op that used it: no line to blame a hook's failure on.
  Maybe<void> RunHooks(const Node& node, TensorTuple* dys) {
    ScopedStack stack(node.IsLeaf() ? kNoStack : node.stack(), ContextFor(node));
    const Maybe<void> ran = node.RunHooks(dys);
    if (!ran.ok() && !node.IsLeaf()) { return Blame(node, ran.error()); }
    if (!ran.ok() || !ChecksGradients()) { return ran.error(); }
    for (size_t i = 0; i < dys->size(); ++i) {
      JUST(CheckNan(node, (*dys)[i], "the gradient that a hook gave for output", i));
    }
    return Ok();
  }

  // The line that called backward() says little; that of the forward op is what is wrong.
  ErrorPtr Blame(const Node& node, const ErrorPtr& error) {
    if (FaultPlanted(Fault::kBackwardNamesTheCallOnly)) { error->set_stack(call_, nullptr); }
    if (error->stack() == kNoStack && !error->published()) {
      error->set_stack(node.stack(), ContextFor(node));
      if (error->op().empty()) { error->set_op(node.name()); }
    }
    return error;
  }

  // Lives as long as this run, or until it is asked for another node's.
  const StackContext* ContextFor(const Node& node) {
    if (node.stack_context() == nullptr) { return context_.get(); }
    if (node.stack_context() != extended_.get()) {
      extended_ = StackContextPtr(node.stack_context());
      extended_context_ = StackContext::InBackward(node.stack_context(), call_);
    }
    return extended_context_.get();
  }

  Maybe<void> Yield() {
    const auto now = Clock::now();
    if (now - last_yield_ < kYieldAfter) { return Ok(); }
    last_yield_ = now;
    HostUnlocked unlocked;
    return unlocked.PollSignals();
  }

  // Leaves first (see Node::IsLeaf), then the youngest node.
  struct Later {
    Engine* engine;
    bool operator()(int a, int b) const { return Rank(a) < Rank(b); }
    uint64_t Rank(int slot) const {
      const Node& node = *engine->At(slot).node;
      return node.IsLeaf() ? ~uint64_t{0} : node.sequence();
    }
  };

  const BackwardOptions options_;
  const StackId call_;                           // the line that called backward
  const StackContextPtr context_;                // of ops for nodes that have none of their own
  StackContextPtr extended_, extended_context_;  // the last other one, and what it became
  int nans_ = 0;                                 // met in anomaly mode
  std::vector<Work> work_;
  std::vector<Target> targets_;  // of every node's edges, in the order of work_
  TensorTuple captured_;
  std::priority_queue<int, std::vector<int>, Later> ready_{Later{this}};
  Clock::time_point last_yield_;
};

Maybe<void> Backward(const TensorTuple& roots, const TensorTuple& grads,
                     const BackwardOptions& options) {
  Engine engine(options);
  JUST(engine.Start(roots, grads, nullptr));
  return engine.Run();
}

Maybe<TensorTuple> Gradients(const TensorTuple& roots, const TensorTuple& inputs,
                             const TensorTuple& grads, const BackwardOptions& options,
                             bool allow_unused) {
  std::vector<Edge> edges;
  for (const TensorPtr& input : inputs) {
    FollowBase(input);
    if (!input->requires_grad()) {
      return RuntimeError("[grad] expects inputs that require grad, got one of shape {} that does "
                          "not",
                          input->shape());
    }
    edges.push_back(GradientEdge(input));
  }
  Engine engine(options);
  JUST(engine.Start(roots, grads, &edges));
  JUST(engine.Run());
  for (size_t i = 0; i < inputs.size() && !allow_unused; ++i) {
    if (engine.captured()[i] == nullptr) {
      return RuntimeError(
          "[grad] expects outputs that depend on every input, but input {} of shape "
          "{} is not used; pass allow_unused=True if that is meant",
          i, inputs[i]->shape());
    }
  }
  return std::move(engine.captured());
}

}  // namespace oneflow
