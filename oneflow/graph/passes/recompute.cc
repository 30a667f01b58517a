#include "oneflow/graph/passes/recompute.h"

#include <algorithm>
#include <utility>

#include "oneflow/device/cpu/parallel.h"
#include "oneflow/graph/call_builder.h"
#include "oneflow/graph/memory_plan.h"
#include "oneflow/graph/passes/accesses.h"
#include "oneflow/op/generated/op_defs_batch_norm.h"

namespace oneflow {
namespace graph {

namespace {

size_t At(int32_t id) { return static_cast<size_t>(id); }

int64_t Aligned(int64_t bytes) {
  return (bytes + kPlanAlignment - 1) / kPlanAlignment * kPlanAlignment;
}

bool IsNorm(const Node& node) {
  return node.form == Form::kFresh &&
         (node.def == &kFusedBatchNormDef || node.def == &kBatchNormalizeDef);
}

// What the kernel of a node takes for itself; 0 where there is none.
int64_t ScratchOf(const LogicalGraph& graph, const Node& node) {
  if (!node.Computes() || node.outputs.empty() || node.fused >= 0) { return 0; }
  CallBuilder builder(graph, node);
  const DeviceType device = graph.value(node.outputs[0]).meta.device.type();
  const Maybe<const Kernel*> chosen = ChooseKernel(*node.def, device, *builder.call());
  if (!chosen.ok() || chosen.value()->scratch == nullptr) { return 0; }
  builder.call()->threads = cpu::ThreadsForCost(CostOf(*chosen.value(), *builder.call()));
  return Aligned(static_cast<int64_t>(chosen.value()->scratch(*builder.call())));
}

std::vector<int64_t> ScratchOfAll(const LogicalGraph& graph) {
  std::vector<int64_t> bytes;
  for (const Node& node : graph.nodes()) { bytes.push_back(ScratchOf(graph, node)); }
  return bytes;
}

// How many bytes are alive at each node, as Plan places buffers.
class Moments {
 public:
  Moments(const LogicalGraph& graph, const std::vector<int64_t>& scratch)
      : begin_(graph.nodes().size()), end_(graph.nodes().size()) {
    FindGroups(graph);
    std::vector<int64_t> change(graph.nodes().size() + 1, 0);
    for (const Span& span : SpansOf(graph)) {
      if (span.first < 0) { continue; }
      change[At(span.first)] += span.bytes;
      change[At(span.last) + 1] -= span.bytes;
    }
    int64_t alive = 0;
    for (size_t i = 0; i < scratch.size(); ++i) {
      alive += change[i];
      if (alive + scratch[i] <= bytes_) { continue; }
      bytes_ = alive + scratch[i];
      fullest_ = static_cast<NodeId>(i);
    }
  }

  int64_t bytes() const { return bytes_; }
  NodeId fullest() const { return fullest_; }
  // The first and the last node of those that run with it, tile by tile.
  NodeId BeginOf(NodeId id) const { return begin_[At(id)]; }
  NodeId EndOf(NodeId id) const { return end_[At(id)]; }

 private:
  struct Span {
    int64_t bytes = 0;
    NodeId first = -1;
    NodeId last = -1;
  };

  void FindGroups(const LogicalGraph& graph) {
    const std::vector<Node>& nodes = graph.nodes();
    for (size_t i = 0; i < nodes.size(); ++i) {
      size_t end = i + 1;
      while (nodes[i].fused >= 0 && end < nodes.size() &&
             (nodes[end].fused == nodes[i].fused || nodes[end].form == Form::kView)) {
        ++end;
      }
      for (size_t j = i; j < end; ++j) {
        begin_[j] = static_cast<NodeId>(i);
        end_[j] = static_cast<NodeId>(end) - 1;
      }
      i = end - 1;
    }
  }

