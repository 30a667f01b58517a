#include "oneflow/graph/passes/arranged_weights.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "oneflow/graph/graph_testlib.h"
#include "oneflow/graph/passes/blocked_layout.h"
#include "oneflow/kernels/attrs.h"
#include "oneflow/kernels/attrs_optim.h"
#include "oneflow/kernels/attrs_spatial.h"
#include "oneflow/kernels/cpu/isa.h"
#include "oneflow/op/generated/op_defs_conv.h"
#include "oneflow/op/generated/op_defs_elementwise.h"
#include "oneflow/op/generated/op_defs_optim.h"
#include "oneflow/op/op_attrs.h"

namespace oneflow {
namespace graph {
namespace {

// Convolutions of 3 x 3 over 256 channels of small pictures, and a step of SGD with momentum.
struct Net {
  explicit Net(int64_t width = 256)
      : channels(width),
        x(g.AddInput("x", MetaOf({1, width, 14, 14}))),
        weight(Captured("weight", {width, width, 3, 3})),
        momentum(Captured("momentum", {width, width, 3, 3})) {}

  ValueId Captured(const char* name, const Shape& shape) {
    return g.AddCaptured(name, MetaOf(shape), StorageRef());
  }
  static ConvAttrs Attrs(int64_t size) {
    ConvAttrs attrs;
    attrs.stride = attrs.padding = attrs.padding_after = attrs.dilation = SpatialList(Dims{1, 1});
    attrs.size = SpatialList(Dims{size, size});
    return attrs;
  }
  ValueId Conv(ValueId in) {
    const ConvAttrs attrs = Attrs(0);
    return Call(&g, kConvolutionDef, {in, weight, kNoValue}, &attrs);
  }
  ValueId InputGrad(ValueId dy) {
    const ConvAttrs attrs = Attrs(14);
    return Call(&g, kConvolutionInputGradDef, {dy, weight, kNoValue}, &attrs);
  }
  ValueId WeightGrad(ValueId dy, ValueId in) {
    const ConvAttrs attrs = Attrs(3);
    return Call(&g, kConvolutionWeightGradDef, {dy, in}, &attrs);
  }
  ValueId Add(ValueId a, ValueId b) {
    const AddAttrs plus;
    return Call(&g, kAddDef, {a, b}, &plus);
  }
  void Update(ValueId gradient) {
    ListUpdateAttrs attrs;
    attrs.states = 1;
    CHECK_JUST(g.AppendInPlace(&kMultiTensorMomentumUpdateDef, &attrs, {weight, momentum, gradient},
                               2, kNoStack));
  }
  // Forward, back, and the sum of both gradients by the weight, which two convolutions share.
  ValueId Gradient() {
    const ValueId y = Conv(x);
    const ValueId z = Conv(y);
    const ValueId dy = InputGrad(z);
    return Add(WeightGrad(z, y), WeightGrad(dy, x));
  }
  LogicalGraph Grouped(int64_t weights) {
    CHECK_JUST(g.Verify());
    PassResult result = CHECK_JUST(GroupWeights(g));
    EXPECT_EQ(result.fired, weights) << result.graph.ToString();
    CHECK_JUST(result.graph.Verify());
    return std::move(result.graph);
  }
  int GroupOf(const LogicalGraph& graph, ValueId id) const {
    return graph.buffer(g.BufferOf(id)).order_group;
  }

