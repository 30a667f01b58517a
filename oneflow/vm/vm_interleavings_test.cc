// The vm and several threads, in every order of their steps: issue, read, fail, delete, exit.
#include <chrono>

#include "oneflow/common/atomic.h"
#include "oneflow/common/host_hooks.h"
#include "oneflow/vm/model_vm_testlib.h"

namespace oneflow {
namespace {

using VmInterleavings = ModelVmTest;

constexpr auto kNever = std::chrono::steady_clock::time_point::max();

// ---- issue and read

// The second stream's op comes before the first's, or after it.
void UseWhileAnotherIssues() {
  ModelVm vm;
  Stream* other = CHECK_JUST(vm->NewStream(Device(), "other"));
  const StorageRef x = vm.Make();
  const StorageRef y = vm.Make(other);
  Parallel({[&] { vm.Set(x, 1); }, [&] { CHECK_JUST(vm.Issue(kAddOne, &x, y, 0, other)); }});
  vm.Finish();
  const int seen = ModelVm::Peek(y);
  Require(seen == 1 || seen == 2, "one order or the other");
}

TEST_F(VmInterleavings, UseWhileAnotherIssues) {
  Passes("use while another issues", UseWhileAnotherIssues);
}

TEST_F(VmInterleavings, FindsAnOpThatIsLaunchedBeforeItIsRecorded) {
  Finds(OrderingFault::kLaunchedBeforeRecorded, Failure::kDataRace, "vm.cc", UseWhileAnotherIssues);
}

TEST_F(VmInterleavings, TwoIssuers) {
  Passes("two issuers", [] {
    ModelVm vm;
    const StorageRef x = vm.Make();
    const StorageRef y = vm.Make();
    Parallel({[&] { CHECK_JUST(vm.Issue(kAddOne, &x, y)); }, [&] { vm.Set(x, 5); }});
    const int sum = vm.Read(y);
    Require(sum == 1 || sum == 6, "one order or the other");
    Require(vm.Read(x) == 5, "the written value");
  });
}

// One op runs inline when the stream is idle, and is queued when it is not.
TEST_F(VmInterleavings, InlineBesideQueued) {
  Passes("inline beside queued", [] {
    ModelVm vm;
    const StorageRef x = vm.Make();
    Parallel({[&] { CHECK_JUST(vm.Issue(kAddOne, &x, x)); },
              [&] { CHECK_JUST(vm.Issue(kAddOneNow, &x, x)); }});
    Require(vm.Read(x) == 2, "both were added");
  });
}

// ---- fail

void FailAndRead() {
  ModelVm vm;
  const StorageRef x = vm.Make();
  Parallel({[&] { CHECK_JUST(vm.Issue(kFailing, nullptr, x)); },
            [&] { static_cast<void>(vm->SyncRead(x.get())); }});
  Require(vm.Read(x) == -1, "the failed op's error");
}

TEST_F(VmInterleavings, FailWhileAnotherReads) { Passes("fail while another reads", FailAndRead); }

TEST_F(VmInterleavings, FindsPoisonAfterTheCompletion) {
  Finds(OrderingFault::kPoisonsAfterAdvancing, Failure::kRequirement, "stream_clock", FailAndRead);
}

TEST_F(VmInterleavings, FailureIsPassedOn) {
  Passes("a failure is passed on", [] {
    ModelVm vm;
    const StorageRef x = vm.Make();
    const StorageRef y = vm.Make();
    CHECK_JUST(vm.Issue(kFailing, nullptr, x));
    CHECK_JUST(vm.Issue(kAddOne, &x, y));
    Require(vm.Read(y) == -1, "the first op's error");
    Require(!vm->Sync().ok(), "and at the next sync");
  });
}

// A full overwrite takes the poison away, whoever looks at it meanwhile.
TEST_F(VmInterleavings, OverwriteOfAFailure) {
  Passes("overwrite of a failure", [] {
    ModelVm vm;
    const StorageRef x = vm.Make();
    CHECK_JUST(vm.Issue(kFailing, nullptr, x));
    Parallel({[&] { vm.Set(x, 3); },
              [&] {
                const ErrorPtr error = x->poison();
                Require(error == nullptr || error->message() == "[fail] on purpose", "which error");
              }});
    Require(vm.Read(x) == 3, "no error is left");
  });
}

// ---- delete

void DeleteWhileQueued() {
  ModelVm vm;
  StorageRef x = vm.Make();
  vm.Set(x, 1);
  x = StorageRef();
  const StorageRef y = vm.Make();  // the memory of x, perhaps
  vm.Set(y, 7);
  Require(vm.Read(y) == 7, "the new owner's value");
}

TEST_F(VmInterleavings, DeleteWhileQueued) { Passes("delete while queued", DeleteWhileQueued); }

TEST_F(VmInterleavings, FindsMemoryThatIsFreedBeforeItsLastUse) {
  Finds(OrderingFault::kFreesBeforeCompletion, Failure::kUseAfterEnd, "plain", DeleteWhileQueued);
}

// ---- memory that Python can see

// The host's memory, which it may reuse from the moment of its release.
struct HostMemory {
  Cell cell;
  Atomic<bool> released{false};

