// Scheduler::ThreadState: one thread of a schedule. Private to the scheduler.
#ifndef ONEFLOW_COMMON_INTERLEAVE_THREAD_STATE_H_
#define ONEFLOW_COMMON_INTERLEAVE_THREAD_STATE_H_

#include <functional>
#include <string>
#include <vector>

#include "oneflow/common/interleave/scheduler.h"

namespace oneflow {
namespace interleave {

struct Scheduler::ThreadState {
  Fiber fiber;
  std::function<void()> main;
  std::string name;
  Op next;  // what it does when it is its turn
  bool ended = false;
  // A wait on a condition variable.
  bool waiting = false;    // not notified yet
  size_t notified_at = 0;  // the number of the step
  bool timed = false;
  bool timed_out = false;
  TimePoint deadline;
  Op timeout;  // what the clock may do to it
  int timeouts = 0;
  int spurious = 0;
  // A pause.
  std::vector<Seen> seen;   // since the last one
  bool pause_over = false;  // though nothing has changed
  int idle_wakes = 0;
  int hidden_locks = 0;

  // For the next schedule; the stack is kept.
  void Reset() {
    name.clear();
    next = timeout = Op();
    ended = waiting = timed = timed_out = pause_over = false;
    notified_at = 0;
    timeouts = spurious = idle_wakes = hidden_locks = 0;
    seen.clear();
  }
};

}  // namespace interleave
}  // namespace oneflow

#endif  // ONEFLOW_COMMON_INTERLEAVE_THREAD_STATE_H_
