#include "oneflow/lifetime/env.h"

#include <string>
#include <utility>

#include "oneflow/common/planted_fault.h"
#include "oneflow/lifetime/fork_hooks.h"
#include "oneflow/lifetime/lifetime_log.h"
#include "oneflow/lifetime/runtime_thread.h"
#include "oneflow/lifetime/unread_errors.h"

namespace oneflow {
namespace lifetime {

Env* Env::Get() {
  static auto* env = new Env(/*of_process=*/true);
  return env;
}

Env::Env() : Env(/*of_process=*/false) {}

Env::Env(bool of_process)
    : of_process_((LogLifetime("create", "env", "env"), of_process)),
      session_(&admission_, &closer_) {}

Env::~Env() = default;

Maybe<void> Env::Register(std::unique_ptr<Subsystem> subsystem) {
  CHECK_OR_RETURN(state() == EnvState::kNotStarted, "subsystem '{}' comes after Env::Start()",
                  subsystem->name());
  for (const auto& other : subsystems_) {
    CHECK_OR_RETURN(std::string_view(other->name()) != subsystem->name(),
                    "subsystem '{}' is registered twice", subsystem->name());
  }
  subsystems_.push_back(std::move(subsystem));
  return Ok();
}

Maybe<void> Env::Start() {
  CHECK_OR_RETURN(state() == EnvState::kNotStarted, "Env::Start() is called twice");
  for (size_t i = 0; i < subsystems_.size(); ++i) {
    LogLifetime("start", "subsystem", subsystems_[i]->name());
    Maybe<void> started = subsystems_[i]->Start();
    if (started.ok()) { continue; }
    started.error()->PrependMessage(
        Format("subsystem '{}' does not start: ", subsystems_[i]->name()));
    while (i-- > 0) { StopSubsystem(subsystems_[i].get(), Deadline::ForShutdown()); }
    return started.error();
  }
  if (of_process_) { InstallForkHooks(); }
  admission_.set_state(EnvState::kRunning);
  return Ok();
}

void Env::Shutdown(int status) {
  if (InForkChild()) { return; }
  const bool first = admission_.Move(EnvState::kRunning, EnvState::kClosing);
  if (state() != EnvState::kClosing) { return; }
  if (first) { LogLifetime("close", "env", "env"); }
  // The second of two callers hands over a job too: it is done after the first one's.
  Maybe<void> done = closer_.RunAndWait(
      [this, first](Deadline deadline) {
        if (first) { CloseInJob(deadline); }
      },
      status, [this] { GiveUp(); });
  // An interrupt has only shortened the wait: the process is exiting already.
  if (!done.ok()) { done.error()->MarkRead(); }
  if (OnRuntimeThread()) { return; }
  if (first) { closer_.Stop(); }
  RenderUnreadErrors();
}

void Env::GiveUp() {
  for (const auto& subsystem : subsystems_) { subsystem->GiveUp(); }
}

void Env::CloseInJob(Deadline deadline) {
  const bool planted = FaultPlanted(Fault::kGraphsOutliveThreads);
  if (!planted) { session_.CloseInJob(deadline); }
  // When late, whoever waits is ending the process, and a thread that is still busy may need the
  // subsystems further down.
  if (deadline.Expired()) { return; }
  for (auto at = subsystems_.rbegin(); at != subsystems_.rend(); ++at) {
    StopSubsystem(at->get(), deadline);
    if (deadline.Expired()) { return; }
  }
  admission_.set_state(EnvState::kClosed);
  LogLifetime("closed", "env", "env");
  if (planted) { session_.CloseInJob(deadline); }
}

void Env::StopSubsystem(Subsystem* subsystem, Deadline deadline) {
  LogLifetime("stop", "subsystem", subsystem->name());
  closer_.EnterStep(Format("subsystem '{}'", subsystem->name()),
                    [subsystem] { return subsystem->Unfinished(); });
  subsystem->Stop(deadline);
  if (!deadline.Expired()) { closer_.LeaveStep(); }
}

void Env::InstallForkHooks() {
  static bool installed = false;
  if (std::exchange(installed, true)) { return; }
  ForkHooks hooks;
  hooks.prepare = [this] {
    session_.LockForFork();
    closer_.LockForFork();
  };
  hooks.in_parent = [this] {
    closer_.UnlockInParent();
    session_.UnlockInParent();
  };
  hooks.in_child = [this] {
    closer_.ResetInChild();
    session_.AbandonInChild();
    ForgetUnreadErrors();
    // The child has none of the threads: everything runs inline, as after a shutdown.
    admission_.set_state(EnvState::kClosed);
  };
  RegisterForkHooks(ForkOrder::kLifetime, std::move(hooks));
}

}  // namespace lifetime
}  // namespace oneflow
