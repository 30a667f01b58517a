#include <gtest/gtest.h>

#include <map>

#include "oneflow/graph/graph_testlib.h"
#include "oneflow/graph/passes/common_subexpressions.h"
#include "oneflow/graph/passes/dead_nodes.h"
#include "oneflow/graph/passes/fusion.h"
#include "oneflow/graph/passes/in_place.h"
#include "oneflow/graph/passes/late_updates.h"
#include "oneflow/graph/passes/pass.h"
#include "oneflow/op/rules.h"

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
  g.AddInput("y", MetaOf({2}));
  const ValueId running = g.AddCaptured("running", MetaOf({2}), StorageRef());
  const ValueId unused = g.AddCaptured("unused", MetaOf({2}), StorageRef());
  const ValueId kept = Call(&g, kRelu, {x});
  const ValueId dead = Shift(&g, unused, 1);
  Shift(&g, dead, 2);
  CHECK_JUST(g.AppendInPlace(&kAdd, nullptr, {running, kept}, 1, kNoStack));
  CHECK_JUST(g.AppendInPlace(&kAdd, nullptr, {dead, kept}, 1, kNoStack));
  const DrawAttrs draw{};
  Call(&g, kDropout, {x}, &draw);
  g.SetOutputs({kept});
  const PassResult result = CHECK_JUST(EliminateDeadNodes(g));
  EXPECT_EQ(result.fired, 4);
  CHECK_JUST(result.graph.Verify());
  EXPECT_EQ(result.graph.ToString(), "graph 'G':\n"
                                     "  %0 = input 'x' : float32 (2,) cpu:0\n"
                                     "  %1 = input 'y' : float32 (2,) cpu:0\n"
                                     "  %2 = captured 'running' : float32 (2,) cpu:0\n"
                                     "  %4 = relu(%0) : float32 (2,) cpu:0\n"
                                     "  %2 <- add(%2, %4) : float32 (2,) cpu:0\n"
                                     "  return %4\n");
}

TEST(DeadNodesTest, KeepsAWriteThatAViewIsReadThrough) {
  LogicalGraph g("G");
  const ValueId x = g.AddInput("x", MetaOf({2, 3}));
  const ValueId made = Call(&g, kRelu, {x});
  const ValueId view = Call(&g, kTranspose, {made});
  CHECK_JUST(g.AppendInPlace(&kRelu, nullptr, {made}, 1, kNoStack));
  g.SetOutputs({Call(&g, kRelu, {view})});
  EXPECT_EQ(CHECK_JUST(EliminateDeadNodes(g)).fired, 0);
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
  EXPECT_EQ(result.fired, 0);  // two outputs never share memory
  CHECK_JUST(result.graph.Verify());
  LogicalGraph inner = g;
  inner.SetOutputs({});
  EXPECT_EQ(CHECK_JUST(MergeCommonSubexpressions(inner)).fired, 1);
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
  g.SetOutputs({Call(&g, kAdd, {a, b})});
  const PassResult result = CHECK_JUST(MergeCommonSubexpressions(g));
  ASSERT_EQ(result.graph.nodes().size(), 2u);
  EXPECT_EQ(result.graph.nodes()[0].stack.id(), 3u);
}

TEST(CommonSubexpressionsTest, KeepsWhatAWriteSeparates) {
  LogicalGraph g("G");
  const ValueId x = g.AddInput("x", MetaOf({2, 3}));
  const ValueId before = Call(&g, kRelu, {x});
  const ValueId view = Call(&g, kTranspose, {x});
  CHECK_JUST(g.AppendInPlace(&kRelu, nullptr, {view}, 1, kNoStack));  // writes x, through a view
  const ValueId after = Call(&g, kRelu, {x});
  g.SetOutputs({Call(&g, kAdd, {before, after})});
  EXPECT_EQ(CHECK_JUST(MergeCommonSubexpressions(g)).fired, 0);
}

