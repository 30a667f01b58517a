#include "oneflow/graph/passes/batch_norm_fusion.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "oneflow/graph/graph_testlib.h"
#include "oneflow/kernels/attrs.h"
#include "oneflow/kernels/attrs_norm.h"
#include "oneflow/op/generated/op_defs_batch_norm.h"
#include "oneflow/op/generated/op_defs_elementwise.h"

namespace oneflow {
namespace graph {
namespace {

using Ops = std::vector<std::string>;

Ops OpsOf(const LogicalGraph& graph) {
  Ops out;
  for (const Node& node : graph.nodes()) { out.push_back(node.def->name); }
  return out;
}

// A graph of (2, 3, 4, 4), with what a norm needs.
struct Net {
  LogicalGraph g{"G"};
  const Shape shape{2, 3, 4, 4};
  DataType dtype = DataType::kFloat;
  ValueId weight = g.AddCaptured("weight", MetaOf({3}), StorageRef());
  AddAttrs plus;

  ValueId Input(const char* name) {
    TensorMeta meta = MetaOf(shape);
    meta.dtype = dtype;
    return g.AddInput(name, meta);
  }
  std::vector<ValueId> Norm(ValueId x, const BatchNormAttrs& attrs = BatchNormAttrs(),
                            StackId line = kNoStack) {
    return CHECK_JUST(g.Append(&kBatchNormalizeDef, &attrs, {x, weight, weight}, line));
  }
  std::vector<ValueId> NormBackward(ValueId dy, ValueId x, const std::vector<ValueId>& norm) {
    const BatchNormAttrs attrs;
    return CHECK_JUST(
        g.Append(&kBatchNormalizeBackwardDef, &attrs, {dy, x, weight, norm[1], norm[2]}, kNoStack));
  }
  ValueId Add(ValueId a, ValueId b) { return Call(&g, kAddDef, {a, b}, &plus); }
  void AddInPlace(ValueId a, ValueId b) {
    CHECK_JUST(g.AppendInPlace(&kAddDef, &plus, {a, b}, 1, kNoStack));
  }
  void ReluInPlace(ValueId a) { CHECK_JUST(g.AppendInPlace(&kReluDef, nullptr, {a}, 1, kNoStack)); }
  PassResult Fuse(int64_t times) {
    CHECK_JUST(g.Verify());
    PassResult result = CHECK_JUST(FuseBatchNorm(g));
    EXPECT_EQ(result.fired, times) << result.graph.ToString();
    CHECK_JUST(result.graph.Verify());
    return result;
  }
};

bool ReluOf(const Node& node) {
  FusedBatchNormAttrs attrs;
  std::memcpy(static_cast<void*>(&attrs), node.attrs.data(), sizeof(attrs));
  EXPECT_EQ(attrs.epsilon, 0.25);
  return attrs.relu;
}

TEST(BatchNormFusionTest, TakesInReluWithTheLineOfTheNorm) {
  Lines lines;
  Net net;
  const ValueId x = net.Input("x");
  BatchNormAttrs attrs;
  attrs.epsilon = 0.25;
  const ValueId y = Call(&net.g, kReluDef, {net.Norm(x, attrs, 7)[0]}, nullptr, 8);
  net.g.SetOutputs({y});
  const PassResult result = net.Fuse(1);
  ASSERT_EQ(OpsOf(result.graph), (Ops{"fused_batch_norm"}));
  const Node& node = result.graph.nodes()[0];
  EXPECT_TRUE(ReluOf(node));
  EXPECT_EQ(node.stack.id(), 7u);
  EXPECT_EQ(node.inputs, (std::vector<ValueId>{x, net.weight, net.weight, kNoValue}));
  EXPECT_EQ(node.outputs[0], y);
}

TEST(BatchNormFusionTest, TakesInAnAdditionOnEitherSide) {
  for (bool left : {false, true}) {
    Net net;
    const ValueId x = net.Input("x"), past = net.Input("past");
    const ValueId y = net.Norm(x)[0];
    net.g.SetOutputs({Call(&net.g, kReluDef, {left ? net.Add(y, past) : net.Add(past, y)})});
    const PassResult result = net.Fuse(1);
    EXPECT_EQ(OpsOf(result.graph), (Ops{"fused_batch_norm"}));
    EXPECT_EQ(result.graph.nodes()[0].inputs[3], past);
  }
}

// y = norm(x); y += past; relu(y, inplace=True)
TEST(BatchNormFusionTest, TakesInOpsInPlace) {
  Net net;
  const ValueId x = net.Input("x"), past = net.Input("past");
  const ValueId y = net.Norm(x)[0];
  net.AddInPlace(y, past);
  net.ReluInPlace(y);
  net.g.SetOutputs({Call(&net.g, kReluDef, {y})});
  const PassResult result = net.Fuse(1);
  EXPECT_EQ(OpsOf(result.graph), (Ops{"fused_batch_norm", "relu"}));
  EXPECT_EQ(result.graph.nodes()[0].outputs[0], y);
}

// y = norm(x); past = norm(z); y += past: the later norm takes it in, and what follows reads new memory.
TEST(BatchNormFusionTest, TheLaterOfTwoNormsTakesInTheSum) {
  Net net;
  const ValueId x = net.Input("x"), z = net.Input("z");
  const ValueId y = net.Norm(x)[0];
  const ValueId past = net.Norm(z)[0];
  net.AddInPlace(y, past);
  net.ReluInPlace(y);
  net.g.SetOutputs({y});
  const PassResult result = net.Fuse(1);
  EXPECT_EQ(OpsOf(result.graph), (Ops{"normalization", "fused_batch_norm"}));
  const Node& fused = result.graph.nodes()[1];
  EXPECT_EQ(fused.inputs[0], z);
  EXPECT_EQ(fused.inputs[3], y);
  EXPECT_NE(fused.outputs[0], y);
  EXPECT_EQ(result.graph.outputs()[0], fused.outputs[0]);
}

TEST(BatchNormFusionTest, KeepsWhatIsUsedElsewhere) {
  {
    Net net;  // the norm's own result is wanted
    const ValueId y = net.Norm(net.Input("x"))[0];
    net.g.SetOutputs({Call(&net.g, kReluDef, {y}), y});
    net.Fuse(0);
  }
  {
    Net net;  // the sum is
    const ValueId sum = net.Add(net.Norm(net.Input("x"))[0], net.Input("past"));
    net.g.SetOutputs({Call(&net.g, kReluDef, {sum}), net.Add(sum, sum)});
    net.Fuse(0);
  }
  {
    Net net;  // the mean is read before relu
    const ValueId x = net.Input("x");
    const std::vector<ValueId> norm = net.Norm(x);
    const ValueId running = net.g.AddCaptured("running", MetaOf({3}), StorageRef());
    net.AddInPlace(running, norm[1]);
    net.g.SetOutputs({Call(&net.g, kReluDef, {norm[0]})});
    net.Fuse(0);
  }
  {
    Net net;  // the norm's input is written before relu
    const ValueId x = net.Add(net.Input("x"), net.Input("z"));
    const ValueId y = net.Norm(x)[0];
    net.ReluInPlace(x);
    net.g.SetOutputs({Call(&net.g, kReluDef, {y}), x});
    net.Fuse(0);
  }
}

TEST(BatchNormFusionTest, KeepsOtherNormsAndSums) {
  Net net;
  const ValueId x = net.Input("x");
  BatchNormAttrs last;
  last.axis = 3;
  const ValueId four = net.g.AddCaptured("four", MetaOf({4}), StorageRef());
  const auto other = CHECK_JUST(
      net.g.Append(&kBatchNormalizeDef, &last, {x, four, four}, kNoStack));  // other channels
  AddAttrs twice;
  twice.alpha = Scalar(2);
  const ValueId scaled = Call(&net.g, kAddDef, {net.Norm(x)[0], x}, &twice);
  const ValueId flat = net.g.AddInput("flat", MetaOf({5, 3}));
  net.g.SetOutputs({Call(&net.g, kReluDef, {other[0]}), Call(&net.g, kReluDef, {scaled}),
                    Call(&net.g, kReluDef, {net.Norm(flat)[0]})});
  net.Fuse(0);
}

TEST(BatchNormFusionTest, MasksInTheGradientOfTheNorm) {
  Net net;
  const ValueId x = net.Input("x"), dy = net.Input("dy");
  const std::vector<ValueId> norm = net.Norm(x);
  const ValueId y = Call(&net.g, kReluDef, {norm[0]});
  const ValueId masked = Call(&net.g, kReluBackwardDef, {dy, y});
  const std::vector<ValueId> back = net.NormBackward(masked, x, norm);
  net.g.SetOutputs({back[0], back[1], back[2]});
  const PassResult result = net.Fuse(2);
  ASSERT_EQ(OpsOf(result.graph), (Ops{"fused_batch_norm", "fused_batch_norm_backward"}));
  EXPECT_EQ(result.graph.nodes()[1].inputs,
            (std::vector<ValueId>{dy, kNoValue, x, net.weight, norm[1], norm[2], y}));
  EXPECT_EQ(result.graph.nodes()[1].outputs, back);
}

// With weight, bias and statistics in float32.
TEST(BatchNormFusionTest, TakesBFloat16) {
  for (DataType dtype : {DataType::kBFloat16, DataType::kFloat16}) {
    Net net;
    net.dtype = dtype;
    const ValueId x = net.Input("x"), dy = net.Input("dy"), past = net.Input("past");
    const std::vector<ValueId> norm = net.Norm(x);
    const ValueId y = Call(&net.g, kReluDef, {net.Add(norm[0], past)});
    const std::vector<ValueId> back =
        net.NormBackward(Call(&net.g, kReluBackwardDef, {dy, y}), x, norm);
    net.g.SetOutputs({back[0], back[1], back[2]});
    const PassResult result = net.Fuse(dtype == DataType::kBFloat16 ? 2 : 0);
    EXPECT_EQ(result.graph.value(y).meta.dtype, dtype);
    EXPECT_EQ(result.graph.value(back[1]).meta.dtype, DataType::kFloat);
  }
}

// The end of a residual block: two gradients arrive, and the masked one goes past the norm, too.
TEST(BatchNormFusionTest, KeepsTheMaskedGradientForTheWayPast) {
  Net net;
  const ValueId x = net.Input("x"), past = net.Input("past");
  const ValueId one = net.Input("one"), two = net.Input("two");
  const std::vector<ValueId> norm = net.Norm(x);
  const ValueId y = Call(&net.g, kReluDef, {net.Add(norm[0], past)});
  const ValueId masked = Call(&net.g, kReluBackwardDef, {net.Add(one, two), y});
  const ValueId dx = net.NormBackward(masked, x, norm)[0];
  net.g.SetOutputs({net.Add(masked, dx)});
  const PassResult result = net.Fuse(2);
  ASSERT_EQ(OpsOf(result.graph), (Ops{"fused_batch_norm", "fused_batch_norm_add_backward", "add"}));
  const Node& back = result.graph.nodes()[1];
  EXPECT_EQ(back.inputs[0], one);
  EXPECT_EQ(back.inputs[1], two);
  EXPECT_EQ(back.outputs[3], masked);
}

TEST(BatchNormFusionTest, KeepsAMaskThatIsWrittenBefore) {
  Net net;
  const ValueId x = net.Input("x"), dy = net.Input("dy");
  const std::vector<ValueId> norm = net.Norm(x);
  const ValueId y = Call(&net.g, kReluDef, {norm[0]});
  const ValueId masked = Call(&net.g, kReluBackwardDef, {dy, y});
  net.AddInPlace(masked, dy);
  net.g.SetOutputs({net.NormBackward(masked, x, norm)[0]});
  net.Fuse(1);  // forward only
}

TEST(BatchNormFusionTest, KeepsRegionsApart) {
  Net net;
  const ValueId y = net.Norm(net.Input("x"))[0];
  net.g.SetOutputs({Call(&net.g, kReluDef, {y})});
  net.g.mutable_nodes()->back().region = 1;
  net.Fuse(0);
}

}  // namespace
}  // namespace graph
}  // namespace oneflow
