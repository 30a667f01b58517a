#include "oneflow/tensor/tensor.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "oneflow/device/cpu/cpu_allocator.h"
#include "oneflow/device/live_memory.h"
#include "oneflow/lifetime/deferred_release.h"
#include "oneflow/vm/vm.h"

namespace oneflow {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

class TensorMemoryTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    ::setenv("ONEFLOW_CPU_MEMORY_LIMIT", "64M", 1);
    CHECK_JUST(RegisterCpuAllocator());
  }
  static Maybe<TensorPtr> Bytes(int64_t bytes) {
    return AllocateTensor("empty", {bytes}, DataType::kUInt8, Device());
  }
};

TEST_F(TensorMemoryTest, MoreThanTheLimitIsAnErrorThatNamesOpAndShape) {
  Maybe<TensorPtr> refused = Bytes(65 * kMiB);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error()->kind(), ErrorKind::kOutOfMemory);
  EXPECT_EQ(refused.error()->message(),
            "[empty] expects 65.00 MiB for a tensor of shape (68157440,) and dtype uint8, got no "
            "memory on cpu:0");
  EXPECT_EQ(refused.error()->op(), "empty");
  EXPECT_EQ(refused.error()->footer(),
            "Out of memory on cpu:0:\n"
            "  asked   65.00 MiB (68157440 bytes)\n"
            "  in use  0 bytes\n"
            "  peak    0 bytes\n"
            "  cached  0 bytes beside it, after flow.cpu.empty_cache()\n"
            "  limit   64.00 MiB, set by ONEFLOW_CPU_MEMORY_LIMIT\n"
            "  try     a smaller size: this one alone is more than the limit");
}

std::atomic<bool> gate_open{false};
Maybe<void> RunGated(const KernelCall& call) {
  while (!gate_open) { std::this_thread::yield(); }
  call.outputs[0].Data<uint8_t>()[call.outputs[0].Count() - 1] = 1;
  return Ok();
}
const Kernel kGated{"gated", &RunGated, nullptr, [](const KernelCall&) { return 15e3; }};

TEST_F(TensorMemoryTest, WhatAThreadWithoutTheHostsLockLeftIsFreedFirst) {
  auto* left = new TensorPtr(CHECK_JUST(Bytes(40 * kMiB)));
  lifetime::DeferRelease([](void* tensor) { delete static_cast<TensorPtr*>(tensor); }, left);
  EXPECT_TRUE(Bytes(50 * kMiB).ok());
}

TEST_F(TensorMemoryTest, LiveTensorsAreListed) {
  const TensorPtr x = CHECK_JUST(Bytes(3 * kMiB));
  TensorPtr y = CHECK_JUST(Bytes(5 * kMiB));
  const TensorPtr small = CHECK_JUST(Bytes(1000));
  const TensorPtr view = x->Alias();
  const LiveTensors live = LiveMemory::Find(Device(), 5);
  EXPECT_EQ(live.count, 2);
  EXPECT_EQ(live.bytes, 8 * kMiB);
  ASSERT_EQ(live.largest.size(), 2u);
  EXPECT_EQ(live.largest[0].holders, 1);
  EXPECT_EQ(live.largest[1].holders, 2);
  EXPECT_EQ(live.largest[1].shape, (Shape{3 * kMiB}));
  y.Reset();
  EXPECT_EQ(LiveMemory::Find(Device(), 5).count, 1);
}

TEST_F(TensorMemoryTest, MemoryOfQueuedInstructionsIsWaitedFor) {
  Vm::Get()->SetMode(Vm::Mode::kQueued);
  TensorPtr tensor = CHECK_JUST(Bytes(40 * kMiB));
  Storage* storage = tensor->storage();
  const ArrayView view = {tensor->data(),
                          tensor->shape().data(),
                          tensor->strides().data(),
                          1,
                          tensor->dtype(),
                          true,
                          true};
  OpCall call;
  call.op = "gated";
  call.kernel = &kGated;
  call.call.outputs = &view;
  call.call.num_outputs = 1;
  call.writes = &storage;
  call.num_writes = 1;
  call.stream = CHECK_JUST(Vm::Get()->StreamFor(Device()));
  CHECK_JUST(Vm::Get()->Issue(&call));
  tensor.Reset();  // free, but still to be written
  std::thread opener([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    gate_open = true;
  });
  EXPECT_TRUE(Bytes(50 * kMiB).ok());
  EXPECT_TRUE(gate_open);
  opener.join();
  CHECK_JUST(Vm::Get()->Sync());
}

TEST_F(TensorMemoryTest, AliasesShareTheStorage) {
  const TensorPtr x = CHECK_JUST(AllocateTensor("empty", {2, 3}, DataType::kFloat, Device()));
  const TensorPtr y = x->Alias();
  EXPECT_EQ(x->storage(), y->storage());
  EXPECT_EQ(x->data(), y->data());
  EXPECT_TRUE(x->is_leaf());
  EXPECT_FALSE(x->requires_grad());
}

}  // namespace
}  // namespace oneflow
