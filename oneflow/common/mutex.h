// Mutex, MutexLock and CondVar: std's, with clang's thread-safety annotations.
//
// Members guarded by a Mutex are declared `int x GUARDED_BY(mutex_);`, and clang-tidy's build checks
// every access. gcc ignores the annotations.
//
// In a build for the exhaustive scheduler (ONEFLOW_MODEL_CHECK, see common/interleave) each call of
// theirs is a scheduling point.
#ifndef ONEFLOW_COMMON_MUTEX_H_
#define ONEFLOW_COMMON_MUTEX_H_

#include <chrono>
#include <condition_variable>
#include <mutex>

#if defined(__clang__)
#define ONEFLOW_TSA_(x) __attribute__((x))
#else
#define ONEFLOW_TSA_(x)
#endif

#define GUARDED_BY(x) ONEFLOW_TSA_(guarded_by(x))
#define REQUIRES_LOCK(...) ONEFLOW_TSA_(requires_capability(__VA_ARGS__))
#define EXCLUDES_LOCK(...) ONEFLOW_TSA_(locks_excluded(__VA_ARGS__))

#ifdef ONEFLOW_MODEL_CHECK
#include "oneflow/common/interleave/model_mutex.h"
#else

namespace oneflow {

class ONEFLOW_TSA_(capability("mutex")) Mutex {
 public:
  void Lock() ONEFLOW_TSA_(acquire_capability()) { mutex_.lock(); }
  void Unlock() ONEFLOW_TSA_(release_capability()) { mutex_.unlock(); }
  bool TryLock() ONEFLOW_TSA_(try_acquire_capability(true)) { return mutex_.try_lock(); }

 private:
  friend class CondVar;
  std::mutex mutex_;
};

class ONEFLOW_TSA_(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex* mutex) ONEFLOW_TSA_(acquire_capability(mutex)) : mutex_(mutex) {
    mutex_->Lock();
  }
  ~MutexLock() ONEFLOW_TSA_(release_capability()) { mutex_->Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex* mutex_;
};

class CondVar {
 public:
  // REQUIRES: the caller holds `mutex`; it is released while waiting. Spurious wake-ups happen.
  void Wait(Mutex* mutex) {
    std::unique_lock<std::mutex> lock(mutex->mutex_, std::adopt_lock);
    condition_.wait(lock);
    lock.release();
  }
  // False when `duration` passed first.
  bool WaitFor(Mutex* mutex, std::chrono::nanoseconds duration) {
    std::unique_lock<std::mutex> lock(mutex->mutex_, std::adopt_lock);
    const bool signalled = condition_.wait_for(lock, duration) == std::cv_status::no_timeout;
    lock.release();
    return signalled;
  }
  void NotifyOne() { condition_.notify_one(); }
  void NotifyAll() { condition_.notify_all(); }

 private:
  std::condition_variable condition_;
};

}  // namespace oneflow

#endif  // ONEFLOW_MODEL_CHECK
#endif  // ONEFLOW_COMMON_MUTEX_H_
