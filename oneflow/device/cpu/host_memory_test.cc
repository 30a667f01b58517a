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

// What sets the limit is named by the report of an out-of-memory error.
TEST_F(HostMemoryTest, TheBudgetIsTheSmallestOfThree) {
  Write("/proc/meminfo", "MemAvailable:   3000 kB\n");
  MemoryBudget machine(kNoLimit, root_);
  EXPECT_EQ(machine.Limit(0, 0), 3000 << 10);
  EXPECT_STREQ(machine.reason(), "the machine's available memory");
  for (const char* version : {"v2", "v1"}) {
    const bool two = std::string(version) == "v2";
    const std::string folder = two ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
    Write("/proc/self/cgroup", two ? "0::/\n" : "3:memory:/\n");
    Write(folder + (two ? "/memory.max" : "/memory.limit_in_bytes"), "2097152\n");
    Write(folder + (two ? "/memory.current" : "/memory.usage_in_bytes"), "1048576\n");
    MemoryBudget group(kNoLimit, root_);
    EXPECT_EQ(group.Limit(0, 0), 1 << 20) << version;
    EXPECT_STREQ(group.reason(), "the control group (cgroup)") << version;
    MemoryBudget user(512 << 10, root_);
    EXPECT_EQ(user.Limit(0, 0), 512 << 10) << version;
    EXPECT_STREQ(user.reason(), "ONEFLOW_CPU_MEMORY_LIMIT") << version;
  }
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
  EXPECT_EQ(CHECK_JUST(MemoryBudget::FromEnvironment()).Limit(0, 0), 3 << 20);
  ::setenv("ONEFLOW_CPU_MEMORY_LIMIT", "lots", 1);
  const Maybe<MemoryBudget> nonsense = MemoryBudget::FromEnvironment();
  ASSERT_FALSE(nonsense.ok());
  EXPECT_EQ(nonsense.error()->kind(), ErrorKind::kValue);
  EXPECT_EQ(nonsense.error()->message(),
            "[memory] expects ONEFLOW_CPU_MEMORY_LIMIT in bytes, such as 536870912, 512MiB or 2G, "
            "got 'lots'");
  ::unsetenv("ONEFLOW_CPU_MEMORY_LIMIT");
}

}  // namespace
}  // namespace cpu
}  // namespace oneflow
