// Calls that are cut along their batch: each element is computed once, from its own image, in scratch of one part.
#include "oneflow/kernels/cpu/batch_parts.h"

#include <vector>

#include "gtest/gtest.h"
#include "oneflow/kernels/cpu/cache_size.h"
#include "oneflow/kernels/cpu/kernel_testing.h"

namespace oneflow {
namespace cpu {
namespace testing {
namespace {

struct Call1 {
  ArrayView views[2];
  KernelCall call;

  Call1(const HostArray& x, const HostArray& y) : views{x.view(), y.view()} {
    call.inputs = views;
    call.outputs = views + 1;
    call.num_inputs = call.num_outputs = 1;
  }
};

// More than a fourth of the last cache, as float32.
Dims LargeShape() { return {6, LastCacheBytes() / 64}; }

TEST(BatchPartsTest, CutsWhatIsCopied) {
  const HostArray x(DataType::kBFloat16, LargeShape()), y(DataType::kBFloat16, LargeShape());
  Call1 c(x, y);
  const int64_t parts = CountBatchParts(c.call);
  ASSERT_GT(parts, 1);
  EXPECT_EQ(6 % parts, 0);
  const BatchPart last(c.call, parts, parts - 1);
  EXPECT_EQ(last.call().inputs[0].shape[0], 6 / parts);
  EXPECT_EQ(last.call().inputs[0].Data<uint16_t>(),
            x.view().Data<uint16_t>() + x.count() / parts * (parts - 1));
}

TEST(BatchPartsTest, LeavesTheRestWhole) {
  const Dims shape = LargeShape();
  const HostArray wide(DataType::kFloat, shape), small(DataType::kBFloat16, {6, 5});
  const HostArray turned(DataType::kBFloat16, shape, {1, 6});
  EXPECT_EQ(CountBatchParts(Call1(wide, wide).call), 1);
  EXPECT_EQ(CountBatchParts(Call1(small, small).call), 1);
  EXPECT_EQ(CountBatchParts(Call1(turned, turned).call), 1);
  EXPECT_EQ(CountBatchParts(Call1(HostArray(DataType::kBFloat16, {}), small).call), 1);
}

TEST(BatchPartsTest, EachElementIsComputedOnce) {
  HostArray x(DataType::kBFloat16, LargeShape());
  HostArray y(DataType::kBFloat16, LargeShape());
  for (int64_t i = 0; i < x.count(); ++i) {
    x.view().Data<uint16_t>()[i] = static_cast<uint16_t>(0x3f80 + i % 64);
    y.view().Data<uint16_t>()[i] = 0;
  }
  Call1 c(x, y);
  const size_t bytes =
      ScratchByParts(c.call, [](const KernelCall& call) { return DenseCall::ScratchBytes(call); });
  EXPECT_LT(bytes, DenseCall::ScratchBytes(c.call));
  std::vector<char> scratch(bytes);
  c.call.scratch = scratch.data();
  c.call.scratch_bytes = bytes;
  int64_t seen = 0;
  CHECK_JUST(RunDenseByParts(c.call, [&](const KernelCall& dense) -> Maybe<void> {
    seen += dense.inputs[0].Count();
    for (int64_t i = 0; i < dense.inputs[0].Count(); ++i) {
      dense.outputs[0].Data<float>()[i] = 2 * dense.inputs[0].Data<float>()[i];
    }
    return Ok();
  }));
  EXPECT_EQ(seen, x.count());
  int64_t wrong = 0;
  for (int64_t i = 0; i < x.count(); ++i) {
    wrong += y.view().Data<uint16_t>()[i] == x.view().Data<uint16_t>()[i] + 0x80 ? 0 : 1;
  }
  EXPECT_EQ(wrong, 0);
}

TEST(BatchPartsTest, AFailureEndsIt) {
  const HostArray x(DataType::kBFloat16, LargeShape()), y(DataType::kBFloat16, LargeShape());
  Call1 c(x, y);
  std::vector<char> scratch(DenseCall::ScratchBytes(c.call));
  c.call.scratch = scratch.data();
  int calls = 0;
  const Maybe<void> done = RunDenseByParts(c.call, [&](const KernelCall&) -> Maybe<void> {
    ++calls;
    return ValueError("no");
  });
  EXPECT_FALSE(done.ok());
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace testing
}  // namespace cpu
}  // namespace oneflow
