// Threads, the clock and the passing of time in the model build; see common/thread.h, which includes
// this, and explore.h for what waiting means here.
#ifndef ONEFLOW_COMMON_INTERLEAVE_MODEL_THREAD_H_
#define ONEFLOW_COMMON_INTERLEAVE_MODEL_THREAD_H_

#include <chrono>
#include <functional>
#include <system_error>
#include <utility>

#include "oneflow/common/interleave/scheduler.h"

#define ONEFLOW_THREAD_LOCAL(type) ::oneflow::interleave::ThreadLocal<type>

namespace oneflow {
namespace interleave {

// One value for each thread of a schedule, and one for what is outside of schedules.
template <typename T>
class ThreadLocal {
 public:
  ThreadLocal(T first) : first_(first), outside_(first) {}  // NOLINT: implicit, as a variable's
  operator T() { return Mine(); }                           // NOLINT: implicit, as a variable's
  ThreadLocal& operator=(T value) {
    Mine() = value;
    return *this;
  }

 private:
  T& Mine() {
    Scheduler* scheduler = Scheduler::Current();
    if (scheduler == nullptr) { return outside_; }
    if (schedule_ != scheduler->schedule_number()) {
      schedule_ = scheduler->schedule_number();
      for (T& value : values_) { value = first_; }
    }
    return values_[scheduler->current_thread()];
  }

  const T first_;
  T outside_;
  uint64_t schedule_ = 0;
  T values_[kMaxThreads];
};

class ModelThread {
 public:
  ModelThread() = default;
  explicit ModelThread(std::function<void()> main)
      : index_(Scheduler::Current()->Start(std::move(main))) {}
  ModelThread(ModelThread&& other) noexcept : index_(std::exchange(other.index_, kNone)) {}
  ModelThread& operator=(ModelThread&& other) noexcept {
    CheckJoined();
    index_ = std::exchange(other.index_, kNone);
    return *this;
  }
  ~ModelThread() { CheckJoined(); }

  bool joinable() const { return index_ != kNone; }
  void join(Place place = Place::Here()) {
    Scheduler::Current()->Join(Only(index_), place);
    index_ = kNone;
  }

 private:
  static constexpr int kNone = -1;
  void CheckJoined() const {
    if (joinable() && Scheduler::Current() != nullptr) {
      Scheduler::Current()->Fail(Failure::kMisuse, "a thread object ends before it was joined");
    }
  }
  int index_ = kNone;
};

}  // namespace interleave

using Thread = interleave::ModelThread;
using ThreadId = int;

struct SteadyClock {
  using duration = std::chrono::steady_clock::duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::steady_clock::time_point;
  static constexpr bool is_steady = true;
  static time_point now(interleave::Place place = interleave::Place::Here()) {
    interleave::Scheduler* scheduler = interleave::Scheduler::Current();
    return scheduler == nullptr ? std::chrono::steady_clock::now() : scheduler->Now(place);
  }
};

inline ThreadId ThisThread() {
  interleave::Scheduler* scheduler = interleave::Scheduler::Current();
  return scheduler == nullptr ? -1 : scheduler->current_thread();
}

inline std::error_code StartThread(Thread* thread, std::function<void()> main) {
  *thread = Thread(std::move(main));
  return {};
}

inline void PauseSpinning(interleave::Place place = interleave::Place::Here()) {
  if (interleave::Scheduler* scheduler = interleave::Scheduler::Current()) {
    scheduler->Point({interleave::OpKind::kPause, nullptr, nullptr, 0, 1, place});
  }
}
inline void PausePolling(std::chrono::nanoseconds,
                         interleave::Place place = interleave::Place::Here()) {
  PauseSpinning(place);
}

template <typename Ready>
bool SpinUntil(std::chrono::nanoseconds, const Ready& ready) {
  return ready();
}

}  // namespace oneflow

#endif  // ONEFLOW_COMMON_INTERLEAVE_MODEL_THREAD_H_
