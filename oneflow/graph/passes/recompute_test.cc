#include "oneflow/graph/passes/recompute.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "oneflow/graph/graph_testlib.h"
#include "oneflow/kernels/attrs.h"
#include "oneflow/kernels/attrs_norm.h"
#include "oneflow/op/generated/op_defs_batch_norm.h"

namespace oneflow {
namespace graph {
namespace {

using Ops = std::vector<std::string>;

Ops OpsOf(const LogicalGraph& graph) {
  Ops out;
  for (const Node& node : graph.nodes()) { out.push_back(node.def->name); }
  return out;
}

// What the outputs of a graph and its captured tensors are, as terms over what it is given: two graphs with one
// meaning compute the same, whatever the kernels are. Memory that another value took over means nothing any more.
class Meaning {
 public:
  explicit Meaning(const LogicalGraph& graph) : graph_(graph), terms_(graph.buffers().size()) {
    for (size_t i = 0; i < terms_.size(); ++i) { terms_[i] = Number("given " + std::to_string(i)); }
    for (const Node& node : graph.nodes()) {
      if (node.form != Form::kView) { Run(node); }
    }
  }

  std::vector<int> Outputs() const {
    std::vector<int> seen;
    for (ValueId id : graph_.outputs()) { seen.push_back(TermOf(id)); }
    for (size_t i = 0; i < terms_.size(); ++i) {
      if (graph_.buffers()[i].kind == Buffer::Kind::kCaptured) { seen.push_back(terms_[i]); }
    }
    return seen;
  }

 private:
  int TermOf(ValueId id) const { return terms_[static_cast<size_t>(graph_.BufferOf(id))]; }

  // Equal terms of all graphs have one number.
  static int Number(const std::string& term) {
    static std::map<std::string, int> numbers;
    return numbers.emplace(term, static_cast<int>(numbers.size())).first->second;
  }

  void Run(const Node& node) {
    std::string call = node.def->name + std::string(node.attrs.begin(), node.attrs.end()) + "(";
    for (ValueId id : node.inputs) {
      call += id == kNoValue ? "none," : std::to_string(TermOf(id)) + ",";
    }
    if (node.reuses >= 0) {
      const ValueId from = node.inputs[static_cast<size_t>(node.reuses)];
      terms_[static_cast<size_t>(graph_.BufferOf(from))] = Number("taken over by " + call);
    }
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      terms_[static_cast<size_t>(graph_.BufferOf(node.outputs[i]))] =
          Number(call + ")" + std::to_string(i));
    }
  }

  const LogicalGraph& graph_;
  std::vector<int> terms_;
};

// A norm whose result is used at once and at the end; between them a buffer that is as large as four.
struct Net {
  LogicalGraph g{"G"};
  const Shape shape{2, 3, 4, 8};
  ValueId x = g.AddInput("x", MetaOf(shape));
  ValueId weight = g.AddCaptured("weight", MetaOf({3}), StorageRef());
  ValueId wide = g.AddInput("wide", MetaOf({4, 2, 3, 4, 8}));
  RecomputeLimits limits{0.5, 0, int64_t{1} << 20};

