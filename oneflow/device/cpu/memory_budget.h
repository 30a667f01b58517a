// MemoryBudget: how many bytes the CPU pool may hold from the system in all.
//
// The smallest of ONEFLOW_CPU_MEMORY_LIMIT, what the control group leaves, and what the machine has
// available; the last two count what the pool holds already. They change as other processes come
// and go, so they are read again before a large step, and at least once a second.
//
// Thread safety: none; the pool guards it. Never throws.
#ifndef ONEFLOW_DEVICE_CPU_MEMORY_BUDGET_H_
#define ONEFLOW_DEVICE_CPU_MEMORY_BUDGET_H_

#include <chrono>
#include <cstdint>
#include <string>

#include "oneflow/common/maybe.h"
#include "oneflow/device/cpu/host_memory.h"

namespace oneflow {
namespace cpu {

class MemoryBudget {
 public:
  // `configured`: kNoLimit when the user set none. `root`: see ReadHostMemory.
  explicit MemoryBudget(int64_t configured, std::string root = "");
  // Reads ONEFLOW_CPU_MEMORY_LIMIT. ValueError when it is no size: a limit that is not kept may cost
  // the whole machine, so it is not ignored as other variables are.
  static Maybe<MemoryBudget> FromEnvironment();

  // The limit for a pool that holds `reserved` bytes and wants `grow` more.
  int64_t Limit(int64_t reserved, int64_t grow);
  // What sets the limit, for messages.
  const char* reason() const { return reason_; }
  bool set_by_user() const { return limit_ == configured_; }

 private:
  void Refresh(int64_t reserved, int64_t grow);

  int64_t configured_;
  std::string root_;
  int64_t resident_before_;  // anonymous memory of the process that is not the pool's
  int64_t limit_ = 0;
  int64_t trusted_until_ = -1;  // no need to look again while reserved stays below
  std::chrono::steady_clock::time_point looked_at_;
  const char* reason_ = "";
};

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_DEVICE_CPU_MEMORY_BUDGET_H_
