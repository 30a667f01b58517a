#include "oneflow/device/allocator.h"

#include <gtest/gtest.h>

namespace oneflow {
namespace {

TEST(GetAllocatorTest, AMissingDeviceIsAnErrorThatNamesIt) {
  for (const auto& [device, words] :
       {std::pair(Device(DeviceType::kCPU, 3), "cpu:3 is not available: there is only cpu:0"),
        std::pair(Device(DeviceType::kCUDA, 1), "cuda:1 is not available"),
        std::pair(Device(DeviceType::kCUDA, 4000), "cuda:4000 is not available")}) {
    Maybe<Allocator*> found = GetAllocator(device);
    ASSERT_FALSE(found.ok());
    EXPECT_NE(found.error()->message().find(words), std::string::npos) << found.error()->message();
  }
}

class NoMemory : public Allocator {
 public:
  Maybe<MemoryBlock*> Allocate(size_t, StreamIndex) override { return OutOfMemoryError("none"); }
  void Free(MemoryBlock*, const StreamPoint*, int) override {}
  MemoryStats Stats() const override { return {}; }
  void ResetPeak() override {}
  void EmptyCache() override {}
  void LockForFork() override {}
  void UnlockAfterFork() override {}
};

TEST(GetAllocatorTest, FindsWhatABackendOffered) {
  static NoMemory allocator;
  RegisterAllocator(Device(DeviceType::kCUDA, 0), &allocator);
  EXPECT_EQ(CHECK_JUST(GetAllocator(Device(DeviceType::kCUDA, 0))), &allocator);
}

int searches = 0;

Maybe<void> FindThree() {
  ++searches;
  static NoMemory allocator;
  RegisterAllocator(Device(DeviceType::kCUDA, 3), &allocator);
  return EnvironmentError("there is only cuda:3");
}

TEST(GetAllocatorTest, ABackendIsWokenOnceAndItsReasonIsTold) {
  RegisterDeviceBackend(DeviceType::kCUDA, &FindThree);
  EXPECT_EQ(searches, 0);
  EXPECT_TRUE(GetAllocator(Device(DeviceType::kCUDA, 3)).ok());
  for (int i = 0; i < 2; ++i) {
    const Maybe<Allocator*> found = GetAllocator(Device(DeviceType::kCUDA, 2));
    ASSERT_FALSE(found.ok());
    EXPECT_EQ(found.error()->message(), "[device] expects a device of this machine, but cuda:2 is "
                                        "not available: there is only cuda:3");
  }
  EXPECT_EQ(searches, 1);
}

}  // namespace
}  // namespace oneflow