  std::vector<ValueId> Norm(ValueId of) {
    const BatchNormAttrs attrs;
    return CHECK_JUST(g.Append(&kBatchNormalizeDef, &attrs, {of, weight, weight}, kNoStack));
  }
  std::vector<ValueId> FusedNorm(ValueId of, ValueId addend) {
    FusedBatchNormAttrs attrs;
    attrs.relu = true;
    return CHECK_JUST(
        g.Append(&kFusedBatchNormDef, &attrs, {of, weight, weight, addend}, kNoStack));
  }
  ValueId Add(ValueId a, ValueId b) { return Call(&g, kAdd, {a, b}); }
  // Where the most is alive.
  void Crowd() { Shift(&g, Shift(&g, wide, 1), 2); }
  // Checks that the graph means the same, and that it takes less at its fullest moment where the pass fired.
  LogicalGraph Recompute(int64_t times) {
    CHECK_JUST(g.Verify());
    PassResult result = CHECK_JUST(RecomputeWithin(g, limits));
    EXPECT_EQ(result.fired, times) << result.graph.ToString();
    CHECK_JUST(result.graph.Verify());
    EXPECT_EQ(Meaning(result.graph).Outputs(), Meaning(g).Outputs());
    if (times > 0) { EXPECT_LT(FullestMoment(result.graph), FullestMoment(g)); }
    if (times == 0) { EXPECT_EQ(OpsOf(result.graph), OpsOf(g)); }
    return std::move(result.graph);
  }
};

TEST(RecomputeTest, ComputesAgainRightBeforeTheNextUse) {
  Net net;
  const ValueId a = Shift(&net.g, net.x, 1);
  const std::vector<ValueId> y = net.Norm(a);
  const ValueId used = Shift(&net.g, y[0], 2);
  net.Crowd();
  const ValueId late = net.Add(used, y[0]);
  net.g.SetOutputs({net.Add(late, a), net.Add(late, y[0])});
  const LogicalGraph result = net.Recompute(1);
  ASSERT_EQ(OpsOf(result), (Ops{"shift", "normalization", "shift", "shift", "shift",
                                "normalization", "add", "add", "add"}));
  const Node& again = result.node(5);
  EXPECT_EQ(again.inputs, result.node(1).inputs);
  EXPECT_NE(again.outputs[0], y[0]);
  EXPECT_EQ(result.node(6).inputs[1], again.outputs[0]);
  EXPECT_EQ(result.node(8).inputs[1], again.outputs[0]);
  EXPECT_EQ(result.node(2).inputs[0], y[0]);
}

TEST(RecomputeTest, ReadsStatisticsOfTheFirstTime) {
  Net net;
  const ValueId a = Shift(&net.g, net.x, 1);
  const std::vector<ValueId> y = net.Norm(a);
  Shift(&net.g, y[0], 2);
  net.Crowd();
  const ValueId late = Shift(&net.g, y[0], 3);
  net.g.SetOutputs({net.Add(late, a), y[1]});
  const LogicalGraph result = net.Recompute(1);
  EXPECT_EQ(result.outputs()[1], y[1]);
}

// Each case would change a result, keep memory that was free, or save nothing.
TEST(RecomputeTest, KeepsWhatCannotBeHadAgain) {
  const std::vector<std::pair<const char*, std::function<void(Net*, ValueId, ValueId)>>> cases = {
      {"the norm's input ends before",
       [](Net* net, ValueId, ValueId y) { net->g.SetOutputs({Shift(&net->g, y, 3)}); }},
      {"the norm's input is written before",
       [](Net* net, ValueId a, ValueId y) {
         CHECK_JUST(net->g.AppendInPlace(&kAdd, nullptr, {a, net->x}, 1, kNoStack));
         net->g.SetOutputs({Shift(&net->g, y, 3), Shift(&net->g, a, 3)});
       }},
      {"a parameter is written before",
       [](Net* net, ValueId a, ValueId y) {
         CHECK_JUST(net->g.AppendInPlace(&kRelu, nullptr, {net->weight}, 1, kNoStack));
         net->g.SetOutputs({net->Add(Shift(&net->g, y, 3), a)});
       }},
      {"the result is the graph's",
       [](Net* net, ValueId a, ValueId y) { net->g.SetOutputs({Shift(&net->g, a, 3), y}); }},
      {"the result is written",
       [](Net* net, ValueId a, ValueId y) {
         CHECK_JUST(net->g.AppendInPlace(&kRelu, nullptr, {y}, 1, kNoStack));
         net->g.SetOutputs({net->Add(Shift(&net->g, y, 3), a)});
       }},
      {"nobody uses it later",
       [](Net* net, ValueId a, ValueId) { net->g.SetOutputs({Shift(&net->g, a, 3)}); }},
  };
  for (const auto& [what, rest] : cases) {
    SCOPED_TRACE(what);
    Net net;
    const ValueId a = Shift(&net.g, net.x, 1);
    const ValueId y = net.Norm(a)[0];
    Shift(&net.g, y, 2);
    net.Crowd();
    rest(&net, a, y);
    net.Recompute(0);
  }
}

TEST(RecomputeTest, KeepsWhatIsUsedAtTheFullestMoment) {
  Net net;
  const ValueId a = Shift(&net.g, net.x, 1);
  const ValueId y = net.Norm(a)[0];
  const ValueId used = Shift(&net.g, y, 2);
  const ValueId large = net.Add(Shift(&net.g, net.wide, 1), y);
  net.g.SetOutputs({net.Add(net.Add(used, y), net.Add(a, y)), Shift(&net.g, large, 1)});
  net.Recompute(0);
}

TEST(RecomputeTest, KeepsSmallResults) {
  Net net;
  const ValueId a = Shift(&net.g, net.x, 1);
  const ValueId y = net.Norm(a)[0];
  Shift(&net.g, y, 2);
  net.Crowd();
  net.g.SetOutputs({net.Add(Shift(&net.g, y, 3), a)});
  net.limits.least_bytes = 4 * 192 + 1;
  net.Recompute(0);
  net.limits.least_bytes = 4 * 192;
  net.Recompute(1);
}

// Layers as of a network: each norm's result is used by the next layer, and on the way back.
struct Layers : Net {
  std::vector<ValueId> inputs, results;

