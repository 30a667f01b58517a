#include "oneflow/comm/abort_flag.h"

#include <utility>

#include "oneflow/lifetime/deadline.h"

namespace oneflow {
namespace comm {

void AbortFlag::Abort(ErrorPtr reason) {
  MutexLock lock(&mutex_);
  if (reason_ != nullptr) { return; }
  reason->MarkPublished();
  reason_ = std::move(reason);
  changed_.NotifyAll();
}

bool AbortFlag::aborted() const {
  MutexLock lock(&mutex_);
  return reason_ != nullptr;
}

Maybe<void> AbortFlag::Check() const {
  MutexLock lock(&mutex_);
  if (reason_ != nullptr) { return reason_; }
  return Ok();
}

Maybe<void> AbortFlag::Await(std::string_view what, double timeout_seconds,
                             const std::function<bool()>& ready) {
  const lifetime::Deadline deadline = lifetime::Deadline::After(timeout_seconds);
  MutexLock lock(&mutex_);
  while (reason_ == nullptr) {
    if (ready()) { return Ok(); }
    if (deadline.Expired()) {
      return RuntimeError("{} was not over after {} s (ONEFLOW_COMM_TIMEOUT_SECONDS)", what,
                          timeout_seconds);
    }
    changed_.WaitFor(&mutex_, deadline.Remaining());
  }
  return reason_;
}

void AbortFlag::Notify(const std::function<void()>& change) {
  MutexLock lock(&mutex_);
  change();
  changed_.NotifyAll();
}

}  // namespace comm
}  // namespace oneflow
