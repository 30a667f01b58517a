#include "oneflow/op/rules.h"

#include <gtest/gtest.h>

#include "oneflow/op/op_attrs.h"

namespace oneflow {
namespace {

TensorMeta Meta(const Shape& shape, DataType dtype = DataType::kFloat) {
  TensorMeta meta;
  meta.SetContiguous(shape);
  meta.dtype = dtype;
  return meta;
}

// One call of a rule, with the outputs filled in as the dispatcher does.
struct Call {
  std::vector<TensorMeta> inputs;
  std::vector<const TensorMeta*> pointers;
  TensorMeta outputs[kMaxOpOutputs];

  explicit Call(std::vector<TensorMeta> given) : inputs(std::move(given)) {
    for (const TensorMeta& meta : inputs) { pointers.push_back(&meta); }
    for (TensorMeta& output : outputs) { output.dtype = inputs[0].dtype; }
  }
  InferContext Context(const void* attrs = nullptr) const {
    return {"op", pointers.data(), static_cast<int>(pointers.size()), attrs};
  }
  Maybe<void> Infer(InferFn rule, const void* attrs = nullptr) {
    return rule(Context(attrs), outputs);
  }
  std::string Sbp(SbpFn rule, const void* attrs = nullptr) const {
    SbpSignatureList list;
    CHECK_JUST(rule(Context(attrs), &list));
    std::string text;
    for (const SbpSignature& signature : list) {
      for (const oneflow::Sbp& sbp : signature.inputs) { text += sbp.ToString() + " "; }
      text += "->";
      for (const oneflow::Sbp& sbp : signature.outputs) { text += " " + sbp.ToString(); }
      text += "; ";
    }
    return text;
  }
};

TEST(Rules, BroadcastGivesTheCommonShape) {
  Call call({Meta({2, 1, 3}), Meta({4, 1})});
  ASSERT_TRUE(call.Infer(&InferBroadcast).ok());
  EXPECT_EQ(call.outputs[0].shape, (Shape{2, 4, 3}));
}

TEST(Rules, BroadcastNamesOpAndShapes) {
  Call call({Meta({2, 3}), Meta({2, 4})});
  const Maybe<void> result = call.Infer(&InferBroadcast);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error()->message().rfind("[op] ", 0), 0u) << result.error()->message();
  EXPECT_NE(result.error()->message().find("(2, 4)"), std::string::npos);
}

TEST(Rules, BroadcastWantsOneDtype) {
  Call call({Meta({2}), Meta({2}, DataType::kInt64)});
  EXPECT_FALSE(call.Infer(&InferBroadcast).ok());
}

TEST(Rules, ReduceDropsOrKeepsDims) {
  ReduceAttrs attrs;
  attrs.dims = IntList(Dims{1});
  Call call({Meta({2, 3, 4})});
  ASSERT_TRUE(call.Infer(&InferReduce, &attrs).ok());
  EXPECT_EQ(call.outputs[0].shape, (Shape{2, 4}));
  attrs.keepdim = true;
  ASSERT_TRUE(call.Infer(&InferReduce, &attrs).ok());
  EXPECT_EQ(call.outputs[0].shape, (Shape{2, 1, 4}));
  EXPECT_EQ(call.Sbp(&SbpSum, &attrs), "S(0) -> S(0); S(1) -> P; S(2) -> S(2); P -> P; B -> B; ");
  EXPECT_EQ(call.Sbp(&SbpReduce, &attrs), "S(0) -> S(0); S(2) -> S(2); B -> B; ");
}

TEST(Rules, ArgmaxOfNothingIsAnIndexError) {
  ArgmaxAttrs attrs;
  attrs.dims = IntList(Dims{1});
  Call call({Meta({2, 0})});
  const Maybe<void> result = call.Infer(&InferArgmax, &attrs);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error()->kind(), ErrorKind::kIndex);
}

TEST(Rules, MatmulBroadcastsLeadingDims) {
  Call call({Meta({5, 1, 2, 3}), Meta({4, 3, 6})});
  ASSERT_TRUE(call.Infer(&InferMatmul).ok());
  EXPECT_EQ(call.outputs[0].shape, (Shape{5, 4, 2, 6}));
  Call wrong({Meta({2, 3}), Meta({2, 3})});
  EXPECT_FALSE(wrong.Infer(&InferMatmul).ok());
  Call stacks({Meta({2, 3, 4}), Meta({3, 4, 5})});
  const Maybe<void> inferred = stacks.Infer(&InferMatmul);
  ASSERT_FALSE(inferred.ok());
  EXPECT_NE(inferred.error()->message().find("got (2, 3, 4) and (3, 4, 5)"), std::string::npos);
}

