#include <gtest/gtest.h>

#include <map>

#include "oneflow/graph/graph_testlib.h"
#include "oneflow/graph/passes/common_subexpressions.h"
#include "oneflow/graph/passes/dead_nodes.h"
#include "oneflow/graph/passes/pass.h"

namespace oneflow {
namespace graph {
namespace {

std::vector<std::string> OpsOf(const LogicalGraph& graph) {
  std::vector<std::string> out;
  for (const Node& node : graph.nodes()) { out.push_back(node.def->name); }
  return out;
}
using Ops = std::vector<std::string>;

TEST(DeadNodesTest, KeepsOnlyWhatOutputsAndUpdatesNeed) {
  LogicalGraph g("G");
  const ValueId x = g.AddInput("x", MetaOf({2}));
  const ValueId unused_input = g.AddInput("y", MetaOf({2}));
  const ValueId running = g.AddCaptured("running", MetaOf({2}), StorageRef());
  const ValueId unused = g.AddCaptured("unused", MetaOf({2}), StorageRef());
  const ValueId kept = Call(&g, kRelu, {x});
  const ValueId dead = Shift(&g, unused, 1);
  Shift(&g, dead, 2);
  const ValueId updated = Call(&g, kAdd, {running, kept});
  const DrawAttrs draw{};
  Call(&g, kDropout, {x}, &draw);
  g.SetOutputs({kept});
  g.AddUpdate(running, updated);
  const PassResult result = CHECK_JUST(EliminateDeadNodes(g));
  EXPECT_EQ(result.fired, 3);
  CHECK_JUST(result.graph.Verify());
  EXPECT_EQ(result.graph.ToString(), "graph 'G':\n"
                                     "  %0 = input 'x' : float32 (2,) cpu:0\n"
                                     "  %1 = input 'y' : float32 (2,) cpu:0\n"
                                     "  %3 = captured 'running' : float32 (2,) cpu:0\n"
                                     "  %2 = relu(%0) : float32 (2,) cpu:0\n"
                                     "  %4 = add(%3, %2) : float32 (2,) cpu:0\n"
                                     "  update %3 with %4\n"
                                     "  return %2\n");
  static_cast<void>(unused_input);
}

TEST(DeadNodesTest, NothingDeadFiresNever) {
  LogicalGraph g("G");
  g.SetOutputs({Call(&g, kRelu, {g.AddInput("x", MetaOf({2}))})});
  EXPECT_EQ(CHECK_JUST(EliminateDeadNodes(g)).fired, 0);
}

TEST(CommonSubexpressionsTest, MergesChainsOfEqualOps) {
  LogicalGraph g("G");
  const ValueId x = g.AddInput("x", MetaOf({2}));
  const ValueId a = Call(&g, kRelu, {Shift(&g, x, 1)});
  const ValueId b = Call(&g, kRelu, {Shift(&g, x, 1)});  // the same chain
  g.SetOutputs({Call(&g, kAdd, {a, b})});
  const PassResult result = CHECK_JUST(MergeCommonSubexpressions(g));
  EXPECT_EQ(result.fired, 2);
  CHECK_JUST(result.graph.Verify());
  EXPECT_EQ(OpsOf(result.graph), (Ops{"shift", "relu", "add"}));
  const Node& add = result.graph.nodes().back();
  EXPECT_EQ(add.inputs[0], add.inputs[1]);
}

TEST(CommonSubexpressionsTest, KeepsWhatDiffers) {
  LogicalGraph g("G");
  const ValueId x = g.AddInput("x", MetaOf({2}));
  const ValueId y = g.AddInput("y", MetaOf({2}));
  g.SetOutputs({Shift(&g, x, 1), Shift(&g, x, 2), Shift(&g, y, 1), Call(&g, kRelu, {x}),
                Call(&g, kAdd, {x, y}), Call(&g, kAdd, {y, x})});
  EXPECT_EQ(CHECK_JUST(MergeCommonSubexpressions(g)).fired, 0);
}

TEST(CommonSubexpressionsTest, KeepsCreationsOfDifferentDtype) {
  LogicalGraph g("G");
  std::vector<ValueId> outputs;
  for (DataType dtype : {DataType::kFloat, DataType::kDouble, DataType::kFloat}) {
    outputs.push_back(CHECK_JUST(g.Append(&kOnes, nullptr, {}, kNoStack, Device(), dtype))[0]);
  }
  g.SetOutputs(outputs);
  const PassResult result = CHECK_JUST(MergeCommonSubexpressions(g));
  EXPECT_EQ(result.fired, 1);
  CHECK_JUST(result.graph.Verify());
  EXPECT_EQ(result.graph.outputs()[0], result.graph.outputs()[2]);
}

TEST(CommonSubexpressionsTest, NeverMergesRandomOps) {
  LogicalGraph g("G");
  const ValueId x = g.AddInput("x", MetaOf({2}));
  DrawAttrs draw{};
  draw.slot.seed = 5;
  // Even with one and the same slot: recomputation replays slots on purpose.
  const ValueId a = Call(&g, kDropout, {x}, &draw);
  const ValueId b = Call(&g, kDropout, {x}, &draw);
  g.SetOutputs({Call(&g, kRelu, {a}), Call(&g, kRelu, {b})});
  const PassResult result = CHECK_JUST(MergeCommonSubexpressions(g));
  EXPECT_EQ(result.fired, 0);
  EXPECT_EQ(OpsOf(result.graph), (Ops{"dropout", "dropout", "relu", "relu"}));
}

TEST(CommonSubexpressionsTest, KeepsTheFirstLine) {
  Lines lines;
  LogicalGraph g("G");
  const ValueId x = g.AddInput("x", MetaOf({2}));
  const ValueId a = Call(&g, kRelu, {x}, nullptr, 3);
  const ValueId b = Call(&g, kRelu, {x}, nullptr, 4);
  g.SetOutputs({a, b});
  const PassResult result = CHECK_JUST(MergeCommonSubexpressions(g));
  ASSERT_EQ(result.graph.nodes().size(), 1u);
  EXPECT_EQ(result.graph.nodes()[0].stack.id(), 3u);
}

// What the graph computes, on numbers: an oracle for passes that is not the vm.
using Numbers = std::vector<int64_t>;
Numbers Evaluate(const LogicalGraph& g, const Numbers& inputs) {
  std::vector<int64_t> values(g.values().size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    values[static_cast<size_t>(g.inputs()[i])] = inputs[i];
  }
  for (const Node& node : g.nodes()) {
    const auto in = [&](size_t i) { return values[static_cast<size_t>(node.inputs[i])]; };
    int64_t& out = values[static_cast<size_t>(node.outputs[0])];
    if (node.def == &kAdd) { out = in(0) + 3 * in(1); }
    if (node.def == &kRelu) { out = in(0) > 0 ? in(0) : 0; }
    if (node.def == &kShift) {
      out = in(0) + reinterpret_cast<const ShiftAttrs*>(node.attrs.data())->by;
    }
  }
  Numbers out;
  for (ValueId id : g.outputs()) { out.push_back(values[static_cast<size_t>(id)]); }
  return out;
}

LogicalGraph RandomGraph(uint32_t seed) {
  LogicalGraph g("random");
  std::vector<ValueId> values = {g.AddInput("x", MetaOf({2})), g.AddInput("y", MetaOf({2}))};
  const auto draw = [&](size_t n) {
    seed = seed * 1664525u + 1013904223u;
    return static_cast<size_t>(seed >> 16) % n;
  };
  for (int i = 0; i < 60; ++i) {
    const ValueId a = values[draw(values.size())];
    const ValueId b = values[draw(values.size())];
    switch (draw(3)) {
      case 0: values.push_back(Call(&g, kAdd, {a, b})); break;
      case 1: values.push_back(Call(&g, kRelu, {a})); break;
      default: values.push_back(Shift(&g, a, static_cast<int64_t>(draw(2)))); break;
    }
  }
  g.SetOutputs({values[draw(values.size())], values.back(), values[draw(values.size())]});
  return g;
}

TEST(DefaultPassesTest, KeepTheMeaningOfRandomGraphs) {
  std::map<std::string, int64_t> fired;
  for (uint32_t seed = 0; seed < 200; ++seed) {
    const Numbers expected = Evaluate(RandomGraph(seed), {-3, 5});
    std::vector<PassCount> counts;
    const LogicalGraph result = CHECK_JUST(RunPasses(RandomGraph(seed), DefaultPasses(), &counts));
    ASSERT_EQ(Evaluate(result, {-3, 5}), expected) << result.ToString();
    for (const PassCount& count : counts) { fired[count.name] += count.fired; }
  }
  EXPECT_GT(fired["common_subexpressions"], 200);
  EXPECT_GT(fired["dead_nodes"], 200);
}

TEST(RunPassesTest, NamesThePassThatBreaksAGraph) {
  const Pass bad = {"planted", [](const LogicalGraph& graph) -> Maybe<PassResult> {
                      LogicalGraph broken(graph.name());
                      broken.SetOutputs({0});
                      return PassResult{std::move(broken), 1};
                    }};
  std::vector<PassCount> counts;
  Maybe<LogicalGraph> result = RunPasses(RandomGraph(1), {bad}, &counts);
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error()->message().find("after pass planted: "), std::string::npos);
}

}  // namespace
}  // namespace graph
}  // namespace oneflow
