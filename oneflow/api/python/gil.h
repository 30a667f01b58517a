// Gil: the one place that releases and re-takes Python's lock.
//
// Once the exit hook has closed admission, a thread other than the main one that comes back for the
// GIL is parked for ever: CPython would otherwise end it inside a noexcept destructor, which aborts
// the process.
//
// Thread safety: all functions, from any thread.
#ifndef ONEFLOW_API_PYTHON_GIL_H_
#define ONEFLOW_API_PYTHON_GIL_H_

#include "oneflow/common/maybe.h"

namespace oneflow {

class Gil {
 public:
  // Does the calling thread hold it?
  static bool Held();
  // Releases it if held; what Acquire() needs to take it again (nullptr: it was not held).
  static void* Release();
  static void Acquire(void* state);
  // Runs pending signal handlers. REQUIRES the GIL. kInterrupted when one of them raised.
  static Maybe<void> PollSignals();

  // Called by the exit hook, on the main thread with the GIL, which it lends to threads that wait for
  // it already. One that never gives it back is the end of the process: ExitLate(status).
  static void CloseAdmission(int status);
  // What a thread does that must not have the GIL again.
  [[noreturn]] static void ParkForEver();
  // In the child of a fork, on its only thread.
  static void ResetInChild();
  // Registers the above as the runtime's host hooks.
  static void InstallHooks();
};

// Released for the life of the object.
class GilReleased {
 public:
  GilReleased() : state_(Gil::Release()) {}
  ~GilReleased() {
    if (state_ != nullptr) { Gil::Acquire(state_); }
  }
  GilReleased(const GilReleased&) = delete;
  GilReleased& operator=(const GilReleased&) = delete;

 private:
  void* state_;
};

}  // namespace oneflow

#endif  // ONEFLOW_API_PYTHON_GIL_H_
