// Subsystem: a part of the runtime that the Env starts and stops: the vm, a device, comm.
//
// Registered from boot, started in the order of registration, stopped in reverse. Destroyed never:
// after Stop() late calls of its functions must still be safe (the vm then runs everything inline).
#ifndef ONEFLOW_LIFETIME_SUBSYSTEM_H_
#define ONEFLOW_LIFETIME_SUBSYSTEM_H_

#include <string>

#include "oneflow/common/maybe.h"
#include "oneflow/lifetime/deadline.h"

namespace oneflow {
namespace lifetime {

class Subsystem {
 public:
  virtual ~Subsystem() = default;

  virtual const char* name() const = 0;
  // Starts no thread that nobody has asked for yet: the first op does.
  virtual Maybe<void> Start() { return Ok(); }
  // Drains, and joins every thread of its own. Called once, on a runtime thread, without any host
  // lock; must not call into the host language. May return early once `deadline` has expired: the
  // process then ends.
  virtual void Stop(Deadline deadline) = 0;
  // An interrupt came while Stop() was awaited, or before it: what has not begun need not be done.
  // Called from another thread than Stop(); must not block.
  virtual void GiveUp() {}
  // What Stop() is still waiting for, for the report. Called from another thread; must not block.
  virtual std::string Unfinished() const { return ""; }
};

}  // namespace lifetime
}  // namespace oneflow

#endif  // ONEFLOW_LIFETIME_SUBSYSTEM_H_
