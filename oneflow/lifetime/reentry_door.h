// ReentryDoor: through it a thread comes back for the host language's lock, until the exit closes it.
//
// A thread that comes for the lock once the host is ending would be ended by it, in the middle of
// anything. So whoever ends the host closes the door, and then lets in those who are in it already.
//
// Thread safety: all methods; lock-free. Sequentially consistent: either a thread sees that the door
// is closed, or whoever closed it sees the thread. Never neither.
#ifndef ONEFLOW_LIFETIME_REENTRY_DOOR_H_
#define ONEFLOW_LIFETIME_REENTRY_DOOR_H_

#include "oneflow/common/atomic.h"
#include "oneflow/common/interleave/ordering_fault.h"

namespace oneflow {
namespace lifetime {

class ReentryDoor {
 public:
  // Before a thread waits for the lock. False: it must never have it again.
  bool Enter() {
    if (interleave::Misordered(interleave::OrderingFault::kLooksBeforeEntering)) {
      if (closed_.load()) { return false; }
      entering_.fetch_add(1);
      return true;
    }
    entering_.fetch_add(1);
    if (!closed_.load()) { return true; }
    entering_.fetch_sub(1);
    return false;
  }
  // Once it has the lock.
  void Entered() { entering_.fetch_sub(1); }

  void Close() { closed_.store(true); }
  // Nobody stands in the door. After Close() nobody will.
  bool Empty() const { return entering_.load() == 0; }

  // In the child of a fork: those who stood in the door are not there.
  void ForgetInChild() { entering_.store(0); }

 private:
  Atomic<bool> closed_{false};
  Atomic<int> entering_{0};
};

}  // namespace lifetime
}  // namespace oneflow

#endif  // ONEFLOW_LIFETIME_REENTRY_DOOR_H_
