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

// A thread that hangs may hold the lock of stdout; flushing must not hang for its sake.
void* ExitSoon(void* status) {
  ::sleep(2);
  ::_exit(static_cast<int>(reinterpret_cast<intptr_t>(status)));
}

}  // namespace

void SetFlushHook(void (*flush)()) { flush_hook.store(flush); }

void ExitLate(int status, const std::string& report) {
  const int code = status == 0 ? 1 : status;
  pthread_t watchdog;
  const bool watched = pthread_create(&watchdog, nullptr, ExitSoon,
                                      reinterpret_cast<void*>(static_cast<intptr_t>(code))) == 0;
  WriteStderr(report);
  if (watched) {
    if (void (*flush)() = flush_hook.load()) { flush(); }
    std::fflush(nullptr);
  }
  ::_exit(code);
}

}  // namespace lifetime
}  // namespace oneflow