  // Of each buffer that has memory of its own in a plan.
  std::vector<Span> SpansOf(const LogicalGraph& graph) const {
    std::vector<Span> spans(graph.buffers().size());
    std::vector<BufferId> root;
    for (size_t i = 0; i < spans.size(); ++i) { root.push_back(static_cast<BufferId>(i)); }
    const Usage usage(graph);
    for (size_t i = 0; i < graph.nodes().size(); ++i) {
      const Node& node = graph.nodes()[i];
      if (node.reuses < 0) { continue; }
      const BufferId from = graph.BufferOf(node.inputs[At(node.reuses)]);
      root[At(graph.BufferOf(node.outputs[0]))] = root[At(from)];
    }
    for (size_t i = 0; i < spans.size(); ++i) {
      const Usage::Of& use = usage.of[i];
      const bool planned = graph.buffers()[i].kind == Buffer::Kind::kComputed && !use.output;
      if (!planned || use.first < 0) { continue; }
      const NodeId first = BeginOf(use.first);
      const NodeId last = EndOf(use.last);
      if (graph.node(use.first).fused >= 0 && first == BeginOf(use.last)) { continue; }  // tiles
      Span& span = spans[At(root[i])];
      span.bytes = Aligned(graph.buffer(root[i]).bytes);
      span.first = span.first < 0 ? first : std::min(span.first, first);
      span.last = std::max(span.last, last);
    }
    return spans;
  }

  std::vector<NodeId> begin_, end_;
  int64_t bytes_ = 0;
  NodeId fullest_ = -1;
};

// A norm, and the node before which it is computed again for all that follow.
struct Choice {
  NodeId norm = -1;
  NodeId before = -1;
};

class Chooser {
 public:
  Chooser(const LogicalGraph& graph, const Moments& moments, const RecomputeLimits& limits,
          int64_t target)
      : graph_(graph),
        moments_(moments),
        limits_(limits),
        target_(target),
        uses_(graph, std::vector<bool>(graph.nodes().size(), false)) {}

  // The one that takes the most off the fullest moment for what it costs; none: norm is -1.
  Choice Best() const {
    Choice best;
    double best_worth = 0;
    for (NodeId id = 0; id < moments_.fullest(); ++id) {
      const Choice choice = ChoiceFor(id);
      if (choice.norm < 0) { continue; }
      const double worth = WorthOf(BytesOf(id));
      if (worth > best_worth) {
        best = choice;
        best_worth = worth;
      }
    }
    return best;
  }

 private:
  int64_t BytesOf(NodeId norm) const {
    return graph_.buffer(graph_.BufferOf(graph_.node(norm).outputs[0])).bytes;
  }

  // Bytes that are saved for each that has to be read and written, from memory or a cache.
  double WorthOf(int64_t bytes) const {
    constexpr double kCall = 64e3;       // what a call costs, in bytes
    constexpr double kFromMemory = 2.5;  // times as long as where it stays in a cache
    const auto excess = static_cast<double>(moments_.bytes() - target_);
    const double cost =
        static_cast<double>(bytes) * (bytes <= limits_.cached_bytes ? 1.0 : kFromMemory) + kCall;
    return std::min(static_cast<double>(bytes), excess) / cost;
  }

  // Is the result idle at the fullest moment, and can it be had again when it is next used?
  Choice ChoiceFor(NodeId id) const {
    const Node& norm = graph_.node(id);
    if (!IsNorm(norm) || norm.reuses >= 0 || BytesOf(id) < limits_.least_bytes) { return Choice(); }
    const ValueId result = norm.outputs[0];
    const auto end = static_cast<NodeId>(graph_.nodes().size());
    if (uses_.IsOutput(result) || !CoversBuffer(graph_, result) ||
        uses_.WrittenBetween(result, id, end)) {
      return Choice();
    }
    const NodeId before = uses_.LastBefore(result, moments_.fullest());
    const NodeId next = uses_.FirstAfter(result, before);
    if (before <= id || next < 0) { return Choice(); }
    const NodeId place = moments_.BeginOf(next);
    if (moments_.EndOf(before) >= moments_.fullest() || place <= moments_.fullest()) {
      return Choice();
    }
    for (ValueId input : norm.inputs) {
      if (input != kNoValue && !IsThere(input, id, place)) { return Choice(); }
    }
    return {id, place};
  }

