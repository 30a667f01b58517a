// Larger scenarios of the vm, for the nightly run. Those with a bound on preemptions explore every
// schedule within it, without reduction.
#include "oneflow/vm/model_vm_testlib.h"

namespace oneflow {
namespace {

class DeepInterleavings : public ModelVmTest {
 protected:
  DeepInterleavings() { options_.max_schedules = 30'000'000; }
  void AtMostPreemptions(int n) {
    options_.reduction = interleave::Reduction::kPreemptions;
    options_.preemptions = n;
  }
};

void WaitTwice() {
  ModelVm vm;
  const StorageRef x = vm.Make();
  vm.Set(x, 1);
  Require(vm.Read(x) == 1, "the first value");
  vm.Set(x, 2);
  Require(vm.Read(x) == 2, "the second value");
}

TEST_F(DeepInterleavings, WaitTwiceWithSpuriousWakeUps) {
  options_.spurious = 1;
  Passes("wait twice, a wake-up without a reason in each thread", WaitTwice);
}

TEST_F(DeepInterleavings, WaitOnceWithATimeOut) {
  options_.timeouts = 1;
  Passes("wait once, a time-out in each thread", [] {
    ModelVm vm;
    const StorageRef x = vm.Make();
    vm.Set(x, 1);
    Require(vm.Read(x) == 1, "the value");
  });
}

TEST_F(DeepInterleavings, TwoIssuersOfTwoOps) {
  AtMostPreemptions(2);
  Passes("two issuers of two ops, at most 2 preemptions", [] {
    ModelVm vm;
    const StorageRef x = vm.Make();
    const auto add = [&] {
      CHECK_JUST(vm.Issue(kAddOne, &x, x));
      CHECK_JUST(vm.Issue(kAddOneNow, &x, x));
    };
    Parallel({add, add});
    Require(vm.Read(x) == 4, "all were added");
  });
}

TEST_F(DeepInterleavings, FailOverwriteAndRead) {
  AtMostPreemptions(2);
  Passes("fail, overwrite and read, at most 2 preemptions", [] {
    ModelVm vm;
    const StorageRef x = vm.Make();
    const StorageRef y = vm.Make();
    Parallel({[&] {
                CHECK_JUST(vm.Issue(kFailing, nullptr, x));
                vm.Set(x, 3);
              },
              [&] {
                CHECK_JUST(vm.Issue(kAddOne, &x, y));
                const int seen = vm.Read(y);
                Require(seen == 1 || seen == 4 || seen == -1, "one of the values, or the error");
              }});
    Require(vm.Read(x) == 3, "no error is left");
  });
}

TEST_F(DeepInterleavings, IssueForkAndStop) {
  Passes("issue, fork and stop", [] {
    ModelVm vm;
    const StorageRef x = vm.Make();
    const auto never = std::chrono::steady_clock::time_point::max();
    Parallel({[&] { vm.Set(x, 1); },
              [&] {
                vm->PrepareFork(never);
                vm->ParentAfterFork();
              },
              [&] { Require(vm->Stop(never), "in time"); }});
    Require(vm.Read(x) == 1, "the op has run");
  });
}

}  // namespace
}  // namespace oneflow
