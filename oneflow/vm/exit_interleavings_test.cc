// The end of a program, in every order of its threads' steps: the real Env over the real vm, with a
// host whose lock threads let go of while they wait.
#include <memory>
#include <string>

#include "oneflow/common/host_hooks.h"
#include "oneflow/common/mutex.h"
#include "oneflow/common/thread.h"
#include "oneflow/lifetime/env.h"
#include "oneflow/lifetime/reentry_door.h"
#include "oneflow/lifetime/unread_errors.h"
#include "oneflow/vm/model_vm_testlib.h"

namespace oneflow {
namespace {

using ExitInterleavings = ModelVmTest;
using lifetime::Deadline;
using lifetime::Env;
using lifetime::EnvState;

// As boot's.
class VmSubsystem : public lifetime::Subsystem {
 public:
  const char* name() const override { return "vm"; }
  Maybe<void> Start() override {
    Vm::Get()->SetFailureObserver(&lifetime::RegisterRootFailure);
    Vm::Get()->Start();
    return Ok();
  }
  void Stop(Deadline deadline) override {
    Vm::Get()->Stop(SteadyClock::now() + deadline.Remaining());
  }
};

// The host of one schedule: its lock, and its end.
class Host {
 public:
  Host() {
    current_ = this;
    HostHooks hooks;
    hooks.leave = &Host::Leave;
    hooks.enter = &Host::Enter;
    SetHostHooks(hooks);
  }
  ~Host() { SetHostHooks(HostHooks()); }

  // Runs host code, with its lock.
  void Run(const std::function<void()>& code) {
    lock_.Lock();
    holder_ = ThisThread();
    code();
    holder_ = -1;
    lock_.Unlock();
  }
  // As the exit hook, on the main thread with the lock.
  void CloseAdmission() {
    main_ = ThisThread();
    door_.Close();
    while (!door_.Empty()) {
      void* state = Leave();
      PausePolling(std::chrono::microseconds(100));
      Enter(state);
    }
  }
  void End() { over_ = true; }

 private:
  static void* Leave() {
    if (current_->holder_ != ThisThread()) { return nullptr; }
    current_->holder_ = -1;
    current_->lock_.Unlock();
    return current_;
  }
  static void Enter(void*) {
    Host* host = current_;
    const bool main = host->main_ == ThisThread();
    if (!main && !host->door_.Enter()) { interleave::Park(); }
    host->lock_.Lock();
    host->holder_ = ThisThread();
    if (!main) { host->door_.Entered(); }
    Require(!host->over_, "nobody comes in once the host ends");
  }

  static Host* current_;
  Mutex lock_;
  lifetime::ReentryDoor door_;
  int holder_ = -1;
  int main_ = -1;
  bool over_ = false;
};
Host* Host::current_ = nullptr;

void Start(Env* env) {
  lifetime::ForgetUnreadErrors();
  CHECK_JUST(env->Register(std::make_unique<VmSubsystem>()));
  CHECK_JUST(env->Start());
}

// The exit hook with an op in the queue whose failure nobody reads.
TEST_F(ExitInterleavings, AFailureThatNobodyReads) {
  Passes("a failure that nobody reads", [] {
    ModelVm vm;
    Env env;
    Start(&env);
    const StorageRef x = vm.Make();
    CHECK_JUST(vm.Issue(kFailing, nullptr, x));
    env.Shutdown();
    Require(env.state() == EnvState::kClosed, "closed");
    Require(!vm.stream()->HasThread(), "no thread is left");
    Require(lifetime::UnreadErrorReport().find("on purpose") != std::string::npos, "reported");
  });
}

// A thread issues, and another ends the program.
TEST_F(ExitInterleavings, IssueAtTheExit) {
  Passes("issue at the exit", [] {
    ModelVm vm;
    Env env;
    Start(&env);
    const StorageRef x = vm.Make();
    Parallel({[&] { vm.Set(x, 1); }, [&] { env.Shutdown(); }});
    Require(env.state() == EnvState::kClosed, "closed");
    Require(!vm.stream()->HasThread(), "no thread is left");
    Require(ModelVm::Peek(x) == 1, "the op has run, queued or inline");
  });
}

// A thread waits for its op without the host's lock; it comes back in time, or never.
TEST_F(ExitInterleavings, WaitAtTheExit) {
  Passes("wait at the exit", [] {
    ModelVm vm;
    const StorageRef x = vm.Make();
    vm.Set(x, 1);
    Host host;
    Parallel({[&] { host.Run([&] { Require(vm.Read(x) == 1, "the value"); }); },
              [&] {
                host.Run([&] {
                  host.CloseAdmission();
                  Require(vm->Stop(std::chrono::steady_clock::time_point::max()), "in time");
                  host.End();
                });
              }});
    Require(!vm.stream()->HasThread(), "no thread is left");
  });
}

}  // namespace
}  // namespace oneflow
