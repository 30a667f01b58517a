// Operation: what a thread is about to do to an object that others see; and which two of them
// commute.
//
// Two operations of different threads are *dependent* when their order can be told afterwards: both
// touch one object, and not both only read it. Schedules that differ only in the order of
// independent operations are one *class* (a Mazurkiewicz trace), and one of each is enough.
#ifndef ONEFLOW_COMMON_INTERLEAVE_OPERATION_H_
#define ONEFLOW_COMMON_INTERLEAVE_OPERATION_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace oneflow {
namespace interleave {

inline constexpr int kMaxThreads = 8;
// A process is a thread, or the clock that may end a thread's timed wait: thread t's is number
// kMaxThreads + t. To the search both are the same: something that can take a step.
inline constexpr int kMaxProcesses = 2 * kMaxThreads;
using ProcessSet = uint32_t;
constexpr ProcessSet Only(int process) { return ProcessSet{1} << process; }
constexpr bool Has(ProcessSet set, int process) { return (set & Only(process)) != 0; }

// Where in the source an operation stands.
struct Place {
  const char* file = nullptr;
  int line = 0;
  static constexpr Place Here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
};

// For each process the number of its last step that happened before (steps count from 1).
struct VectorClock {
  std::array<uint32_t, kMaxProcesses> at{};
  void Join(const VectorClock& other) {
    for (size_t i = 0; i < at.size(); ++i) { at[i] = at[i] < other.at[i] ? other.at[i] : at[i]; }
  }
};

// The scheduler's view of a mutex, a condition variable, an atomic, a plain variable or the clock.
struct Object {
  const char* kind = "";
  bool alive = true;
  bool is_static = false;  // made before the exploration: has its first value in each schedule
  uint64_t schedule = 0;   // the one in which the rest is valid
  int id = 0;              // in order of first use in a schedule
  int holder = -1;         // of a mutex: a thread
  bool held_hidden = false;
  std::vector<int> waiters;     // of a condition variable, in order of arrival
  std::vector<size_t> changes;  // the numbers of the steps that changed it
  VectorClock reads;
  VectorClock writes;
};

enum class OpKind : uint8_t {
  kNone,
  kLoad,
  kStore,
  kUpdate,  // read-modify-write
  kLock,
  kTryLock,
  kUnlock,
  kWait,  // releases `second`, joins the waiters of `object`
  kWake,  // locks `object` again, once notified
  kNotifyOne,
  kNotifyAll,
  kTimeout,    // the clock ends a wait on `object`; `second` is the clock
  kReadPlain,  // memory that needs other means of order
  kWritePlain,
  kDestroy,
  kJoin,    // awaits the end of `threads`
  kPause,   // awaits a change of something that this thread has read
  kPark,    // for ever
  kChoose,  // one of `choices`
};

struct Op {
  OpKind kind = OpKind::kNone;
  Object* object = nullptr;
  Object* second = nullptr;
  ProcessSet threads = 0;
  int choices = 1;
  Place place;
  size_t cause = 0;  // of kPause: the number of the step that ended it, 0: none has
};

enum class Access : uint8_t { kNone, kRead, kWrite, kAcquire, kRelease };

const char* NameOf(OpKind kind);
Access AccessOf(const Op& op);        // to op.object
Access SecondAccessOf(const Op& op);  // to op.second
// The order of the two can be told.
bool Dependent(const Op& a, const Op& b);
// Dependent, and there may be a state in which both can be done: what unlocks a mutex never competes
// with what locks it.
bool MayRace(const Op& a, const Op& b);

}  // namespace interleave
}  // namespace oneflow

#endif  // ONEFLOW_COMMON_INTERLEAVE_OPERATION_H_
