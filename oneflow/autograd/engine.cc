#include "oneflow/autograd/engine.h"

#include <algorithm>
#include <chrono>
#include <queue>

#include "oneflow/autograd/grad_mode.h"
#include "oneflow/common/host_hooks.h"

namespace oneflow {

namespace {

using Clock = std::chrono::steady_clock;
constexpr int kClockEvery = 16;
constexpr auto kYieldAfter = std::chrono::milliseconds(5);  // CPython's own switch interval

Maybe<TensorPtr> RootGradient(const TensorPtr& root, const TensorPtr& given) {
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
    return GetGradientOps().ones_like(root);
  }
  if (given->shape() != root->shape() || given->dtype() != root->dtype()) {
    return RuntimeError("[backward] expects a gradient of shape {} and dtype {}, got {} and {}",
                        root->shape(), DataTypeName(root->dtype()), given->shape(),
                        DataTypeName(given->dtype()));
  }
  return given;
}

}  // namespace

// One run of the tape.
class Engine {
 public:
  explicit Engine(const BackwardOptions& options) : options_(options), last_yield_(Clock::now()) {}
  ~Engine() {
    // A hook may start a run of its own over the same nodes: the outer run's marks come back.
    for (Work& work : work_) {
      work.node->run_ = work.outer_run;
      work.node->slot_ = work.outer_slot;
    }
  }

  Maybe<void> AddRoots(const TensorTuple& roots, const TensorTuple& grads) {
    for (size_t i = 0; i < roots.size(); ++i) {
      TensorPtr grad =
          JUST(RootGradient(roots[i], i < grads.size() ? grads[i] : TensorPtr(nullptr)));
      Edge edge = GradientEdge(roots[i]);
      Discover(edge.node);
      JUST(Deliver(edge, std::move(grad)));
    }
    return Ok();
  }

  // Only gradients of these are wanted; leaves are left alone.
  void CaptureOnly(const std::vector<Edge>& edges) {
    capture_only_ = true;
    captured_.resize(edges.size());
    for (size_t i = 0; i < edges.size(); ++i) {
      const int slot = edges[i].node == nullptr ? -1 : SlotOf(*edges[i].node);
      if (slot >= 0) { At(slot).captures.emplace_back(edges[i].index, static_cast<int>(i)); }
    }
    MarkNeeded();
  }

  Maybe<void> Run() {
    for (Work& work : work_) {
      if (work.pending == 0) { ready_.push(work.node->slot_); }
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
  struct Work {
    NodePtr node;
    TensorTuple dys;
    int pending = 0;  // edges into this node whose gradient has not been delivered
    bool needed = true;
    const void* outer_run = nullptr;
    int outer_slot = -1;
    std::vector<std::pair<int, int>> captures;  // (output, position among the wanted inputs)
  };

  Work& At(int slot) { return work_[static_cast<size_t>(slot)]; }

  int SlotOf(const Node& node) const { return node.run_ == this ? node.slot_ : -1; }

  void Visit(const NodePtr& node) {
    Work work;
    work.node = node;
    work.outer_run = node->run_;
    work.outer_slot = node->slot_;
    node->run_ = this;
    node->slot_ = static_cast<int32_t>(work_.size());
    work.dys.resize(static_cast<size_t>(node->num_outputs()));
    work_.push_back(std::move(work));
  }

  // Gives a slot to every node that can be reached, and counts the edges into it.
  void Discover(const NodePtr& root) {
    if (SlotOf(*root) >= 0) { return; }
    size_t next = work_.size();
    Visit(root);
    for (; next < work_.size(); ++next) {
      const NodePtr node = work_[next].node;
      for (const Edge& edge : node->edges()) {
        if (edge.node == nullptr) { continue; }
        if (SlotOf(*edge.node) < 0) { Visit(edge.node); }
        ++At(edge.node->slot_).pending;
      }
    }
  }

  // A node is needed if a captured one can be reached from it. Nodes finish before those that they
  // depend on, so that one pass in order of age settles it, youngest last.
  void MarkNeeded() {
    std::vector<int> order(work_.size());
    for (size_t i = 0; i < order.size(); ++i) { order[i] = static_cast<int>(i); }
    std::sort(order.begin(), order.end(), [this](int a, int b) { return Age(a) < Age(b); });
    for (int slot : order) {
      Work& work = At(slot);
      work.needed = !work.captures.empty();
      for (const Edge& edge : work.node->edges()) {
        work.needed = work.needed || (edge.node != nullptr && At(edge.node->slot_).needed);
      }
    }
  }

  // Leaves come before everything: they have no edges.
  uint64_t Age(int slot) { return At(slot).node->IsLeaf() ? 0 : At(slot).node->sequence(); }

  Maybe<void> Deliver(const Edge& edge, TensorPtr grad) {
    if (grad == nullptr) { return Ok(); }
    TensorPtr& sum = At(edge.node->slot_).dys[static_cast<size_t>(edge.index)];
    if (sum == nullptr) {
      sum = std::move(grad);
      return Ok();
    }
    ScopedGradMode mode(options_.create_graph);
    ScopedStack stack(edge.node->stack());
    sum = JUST(GetGradientOps().add(sum, grad));
    return Ok();
  }

  Maybe<void> RunNode(int slot) {
    const NodePtr node = At(slot).node;
    TensorTuple dxs(node->edges().size());
    TensorTuple dys = std::move(At(slot).dys);
    bool any = false;
    for (const TensorPtr& dy : dys) { any = any || dy != nullptr; }
    if (any && At(slot).needed) {
      JUST(node->RunHooks(&dys));
      for (const auto& [output, position] : At(slot).captures) {
        captured_[static_cast<size_t>(position)] = dys[static_cast<size_t>(output)];
      }
      const bool apply = !(capture_only_ && node->IsLeaf());
      if (apply) { JUST(Apply(node.get(), dys, &dxs)); }
    }
    for (size_t i = 0; i < node->edges().size(); ++i) {
      const Edge& edge = node->edges()[i];
      if (edge.node == nullptr) { continue; }
      JUST(Deliver(edge, std::move(dxs[i])));
      if (--At(edge.node->slot_).pending == 0) { ready_.push(edge.node->slot_); }
    }
    return Ok();
  }

  Maybe<void> Apply(Node* node, const TensorTuple& dys, TensorTuple* dxs) {
    ScopedGradMode mode(options_.create_graph);
    ScopedStack stack(node->stack());
    JUST(node->Apply(dys, dxs));
    if (!options_.retain_graph) { node->ReleaseSaved(); }
    return Ok();
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
  bool capture_only_ = false;
  std::vector<Work> work_;
  TensorTuple captured_;
  std::priority_queue<int, std::vector<int>, Later> ready_{Later{this}};
  Clock::time_point last_yield_;
};

Maybe<void> Backward(const TensorTuple& roots, const TensorTuple& grads,
                     const BackwardOptions& options) {
  Engine engine(options);
  JUST(engine.AddRoots(roots, grads));
  return engine.Run();
}

Maybe<TensorTuple> Gradients(const TensorTuple& roots, const TensorTuple& inputs,
                             const TensorTuple& grads, const BackwardOptions& options,
                             bool allow_unused) {
  std::vector<Edge> edges;
  for (const TensorPtr& input : inputs) {
    if (!input->requires_grad()) {
      return RuntimeError("[grad] expects inputs that require grad, got one of shape {} that does "
                          "not",
                          input->shape());
    }
    edges.push_back(GradientEdge(input));
  }
  Engine engine(options);
  JUST(engine.AddRoots(roots, grads));
  engine.CaptureOnly(edges);
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
