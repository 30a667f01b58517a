// What memory this process may still use: the machine's, and its control group's.
//
// Thread safety: pure functions over files of the system. Never throws. Blocks only on reading them
// (some tens of microseconds).
#ifndef ONEFLOW_DEVICE_CPU_HOST_MEMORY_H_
#define ONEFLOW_DEVICE_CPU_HOST_MEMORY_H_

#include <cstdint>
#include <string>

namespace oneflow {
namespace cpu {

inline constexpr int64_t kNoLimit = INT64_MAX;

// Bytes that could be taken now, without those that this process has already.
struct HostMemory {
  int64_t machine = kNoLimit;  // the kernel's own estimate, MemAvailable
  int64_t cgroup =
      kNoLimit;  // the tightest of the group and its parents; file cache is not counted
};

// `root` is put before each path ("/proc", "/sys"); tests pass a folder of their own.
HostMemory ReadHostMemory(const std::string& root = "");

// Resident anonymous bytes of this process.
int64_t ResidentAnonymousBytes();

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_DEVICE_CPU_HOST_MEMORY_H_
