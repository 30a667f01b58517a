// The end of a process that did not close in time.
//
// Thread safety: any thread. Does not return, and takes at most two seconds.
#ifndef ONEFLOW_LIFETIME_LATE_EXIT_H_
#define ONEFLOW_LIFETIME_LATE_EXIT_H_

#include <semaphore.h>

#include <functional>
#include <string>

#include "oneflow/lifetime/deadline.h"

namespace oneflow {
namespace lifetime {

// How the host language empties its own output buffers. Called by ExitLate(); the hook finds out
// whether this thread holds the host's lock, and does nothing otherwise.
void SetFlushHook(void (*flush)());

// From now on the process ends within two seconds, with `status`, or 1 when that is 0: whatever
// still has to be done for a good end (taking the host's lock, flushing) cannot hang it.
void ArmLateExit(int status);

// Prints `report` and the errors that nobody read, flushes the host's and the C library's output, and ends the process with
// `status`, or 1 when that is 0.
[[noreturn]] void ExitLate(int status, const std::string& report);

// For a wait that may have to take the host's lock: another thread may hold that for ever (a C call
// that sleeps with it), and then nobody who waits can look at the clock. A thread of this object's
// own, which never takes it, calls `report` when the object still lives kGraceSeconds after the
// deadline, and ends the process: ExitLate(status). When `report` says false, somebody else has armed
// the end, and this thread leaves it to him. Where the system refuses a thread there is no watch.
// Constructing and destroying it take some 50 us and never block; one thread does both.
class ExitWatch {
 public:
  static constexpr double kGraceSeconds = 0.5;
  ExitWatch(Deadline deadline, int status, std::function<bool()> report);
  ~ExitWatch();
  ExitWatch(const ExitWatch&) = delete;
  ExitWatch& operator=(const ExitWatch&) = delete;

 private:
  static void* Watch(void* self);

  const Deadline at_;
  const int status_;
  const std::function<bool()> report_;
  sem_t over_;
  bool has_thread_ = false;
  pthread_t thread_{};
};

}  // namespace lifetime
}  // namespace oneflow

#endif  // ONEFLOW_LIFETIME_LATE_EXIT_H_