  const int64_t channels;
  LogicalGraph g{"G"};
  ValueId x, weight, momentum;
};

bool Serves() { return cpu::BestIsa() == cpu::Isa::kAvx512; }

// Under autocast: the copy in bfloat16, and the gradient before and behind its cast, lie as the weight does.
TEST(ArrangedWeights, CopiesInBFloat16GoAlong) {
  Net net;
  const auto cast = [&](ValueId in, DataType dtype) {
    CastAttrs attrs;
    attrs.dtype = dtype;
    return Call(&net.g, kCastDef, {in}, &attrs);
  };
  const ValueId x = cast(net.x, DataType::kBFloat16);
  const ValueId weight = std::exchange(net.weight, cast(net.weight, DataType::kBFloat16));
  const ValueId y = net.Conv(net.Conv(x));
  const ValueId dy = net.InputGrad(y);
  const ValueId gradient = cast(net.WeightGrad(dy, y), DataType::kFloat);
  const ValueId copy = std::exchange(net.weight, weight);
  net.Update(gradient);
  net.g.SetOutputs({Call(&net.g, kReluDef, {dy})});
  const LogicalGraph grouped = net.Grouped(1);
  for (ValueId id : {net.momentum, copy, gradient}) {
    EXPECT_EQ(net.GroupOf(grouped, id), net.GroupOf(grouped, weight));
  }
  EXPECT_EQ(net.GroupOf(grouped, x), -1);
  const PassResult blocked = CHECK_JUST(BlockLayout(grouped));
  CHECK_JUST(blocked.graph.Verify());
  EXPECT_EQ(blocked.fired, Serves() ? 4 : 0);
  if (!Serves()) { return; }
  const Shape arranged{16, 16, 3, 3, 16, 16};
  int weights = 0;
  for (const Node& node : blocked.graph.nodes()) {
    const bool reads =
        node.def == &kBlockedConvolutionDef || node.def == &kBlockedConvolutionInputGradDef;
    if (!reads && node.def != &kBlockedConvolutionWeightGradDef) { continue; }
    const TensorMeta& meta = blocked.graph.value(reads ? node.inputs[1] : node.outputs[0]).meta;
    EXPECT_EQ(meta.shape, arranged);
    EXPECT_EQ(meta.dtype, DataType::kFloat);
    ++weights;
  }
  EXPECT_EQ(weights, 4);
}

TEST(ArrangedWeights, AStepIsOneGroup) {
  Net net;
  const ValueId gradient = net.Gradient();
  ListNormAttrs norm_attrs;
  const ValueId norm = Call(&net.g, kMultiTensorNormDef, {gradient}, &norm_attrs);
  ListClipAttrs clip;
  clip.max_norm = 1.0;
  CHECK_JUST(net.g.AppendInPlace(&kMultiTensorClipDef, &clip, {gradient, norm}, 1, kNoStack));
  net.Update(gradient);
  net.g.SetOutputs({norm});
  const LogicalGraph grouped = net.Grouped(1);
  const int group = net.GroupOf(grouped, net.weight);
  EXPECT_GE(group, 0);
  EXPECT_EQ(net.GroupOf(grouped, net.momentum), group);
  EXPECT_EQ(net.GroupOf(grouped, gradient), group);
  EXPECT_EQ(net.GroupOf(grouped, net.x), -1);

  const PassResult blocked = CHECK_JUST(BlockLayout(grouped));
  CHECK_JUST(blocked.graph.Verify());
  EXPECT_EQ(blocked.fired, Serves() ? 5 : 0);
  if (!Serves()) { return; }
  const Shape arranged{16, 16, 3, 3, 16, 16};
  for (ValueId id : {net.weight, net.momentum}) {
    const Buffer& buffer = blocked.graph.buffer(net.g.BufferOf(id));
    ASSERT_NE(buffer.arrangement, nullptr);
    EXPECT_EQ(buffer.arrangement->shape, net.g.value(id).meta.shape);
  }
  for (const Node& node : blocked.graph.nodes()) {
    const bool conv =
        node.def == &kBlockedConvolutionDef || node.def == &kBlockedConvolutionInputGradDef;
    const bool gradients = node.def == &kBlockedConvolutionWeightGradDef;
    const bool update = node.def == &kMultiTensorMomentumUpdateDef;
    if (conv) { EXPECT_EQ(blocked.graph.value(node.inputs[1]).meta.shape, arranged); }
    if (gradients) { EXPECT_EQ(blocked.graph.value(node.outputs[0]).meta.shape, arranged); }
    if (!update) { continue; }
    for (ValueId id : node.inputs) { EXPECT_EQ(blocked.graph.value(id).meta.shape, arranged); }
  }
}

TEST(ArrangedWeights, InferenceAlone) {
  Net net;
  ValueId y = net.x;
  for (int i = 0; i < 5; ++i) { y = net.Conv(y); }
  net.g.SetOutputs({Call(&net.g, kReluDef, {y})});
  const PassResult blocked = CHECK_JUST(BlockLayout(net.Grouped(1)));
  EXPECT_EQ(blocked.fired, Serves() ? 5 : 0);
  EXPECT_EQ(CHECK_JUST(BlockLayout(net.g)).fired, 0);  // weights are most of the work
}

TEST(ArrangedWeights, ConversionsOfImagesThatCostMoreKeepAllPlain) {
  Net net;
  net.g.SetOutputs({Call(&net.g, kReluDef, {net.Conv(net.x)})});
  const PassResult blocked = CHECK_JUST(BlockLayout(net.Grouped(1)));
  EXPECT_EQ(blocked.fired, 0);
  EXPECT_EQ(blocked.graph.buffer(net.g.BufferOf(net.weight)).arrangement, nullptr);
}

TEST(ArrangedWeights, WhatIsSeenStaysPlain) {
  {
    Net net;  // a gradient that is given away
    const ValueId gradient = net.Gradient();
    net.Update(gradient);
    net.g.SetOutputs({gradient});
    net.Grouped(0);
  }
  {
    Net net;  // the state is read by something else
    net.Update(net.Gradient());
    net.g.SetOutputs({net.Add(net.momentum, net.Captured("row", {3}))});
    net.Grouped(0);
  }
  {
    Net net;  // a view of a part
    const ValueId part = net.g.Place(net.g.BufferOf(net.weight), MetaOf({3, 3}));
    net.g.SetOutputs({net.Conv(net.x), Call(&net.g, kReluDef, {part})});
    net.Grouped(0);
  }
  {
    Net net(24);  // no whole blocks
    net.Update(net.Gradient());
    net.Grouped(0);
  }
  {
    Net net;  // an argument cannot be arranged
    net.weight = net.g.AddInput("w", MetaOf({256, 256, 3, 3}));
    net.g.SetOutputs({net.Conv(net.x)});
    net.Grouped(0);
  }
}

// What is given away after all is a captured tensor, which is read by way of the vm.
TEST(ArrangedWeights, AParameterThatIsReturned) {
  Net net;
  net.g.SetOutputs({Call(&net.g, kReluDef, {net.Conv(net.Conv(net.x))}), net.weight});
  const PassResult blocked = CHECK_JUST(BlockLayout(net.Grouped(1)));
  EXPECT_EQ(blocked.graph.outputs()[1], net.weight);
}

TEST(ArrangedWeights, OneConvolutionThatTakesNoBlocksKeepsAllPlain) {
  Net net;
  const ValueId small = net.g.AddInput("small", MetaOf({1, 256, 14, 14}));
  ConvAttrs attrs = Net::Attrs(0);
  const ValueId y = net.Conv(net.x);
  const ValueId z = Call(&net.g, kConvolutionDef, {small, net.weight, kNoValue}, &attrs);
  net.g.SetOutputs({Call(&net.g, kReluDef, {net.Conv(y)}), z});  // z is a result: plain
  const PassResult blocked = CHECK_JUST(BlockLayout(net.Grouped(1)));
  EXPECT_EQ(blocked.fired, 0);
  EXPECT_EQ(blocked.graph.buffer(net.g.BufferOf(net.weight)).arrangement, nullptr);
}

}  // namespace
}  // namespace graph
}  // namespace oneflow
