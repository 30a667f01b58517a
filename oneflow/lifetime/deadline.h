// Deadline: the moment by which something has to be over.
//
// Thread safety: plain value.
#ifndef ONEFLOW_LIFETIME_DEADLINE_H_
#define ONEFLOW_LIFETIME_DEADLINE_H_

#include <algorithm>
#include <chrono>

#include "oneflow/common/thread.h"

namespace oneflow {
namespace lifetime {

class Deadline {
 public:
  using Clock = SteadyClock;

  static Deadline After(double seconds);
  static Deadline Never() { return After(kYear); }
  // ONEFLOW_SHUTDOWN_TIMEOUT_SECONDS from now, default 10.
  static Deadline ForShutdown();

  bool Expired() const { return Clock::now() >= at_; }
  // Zero once expired.
  std::chrono::nanoseconds Remaining() const {
    return std::max(std::chrono::nanoseconds(0),
                    std::chrono::duration_cast<std::chrono::nanoseconds>(at_ - Clock::now()));
  }
  // The earlier of the two.
  Deadline Earlier(Deadline other) const { return Deadline(std::min(at_, other.at_)); }

 private:
  static constexpr double kYear = 365.0 * 86400;
  explicit Deadline(Clock::time_point at) : at_(at) {}
  Clock::time_point at_;
};

}  // namespace lifetime
}  // namespace oneflow

#endif  // ONEFLOW_LIFETIME_DEADLINE_H_