TEST(CommonSubexpressionsTest, KeepsResultsThatAreWrittenLater) {
  LogicalGraph g("G");
  const ValueId x = g.AddInput("x", MetaOf({2}));
  const ValueId a = Call(&g, kRelu, {x});
  const ValueId b = Call(&g, kRelu, {x});
  CHECK_JUST(g.AppendInPlace(&kAdd, nullptr, {b, x}, 1, kNoStack));
  g.SetOutputs({Call(&g, kAdd, {a, b})});
  EXPECT_EQ(CHECK_JUST(MergeCommonSubexpressions(g)).fired, 0);
}

TEST(CommonSubexpressionsTest, TwoOutputsNeverShareMemory) {
  LogicalGraph g("G");
  const ValueId x = g.AddInput("x", MetaOf({2}));
  g.SetOutputs({Call(&g, kRelu, {x}), Call(&g, kRelu, {x})});
  EXPECT_EQ(CHECK_JUST(MergeCommonSubexpressions(g)).fired, 0);
}

TEST(CommonSubexpressionsTest, KeepsARecomputation) {
  LogicalGraph g("G");
  const ValueId x = g.AddInput("x", MetaOf({2}));
  const ValueId a = Call(&g, kRelu, {x});
  const ValueId b = Call(&g, kRelu, {x});
  g.mutable_nodes()->back().region = 1;
  g.SetOutputs({Call(&g, kAdd, {a, b})});
  EXPECT_EQ(CHECK_JUST(MergeCommonSubexpressions(g)).fired, 0);
}

TEST(LateUpdatesTest, MovesUpdatesBehindEverythingThatMayFail) {
  LogicalGraph g("G");
  const ValueId x = g.AddInput("x", MetaOf({2}));
  const ValueId free = g.AddCaptured("free", MetaOf({2}), StorageRef());
  const ValueId read = g.AddCaptured("read", MetaOf({2}), StorageRef());
  CHECK_JUST(g.AppendInPlace(&kAdd, nullptr, {free, x}, 1, kNoStack));
  CHECK_JUST(g.AppendInPlace(&kAdd, nullptr, {read, x}, 1, kNoStack));
  g.SetOutputs({Call(&g, kAdd, {x, read})});
  const PassResult result = CHECK_JUST(DelayUpdates(g));
  EXPECT_EQ(result.fired, 1);
  ASSERT_EQ(result.graph.nodes().size(), 3u);
  EXPECT_EQ(result.graph.nodes()[0].outputs[0], read);
  EXPECT_EQ(result.graph.nodes()[2].outputs[0], free);
}

TEST(LateUpdatesTest, KeepsAnUpdateWhoseOperandIsWrittenLater) {
  LogicalGraph g("G");
  const ValueId x = g.AddInput("x", MetaOf({2}));
  const ValueId w = g.AddCaptured("w", MetaOf({2}), StorageRef());
  const ValueId made = Call(&g, kRelu, {x});
  CHECK_JUST(g.AppendInPlace(&kAdd, nullptr, {w, made}, 1, kNoStack));
  CHECK_JUST(g.AppendInPlace(&kAdd, nullptr, {made, x}, 1, kNoStack));
  g.SetOutputs({made});
  EXPECT_EQ(CHECK_JUST(DelayUpdates(g)).fired, 0);
}

const OpDef kTanh = {"tanh",
                     1,
                     1,
                     &InferLikeFirst,
                     &SbpElementwise,
                     0,
                     -1,
                     false,
                     false,
                     false,
                     InplaceFailure::kNoInplace,
                     {{"some"}},
                     {},
                     {}};
const OpDef kMul = {"mul",
                    2,
                    1,
                    &InferAdd,
                    &SbpElementwise,
                    0,
                    -1,
                    false,
                    false,
                    false,
                    InplaceFailure::kNoInplace,
                    {{"some"}},
                    {},
                    {}};

TEST(InPlaceTest, TakesOverMemoryThatEndsThere) {
  LogicalGraph g("G");
  const ValueId x = g.AddInput("x", MetaOf({2}));
  const ValueId a = Call(&g, kTanh, {x});    // an argument never ends
  const ValueId b = Call(&g, kTanh, {a});    // takes a's
  const ValueId c = Call(&g, kMul, {a, b});  // no: a was needed again, so b did not take it
  g.SetOutputs({Call(&g, kTanh, {c})});      // an output has memory of its own
  const PassResult result = CHECK_JUST(ReuseInPlace(g));
  EXPECT_EQ(result.fired, 1);
  EXPECT_EQ(result.graph.nodes()[1].reuses, -1);
  EXPECT_EQ(result.graph.nodes()[2].reuses, 0);
}

