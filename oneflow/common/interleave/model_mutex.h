// Mutex, MutexLock and CondVar in the model build; see common/mutex.h, which includes this.
#ifndef ONEFLOW_COMMON_INTERLEAVE_MODEL_MUTEX_H_
#define ONEFLOW_COMMON_INTERLEAVE_MODEL_MUTEX_H_

#include <chrono>

#include "oneflow/common/interleave/scheduler.h"

namespace oneflow {

class ONEFLOW_TSA_(capability("mutex")) Mutex {
 public:
  using Place = interleave::Place;
  using Scheduler = interleave::Scheduler;

  Mutex() = default;
  ~Mutex() { Scheduler::EndObject(object_, Place()); }
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void Lock(Place place = Place::Here()) ONEFLOW_TSA_(acquire_capability()) {
    if (Scheduler* scheduler = Scheduler::Current()) { scheduler->Lock(object_, place); }
  }
  void Unlock(Place place = Place::Here()) ONEFLOW_TSA_(release_capability()) {
    if (Scheduler* scheduler = Scheduler::Current()) { scheduler->Unlock(object_, place); }
  }
  bool TryLock(Place place = Place::Here()) ONEFLOW_TSA_(try_acquire_capability(true)) {
    Scheduler* scheduler = Scheduler::Current();
    return scheduler == nullptr || scheduler->TryLock(object_, place);
  }

 private:
  friend class CondVar;
  interleave::Object* const object_ = Scheduler::NewObject("mutex");
};

class ONEFLOW_TSA_(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex* mutex, interleave::Place place = interleave::Place::Here())
      ONEFLOW_TSA_(acquire_capability(mutex))
      : mutex_(mutex), place_(place) {
    mutex_->Lock(place);
  }
  ~MutexLock() ONEFLOW_TSA_(release_capability()) { mutex_->Unlock(place_); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex* mutex_;
  interleave::Place place_;
};

class CondVar {
 public:
  using Place = interleave::Place;
  using Scheduler = interleave::Scheduler;

  CondVar() = default;
  ~CondVar() { Scheduler::EndObject(object_, Place()); }
  CondVar(const CondVar&) = delete;
  CondVar& operator=(const CondVar&) = delete;

  void Wait(Mutex* mutex, Place place = Place::Here()) {
    if (Scheduler* scheduler = Scheduler::Current()) {
      scheduler->Wait(object_, mutex->object_, false, std::chrono::nanoseconds(0), place);
    }
  }
  bool WaitFor(Mutex* mutex, std::chrono::nanoseconds duration, Place place = Place::Here()) {
    Scheduler* scheduler = Scheduler::Current();
    return scheduler != nullptr && scheduler->Wait(object_, mutex->object_, true, duration, place);
  }
  void NotifyOne(Place place = Place::Here()) { Notify(interleave::OpKind::kNotifyOne, place); }
  void NotifyAll(Place place = Place::Here()) { Notify(interleave::OpKind::kNotifyAll, place); }

 private:
  void Notify(interleave::OpKind kind, Place place) {
    Scheduler* scheduler = Scheduler::Current();
    if (scheduler == nullptr) { return; }
    scheduler->Touch(object_);
    scheduler->Point({kind, object_, nullptr, 0, 1, place});
  }

  interleave::Object* const object_ = Scheduler::NewObject("condition");
};

}  // namespace oneflow

#endif  // ONEFLOW_COMMON_INTERLEAVE_MODEL_MUTEX_H_
