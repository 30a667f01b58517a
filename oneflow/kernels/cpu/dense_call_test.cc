#include "oneflow/kernels/cpu/dense_call.h"

#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "oneflow/kernels/cpu/kernel_testing.h"

namespace oneflow {
namespace cpu {
namespace testing {
namespace {

// A call of one operand and one result, with the scratch that its policy wants.
struct Prepared {
  HostArray in, out;
  ArrayView views[2];
  std::vector<char> scratch;
  KernelCall call;

  Prepared(HostArray input, HostArray output, const DensePolicy& policy)
      : in(std::move(input)), out(std::move(output)) {
    for (int64_t i = 0; i < in.count(); ++i) { in.Set(i, static_cast<double>(i)); }
    views[0] = in.view();
    views[1] = out.view();
    call.inputs = views;
    call.num_inputs = 1;
    call.outputs = views + 1;
    call.num_outputs = 1;
    scratch.resize(DenseCall::ScratchBytes(call, policy));
    call.scratch = scratch.data();
    call.scratch_bytes = scratch.size();
  }
};

// Adds one to float32 elements that lie densely.
Maybe<void> AddOne(const KernelCall& call) {
  const ArrayView& x = call.inputs[0];
  CHECK_OR_RETURN(x.contiguous && x.dtype == DataType::kFloat);
  CHECK_OR_RETURN(call.outputs[0].contiguous && call.outputs[0].dtype == DataType::kFloat);
  for (int64_t i = 0; i < x.Count(); ++i) {
    call.outputs[0].Data<float>()[i] = x.Data<float>()[i] + 1.0F;
  }
  return Ok();
}

TEST(DenseCall, ServesEveryLayoutAndShortDtype) {
  const Dims shape = {3, 4}, strides = {1, 5};
  for (DataType dtype : {DataType::kFloat, DataType::kFloat16, DataType::kBFloat16}) {
    Prepared p(HostArray(dtype, shape, strides), HostArray(dtype, shape, strides), DensePolicy());
    CHECK_JUST(RunDense(p.call, &AddOne));
    for (int64_t i = 0; i < p.out.count(); ++i) { ASSERT_EQ(p.out.At(i), i + 1.0); }
    EXPECT_TRUE(p.out.GuardsIntact());
  }
}

TEST(DenseCall, ConvertsToOneDtype) {
  DensePolicy policy;
  policy.converts = true;
  Prepared p(HostArray(DataType::kDouble, {5}), HostArray(DataType::kDouble, {5}), policy);
  CHECK_JUST(RunDense(p.call, &AddOne, policy));
  for (int64_t i = 0; i < 5; ++i) { EXPECT_EQ(p.out.At(i), i + 1.0); }
  Prepared whole(HostArray(DataType::kInt32, {5}), HostArray(DataType::kUInt8, {5}), policy);
  const DenseCall dense(whole.call, policy);
  EXPECT_EQ(dense.call().inputs[0].dtype, DataType::kInt64);
  EXPECT_EQ(dense.call().outputs[0].dtype, DataType::kUInt8);
}

TEST(DenseCall, CopiesNothingThatServesAsItIs) {
  Prepared p(HostArray(DataType::kFloat, {6}), HostArray(DataType::kFloat, {6}), DensePolicy());
  EXPECT_FALSE(DenseCall::Copies(p.call));
  EXPECT_TRUE(p.scratch.empty());
  DensePolicy keeps;
  keeps.keeps_bfloat16 = true;
  Prepared shorts(HostArray(DataType::kBFloat16, {6}), HostArray(DataType::kFloat16, {6}), keeps);
  const DenseCall dense(shorts.call, keeps);
  EXPECT_EQ(dense.call().inputs[0].data, shorts.views[0].data);
  EXPECT_EQ(dense.call().outputs[0].dtype, DataType::kFloat);
  keeps.keeps_dtypes = true;
  EXPECT_FALSE(DenseCall::Copies(shorts.call, keeps));
}

TEST(DenseCall, LeavesResultsOfAFailureAlone) {
  Prepared p(HostArray(DataType::kFloat16, {2}), HostArray(DataType::kFloat16, {2}), DensePolicy());
  p.out.Set(0, 7.0);
  const auto fail = [](const KernelCall& call) -> Maybe<void> {
    call.outputs[0].Data<float>()[0] = 9.0F;
    return RuntimeError("planted");
  };
  EXPECT_FALSE(RunDense(p.call, fail).ok());
  EXPECT_EQ(p.out.At(0), 7.0);
}

}  // namespace
}  // namespace testing
}  // namespace cpu
}  // namespace oneflow
