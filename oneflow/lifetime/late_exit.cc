#include "oneflow/lifetime/late_exit.h"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>

#include "oneflow/common/log.h"

namespace oneflow {
namespace lifetime {

namespace {

std::atomic<void (*)()> flush_hook{nullptr};
std::atomic<bool> armed{false};

// A thread that hangs may hold the lock of stdout; flushing must not hang for its sake.
void* ExitSoon(void* status) {
  ::sleep(2);
  ::_exit(static_cast<int>(reinterpret_cast<intptr_t>(status)));
}

}  // namespace

void SetFlushHook(void (*flush)()) { flush_hook.store(flush); }

void ArmLateExit(int status) {
  if (armed.exchange(true)) { return; }
  pthread_t watchdog;
  void* code = reinterpret_cast<void*>(static_cast<intptr_t>(status == 0 ? 1 : status));
  // Without a watchdog nothing is tried that could hang.
  if (pthread_create(&watchdog, nullptr, ExitSoon, code) != 0) {
    ::_exit(status == 0 ? 1 : status);
  }
}

void ExitLate(int status, const std::string& report) {
  WriteStderr(report);
  ArmLateExit(status);
  if (void (*flush)() = flush_hook.load()) { flush(); }
  std::fflush(nullptr);
  ::_exit(status == 0 ? 1 : status);
}

}  // namespace lifetime
}  // namespace oneflow