  StorageRef Import() {
    return Storage::Import(Device(), &cell, 4, this, [](void* self) {
      auto* memory = static_cast<HostMemory*>(self);
      memory->cell.Write(-7);
      memory->released.store(true);
    });
  }
};

TEST_F(VmInterleavings, VisibleMemoryIsWrittenWhenTheCallReturns) {
  Passes("visible memory", [] {
    HostMemory memory;
    {
      ModelVm vm;
      const StorageRef x = vm.Make();
      const StorageRef host = memory.Import();
      vm->SetMode(Vm::Mode::kQueued);
      CHECK_JUST(vm.Issue(kAddOne, &x, host));
      Require(memory.cell.Read() == 1, "no further wait");
    }
    Require(memory.released.load(), "given back");
  });
}

// An interrupt ends the wait for an op that is queued still, and the program lets go of the memory.
void InterruptAndRelease() {
  HostMemory memory;
  {
    ModelVm vm;
    const StorageRef x = vm.Make();
    vm->SetMode(Vm::Mode::kQueued);
    HostHooks hooks;
    hooks.leave = []() -> void* {
      static int state;
      return &state;
    };
    hooks.enter = [](void*) {};
    hooks.poll_signals = []() -> Maybe<void> {
      return MakeIntrusive<Error>(ErrorKind::kInterrupted, "by a signal");
    };
    SetHostHooks(hooks);
    {
      const StorageRef host = memory.Import();
      static_cast<void>(vm.Issue(kAddOne, &x, host));
    }
    SetHostHooks(HostHooks());
  }
  Require(memory.released.load(), "given back");
}

TEST_F(VmInterleavings, InterruptAndRelease) {
  options_.timeouts = 1;  // waits look at signals when their slice of time has passed
  Passes("interrupt and release", InterruptAndRelease);
}

TEST_F(VmInterleavings, FindsVisibleMemoryThatIsReleasedTooEarly) {
  options_.timeouts = 1;
  Finds(OrderingFault::kReleasesWithTheHandle, Failure::kDataRace, "storage.cc",
        InterruptAndRelease);
}

// `x.data = y` waits for calls that look at x.
TEST_F(VmInterleavings, AwaitCallsOn) {
  Passes("await calls", [] {
    ModelVm vm;
    const StorageRef x = vm.Make();
    vm.Set(x, 1);
    Parallel({[&] { Require(vm->SyncRead(x.get()).ok(), "read"); },
              [&] { Require(vm->AwaitCallsOn(*x.get()).ok(), "await"); }});
  });
}

// ---- longer ops inline

TEST_F(VmInterleavings, LongerOpInlineBesideAnother) {
  Passes("longer ops inline", [] {
    ModelVm vm;
    const StorageRef x = vm.Make();
    vm->SetMode(Vm::Mode::kInline);
    const auto add = [&] { CHECK_JUST(vm.Issue(kAddOne, &x, x)); };
    Parallel({add, add});
    Require(vm.Read(x) == 2, "both were added");
  });
}

TEST_F(VmInterleavings, LongerOpInlineAgainstStop) {
  Passes("a longer op inline against stop", [] {
    ModelVm vm;
    const StorageRef x = vm.Make();
    vm->SetMode(Vm::Mode::kInline);
    Parallel({[&] { CHECK_JUST(vm.Issue(kAddOne, &x, x)); },
              [&] { Require(vm->Stop(kNever), "in time"); }});
    Require(vm.Read(x) == 1, "it has run");
  });
}

// ---- fork (the parent's side)

TEST_F(VmInterleavings, ForkWhileAnotherIssues) {
  Passes("fork while another issues", [] {
    ModelVm vm;
    const StorageRef x = vm.Make();
    Parallel({[&] { vm.Set(x, 1); },
              [&] {
                vm->PrepareFork(kNever);
                Require(vm.stream()->Idle(), "nothing runs while the process is copied");
                vm->ParentAfterFork();
              }});
    Require(vm.Read(x) == 1, "the value");
  });
}

// ---- exit

void StopWhileIssuing() {
  ModelVm vm;
  const StorageRef x = vm.Make();
  Parallel({[&] { vm.Set(x, 1); }, [&] { Require(vm->Stop(kNever), "in time"); }});
  Require(!vm.stream()->HasThread(), "no thread is left");
  Require(vm.Read(x) == 1, "the op has run, inline or queued");
}

TEST_F(VmInterleavings, StopWhileIssuing) { Passes("stop while issuing", StopWhileIssuing); }

TEST_F(VmInterleavings, FindsStreamsThatEndTooEarly) {
  Finds(OrderingFault::kStopsBeforeClosingQueues, Failure::kRequirement, "vm.cc", StopWhileIssuing);
}

TEST_F(VmInterleavings, WaitForAllAgainstStop) {
  Passes("wait for all against stop", [] {
    ModelVm vm;
    const StorageRef x = vm.Make();
    vm.Set(x, 1);
    Parallel(
        {[&] { CHECK_JUST(vm->WaitForAll()); }, [&] { Require(vm->Stop(kNever), "in time"); }});
    Require(vm.Read(x) == 1, "the op has run");
  });
}

}  // namespace
}  // namespace oneflow
