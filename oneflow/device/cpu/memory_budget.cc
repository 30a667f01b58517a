#include "oneflow/device/cpu/memory_budget.h"

#include <algorithm>
#include <string>
#include <utility>

#include "oneflow/common/env_var.h"
#include "oneflow/device/byte_size.h"

namespace oneflow {
namespace cpu {

namespace {
constexpr int64_t kTrustedStep = int64_t{256} << 20;
constexpr char kVariable[] = "ONEFLOW_CPU_MEMORY_LIMIT";
}  // namespace

MemoryBudget::MemoryBudget(int64_t configured, std::string root)
    : configured_(configured), root_(std::move(root)), resident_before_(ResidentAnonymousBytes()) {}

Maybe<MemoryBudget> MemoryBudget::FromEnvironment() {
  const std::string text = EnvString(kVariable, "");
  int64_t bytes = kNoLimit;
  if (!text.empty() && !ParseBytes(text, &bytes)) {
    return ValueError("[memory] expects {} in bytes, such as 536870912, 512MiB or 2G, got '{}'",
                      kVariable, text);
  }
  return MemoryBudget(bytes);
}

int64_t MemoryBudget::Limit(int64_t reserved, int64_t grow) {
  if (reserved + grow > trusted_until_ ||
      std::chrono::steady_clock::now() - looked_at_ > std::chrono::seconds(1)) {
    Refresh(reserved, grow);
  }
  return limit_;
}

void MemoryBudget::Refresh(int64_t reserved, int64_t grow) {
  const HostMemory host = ReadHostMemory(root_);
  // Pages of the pool that were never touched are not resident: they still count as available, and
  // must not be given away twice.
  const int64_t resident =
      std::clamp<int64_t>(ResidentAnonymousBytes() - resident_before_, 0, reserved);
  const auto with_ours = [&](int64_t more) {
    return more >= kNoLimit - resident ? kNoLimit : more + resident;
  };
  limit_ = configured_;
  reason_ = kVariable;
  if (with_ours(host.cgroup) < limit_) {
    limit_ = with_ours(host.cgroup);
    reason_ = "the control group (cgroup)";
  }
  if (with_ours(host.machine) < limit_) {
    limit_ = with_ours(host.machine);
    reason_ = "the machine's available memory";
  }
  const int64_t left = limit_ - reserved - grow;
  trusted_until_ = reserved + grow + std::clamp<int64_t>(left / 8, 0, kTrustedStep);
  looked_at_ = std::chrono::steady_clock::now();
}

}  // namespace cpu
}  // namespace oneflow
