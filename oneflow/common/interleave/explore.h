// Explore(): runs a small program of several threads in every order in which they can take turns.
//
// The program (a *scenario*) is a function that starts threads through common/thread.h and uses the
// project's real classes. These are compiled once more with ONEFLOW_MODEL_CHECK, in which each use of
// a Mutex, a CondVar, an Atomic, a Thread or the clock is a *scheduling point*: the thread says what
// it is about to do, and the scheduler decides who does what it is about to do next. One thread runs
// at a time, on a fiber; from the scenario's first step to its last the same decisions give the same
// run, so that a failure can be repeated from the text of its decisions.
//
// What is explored: all schedules under sequential consistency (weaker memory orders are the thread
// sanitizer's to check), after the manner of VeriSoft and CHESS. By default one schedule of each
// class of equivalent ones (operation.h), found by dynamic partial-order reduction with sleep sets:
//   C. Flanagan, P. Godefroid: Dynamic partial-order reduction for model checking software, 2005;
//   P. Godefroid: Partial-order methods for the verification of concurrent systems, 1996.
// Or all with at most so many preemptions, without reduction:
//   M. Musuvathi, S. Qadeer: Iterative context bounding for systematic testing, 2007.
//
// How waiting is modelled, since the number of schedules must be finite:
// * SpinUntil() looks once: it may give up at any moment, and looks that find nothing have no effect.
// * PauseSpinning() and PausePolling() block until something changes that the thread has looked at
//   since it last paused. When nobody is left who could change it, that is a livelock. How often a
//   loop looks must not matter to the program: not every number of looks is tried.
// * A timed wait ends by its notification; by its time only as often as Options::timeouts allows,
//   which also moves the clock. With 0 the clock stands still, and a lost wake-up is a deadlock,
//   even where a time-out would have saved the program a second later.
// * A wait ends without a notification (spuriously) as often as Options::spurious allows.
// * Who of several waiters NotifyOne() wakes is tried out.
//
// What is found: a deadlock; a thread that has not ended with the scenario; polling for ever; the use
// of a mutex, condition variable or atomic after its end; a data race on a Plain<T> (with the
// reduction); a wrong unlock; a crash; Require() of something false; and a scenario that is not
// deterministic.
//
// Each Explore() runs in a child process, so that every one starts from the same static variables, and
// a failing one leaves nothing behind. Static Mutexes and Atomics have their first value in each
// schedule; other static state a scenario must leave as it found it.
//
// Thread safety: none. Not for programs that start threads behind the scheduler's back.
#ifndef ONEFLOW_COMMON_INTERLEAVE_EXPLORE_H_
#define ONEFLOW_COMMON_INTERLEAVE_EXPLORE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace oneflow {
namespace interleave {

enum class Reduction {
  kNone,         // every schedule: to check the reduction, and to count
  kClasses,      // one of each class
  kPreemptions,  // every schedule with at most Options::preemptions preemptions
};

struct Options {
  Reduction reduction = Reduction::kClasses;
  int preemptions = 2;
  int timeouts = 0;                    // of each thread in a schedule
  int spurious = 0;                    // wake-ups of each thread in a schedule
  uint64_t max_schedules = 2'000'000;  // more is a failure: the scenario is too large
  int max_steps = 5000;                // of one schedule; more is a livelock
  // Files whose critical sections are one with the step before them: their locks guard a few lines
  // that touch nothing another thread waits for (a log). A scheduling point inside one is an error.
  std::vector<std::string> hidden_files;
  // Not in a child: for a debugger, and for scenarios that collect something. A failure leaves its
  // threads where they were.
  bool in_this_process = false;
  // A failure's Report::schedule: runs that schedule alone, in this process.
  std::string replay;
};

enum class Failure {
  kNone,
  kDeadlock,
  kThreadLeft,
  kLivelock,
  kUseAfterEnd,
  kDataRace,
  kMisuse,  // of a mutex or thread
  kRequirement,
  kCrash,
  kNotDeterministic,
  kTooMany,
};
const char* NameOf(Failure failure);

struct Report {
  Failure failure = Failure::kNone;
  std::string message;
  std::string trace;       // the failing schedule: thread, operation, place
  std::string schedule;    // the same for Options::replay
  uint64_t schedules = 0;  // run to their end
  uint64_t redundant = 0;  // given up, as their class had been explored: the price of the reduction
  uint64_t steps = 0;
  int longest = 0;     // steps in one schedule
  int threads = 0;     // at most
  double seconds = 0;  // of processor time

  bool passed() const { return failure == Failure::kNone; }
  // One line when it passed; all there is to know when not.
  std::string Text() const;
};

Report Explore(const Options& options, const std::function<void()>& scenario);

// For scenarios, on any of their threads.

// Ends the exploration with this failure when `fact` is false.
void Require(bool fact, const std::string& text);
// 0 to n - 1, each in a schedule of its own.
int Choose(int n);
// Never returns. A thread that is parked may be left at the end.
void Park();
// Runs the functions on a thread each, and returns when all have ended.
void Parallel(std::vector<std::function<void()>> bodies);
// How traces call this thread.
void NameThread(const std::string& name);

}  // namespace interleave
}  // namespace oneflow

#endif  // ONEFLOW_COMMON_INTERLEAVE_EXPLORE_H_
