#include "oneflow/device/cpu/host_memory.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace oneflow {
namespace cpu {

namespace {

std::string ReadFile(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) { return ""; }
  std::string out;
  char buffer[4096];
  for (;;) {
    const ssize_t n = ::read(fd, buffer, sizeof(buffer));
    if (n <= 0) { break; }
    out.append(buffer, static_cast<size_t>(n));
  }
  ::close(fd);
  return out;
}

// The number after `key` at the start of a line; -1 when there is none.
int64_t FieldOf(const std::string& text, const std::string& key) {
  size_t at = text.compare(0, key.size(), key) == 0 ? 0 : text.find("\n" + key);
  if (at == std::string::npos) { return -1; }
  at += (at == 0 ? 0 : 1) + key.size();
  return std::strtoll(text.c_str() + at, nullptr, 10);
}

// A file that holds one number; kNoLimit for "max", a missing file, or the kernel's "unlimited".
int64_t NumberIn(const std::string& path) {
  const std::string text = ReadFile(path);
  char* end = nullptr;
  const long long value = std::strtoll(text.c_str(), &end, 10);
  return end == text.c_str() || value >= (1LL << 60) ? kNoLimit : value;
}

struct CgroupFiles {
  const char* limit;
  const char* used;
  const char* file_cache;
};
constexpr CgroupFiles kVersion1 = {"/memory.limit_in_bytes", "/memory.usage_in_bytes",
                                   "total_inactive_file "};
constexpr CgroupFiles kVersion2 = {"/memory.max", "/memory.current", "inactive_file "};

int64_t HeadroomOfGroup(const std::string& folder, const CgroupFiles& files) {
  const int64_t limit = NumberIn(folder + files.limit);
  const int64_t used = NumberIn(folder + files.used);
  if (limit == kNoLimit || used == kNoLimit) { return kNoLimit; }
  const int64_t cache = FieldOf(ReadFile(folder + "/memory.stat"), files.file_cache);
  return std::max<int64_t>(0, limit - (used - std::max<int64_t>(cache, 0)));
}

// A group is also bound by each of its parents. A container may see the mount without its own path
// below it; the walk then ends at the mount's root, which is the container's group.
int64_t HeadroomUpwards(const std::string& mount, std::string path, const CgroupFiles& files) {
  int64_t headroom = kNoLimit;
  for (;;) {
    while (!path.empty() && path.back() == '/') { path.pop_back(); }
    headroom = std::min(headroom, HeadroomOfGroup(mount + path, files));
    if (path.empty()) { return headroom; }
    path.resize(path.rfind('/'));
  }
}

// Lines read "hierarchy:controllers:path".
int64_t CgroupHeadroom(const std::string& root) {
  int64_t headroom = kNoLimit;
  const std::string text = ReadFile(root + "/proc/self/cgroup");
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos) { continue; }
    const std::string controllers =
        "," + std::string(line.substr(first + 1, second - first - 1)) + ",";
    const std::string path(line.substr(second + 1));
    if (path.empty() || path.front() != '/') { continue; }
    if (controllers == ",,") {
      headroom = std::min(headroom, HeadroomUpwards(root + "/sys/fs/cgroup", path, kVersion2));
    } else if (controllers.find(",memory,") != std::string::npos) {
      headroom =
          std::min(headroom, HeadroomUpwards(root + "/sys/fs/cgroup/memory", path, kVersion1));
    }
  }
  return headroom;
}

}  // namespace

HostMemory ReadHostMemory(const std::string& root) {
  HostMemory out;
  const int64_t available = FieldOf(ReadFile(root + "/proc/meminfo"), "MemAvailable:");
  if (available >= 0) { out.machine = available * 1024; }
  out.cgroup = CgroupHeadroom(root);
  return out;
}

int64_t ResidentAnonymousBytes() {
  const std::string text = ReadFile("/proc/self/statm");
  long long total = 0;
  long long resident = 0;
  long long shared = 0;
  if (std::sscanf(text.c_str(), "%lld %lld %lld", &total, &resident, &shared) != 3) { return 0; }
  return (resident - shared) * ::sysconf(_SC_PAGESIZE);
}

}  // namespace cpu
}  // namespace oneflow
