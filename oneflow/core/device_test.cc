#include "oneflow/core/device.h"

#include <gtest/gtest.h>

namespace oneflow {
namespace {

TEST(DeviceTest, ParsesAndPrints) {
  EXPECT_EQ(CHECK_JUST(Device::Parse("cpu")), Device());
  EXPECT_EQ(CHECK_JUST(Device::Parse("cuda")), Device(DeviceType::kCUDA, 0));
  EXPECT_EQ(CHECK_JUST(Device::Parse("cuda:3")).ToString(), "cuda:3");
  EXPECT_NE(Device(DeviceType::kCUDA, 0), Device());
  EXPECT_NE(Device(DeviceType::kCPU, 1), Device());
}

TEST(DeviceTest, NonsenseIsNamed) {
  for (const char* bad : {"", "gpu", "cpu:", "cuda:-1", "cuda:1x", "cuda: 1", "CPU", "cuda:0:1",
                          "cuda:99999999999", "cuda:+1"}) {
    const Maybe<Device> parsed = Device::Parse(bad);
    ASSERT_FALSE(parsed.ok()) << bad;
    EXPECT_EQ(parsed.error()->kind(), ErrorKind::kRuntime);
    EXPECT_NE(parsed.error()->message().find("'" + std::string(bad) + "'"), std::string::npos);
  }
}

}  // namespace
}  // namespace oneflow
