#include "oneflow/common/host_hooks.h"

namespace oneflow {

namespace {
HostHooks hooks;
}  // namespace

const HostHooks& GetHostHooks() { return hooks; }

void SetHostHooks(const HostHooks& value) { hooks = value; }

HostUnlocked::HostUnlocked() : state_(hooks.leave == nullptr ? nullptr : hooks.leave()) {}

HostUnlocked::~HostUnlocked() {
  if (state_ != nullptr) { hooks.enter(state_); }
}

Maybe<void> HostUnlocked::PollSignals() {
  if (state_ == nullptr || hooks.poll_signals == nullptr) { return Ok(); }
  hooks.enter(state_);
  Maybe<void> polled = hooks.poll_signals();
  state_ = hooks.leave();
  return polled;
}

}  // namespace oneflow
