#include "oneflow/graph/passes/blocked_weights.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "oneflow/graph/graph_testlib.h"
#include "oneflow/kernels/attrs.h"
#include "oneflow/kernels/attrs_spatial.h"
#include "oneflow/kernels/cpu/isa.h"
#include "oneflow/op/generated/op_defs_conv.h"
#include "oneflow/op/generated/op_defs_elementwise.h"
#include "oneflow/op/op_attrs.h"

namespace oneflow {
namespace graph {
namespace {

using Ops = std::vector<std::string>;

// Pointwise convolutions of (2, 32, 16, 16) in blocks of bfloat16, with a weight that is float32 outside.
struct Net {
  LogicalGraph g{"G"};
  ValueId x = g.AddInput("x", MetaOf({2, 2, 16, 16, 16}, DataType::kBFloat16));
  ValueId weight = g.AddCaptured("weight", MetaOf({32, 32, 1, 1}), StorageRef());

  static ConvAttrs Attrs(int64_t size) {
    ConvAttrs attrs;
    attrs.stride = attrs.dilation = SpatialList(Dims{1, 1});
    attrs.padding = attrs.padding_after = SpatialList(Dims{0, 0});
    attrs.size = SpatialList(Dims{size, size});
    return attrs;
  }
  ValueId Cast(ValueId in, DataType dtype) {
    CastAttrs attrs;
    attrs.dtype = dtype;
    return Call(&g, kCastDef, {in}, &attrs);
  }
  ValueId Short() { return Cast(weight, DataType::kBFloat16); }
  ValueId Conv(ValueId in, ValueId by) {
    const ConvAttrs attrs = Attrs(0);
    return Call(&g, kBlockedConvolutionDef, {in, by}, &attrs);
  }
  ValueId InputGrad(ValueId dy, ValueId by) {
    const ConvAttrs attrs = Attrs(16);
    return Call(&g, kBlockedConvolutionInputGradDef, {dy, by}, &attrs);
  }
  ValueId WeightGrad(ValueId dy, ValueId in) {
    const ConvAttrs attrs = Attrs(1);
    return Call(&g, kBlockedConvolutionWeightGradDef, {dy, in}, &attrs);
  }
  void ChangeWeight() { CHECK_JUST(g.AppendInPlace(&kReluDef, nullptr, {weight}, 1, kNoStack)); }
  Ops Run(std::vector<ValueId> outputs) {
    g.SetOutputs(std::move(outputs));
    CHECK_JUST(g.Verify());
    const LogicalGraph result = CHECK_JUST(KeepWeightsInFloat(g));
    CHECK_JUST(result.Verify());
    Ops ops;
    for (const Node& node : result.nodes()) { ops.push_back(node.def->name); }
    return ops;
  }
};

const char kConv[] = "blocked_convolution";
const char kInput[] = "blocked_convolution_input_grad";
const char kWeight[] = "blocked_convolution_weight_grad";

class BlockedWeightsTest : public ::testing::Test {
 protected:
  bool Serves() const { return cpu::BestIsa() == cpu::Isa::kAvx512; }
};

TEST_F(BlockedWeightsTest, AreReadInFloat) {
  Net net;
  const ValueId w = net.Short();
  const ValueId y = net.InputGrad(net.Conv(net.x, w), w);
  const Ops want = Serves() ? Ops{kConv, kInput} : Ops{"cast", kConv, kInput};
  EXPECT_EQ(net.Run({y}), want);
}

TEST_F(BlockedWeightsTest, StayRoundedForOthers) {
  Net net;
  const ValueId w = net.Short();
  EXPECT_EQ(net.Run({net.Conv(net.x, w), w}), (Ops{"cast", kConv}));
}

// The convolution behind the change reads the weight as it was.
TEST_F(BlockedWeightsTest, ThatChangeStayAsTheyWere) {
  Net net;
  const ValueId w = net.Short();
  const ValueId y = net.Conv(net.x, w);
  net.ChangeWeight();
  EXPECT_EQ(net.Run({net.InputGrad(y, w)}), (Ops{"cast", kConv, "relu", kInput}));
}

TEST_F(BlockedWeightsTest, GradientsAreWrittenInFloat) {
  Net net;
  const ValueId dw = net.Cast(net.WeightGrad(net.x, net.x), DataType::kFloat);
  EXPECT_EQ(net.Run({dw}), Serves() ? (Ops{kWeight}) : (Ops{kWeight, "cast"}));
}

TEST_F(BlockedWeightsTest, GradientsThatOthersReadStayShort) {
  Net net;
  const ValueId dw = net.WeightGrad(net.x, net.x);
  const ValueId wide = net.Cast(dw, DataType::kFloat);
  EXPECT_EQ(net.Run({wide, Call(&net.g, kReluDef, {dw})}), (Ops{kWeight, "cast", "relu"}));
  Net shown;
  const ValueId gradient = shown.WeightGrad(shown.x, shown.x);
  EXPECT_EQ(shown.Run({gradient, shown.Cast(gradient, DataType::kFloat)}), (Ops{kWeight, "cast"}));
  Net twice;
  const ValueId other = twice.Cast(twice.WeightGrad(twice.x, twice.x), DataType::kDouble);
  EXPECT_EQ(twice.Run({other}), (Ops{kWeight, "cast"}));
}

// The rule: a float32 gradient of bfloat16 alone, and no other weight beside it.
TEST_F(BlockedWeightsTest, WrongDtypesAreRefused) {
  Net net;
  ConvAttrs attrs = Net::Attrs(1);
  attrs.float_weight = true;
  const ValueId wide = net.g.AddInput("wide", MetaOf({2, 2, 16, 16, 16}));
  const auto gradient =
      net.g.Append(&kBlockedConvolutionWeightGradDef, &attrs, {wide, wide}, kNoStack);
  ASSERT_FALSE(gradient.ok());
  EXPECT_NE(gradient.error()->message().find("expects bfloat16"), std::string::npos);
  const ValueId twice = net.g.AddInput("twice", MetaOf({32, 32, 1, 1}, DataType::kDouble));
  EXPECT_FALSE(net.g.Append(&kBlockedConvolutionDef, &attrs, {net.x, twice}, kNoStack).ok());
  const ValueId brief = net.g.AddInput("brief", MetaOf({32, 32, 1, 1}, DataType::kBFloat16));
  EXPECT_FALSE(net.g.Append(&kBlockedConvolutionDef, &attrs, {wide, brief}, kNoStack).ok());
}

}  // namespace
}  // namespace graph
}  // namespace oneflow
