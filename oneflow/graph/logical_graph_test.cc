#include "oneflow/graph/logical_graph.h"

#include <gtest/gtest.h>

#include "oneflow/graph/graph_testlib.h"

namespace oneflow {
namespace graph {
namespace {

TEST(LogicalGraphTest, AppendInfersAndPrintShowsOpsShapesAndLines) {
  Lines lines;
  LogicalGraph g("LinearGraph_0");
  const ValueId x = g.AddInput("x", MetaOf({2, 3}));
  const ValueId w = g.AddCaptured("weight", MetaOf({3}), StorageRef());
  const ValueId sum = Call(&g, kAdd, {x, w}, nullptr, 12);
  const ValueId flipped = Call(&g, kTranspose, {sum}, nullptr, 13);
  const ValueId ones = Call(&g, kOnes, {}, nullptr, 99);
  CHECK_JUST(g.AppendInPlace(&kRelu, nullptr, {w}, 1, 14));
  g.SetOutputs({flipped, ones});
  EXPECT_EQ(g.value(sum).meta.shape, (Shape{2, 3}));
  EXPECT_FALSE(g.value(flipped).meta.contiguous);
  EXPECT_EQ(g.BufferOf(flipped), g.BufferOf(sum));
  CHECK_JUST(g.Verify());
  EXPECT_EQ(g.ToString(),
            "graph 'LinearGraph_0':\n"
            "  %0 = input 'x' : float32 (2, 3) cpu:0\n"
            "  %1 = captured 'weight' : float32 (3,) cpu:0\n"
            "  %2 = add(%0, %1) : float32 (2, 3) cpu:0  # net.py:12 in build\n"
            "  %3 = transpose(%2) : float32 (3, 2) cpu:0, strides (1, 3)  # net.py:13 in build\n"
            "  %4 = ones() : float32 (2, 3) cpu:0  # stack evicted\n"
            "  %1 <- relu(%1) : float32 (3,) cpu:0  # net.py:14 in build\n"
            "  return %3, %4\n");
}

TEST(LogicalGraphTest, OnePlaceHasOneNumber) {
  LogicalGraph g("G");
  const ValueId x = g.AddInput("x", MetaOf({2, 3}));
  const ValueId a = Call(&g, kTranspose, {x});
  const ValueId b = Call(&g, kTranspose, {x});
  EXPECT_EQ(a, b);
  EXPECT_EQ(g.Place(g.BufferOf(x), MetaOf({2, 3})), x);
  EXPECT_NE(g.Place(g.BufferOf(x), MetaOf({3, 2})), a);  // other strides
}

TEST(LogicalGraphTest, DrawsTakeBlocksInTheirOrder) {
  LogicalGraph g("G");
  const GeneratorPtr first = MakeIntrusive<Generator>(1);
  const GeneratorPtr second = MakeIntrusive<Generator>(2);
  Node a, b, c;
  g.TakeBlocks(first, 3, &a);
  g.TakeBlocks(second, 5, &b);
  g.TakeBlocks(first, 4, &c);
  EXPECT_EQ(a.draw_offset, 0u);
  EXPECT_EQ(b.draw_offset, 0u);
  EXPECT_EQ(c.draw_offset, 3u);
  EXPECT_EQ(a.generator, c.generator);
  ASSERT_EQ(g.draws().size(), 2u);
  EXPECT_EQ(g.draws()[0].blocks, 7u);
}

TEST(LogicalGraphTest, NodesPinTheirStacks) {
  Lines lines;
  {
    LogicalGraph g("G");
    Call(&g, kOnes, {}, nullptr, 7);
    EXPECT_EQ(lines.pinned, (std::vector<StackId>{7}));
    LogicalGraph moved = std::move(g);
    EXPECT_EQ(lines.pinned, (std::vector<StackId>{7}));
  }
  EXPECT_TRUE(lines.pinned.empty());
}

TEST(LogicalGraphTest, CreationTakesDeviceAndDtypeOfTheCall) {
  LogicalGraph g("G");
  const std::vector<ValueId> made = CHECK_JUST(
      g.Append(&kOnes, nullptr, {}, kNoStack, Device(DeviceType::kCUDA, 1), DataType::kInt64));
  EXPECT_EQ(g.value(made[0]).meta.dtype, DataType::kInt64);
  EXPECT_EQ(g.value(made[0]).meta.device.ToString(), "cuda:1");
  CHECK_JUST(g.Verify());
}

TEST(LogicalGraphTest, AppendPassesOnTheOpsOwnError) {
  LogicalGraph g("G");
  const ValueId a = g.AddInput("a", MetaOf({2}));
  const ValueId b = g.AddInput("b", MetaOf({3}));
  Maybe<std::vector<ValueId>> sum = g.Append(&kAdd, nullptr, {a, b}, kNoStack);
  ASSERT_FALSE(sum.ok());
  EXPECT_EQ(sum.error()->kind(), ErrorKind::kRuntime);
  EXPECT_NE(sum.error()->message().find("[add] expects shapes that broadcast"), std::string::npos);
  EXPECT_TRUE(g.nodes().empty());
}

TEST(LogicalGraphTest, OpsWhoseShapeDependsOnDataAreRefused) {
  LogicalGraph g("G");
  Maybe<std::vector<ValueId>> result =
      g.Append(&kNonzero, nullptr, {g.AddInput("x", MetaOf({2}))}, kNoStack);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error()->message(),
            "[nonzero] cannot be part of a graph: the shape of its result depends on data");
}

TEST(LogicalGraphTest, AppendChecksItsCaller) {
  LogicalGraph g("G");
  const ValueId x = g.AddInput("x", MetaOf({2}));
  EXPECT_EQ(g.Append(&kAdd, nullptr, {x}, kNoStack).error()->kind(), ErrorKind::kInternal);
  EXPECT_EQ(g.Append(&kRelu, nullptr, {5}, kNoStack).error()->kind(), ErrorKind::kInternal);
}

// Each test below breaks one rule, by means that only a wrong pass has.
std::string VerifyError(const LogicalGraph& g) {
  Maybe<void> verified = g.Verify();
  return verified.ok() ? "" : verified.error()->message();
}

Node NodeOf(const OpDef& def, std::vector<ValueId> inputs, std::vector<ValueId> outputs) {
  Node node;
  node.def = &def;
  node.attrs.resize(def.attrs_size);
  node.inputs = std::move(inputs);
  node.outputs = std::move(outputs);
  return node;
}

TEST(VerifyTest, FindsAUseBeforeTheDefinition) {
  LogicalGraph g("G");
  const ValueId a = g.AddComputed(MetaOf({2, 3}));
  const ValueId b = g.AddComputed(MetaOf({2, 3}));
  g.Record(NodeOf(kRelu, {b}, {a}));
  g.Record(NodeOf(kOnes, {}, {b}));
  EXPECT_EQ(VerifyError(g), "graph 'G': %1 is used before it is computed");
}

TEST(VerifyTest, FindsAnOutputThatNobodyMakes) {
  LogicalGraph g("G");
  g.SetOutputs({g.AddComputed(MetaOf({2}))});
  EXPECT_EQ(VerifyError(g), "graph 'G': %0 is used before it is computed");
}

TEST(VerifyTest, FindsABufferThatIsMadeTwice) {
  LogicalGraph g("G");
  const ValueId a = g.AddComputed(MetaOf({2, 3}));
  g.Record(NodeOf(kOnes, {}, {a}));
  g.Record(NodeOf(kOnes, {}, {a}));
  EXPECT_EQ(VerifyError(g), "graph 'G': [ones] makes %0, which exists");
}

TEST(VerifyTest, FindsAMetaThatTheOpDoesNotInfer) {
  for (const TensorMeta& wrong : {MetaOf({3}), MetaOf({2}, DataType::kDouble)}) {
    LogicalGraph g("G");
    const ValueId x = g.AddInput("x", MetaOf({2}));
    g.Record(NodeOf(kRelu, {x}, {g.AddComputed(wrong)}));
    EXPECT_NE(VerifyError(g).find("[relu] infers float32 (2,) cpu:0 for %1"), std::string::npos)
        << VerifyError(g);
  }
}

TEST(VerifyTest, FindsAValueThatDoesNotExist) {
  LogicalGraph g("G");
  g.SetOutputs({0});
  EXPECT_EQ(VerifyError(g), "graph 'G': %0 does not exist");
}

TEST(VerifyTest, FindsAWrongNumberOfOutputsOrAttributeBytes) {
  LogicalGraph g("G");
  g.Record(NodeOf(kRelu, {g.AddInput("x", MetaOf({2}))}, {}));
  EXPECT_NE(VerifyError(g).find("has 0 outputs"), std::string::npos);
  LogicalGraph h("H");
  const ValueId x = h.AddInput("x", MetaOf({2}));
  Node node = NodeOf(kShift, {x}, {h.AddComputed(MetaOf({2}))});
  node.attrs.clear();
  h.Record(std::move(node));
  EXPECT_NE(VerifyError(h).find("0 bytes of attributes"), std::string::npos);
}

TEST(VerifyTest, FindsAPlaceOutsideItsBuffer) {
  LogicalGraph g("G");
  const ValueId x = g.AddInput("x", MetaOf({2}));
  g.SetOutputs({g.Place(g.BufferOf(x), MetaOf({3}))});
  EXPECT_EQ(VerifyError(g), "graph 'G': %1 ends at byte 12 of a buffer of 8");
}

TEST(VerifyTest, FindsAWriteInPlaceOfAnotherPlace) {
  LogicalGraph g("G");
  const ValueId x = g.AddInput("x", MetaOf({2}));
  const ValueId y = g.AddInput("y", MetaOf({2}));
  Node node = NodeOf(kRelu, {x}, {y});
  node.form = Form::kInPlace;
  g.Record(std::move(node));
  EXPECT_EQ(VerifyError(g), "graph 'G': [relu] writes %1, which is not its input 0");
}

TEST(VerifyTest, FindsAWriteToAConstant) {
  LogicalGraph g("G");
  const ValueId x = g.AddInput("x", MetaOf({2}));
  g.mutable_buffer(g.BufferOf(x))->kind = Buffer::Kind::kConstant;
  CHECK_JUST(g.AppendInPlace(&kRelu, nullptr, {x}, 1, kNoStack));
  EXPECT_EQ(VerifyError(g), "graph 'G': [relu] writes the constant %0");
}

}  // namespace
}  // namespace graph
}  // namespace oneflow
