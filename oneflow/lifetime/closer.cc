#include "oneflow/lifetime/closer.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <optional>
#include <utility>

#include "oneflow/common/env_var.h"
#include "oneflow/common/host_hooks.h"
#include "oneflow/common/interleave/ordering_fault.h"
#include "oneflow/common/log.h"
#include "oneflow/common/mutex.h"
#include "oneflow/common/thread.h"
#include "oneflow/lifetime/late_exit.h"
#include "oneflow/lifetime/runtime_thread.h"

namespace oneflow {
namespace lifetime {

namespace {
// How often a wait looks at signals.
constexpr std::chrono::milliseconds kSlice(20);
// What an interrupt leaves of a wait.
constexpr double kAfterInterruptSeconds = 1;
}  // namespace

struct Closer::State {
  struct Accepted {
    Job job;
    Deadline deadline;
  };
  Mutex mutex;
  CondVar work;
  CondVar done;
  std::deque<Accepted> jobs GUARDED_BY(mutex);
  uint64_t accepted GUARDED_BY(mutex) = 0;
  uint64_t finished GUARDED_BY(mutex) = 0;  // jobs finish in the order in which they were accepted
  bool late GUARDED_BY(mutex) = false;      // a job gave up
  bool interrupted GUARDED_BY(mutex) = false;
  bool has_thread GUARDED_BY(mutex) = false;
  bool stopping GUARDED_BY(mutex) = false;
  bool reported GUARDED_BY(mutex) = false;
  Thread thread;

