// Scheduler: runs one schedule of a scenario; the threads, and what each may do now.
//
// A thread of the scenario calls Point() with what it is about to do, and returns from it when the
// search has decided that this is the next step. Whatever it does from there to its next Point() is
// part of the step. Effects on mutexes and condition variables are made here, those on values by the
// caller.
//
// Thread safety: none; one thread of the system, see fiber.h.
#ifndef ONEFLOW_COMMON_INTERLEAVE_SCHEDULER_H_
#define ONEFLOW_COMMON_INTERLEAVE_SCHEDULER_H_

#include <array>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "oneflow/common/interleave/explore.h"
#include "oneflow/common/interleave/fiber.h"
#include "oneflow/common/interleave/operation.h"
#include "oneflow/common/interleave/search.h"

namespace oneflow {
namespace interleave {

using TimePoint = std::chrono::steady_clock::time_point;

class Scheduler {
 public:
  // The one that is running a scenario in this process, or nullptr: then primitives act at once.
  static Scheduler* Current() { return current_; }

  Scheduler(const Options& options, const std::function<void()>& scenario);
  ~Scheduler();

  // Runs every schedule, or those up to the first failure.
  Report RunAll();
  // What is known when this process has crashed.
  Report DescribeCrash();
  // Ends the schedule, and the exploration. For threads of the scenario.
  [[noreturn]] void Fail(Failure failure, const std::string& message);

  // The calls of the primitives, on a thread of the scenario.

  // False: `object` is used for the first time in this schedule and has to take its first value.
  bool Touch(Object* object);
  // Returns the choice that was made.
  int Point(const Op& op);
  // What the last step left in its object, for the trace.
  void NoteValue(long long value);
  // Of Options::hidden_files.
  bool IsHidden(Place place);

  void Lock(Object* mutex, Place place);
  bool TryLock(Object* mutex, Place place);
  void Unlock(Object* mutex, Place place);
  // False when the time ran out.
  bool Wait(Object* condition, Object* mutex, bool timed, std::chrono::nanoseconds limit,
            Place place);

  int Start(std::function<void()> main);
  void Join(ProcessSet threads, Place place);
  int current_thread() const { return running_; }
  uint64_t schedule_number() const { return schedule_; }
  TimePoint Now(Place place);
  void SetName(const std::string& name);

  // Also outside of a schedule.
  static Object* NewObject(const char* kind);
  static void EndObject(Object* object, Place place);

 private:
  struct ThreadState;
  struct Seen {
    Object* object;
    size_t changes;  // as many as there were
  };

  static void FiberMain();
  Report Describe() const;
  void RunSchedule();
  [[noreturn]] void LeaveSchedule();
  void Resume(int thread);
  // Lets the search decide, and switches to whom it is the turn of. Returns when it is `running_`'s.
  void Dispatch();
  Situation Look() const;
  bool Enabled(const ThreadState& thread) const;
  bool CanTimeOut(const ThreadState& thread) const;
  bool AllEnded(ProcessSet threads) const;
  int OutcomesOf(const Op& op) const;
  void TakeStep(int thread);
  void TakeTimeout(int thread);
  // What a step does beside its place in the order.
  void Act(int thread, const Op& op, int choice);
  void BeginWait(int thread, const Op& op);
  void Wake(int thread, int by);
  void RememberSeen(ThreadState* thread, const Op& op);
  size_t FirstChange(const ThreadState& thread) const;
  void AfterPause(int thread);
  bool WakeAPauser();
  void EndOfSchedule();
  ThreadState& thread(int index) const { return *pool_[static_cast<size_t>(index)]; }
  std::string ThreadText(int process) const;
  std::string TraceText() const;

  static constexpr int kNobody = -1;
  static Scheduler* current_;

  const Options options_;
  const std::function<void()>& scenario_;
  Search search_;
  std::vector<std::unique_ptr<ThreadState>> pool_;  // with their stacks, for the next schedule
  int num_threads_ = 0;
  int running_ = 0;
  int starter_ = kNobody;  // whom a new thread returns to at its first Point()
  int last_choice_ = 0;
  Fiber root_;
  TimePoint now_;
  Object clock_object_;
  uint64_t schedule_ = 0;
  int next_id_ = 0;
  std::vector<Object*> ended_objects_;
  std::vector<std::pair<const char*, bool>> hidden_;  // file: its verdict
  std::clock_t began_;
  Report report_;
};

}  // namespace interleave
}  // namespace oneflow

#endif  // ONEFLOW_COMMON_INTERLEAVE_SCHEDULER_H_
