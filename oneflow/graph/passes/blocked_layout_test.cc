#include "oneflow/graph/passes/blocked_layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "oneflow/graph/graph_testlib.h"
#include "oneflow/kernels/attrs.h"
#include "oneflow/kernels/attrs_norm.h"
#include "oneflow/kernels/attrs_spatial.h"
#include "oneflow/kernels/cpu/isa.h"
#include "oneflow/op/generated/op_defs_batch_norm.h"
#include "oneflow/op/generated/op_defs_conv.h"
#include "oneflow/op/generated/op_defs_elementwise.h"
#include "oneflow/op/generated/op_defs_pool.h"

namespace oneflow {
namespace graph {
namespace {

using Ops = std::vector<std::string>;

Ops OpsOf(const LogicalGraph& graph) {
  Ops out;
  for (const Node& node : graph.nodes()) { out.push_back(node.def->name); }
  return out;
}

// Convolutions of 3 x 3 over 32 channels, (2, 32, 64, 64).
struct Net {
  explicit Net(DataType dtype = DataType::kFloat, DataType parameter = DataType::kFloat)
      : x(g.AddInput("x", MetaOf(shape, dtype))),
        weight(g.AddCaptured("weight", MetaOf({32, 32, 3, 3}, dtype), StorageRef())),
        gamma(g.AddCaptured("gamma", MetaOf({32}, parameter), StorageRef())) {}