TEST(Rules, MatmulSplits) {
  Call call({Meta({2, 3}), Meta({3, 4})});
  EXPECT_EQ(call.Sbp(&SbpMatmul),
            "S(0) B -> S(0); B S(1) -> S(1); S(1) S(0) -> P; P B -> P; B P -> P; B B -> B; ");
}

TEST(Rules, SlicesOfASplitDimAreAPartialSum) {
  SliceAttrs attrs;
  attrs.dim = 1;
  Call call({Meta({2, 3, 4})});
  EXPECT_EQ(call.Sbp(&SbpSlice, &attrs), "S(0) -> S(0); S(1) -> P; S(2) -> S(2); P -> P; B -> B; ");
}

TEST(Rules, ElementwiseSplitsRespectBroadcasting) {
  Call call({Meta({2, 3}), Meta({3})});
  EXPECT_EQ(call.Sbp(&SbpLinearElementwise),
            "S(0) B -> S(0); S(1) S(0) -> S(1); B B -> B; P P -> P; ");
}

TEST(Rules, PermuteMovesStrides) {
  PermuteAttrs attrs;
  attrs.dims = IntList(Dims{2, 0, 1});
  Call call({Meta({2, 3, 4})});
  ASSERT_TRUE(call.Infer(&InferPermute, &attrs).ok());
  EXPECT_EQ(call.outputs[0].shape, (Shape{4, 2, 3}));
  EXPECT_EQ(call.outputs[0].strides, (Strides{1, 12, 4}));
  EXPECT_FALSE(call.outputs[0].contiguous);
}

TEST(Rules, SliceMovesTheOffset) {
  SliceAttrs attrs;
  attrs.dim = 1;
  attrs.start = 1;
  attrs.length = 2;
  attrs.step = 2;
  Call call({Meta({3, 5})});
  ASSERT_TRUE(call.Infer(&InferSlice, &attrs).ok());
  EXPECT_EQ(call.outputs[0].shape, (Shape{3, 2}));
  EXPECT_EQ(call.outputs[0].strides, (Strides{5, 2}));
  EXPECT_EQ(call.outputs[0].offset, 1);
}

TEST(Rules, ExpandKeepsOrRepeats) {
  ShapeAttrs attrs;
  attrs.shape = IntList(Dims{4, -1, 3});
  Call call({Meta({2, 1})});
  ASSERT_TRUE(call.Infer(&InferExpand, &attrs).ok());
  EXPECT_EQ(call.outputs[0].shape, (Shape{4, 2, 3}));
  EXPECT_EQ(call.outputs[0].strides, (Strides{0, 1, 0}));
  attrs.shape = IntList(Dims{-1, 2, 3});
  EXPECT_FALSE(call.Infer(&InferExpand, &attrs).ok());
}

TEST(Rules, ViewOfATransposedTensorSaysWhatToUse) {
  ShapeAttrs attrs;
  attrs.shape = IntList(Dims{6});
  TensorMeta transposed = Meta({3, 2});
  transposed.strides = Strides{1, 3};
  transposed.contiguous = false;
  Call call({transposed});
  const Maybe<void> result = call.Infer(&InferView, &attrs);
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error()->message().find("reshape()"), std::string::npos);
}

TEST(Rules, NllLossChecksEachOperand) {
  NllLossAttrs attrs;
  Call call({Meta({4, 5}), Meta({4}, DataType::kInt64)});
  ASSERT_TRUE(call.Infer(&InferNllLoss, &attrs).ok());
  EXPECT_EQ(call.outputs[0].shape, Shape());
  attrs.reduction = Reduction::kNone;
  ASSERT_TRUE(call.Infer(&InferNllLoss, &attrs).ok());
  EXPECT_EQ(call.outputs[0].shape, Shape{4});
  EXPECT_FALSE(Call({Meta({4, 5}), Meta({3}, DataType::kInt64)}).Infer(&InferNllLoss, &attrs).ok());
  EXPECT_FALSE(Call({Meta({4, 5}), Meta({4})}).Infer(&InferNllLoss, &attrs).ok());
  EXPECT_FALSE(Call({Meta({4, 5}), Meta({4}, DataType::kInt64), Meta({4})})
                   .Infer(&InferNllLoss, &attrs)
                   .ok());
}

}  // namespace
}  // namespace oneflow