  explicit Layers(int count) {
    ValueId at = x;
    for (int i = 0; i < count; ++i) {
      inputs.push_back(Shift(&g, at, i));
      at = FusedNorm(inputs.back(), i == 0 ? kNoValue : results.back())[0];
      results.push_back(at);
    }
    Crowd();
    ValueId back = x;
    for (int i = count - 1; i >= 0; --i) {
      back = Add(Add(back, results[static_cast<size_t>(i)]), inputs[static_cast<size_t>(i)]);
    }
    g.SetOutputs({back});
  }
};

TEST(RecomputeTest, TakesNoMoreThanItIsAskedFor) {
  Layers layers(8);
  const int64_t one = 192 * 4;
  // Inputs and results of 8 layers, and two wide buffers.
  ASSERT_GE(FullestMoment(layers.g), 24 * one);
  ASSERT_LE(FullestMoment(layers.g), 25 * one);
  for (const auto& [share, times] : {std::pair(1.0, 0), std::pair(0.97, 1), std::pair(0.88, 3)}) {
    layers.limits.share = share;
    layers.Recompute(times);
  }
}

// The result of a layer is there for the next one only where it is kept itself.
TEST(RecomputeTest, TakesEverySecondWhereEachNeedsTheOneBefore) {
  Layers layers(8);
  layers.limits.share = 0.0;
  const LogicalGraph result = layers.Recompute(4);
  EXPECT_EQ(FullestMoment(result), FullestMoment(layers.g) - 4 * 192 * 4);
}

// Two moments are equally full, and at one of them nothing can be spared.
TEST(RecomputeTest, GivesUpWhatLowersNothing) {
  Net net;
  const ValueId a = Shift(&net.g, net.x, 1);
  const ValueId y = net.Norm(a)[0];
  Shift(&net.g, y, 2);
  net.Crowd();
  const ValueId late = net.Add(Shift(&net.g, y, 3), a);
  net.g.SetOutputs({late});
  LogicalGraph alone = net.g;
  const ValueId wider = net.g.AddInput("wider", MetaOf({5, 2, 3, 4, 8}));
  Shift(&net.g, Shift(&net.g, wider, 1), 2);
  ASSERT_EQ(FullestMoment(net.g), FullestMoment(alone));
  EXPECT_EQ(CHECK_JUST(RecomputeWithin(alone, net.limits)).fired, 1);
  net.Recompute(0);
}

TEST(RecomputeTest, StaysOutOfGroupsThatRunTileByTile) {
  Net net;
  const ValueId a = Shift(&net.g, net.x, 1);
  const ValueId y = net.Norm(a)[0];
  const ValueId used = Shift(&net.g, y, 2);
  net.Crowd();
  const ValueId first = net.Add(used, a);
  net.g.SetOutputs({net.Add(first, y), net.Add(a, a)});
  std::vector<Node>& nodes = *net.g.mutable_nodes();
  nodes[nodes.size() - 3].fused = nodes[nodes.size() - 2].fused = 0;
  const LogicalGraph result = net.Recompute(1);
  EXPECT_EQ(OpsOf(result), (Ops{"shift", "normalization", "shift", "shift", "shift",
                                "normalization", "add", "add", "add"}));
  EXPECT_EQ(result.nodes().back().fused, -1);
}

// The norm's own gradient may take over the memory of what was computed again.
TEST(RecomputeTest, FollowsMemoryThatIsTakenOver) {
  Net net;
  const ValueId a = Shift(&net.g, net.x, 1);
  const ValueId y = net.Norm(a)[0];
  const ValueId used = Shift(&net.g, y, 2);
  net.Crowd();
  const ValueId over = net.Add(used, y);
  net.g.mutable_nodes()->back().reuses = 1;
  net.g.SetOutputs({net.Add(over, a)});
  const LogicalGraph result = net.Recompute(1);
  EXPECT_EQ(result.node(6).reuses, 1);
}

TEST(RecomputeTest, KeepsAnInputWhoseMemoryIsTakenOver) {
  Net net;
  const ValueId a = Shift(&net.g, net.x, 1);
  const ValueId y = net.Norm(a)[0];
  const ValueId over = net.Add(y, a);
  net.g.mutable_nodes()->back().reuses = 1;
  net.Crowd();
  net.g.SetOutputs({net.Add(Shift(&net.g, y, 3), over)});
  net.Recompute(0);
}

// The planted fault: the second computation reads something else, or what follows the first one's result.
TEST(RecomputeTest, ThePlantedFaultIsSeen) {
  Layers layers(3);
  layers.limits.share = 0.95;
  const LogicalGraph result = layers.Recompute(1);
  const std::vector<int> want = Meaning(layers.g).Outputs();
  for (size_t i = 0; i < result.nodes().size(); ++i) {
    const Node& node = result.nodes()[i];
    if (node.def != &kFusedBatchNormDef) { continue; }
    LogicalGraph other = result;
    (*other.mutable_nodes())[i].inputs[0] = layers.x;
    EXPECT_NE(Meaning(other).Outputs(), want) << i;
  }
}

}  // namespace
}  // namespace graph
}  // namespace oneflow