  LogicalGraph g{"G"};
  const Shape shape{2, 32, 64, 64};
  ValueId x;
  ValueId weight;
  ValueId gamma;

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
    const ConvAttrs attrs = Attrs(64);
    return Call(&g, kConvolutionInputGradDef, {dy, weight, kNoValue}, &attrs);
  }
  ValueId WeightGrad(ValueId dy, ValueId in) {
    const ConvAttrs attrs = Attrs(3);
    return Call(&g, kConvolutionWeightGradDef, {dy, in}, &attrs);
  }
  std::vector<ValueId> Norm(ValueId in) {
    const BatchNormAttrs attrs;
    return CHECK_JUST(g.Append(&kBatchNormalizeDef, &attrs, {in, gamma, gamma}, kNoStack));
  }
  ValueId Add(ValueId a, ValueId b) {
    const AddAttrs plus;
    return Call(&g, kAddDef, {a, b}, &plus);
  }
  // Three convolutions, which is enough to be worth two conversions.
  ValueId Chain(ValueId in) { return Conv(Conv(Conv(in))); }
  PassResult Run(int64_t times) {
    CHECK_JUST(g.Verify());
    PassResult result = CHECK_JUST(BlockLayout(g));
    EXPECT_EQ(result.fired, times) << result.graph.ToString();
    CHECK_JUST(result.graph.Verify());
    return result;
  }
};

class BlockedLayoutTest : public ::testing::Test {
 protected:
  bool Serves() const { return cpu::BestIsa() == cpu::Isa::kAvx512; }
};

TEST_F(BlockedLayoutTest, NeedsTheMachine) {
  Net net;
  net.g.SetOutputs({net.Chain(net.Chain(net.x))});
  const PassResult result = net.Run(Serves() ? 5 : 0);  // the last one makes an output
  EXPECT_EQ(result.graph.nodes().size(), Serves() ? 8u : 6u);
}

TEST_F(BlockedLayoutTest, ConvertsAtTheEndsOnly) {
  if (!Serves()) { return; }
  Net net;
  const ValueId y = net.Norm(net.Conv(net.x))[0];
  const ValueId z = Call(&net.g, kReluDef, {net.Add(net.Conv(y), y)});
  net.g.SetOutputs({Call(&net.g, kReluDef, {net.Chain(z)})});
  const PassResult result = net.Run(5);
  const std::string conv = "blocked_convolution";
  EXPECT_EQ(OpsOf(result.graph), (Ops{"block_channels", conv, "fused_batch_norm", conv, "add",
                                      "relu", conv, conv, conv, "unblock_channels", "relu"}));
}

void ExpectGradientsGoAlong(DataType dtype) {
  Net net(dtype);
  const ValueId a = net.Conv(net.x);
  const std::vector<ValueId> norm = net.Norm(a);
  const ValueId b = net.Conv(norm[0]);
  const ValueId db = net.Conv(b);
  const BatchNormAttrs attrs;
  const ValueId dw = net.WeightGrad(db, norm[0]);
  const ValueId da =
      CHECK_JUST(net.g.Append(&kBatchNormalizeBackwardDef, &attrs,
                              {net.InputGrad(db), a, net.gamma, norm[1], norm[2]}, kNoStack))[0];
  net.g.SetOutputs({dw, net.WeightGrad(da, net.x)});
  const PassResult result = net.Run(6);
  const std::string conv = "blocked_convolution";
  EXPECT_EQ(OpsOf(result.graph),
            (Ops{"block_channels", conv, "fused_batch_norm", conv, conv, conv + "_weight_grad",
                 conv + "_input_grad", "fused_batch_norm_backward", "block_channels",
                 conv + "_weight_grad"}));
}

TEST_F(BlockedLayoutTest, GradientsGoAlong) {
  if (!Serves()) { return; }
  ExpectGradientsGoAlong(DataType::kFloat);
  ExpectGradientsGoAlong(DataType::kBFloat16);
}

// Norms on blocks have float32 parameters only.
TEST_F(BlockedLayoutTest, NormsWithShortParametersStayPlain) {
  if (!Serves()) { return; }
  for (DataType parameter : {DataType::kFloat, DataType::kBFloat16}) {
    Net net(DataType::kBFloat16, parameter);
    const ValueId y = net.Norm(net.Chain(net.x))[0];
    net.g.SetOutputs({Call(&net.g, kReluDef, {net.Chain(net.Chain(y))})});
    const Ops ops = OpsOf(net.Run(9).graph);
    const bool blocked = std::count(ops.begin(), ops.end(), "fused_batch_norm") == 1;
    EXPECT_EQ(blocked, parameter == DataType::kFloat);
  }
}

TEST_F(BlockedLayoutTest, PoolsOfMaximaKeepTheirPixels) {
  if (!Serves()) { return; }
  for (int i = 0; i < 4; ++i) {
    const bool shown = i % 2 == 1;
    Net net(i < 2 ? DataType::kFloat : DataType::kBFloat16);
    PoolAttrs attrs;
    attrs.kernel = attrs.stride = SpatialList(Dims{2, 2});
    attrs.padding = SpatialList(Dims{0, 0});
    attrs.dilation = SpatialList(Dims{1, 1});
    const SpatialSizeAttrs size{SpatialList(Dims{64, 64})};
    const ValueId y = net.Chain(net.Chain(net.x));
    const auto pooled = CHECK_JUST(net.g.Append(&kMaxPoolDef, &attrs, {y}, kNoStack));
    const ValueId more = Call(&net.g, kReluDef, {pooled[0]});
    const ValueId back = Call(&net.g, kScatterPixelsDef, {more, pooled[1]}, &size);
    std::vector<ValueId> outputs = {net.WeightGrad(back, y)};
    if (shown) { outputs.push_back(pooled[1]); }
    net.g.SetOutputs(outputs);
    const PassResult result = net.Run(7);
    const Ops ops = OpsOf(result.graph);
    EXPECT_EQ(std::count(ops.begin(), ops.end(), "blocked_max_pool"), shown ? 0 : 1);
    EXPECT_EQ(std::count(ops.begin(), ops.end(), "blocked_max_pool_backward"), shown ? 0 : 1);
  }
}

// The numbers of maxima in their windows are bytes.
TEST_F(BlockedLayoutTest, PoolsOfLargeWindowsStayPlain) {
  Net net;
  PoolAttrs attrs;
  attrs.kernel = attrs.stride = SpatialList(Dims{17, 16});
  attrs.padding = SpatialList(Dims{0, 0});
  attrs.dilation = SpatialList(Dims{1, 1});
  const ValueId blocks = net.g.AddInput("blocks", MetaOf({2, 2, 64, 64, 16}));
  const auto pooled = net.g.Append(&kBlockedMaxPoolDef, &attrs, {blocks}, kNoStack);
  ASSERT_FALSE(pooled.ok());
  EXPECT_NE(pooled.error()->message().find("at most 256 elements"), std::string::npos);
  if (!Serves()) { return; }
  const ValueId y = net.Chain(net.Chain(net.x));
  net.g.SetOutputs({CHECK_JUST(net.g.Append(&kMaxPoolDef, &attrs, {y}, kNoStack))[0]});
  const Ops ops = OpsOf(net.Run(6).graph);
  EXPECT_EQ(std::count(ops.begin(), ops.end(), "max_pool"), 1);
}

// What is seen from outside stays plain: outputs, views, what is captured and written.
TEST_F(BlockedLayoutTest, WhatIsSeenStaysPlain) {
  if (!Serves()) { return; }
  Net net;
  const ValueId y = net.Chain(net.Chain(net.x));
  const ValueId z = net.Conv(y);
  TensorMeta part = MetaOf({2, 32, 64});
  part.strides = {32 * 4096, 4096, 64};
  part.contiguous = false;
  const ValueId view = net.g.Place(net.g.BufferOf(z), part);
  net.g.SetOutputs({y, Call(&net.g, kReluDef, {view})});
  const PassResult result = net.Run(5);
  EXPECT_EQ(result.graph.outputs()[0], y);
  EXPECT_EQ(OpsOf(result.graph).back(), "relu");
}

TEST_F(BlockedLayoutTest, InPlaceOpsGetMemoryOfTheirOwn) {
  if (!Serves()) { return; }
  Net net;
  const ValueId y = net.Chain(net.x);
  CHECK_JUST(net.g.AppendInPlace(&kReluDef, nullptr, {y}, 1, kNoStack));
  net.g.SetOutputs({net.Chain(y)});
  const PassResult result = net.Run(5);  // the last one makes an output
  for (const Node& node : result.graph.nodes()) { EXPECT_EQ(node.form, Form::kFresh); }
}

TEST_F(BlockedLayoutTest, KeepsWhatCannotWin) {
  {
    Net net;  // one convolution alone: conversions cost more
    net.g.SetOutputs({Call(&net.g, kReluDef, {net.Conv(net.x)})});
    net.Run(0);
  }
  {
    LogicalGraph g("G");  // images that are small
    const ConvAttrs attrs = Net::Attrs(0);
    const ValueId weight = g.AddCaptured("w", MetaOf({32, 32, 3, 3}), StorageRef());
    ValueId y = g.AddInput("x", MetaOf({2, 32, 12, 12}));
    for (int i = 0; i < 5; ++i) { y = Call(&g, kConvolutionDef, {y, weight, kNoValue}, &attrs); }
    g.SetOutputs({y});
    EXPECT_EQ(CHECK_JUST(BlockLayout(g)).fired, 0);
  }
  {
    Net net;  // groups
    ConvAttrs attrs = Net::Attrs(0);
    attrs.groups = 2;
    const ValueId half = net.g.AddCaptured("half", MetaOf({32, 16, 3, 3}), StorageRef());
    ValueId y = net.x;
    for (int i = 0; i < 5; ++i) { y = Call(&net.g, kConvolutionDef, {y, half, kNoValue}, &attrs); }
    net.g.SetOutputs({y});
    net.Run(0);
  }
  {
    Net net;  // a bias
    const ConvAttrs attrs = Net::Attrs(0);
    ValueId y = net.x;
    for (int i = 0; i < 5; ++i) {
      y = Call(&net.g, kConvolutionDef, {y, net.weight, net.gamma}, &attrs);
    }
    net.g.SetOutputs({y});
    net.Run(0);
  }
}

// Where weights are most of the work, float32 stays plain.
TEST_F(BlockedLayoutTest, SmallImages) {
  for (DataType dtype : {DataType::kFloat, DataType::kBFloat16}) {
    LogicalGraph g("G");
    const ConvAttrs attrs = Net::Attrs(0);
    const ValueId weight = g.AddCaptured("w", MetaOf({256, 256, 3, 3}, dtype), StorageRef());
    ValueId y = g.AddInput("x", MetaOf({1, 256, 20, 20}, dtype));
    for (int i = 0; i < 5; ++i) { y = Call(&g, kConvolutionDef, {y, weight, kNoValue}, &attrs); }
    g.SetOutputs({Call(&g, kReluDef, {y})});
    const bool blocks = Serves() && dtype == DataType::kBFloat16;
    EXPECT_EQ(CHECK_JUST(BlockLayout(g)).fired, blocks ? 5 : 0);
  }
}

}  // namespace
}  // namespace graph
}  // namespace oneflow
