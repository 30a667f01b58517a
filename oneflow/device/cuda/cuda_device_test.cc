// What CUDA does on this machine: without a GPU, clear errors; with one, memory and streams.
#include "oneflow/device/cuda/cuda_device.h"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "oneflow/device/allocator.h"
#include "oneflow/device/cuda/cuda_backend.h"
#include "oneflow/device/cuda/cuda_error.h"
#include "oneflow/device/cuda/cuda_stream.h"

namespace oneflow {
namespace cuda {
namespace {

const Device kFirst(DeviceType::kCUDA, 0);

Maybe<Allocator*> FirstAllocator() {
  static const bool registered = [] {
    RegisterCudaBackend();
    return true;
  }();
  static_cast<void>(registered);
  return GetAllocator(kFirst);
}

bool HasGpu() { return CountDevices().ok(); }

TEST(CheckCudaTest, AStatusBecomesAnErrorOfItsKind) {
  EXPECT_TRUE(CheckCuda(cudaSuccess, "f").ok());
  for (const auto& [status, kind] : {std::pair(cudaErrorMemoryAllocation, ErrorKind::kOutOfMemory),
                                     std::pair(cudaErrorNoDevice, ErrorKind::kEnvironment),
                                     std::pair(cudaErrorIllegalAddress, ErrorKind::kInternal)}) {
    const Maybe<void> failed = CheckCuda(status, "cudaSomething");
    ASSERT_FALSE(failed.ok());
    EXPECT_EQ(failed.error()->kind(), kind);
    const std::string& text = failed.error()->message();
    EXPECT_NE(text.find("[cuda] cudaSomething failed: "), std::string::npos) << text;
    EXPECT_NE(text.find(cudaGetErrorName(status)), std::string::npos) << text;
  }
}

TEST(CudaBackendTest, TheFirstDeviceWorksOrSaysWhyThereIsNone) {
  const Maybe<Allocator*> found = FirstAllocator();
  if (HasGpu()) {
    ASSERT_TRUE(found.ok()) << found.error()->message();
    Allocator* pool = found.value();
    MemoryBlock* block = CHECK_JUST(pool->Allocate(1 << 20, kHostStream));
    EXPECT_TRUE(CheckCuda(cudaMemset(block->data, 1, block->bytes), "cudaMemset").ok());
    EXPECT_TRUE(CheckCuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize").ok());
    pool->Free(block, nullptr, 0);
    EXPECT_GT(pool->Stats().limit, 1 << 20);
    return;
  }
  ASSERT_FALSE(found.ok());
  const std::string& text = found.error()->message();
  EXPECT_NE(text.find("cuda:0 is not available: "), std::string::npos) << text;
  EXPECT_NE(text.find("CUDA d"), std::string::npos) << text;  // no driver, or no device
}

TEST(CudaBackendTest, ADeviceThatTheMachineLacksIsAnError) {
  static_cast<void>(FirstAllocator());
  EXPECT_FALSE(GetAllocator(Device(DeviceType::kCUDA, 63)).ok());
}

TEST(CudaStreamTest, PassesPointsInOrderOrSaysWhyItCannot) {
  Maybe<std::unique_ptr<CudaStream>> made = CudaStream::Create(kFirst);
  if (!HasGpu()) {
    ASSERT_FALSE(made.ok());
    EXPECT_EQ(made.error()->kind(), ErrorKind::kEnvironment) << made.error()->message();
    return;
  }
  const std::unique_ptr<CudaStream> stream = CHECK_JUST(std::move(made));
  const auto index = static_cast<StreamIndex>(StreamClock::Allot());
  const StreamPoint point{StreamClock::Completed(index) + 1, index};
  CHECK_JUST(stream->Advance(point));
  CHECK_JUST(stream->Wait());
  EXPECT_TRUE(StreamClock::Passed(point));
}

}  // namespace
}  // namespace cuda
}  // namespace oneflow
