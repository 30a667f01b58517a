// Threads, the clock and the ways to let time pass: std's, through one seam.
//
// In a build for the exhaustive scheduler (ONEFLOW_MODEL_CHECK, see common/interleave) the same names
// are threads that it runs, and a clock that it moves. Code that the scheduler explores uses nothing
// of <thread> beside this, and no sleep.
#ifndef ONEFLOW_COMMON_THREAD_H_
#define ONEFLOW_COMMON_THREAD_H_

#include <chrono>
#include <functional>
#include <system_error>
#include <thread>

#ifdef ONEFLOW_MODEL_CHECK
#include "oneflow/common/interleave/model_thread.h"
#else

// A variable of each thread: ONEFLOW_THREAD_LOCAL(int) depth{0};
#define ONEFLOW_THREAD_LOCAL(type) thread_local type

namespace oneflow {

using Thread = std::thread;
using ThreadId = std::thread::id;
using SteadyClock = std::chrono::steady_clock;

inline ThreadId ThisThread() { return std::this_thread::get_id(); }

// Runs `main` on a thread of its own; an error when the system refuses one. REQUIRES: `*thread` is
// not running.
std::error_code StartThread(Thread* thread, std::function<void()> main);

// Between two looks at something that another thread is going to change.
inline void PauseSpinning() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}
// The same, where it may take long.
inline void PausePolling(std::chrono::nanoseconds pause) { std::this_thread::sleep_for(pause); }

// Polls `ready`, which must have no effect, until it is true or `limit` has passed.
template <typename Ready>
bool SpinUntil(std::chrono::nanoseconds limit, const Ready& ready) {
  const auto end = SteadyClock::now() + limit;
  do {
    for (int i = 0; i < 32; ++i) {
      if (ready()) { return true; }
      PauseSpinning();
    }
  } while (SteadyClock::now() < end);
  return false;
}

}  // namespace oneflow

#endif  // ONEFLOW_MODEL_CHECK
#endif  // ONEFLOW_COMMON_THREAD_H_
