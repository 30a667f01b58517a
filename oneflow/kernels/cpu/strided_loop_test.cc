// StridedLoop, the choice of an instruction set, and cost estimates.
#include "oneflow/kernels/cpu/strided_loop.h"

#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "oneflow/kernels/attrs.h"
#include "oneflow/kernels/cpu/isa.h"
#include "oneflow/kernels/cpu/kernel_testing.h"

namespace oneflow {
namespace cpu {
namespace testing {
namespace {

StridedLoop LoopOver(const std::vector<const HostArray*>& arrays, std::vector<ArrayView>* views) {
  std::vector<const ArrayView*> pointers;
  views->clear();
  for (const HostArray* array : arrays) { views->push_back(array->view()); }
  for (const ArrayView& view : *views) { pointers.push_back(&view); }
  return StridedLoop(pointers.data(), static_cast<int>(pointers.size()));
}

TEST(StridedLoop, MergesDenseDims) {
  std::vector<ArrayView> views;
  const HostArray out(DataType::kFloat, {2, 3, 4});
  const StridedLoop dense = LoopOver({&out, &out, &out}, &views);
  EXPECT_EQ(dense.ndim(), 1);
  EXPECT_EQ(dense.size(0), 24);
  EXPECT_EQ(dense.stride(0, 0), 4);
}

TEST(StridedLoop, SortsTransposedDims) {
  std::vector<ArrayView> views;
  const HostArray out(DataType::kDouble, {3, 4}, {1, 3});
  const HostArray x(DataType::kFloat, {3, 4}, {1, 3});
  const StridedLoop loop = LoopOver({&out, &x}, &views);
  EXPECT_EQ(loop.ndim(), 1);
  EXPECT_EQ(loop.size(0), 12);
  EXPECT_EQ(loop.stride(1, 0), 4);
}

TEST(StridedLoop, KeepsWhatBroadcasts) {
  std::vector<ArrayView> views;
  const HostArray out(DataType::kFloat, {5, 1, 7});
  const HostArray row(DataType::kFloat, {7});
  const HostArray column(DataType::kFloat, {5, 1, 1});
  const StridedLoop loop = LoopOver({&out, &row, &column}, &views);
  EXPECT_EQ(loop.ndim(), 2);
  EXPECT_EQ(loop.size(0), 7);
  EXPECT_EQ(loop.stride(1, 0), 4);
  EXPECT_EQ(loop.stride(1, 1), 0);
  EXPECT_EQ(loop.stride(2, 0), 0);
  EXPECT_EQ(loop.stride(2, 1), 4);
}

TEST(StridedLoop, OneElementIsADenseRun) {
  std::vector<ArrayView> views;
  const HostArray out(DataType::kInt16, {1, 1}, {77, 5});
  const StridedLoop loop = LoopOver({&out}, &views);
  EXPECT_EQ(loop.ndim(), 1);
  EXPECT_EQ(loop.size(0), 1);
  EXPECT_EQ(loop.stride(0, 0), 2);
}

// Chunks may begin anywhere in a run, or in the middle of an outer dimension.
TEST(StridedLoop, VisitsEveryElementOnce) {
  std::vector<ArrayView> views;
  for (const Dims& shape : {Dims{70001}, Dims{7, 13, 999}, Dims{90, 1000}, Dims{3, 0, 2}}) {
    HostArray out(DataType::kInt32, shape, Dims(shape.size(), 0));
    std::vector<int32_t> counts(100000, 0);
    views.assign(1, out.view());
    views[0].data = counts.data();
    Dims strides(shape.size(), 1);
    for (int d = shape.size() - 2; d >= 0; --d) { strides[d] = strides[d + 1] * shape[d + 1]; }
    if (shape.size() == 2) {
      std::swap(strides[0], strides[1]), strides[1] = shape[0], strides[0] = 1;
    }
    views[0].strides = strides.data();
    const ArrayView* operands[] = {&views[0]};
    const StridedLoop loop(operands, 1);
    loop.Run(
        2,
        [](const LoopRun& run, const void*) {
          ASSERT_LE(run.n, StridedLoop::kGrain);
          for (int64_t i = 0; i < run.n; ++i) {
            ++*reinterpret_cast<int32_t*>(run.data[0] + i * run.strides[0]);
          }
        },
        nullptr);
    for (int64_t i = 0; i < 100000; ++i) {
      ASSERT_EQ(counts[static_cast<size_t>(i)], i < loop.total() ? 1 : 0) << shape.ToString();
    }
  }
}

TEST(Isa, NeverGoesAboveTheMachine) {
  const ScopedIsa keep(CurrentIsa());
  SetIsa(Isa::kAvx512);
  EXPECT_EQ(CurrentIsa(), BestIsa());
  SetIsa(Isa::kBaseline);
  EXPECT_EQ(CurrentIsa(), Isa::kBaseline);
  EXPECT_STREQ(IsaName(Isa::kAvx2), "avx2");
}

double CostOf(const char* kernel, const Arrays& in, const Arrays& out, const void* attrs) {
  std::vector<ArrayView> inputs, outputs;
  for (const HostArray* array : in) { inputs.push_back(array->view()); }
  for (const HostArray* array : out) { outputs.push_back(array->view()); }
  KernelCall call;
  call.inputs = inputs.data();
  call.outputs = outputs.data();
  call.num_inputs = static_cast<int>(in.size());
  call.num_outputs = static_cast<int>(out.size());
  call.attrs = attrs;
  return FindKernel(kernel)->cost(call);
}

// Small calls stay inline (under 10 us), large ones get threads (20 us and more).
TEST(Cost, TellsSmallFromLarge) {
  const AddAttrs add;
  const HostArray one(DataType::kFloat, {1});
  const HostArray million(DataType::kFloat, {1000000});
  EXPECT_LT(CostOf("add.cpu.vector", {&one, &one}, {&one}, &add), 100.0);
  EXPECT_GT(CostOf("add.cpu.vector", {&million, &million}, {&million}, &add), 20e3);
  const MatmulAttrs matmul;
  const HostArray a(DataType::kFloat, {32, 64});
  const HostArray b(DataType::kFloat, {64, 128});
  const HostArray c(DataType::kFloat, {32, 128});
  EXPECT_LT(CostOf("matmul.cpu.onednn", {&a, &b}, {&c}, &matmul), 10e3);
  const HostArray large(DataType::kFloat, {512, 512});
  EXPECT_GT(CostOf("matmul.cpu.onednn", {&large, &large}, {&large}, &matmul), 1e6);
}

}  // namespace
}  // namespace testing
}  // namespace cpu
}  // namespace oneflow
