// Closer: the thread on which everything closes, one thing after the other.
//
// Whoever closes something and may wait hands it over and waits beside it: without the host's lock,
// looking at signals, and no longer than the deadline, after which the process ends with a report.
// Whoever may not wait (a runtime thread, a `__del__`) posts. The thread starts with the first job.
//
// Thread safety: all methods. Happens-before: a job sees all that its poster did, and who waited for
// a job sees all that it did.
#ifndef ONEFLOW_LIFETIME_CLOSER_H_
#define ONEFLOW_LIFETIME_CLOSER_H_

#include <cstdint>
#include <functional>
#include <string>

#include "oneflow/common/maybe.h"
#include "oneflow/lifetime/deadline.h"

namespace oneflow {
namespace lifetime {

class Closer {
 public:
  using Job = std::function<void(Deadline)>;

  Closer();
  ~Closer();  // stops
  Closer(const Closer&) = delete;
  Closer& operator=(const Closer&) = delete;

  // Never waits, and the job may take as long as it needs: whoever waits for a later job ends the
  // process for it. Without a thread to run it (the system refuses one) the job runs here.
  void Post(Job job);
  // Waits until the job is done. A job that has not ended, or ends late, is the end of the process:
  // ExitLate(status). On a runtime thread it posts and returns. kInterrupted: the host's signal
  // handler raised meanwhile, which leaves the job one second; the job is done all the same, and
  // `interrupted` is called first: what has not begun may be dropped.
  Maybe<void> RunAndWait(Job job, int status, const std::function<void()>& interrupted = nullptr);
  // From a job: what it is waiting for now. `unfinished` is called by other threads until the next
  // EnterStep() or LeaveStep() returns. A job that gives up at its deadline stays in its step.
  void EnterStep(std::string what, std::function<std::string()> unfinished);
  void LeaveStep();
  // Runs what was posted, then joins the thread. Later jobs are dropped.
  void Stop();

  void LockForFork();
  void UnlockInParent();
  void ResetInChild();

 private:
  struct State;
  static void ThreadMain(State* state);
  uint64_t Enqueue(State* state, Job job, Deadline deadline);
  struct Wait;
  bool AwaitTicket(State* state, Wait* wait);
  bool PrintReport(State* state, uint64_t ticket) const;

  State* state_;  // another one after fork()
};

}  // namespace lifetime
}  // namespace oneflow

#endif  // ONEFLOW_LIFETIME_CLOSER_H_
