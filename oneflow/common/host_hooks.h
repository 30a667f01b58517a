// HostHooks: what a wait must do for the language that called us.
//
// The runtime may wait (for a stream, for memory, for run-ahead to shrink) on a thread that holds
// the host language's lock. It knows nothing of that lock; api/python registers hooks that release
// and re-take the GIL and that look at pending signals. Without hooks (C++ programs) all are no-ops.
//
// Thread safety: Set() once, before other threads use the runtime; the rest from any thread.
#ifndef ONEFLOW_COMMON_HOST_HOOKS_H_
#define ONEFLOW_COMMON_HOST_HOOKS_H_

#include "oneflow/common/maybe.h"

namespace oneflow {

struct HostHooks {
  // Releases the host lock if this thread holds it; returns what `enter` needs (nullptr: not held).
  void* (*leave)() = nullptr;
  void (*enter)(void* state) = nullptr;
  // Called with the host lock held. An error (kInterrupted) ends the wait.
  Maybe<void> (*poll_signals)() = nullptr;
};

const HostHooks& GetHostHooks();
void SetHostHooks(const HostHooks& hooks);

// Releases the host lock for the life of the object.
class HostUnlocked {
 public:
  HostUnlocked();
  ~HostUnlocked();
  HostUnlocked(const HostUnlocked&) = delete;
  HostUnlocked& operator=(const HostUnlocked&) = delete;

  // Takes the lock for a moment to run the host's signal handlers; an error means: stop waiting.
  Maybe<void> PollSignals();

 private:
  void* state_;
};

}  // namespace oneflow

#endif  // ONEFLOW_COMMON_HOST_HOOKS_H_
