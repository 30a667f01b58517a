// AbortFlag: how every wait of a communicator ends: by success, by time, or because it was aborted.
//
// Thread safety: all methods. Happens-before: what Abort()'s caller did is visible to a waiter that
// gets its error; what a Notify()'s caller did before it, to the condition that is asked again.
#ifndef ONEFLOW_COMM_ABORT_FLAG_H_
#define ONEFLOW_COMM_ABORT_FLAG_H_

#include <functional>
#include <string_view>

#include "oneflow/common/maybe.h"
#include "oneflow/common/mutex.h"

namespace oneflow {
namespace comm {

class AbortFlag {
 public:
  // The first reason stays.
  void Abort(ErrorPtr reason);
  bool aborted() const;
  // The reason, once aborted.
  Maybe<void> Check() const;

  // Waits until `ready` says true; it is asked with the flag's lock held, after each Notify().
  // The reason when aborted; RuntimeError "`what` ..." after `timeout_seconds`.
  Maybe<void> Await(std::string_view what, double timeout_seconds,
                    const std::function<bool()>& ready);
  // Makes a change under the lock and lets waiters look again.
  void Notify(const std::function<void()>& change);

 private:
  mutable Mutex mutex_;
  CondVar changed_;
  ErrorPtr reason_ GUARDED_BY(mutex_);
};

}  // namespace comm
}  // namespace oneflow

#endif  // ONEFLOW_COMM_ABORT_FLAG_H_