TEST(InPlaceTest, KeepsWhatIsReadThroughAnotherView) {
  LogicalGraph g("G");
  const ValueId x = g.AddInput("x", MetaOf({2, 2}));
  const ValueId a = Call(&g, kTanh, {x});
  const ValueId flipped = Call(&g, kTranspose, {a});
  const ValueId b = Call(&g, kMul, {a, flipped});
  g.SetOutputs({Call(&g, kTanh, {Call(&g, kTanh, {b})})});
  const PassResult result = CHECK_JUST(ReuseInPlace(g));
  EXPECT_EQ(result.graph.nodes()[2].reuses, -1);
  EXPECT_EQ(result.fired, 1);
}

TEST(FusionTest, GroupsNeighboursOfOneSize) {
  const Shape large = {kSmallestFused};
  LogicalGraph g("G");
  const ValueId x = g.AddInput("x", MetaOf(large));
  const ValueId one = g.AddInput("one", MetaOf({1}));
  const ValueId a = Call(&g, kTanh, {x});
  const ValueId b = Call(&g, kMul, {a, one});
  const ValueId c = Call(&g, kRelu, {b});  // not elementwise, as far as its row says
  const ValueId d = Call(&g, kTanh, {c});
  g.SetOutputs({Call(&g, kMul, {d, a})});
  const PassResult result = CHECK_JUST(FuseElementwise(g));
  EXPECT_EQ(result.fired, 2);
  std::vector<int> groups;
  for (const Node& node : result.graph.nodes()) { groups.push_back(node.fused); }
  EXPECT_EQ(groups, (std::vector<int>{0, 0, -1, 1, 1}));
}

TEST(FusionTest, AnExpandedScalarIsOneElement) {
  const int64_t side = 256;
  LogicalGraph g("G");
  const ValueId x = g.AddInput("x", MetaOf({side, side}));
  const ValueId one = g.AddInput("one", MetaOf({1}));
  TensorMeta expanded = MetaOf({side, side});
  expanded.strides = {0, 0};
  expanded.contiguous = false;
  const ValueId a = Call(&g, kMul, {x, g.Place(g.BufferOf(one), expanded)});
  g.SetOutputs({Call(&g, kTanh, {a})});
  EXPECT_EQ(CHECK_JUST(FuseElementwise(g)).fired, 1);
  LogicalGraph h("H");  // a row is not
  const ValueId y = h.AddInput("y", MetaOf({side, side}));
  expanded.strides = {0, 1};
  const ValueId row = h.Place(h.BufferOf(h.AddInput("row", MetaOf({side}))), expanded);
  h.SetOutputs({Call(&h, kTanh, {Call(&h, kMul, {y, row})})});
  EXPECT_EQ(CHECK_JUST(FuseElementwise(h)).fired, 0);
}

TEST(FusionTest, ElementsMustKeepTheirIndex) {
  const int64_t side = 256;
  LogicalGraph g("G");
  const ValueId x = g.AddInput("x", MetaOf({side, side}));
  const ValueId a = Call(&g, kTanh, {x});
  const ValueId one = g.Place(g.BufferOf(a), MetaOf({1}));
  g.SetOutputs(
      {Call(&g, kMul, {x, one})});  // every tile reads element 0 of what the first tile wrote
  EXPECT_EQ(CHECK_JUST(FuseElementwise(g)).fired, 0);
  LogicalGraph h("H");
  const ValueId y = h.AddInput("y", MetaOf({side, side}));
  const ValueId flipped = Call(&h, kTranspose, {Call(&h, kTanh, {y})});
  h.SetOutputs({Call(&h, kMul, {y, flipped})});
  EXPECT_EQ(CHECK_JUST(FuseElementwise(h)).fired, 0);
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
