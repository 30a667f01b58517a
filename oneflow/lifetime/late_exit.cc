#include "oneflow/lifetime/late_exit.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <utility>

#include "oneflow/common/log.h"
#include "oneflow/lifetime/end_process.h"
#include "oneflow/lifetime/unread_errors.h"

namespace oneflow {
namespace lifetime {

namespace {

std::atomic<void (*)()> flush_hook{nullptr};
std::atomic<bool> armed{false};

// A thread that hangs may hold the lock of stdout; flushing must not hang for its sake.
void* ExitSoon(void* status) {
  ::sleep(2);
  EndProcess(static_cast<int>(reinterpret_cast<intptr_t>(status)));
}

}  // namespace

void SetFlushHook(void (*flush)()) { flush_hook.store(flush); }

void ArmLateExit(int status) {
  if (armed.exchange(true)) { return; }
  pthread_t watchdog;
  void* code = reinterpret_cast<void*>(static_cast<intptr_t>(status));
  // Without a watchdog nothing is tried that could hang.
  if (pthread_create(&watchdog, nullptr, ExitSoon, code) != 0) { EndProcess(status); }
}

void ExitLate(int status, const std::string& report) {
  WriteStderr(report);
  ArmLateExit(status);
  WriteStderr(UnreadErrorReport());  // C exit handlers, which print it otherwise, will not run
  if (void (*flush)() = flush_hook.load()) { flush(); }
  std::fflush(nullptr);
  EndProcess(status);
}

ExitWatch::ExitWatch(Deadline deadline, int status, std::function<bool()> report)
    : at_(Deadline::After(std::chrono::duration<double>(deadline.Remaining()).count() +
                          kGraceSeconds)),
      status_(status),
      report_(std::move(report)) {
  ::sem_init(&over_, 0, 0);
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);  // signals belong to the program's own threads
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  has_thread_ = ::pthread_create(&thread_, nullptr, &ExitWatch::Watch, this) == 0;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

ExitWatch::~ExitWatch() {
  ::sem_post(&over_);
  if (has_thread_) { ::pthread_join(thread_, nullptr); }
  ::sem_destroy(&over_);
}

void* ExitWatch::Watch(void* self) {
  auto* watch = static_cast<ExitWatch*>(self);
  timespec until;
  ::clock_gettime(CLOCK_MONOTONIC, &until);
  const int64_t at =
      until.tv_sec * int64_t{1000000000} + until.tv_nsec + watch->at_.Remaining().count();
  until.tv_sec = static_cast<time_t>(at / 1000000000);
  until.tv_nsec = static_cast<long>(at % 1000000000);
  int waited;
  do {
    waited = ::sem_clockwait(&watch->over_, CLOCK_MONOTONIC, &until);
  } while (waited != 0 && errno == EINTR);
  if (waited == 0 || !watch->report_()) { return nullptr; }
  ExitLate(watch->status_, "");
}

}  // namespace lifetime
}  // namespace oneflow