  // Apart from `mutex`: held while `unfinished` runs.
  Mutex step_mutex;
  std::string step GUARDED_BY(step_mutex);
  std::function<std::string()> unfinished GUARDED_BY(step_mutex);
};

Closer::Closer() : state_(new State) {}

Closer::~Closer() {
  Stop();
  delete state_;
}

void Closer::ThreadMain(State* state) {
  ScopedRuntimeThread runtime_thread("oneflow-closer");
  state->mutex.Lock();
  for (;;) {
    while (state->jobs.empty() && !state->stopping) { state->work.Wait(&state->mutex); }
    if (state->jobs.empty()) { break; }
    State::Accepted next = std::move(state->jobs.front());
    state->jobs.pop_front();
    const bool early = interleave::Misordered(interleave::OrderingFault::kReportsBeforeDone);
    if (early) { ++state->finished; }
    state->mutex.Unlock();
    next.job(next.deadline);
    next.job = nullptr;  // what it captured goes before anyone hears that it is done
    state->mutex.Lock();
    state->late = state->late || next.deadline.Expired();
    if (!early) { ++state->finished; }
    state->done.NotifyAll();
  }
  state->mutex.Unlock();
}

// Returns the job's ticket; 0 when it has been run here, or dropped.
uint64_t Closer::Enqueue(State* state, Job job, Deadline deadline) {
  {
    MutexLock lock(&state->mutex);
    if (state->stopping) { return 0; }
    if (!state->has_thread) {
      state->has_thread = !StartThread(&state->thread, [state] { ThreadMain(state); });
    }
    if (state->has_thread) {
      state->jobs.push_back({std::move(job), deadline});
      state->work.NotifyOne();
      return ++state->accepted;
    }
  }
  job(deadline);
  return 0;
}

void Closer::Post(Job job) { Enqueue(state_, std::move(job), Deadline::Never()); }

// What one caller of RunAndWait() waits for.
struct Closer::Wait {
  uint64_t ticket;
  Deadline deadline;
  const int status;
  const std::function<void()>& on_interrupt;
  Maybe<void> interrupted = Ok();
};

Maybe<void> Closer::RunAndWait(Job job, int status, const std::function<void()>& interrupted) {
  if (OnRuntimeThread()) {
    Post(std::move(job));
    return Ok();
  }
  State* state = state_;
  const Deadline deadline = Deadline::ForShutdown();
  const uint64_t ticket = Enqueue(state, std::move(job), deadline);
  Wait wait{ticket, deadline, status, interrupted};
  // Looking at signals, and coming back, take the host's lock, which may never be free again.
  std::optional<ExitWatch> watch;
  if (ticket != 0 && GetHostHooks().enter != nullptr) {
    watch.emplace(deadline, status, [this, state, ticket, status] {
      ArmLateExit(status);
      return PrintReport(state, ticket);
    });
  }
  if (ticket == 0 || AwaitTicket(state, &wait)) { return wait.interrupted; }
  // Reported and armed before the host's lock is taken again, which is needed to flush its output.
  ExitLate(status, "");
}

// False when the job was late; its report has then been printed.
bool Closer::AwaitTicket(State* state, Wait* wait) {
  HostUnlocked unlocked;
  for (;;) {
    bool late;
    {
      MutexLock lock(&state->mutex);
      if (state->finished < wait->ticket) {
        state->done.WaitFor(&state->mutex,
                            std::min<std::chrono::nanoseconds>(kSlice, wait->deadline.Remaining()));
      }
      late = state->late;
      if (state->finished >= wait->ticket && !late) { return true; }
    }
    if (late || wait->deadline.Expired()) {
      ArmLateExit(wait->status);
      PrintReport(state, wait->ticket);
      return false;
    }
    // An exception is pending in the host after the first interrupt: no more of its code may run.
    if (!wait->interrupted.ok()) { continue; }
    wait->interrupted = unlocked.PollSignals();
    if (!wait->interrupted.ok()) {
      if (wait->on_interrupt) { wait->on_interrupt(); }
      wait->deadline = wait->deadline.Earlier(Deadline::After(kAfterInterruptSeconds));
      MutexLock lock(&state->mutex);
      state->interrupted = true;
    }
  }
}

// False when it has been printed before.
bool Closer::PrintReport(State* state, uint64_t ticket) const {
  bool closed;
  bool interrupted;
  {
    MutexLock lock(&state->mutex);
    if (state->reported) { return false; }
    state->reported = true;
    interrupted = state->interrupted;
    closed = state->finished >= ticket && !state->late;
  }
  if (closed) {
    WriteStderr(
        "oneflow: all is closed, but a thread does not let go of the host's lock (the GIL)\n");
    return true;
  }
  WriteStderr(interrupted
                  ? "oneflow: closing was interrupted; the process ends now\n"
                  : Format("oneflow: closing did not finish in time "
                           "(ONEFLOW_SHUTDOWN_TIMEOUT_SECONDS is {}); the process ends now\n",
                           EnvDouble("ONEFLOW_SHUTDOWN_TIMEOUT_SECONDS", 10)));
  {
    MutexLock lock(&state->step_mutex);
    if (!state->step.empty()) {
      WriteStderr("oneflow: not finished: " + state->step);
      // Apart, should `unfinished` wait for something against its promise.
      std::string more = state->unfinished ? state->unfinished() : "";
      while (!more.empty() && more.back() == '\n') { more.pop_back(); }
      WriteStderr((more.empty() ? "" : ": " + more) + "\n");
    }
  }
  for (const std::string& name : RuntimeThreadNames()) {
    if (name != "oneflow-closer") { WriteStderr("oneflow: thread still alive: " + name + "\n"); }
  }
  return true;
}

void Closer::EnterStep(std::string what, std::function<std::string()> unfinished) {
  MutexLock lock(&state_->step_mutex);
  state_->step = std::move(what);
  state_->unfinished = std::move(unfinished);
}

void Closer::LeaveStep() { EnterStep("", nullptr); }

void Closer::Stop() {
  {
    MutexLock lock(&state_->mutex);
    if (state_->stopping) { return; }
    state_->stopping = true;
    if (!state_->has_thread) { return; }
    state_->work.NotifyAll();
  }
  state_->thread.join();
}

void Closer::LockForFork() ONEFLOW_TSA_(no_thread_safety_analysis) {
  state_->mutex.Lock();
  state_->step_mutex.Lock();
}

void Closer::UnlockInParent() ONEFLOW_TSA_(no_thread_safety_analysis) {
  state_->step_mutex.Unlock();
  state_->mutex.Unlock();
}

// The old state is leaked: its thread does not exist here, and its condition variables may be in the
// middle of a wait.
void Closer::ResetInChild() { state_ = new State; }

}  // namespace lifetime
}  // namespace oneflow
