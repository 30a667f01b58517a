#include "oneflow/lifetime/deadline.h"

#include "oneflow/common/env_var.h"
#include "oneflow/common/planted_fault.h"

namespace oneflow {
namespace lifetime {

Deadline Deadline::After(double seconds) {
  if (FaultPlanted(Fault::kDeadlineIgnored)) { seconds = kYear; }
  // Bounded, so that the clock's arithmetic cannot overflow.
  const double bounded = std::clamp(seconds, 0.0, kYear);
  return Deadline(Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                     std::chrono::duration<double>(bounded)));
}

Deadline Deadline::ForShutdown() {
  return After(EnvDouble("ONEFLOW_SHUTDOWN_TIMEOUT_SECONDS", 10));
}

}  // namespace lifetime
}  // namespace oneflow
