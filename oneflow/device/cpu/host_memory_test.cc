#include "oneflow/device/cpu/host_memory.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "oneflow/device/cpu/memory_budget.h"

namespace oneflow {
namespace cpu {
namespace {

// A folder that looks like / to ReadHostMemory.
class HostMemoryTest : public ::testing::Test {
 protected:
  HostMemoryTest() : root_(::testing::TempDir() + "/host_memory_" + Name()) { Folder(""); }

  static std::string Name() {
    return ::testing::UnitTest::GetInstance()->current_test_info()->name();
  }
  void Folder(const std::string& path) {
    for (size_t at = 0; at != std::string::npos;) {
      at = path.find('/', at + 1);
      ::mkdir((root_ + path.substr(0, at)).c_str(), 0755);
    }
  }
  void Write(const std::string& path, const std::string& text) {
    Folder(path.substr(0, path.rfind('/')));
    std::ofstream(root_ + path) << text;
  }

  std::string root_;
};

TEST_F(HostMemoryTest, NothingKnownIsNoLimit) {
  const HostMemory memory = ReadHostMemory(root_);
  EXPECT_EQ(memory.machine, kNoLimit);
  EXPECT_EQ(memory.cgroup, kNoLimit);
}

TEST_F(HostMemoryTest, ReadsAvailableMemory) {
  Write("/proc/meminfo", "MemTotal:  100 kB\nMemFree: 1 kB\nMemAvailable:   50 kB\n");
  EXPECT_EQ(ReadHostMemory(root_).machine, 50 * 1024);
}

TEST_F(HostMemoryTest, Version2TakesTheTightestParentAndForgivesFileCache) {
  Write("/proc/self/cgroup", "0::/a/b\n");
  Write("/sys/fs/cgroup/a/b/memory.max", "max\n");
  Write("/sys/fs/cgroup/a/b/memory.current", "700\n");
  Write("/sys/fs/cgroup/a/memory.max", "1000\n");
  Write("/sys/fs/cgroup/a/memory.current", "800\n");
  Write("/sys/fs/cgroup/a/memory.stat", "anon 500\ninactive_file 300\n");
  EXPECT_EQ(ReadHostMemory(root_).cgroup, 500);
}

TEST_F(HostMemoryTest, Version1InAContainerThatSeesOnlyTheMount) {
  Write("/proc/self/cgroup", "9:name=systemd:/\n4:cpu,memory:/outside/of/us\n0::/\n");
  Write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "4096\n");
  Write("/sys/fs/cgroup/memory/memory.usage_in_bytes", "1024\n");
  Write("/sys/fs/cgroup/memory/memory.stat", "inactive_file 7\ntotal_inactive_file 24\n");
  EXPECT_EQ(ReadHostMemory(root_).cgroup, 4096 - 1000);
}

TEST_F(HostMemoryTest, Version1UnlimitedIsNoLimit) {
  Write("/proc/self/cgroup", "4:memory:/\n");
  Write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  Write("/sys/fs/cgroup/memory/memory.usage_in_bytes", "1024\n");
  EXPECT_EQ(ReadHostMemory(root_).cgroup, kNoLimit);
}

TEST_F(HostMemoryTest, FullGroupLeavesNothing) {
  Write("/proc/self/cgroup", "0::/\n");
  Write("/sys/fs/cgroup/memory.max", "1000\n");
  Write("/sys/fs/cgroup/memory.current", "1200\n");
  EXPECT_EQ(ReadHostMemory(root_).cgroup, 0);
}

TEST(ParseBytesTest, ReadsUnits) {
  int64_t bytes = 0;
  EXPECT_TRUE(ParseBytes("1048576", &bytes));
  EXPECT_EQ(bytes, 1048576);
  EXPECT_TRUE(ParseBytes("512k", &bytes));
  EXPECT_EQ(bytes, 512 << 10);
  EXPECT_TRUE(ParseBytes("1.5GiB", &bytes));
  EXPECT_EQ(bytes, int64_t{3} << 29);
  EXPECT_TRUE(ParseBytes("2TB", &bytes));
  EXPECT_EQ(bytes, int64_t{2} << 40);
  bytes = -7;
  for (const char* bad : {"", "x", "G", "1X", "1 G", "-1G", "0", "1GG", "1e40", "nan", "inf"}) {
    EXPECT_FALSE(ParseBytes(bad, &bytes)) << bad;
  }
  EXPECT_EQ(bytes, -7);
}

TEST(FormatBytesTest, PicksTheUnit) {
  EXPECT_EQ(FormatBytes(512), "512 bytes");
  EXPECT_EQ(FormatBytes(1536), "1.50 KiB");
  EXPECT_EQ(FormatBytes(int64_t{1} << 46), "64.00 TiB");
}

TEST(MemoryBudgetTest, TheUsersLimitWinsWhenItIsTheSmallest) {
  MemoryBudget budget(1 << 20);
  EXPECT_EQ(budget.Limit(0, 0), 1 << 20);
  EXPECT_TRUE(budget.set_by_user());
  MemoryBudget open(kNoLimit);
  EXPECT_LT(open.Limit(0, 0), kNoLimit);  // this machine has an end
  EXPECT_FALSE(open.set_by_user());
}

TEST(MemoryBudgetTest, EnvironmentVariable) {
  ::setenv("ONEFLOW_CPU_MEMORY_LIMIT", "3M", 1);
  EXPECT_EQ(MemoryBudget::FromEnvironment().Limit(0, 0), 3 << 20);
  ::testing::internal::CaptureStderr();
  ::setenv("ONEFLOW_CPU_MEMORY_LIMIT", "lots", 1);
  EXPECT_FALSE(MemoryBudget::FromEnvironment().set_by_user());
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("lots"), std::string::npos);
  ::unsetenv("ONEFLOW_CPU_MEMORY_LIMIT");
}

}  // namespace
}  // namespace cpu
}  // namespace oneflow