  // Does the place hold at `place` what it held at `norm`, without being kept for that?
  bool IsThere(ValueId input, NodeId norm, NodeId place) const {
    if (uses_.WrittenBetween(input, norm, place)) { return false; }
    const bool planned = graph_.buffer(graph_.BufferOf(input)).kind == Buffer::Kind::kComputed;
    return !planned || uses_.IsOutput(input) || uses_.FirstAfter(input, place - 1) >= 0;
  }

  const LogicalGraph& graph_;
  const Moments& moments_;
  const RecomputeLimits& limits_;
  const int64_t target_;
  const Accesses uses_;
};

void Apply(const Choice& choice, LogicalGraph* graph, std::vector<int64_t>* scratch) {
  std::vector<Node>& nodes = *graph->mutable_nodes();
  const int64_t own_scratch = (*scratch)[At(choice.norm)];
  Node again = nodes[At(choice.norm)];
  for (ValueId& id : again.outputs) { id = graph->AddComputed(TensorMeta(graph->value(id).meta)); }
  const BufferId from = graph->BufferOf(nodes[At(choice.norm)].outputs[0]);
  const BufferId to = graph->BufferOf(again.outputs[0]);
  const auto rename = [&](std::vector<ValueId>* ids) {
    for (ValueId& id : *ids) {
      if (id == kNoValue || graph->BufferOf(id) != from) { continue; }
      id = graph->Place(to, TensorMeta(graph->value(id).meta));
    }
  };
  for (size_t i = At(choice.before); i < nodes.size(); ++i) {
    rename(&nodes[i].inputs);
    rename(&nodes[i].outputs);
  }
  nodes.insert(nodes.begin() + choice.before, std::move(again));
  scratch->insert(scratch->begin() + choice.before, own_scratch);
}

}  // namespace

int64_t FullestMoment(const LogicalGraph& graph) {
  return Moments(graph, ScratchOfAll(graph)).bytes();
}

Maybe<PassResult> RecomputeWithin(const LogicalGraph& graph, const RecomputeLimits& limits) {
  if (std::none_of(graph.nodes().begin(), graph.nodes().end(), IsNorm)) {
    return PassResult{graph, 0};
  }
  LogicalGraph result = graph;
  const std::vector<int64_t> own_scratch = ScratchOfAll(graph);
  std::vector<int64_t> scratch = own_scratch;
  std::vector<Choice> chosen;
  size_t useful = 0;  // of those: later ones lowered nothing
  int64_t lowest = Moments(graph, scratch).bytes();
  const auto target = static_cast<int64_t>(limits.share * static_cast<double>(lowest));
  while (lowest > target && chosen.size() < graph.nodes().size()) {
    const Moments before(result, scratch);
    const Choice choice = Chooser(result, before, limits, target).Best();
    if (choice.norm < 0) { break; }
    Apply(choice, &result, &scratch);
    chosen.push_back(choice);
    const int64_t bytes = Moments(result, scratch).bytes();
    if (bytes < lowest) {
      lowest = bytes;
      useful = chosen.size();
    }
  }
  if (useful < chosen.size()) {
    result = graph;
    scratch = own_scratch;
    for (size_t i = 0; i < useful; ++i) { Apply(chosen[i], &result, &scratch); }
  }
  return PassResult{std::move(result), static_cast<int64_t>(useful)};
}

Maybe<PassResult> RecomputeNorms(const LogicalGraph& graph) {
  return RecomputeWithin(graph, RecomputeLimits());
}

}  // namespace graph
}  // namespace oneflow
