// SpinLock: for sections of a few nanoseconds, where a mutex would cost more than what it guards.
//
// Never held across a system call, an allocation or a wait. A thread that finds it taken spins for a
// bounded time, then yields its core (the holder may have lost its own).
// Happens-before: Unlock() releases what the next Lock() acquires.
#ifndef ONEFLOW_COMMON_SPIN_LOCK_H_
#define ONEFLOW_COMMON_SPIN_LOCK_H_

#include <sched.h>

#include <atomic>

#include "oneflow/common/mutex.h"

namespace oneflow {

class ONEFLOW_TSA_(capability("mutex")) SpinLock {
 public:
  void Lock() ONEFLOW_TSA_(acquire_capability()) {
    if (!taken_.exchange(true, std::memory_order_acquire)) { return; }
    LockSlow();
  }
  void Unlock() ONEFLOW_TSA_(release_capability()) {
    taken_.store(false, std::memory_order_release);
  }

 private:
  __attribute__((noinline)) void LockSlow() {
    int spins = 0;
    do {
      while (taken_.load(std::memory_order_relaxed)) {
        if (++spins < 100) {
          Pause();
        } else {
          sched_yield();
        }
      }
    } while (taken_.exchange(true, std::memory_order_acquire));
  }

  static void Pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }

  std::atomic<bool> taken_{false};
};

class ONEFLOW_TSA_(scoped_lockable) SpinLockHolder {
 public:
  explicit SpinLockHolder(SpinLock* lock) ONEFLOW_TSA_(acquire_capability(lock)) : lock_(lock) {
    lock_->Lock();
  }
  ~SpinLockHolder() ONEFLOW_TSA_(release_capability()) { lock_->Unlock(); }
  SpinLockHolder(const SpinLockHolder&) = delete;
  SpinLockHolder& operator=(const SpinLockHolder&) = delete;

 private:
  SpinLock* lock_;
};

}  // namespace oneflow

#endif  // ONEFLOW_COMMON_SPIN_LOCK_H_
