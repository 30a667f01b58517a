// A stream and its users, in every order of their steps.
#include "oneflow/vm/model_vm_testlib.h"

namespace oneflow {
namespace {

using StreamInterleavings = ModelVmTest;

// Two ops, each awaited: the stream goes to sleep between them, or is about to.
void PushWhileGoingToSleep() {
  ModelVm vm;
  const StorageRef x = vm.Make();
  vm.Set(x, 1);
  Require(vm.Read(x) == 1, "the first value");
  vm.Set(x, 2);
  Require(vm.Read(x) == 2, "the second value");
}

TEST_F(StreamInterleavings, PushWhileGoingToSleep) {
  Passes("push while going to sleep", PushWhileGoingToSleep);
}

TEST_F(StreamInterleavings, FindsASleepThatIsAnnouncedTooLate) {
  Finds(OrderingFault::kSleepsBeforeSayingSo, Failure::kDeadlock, "waits on condition",
        PushWhileGoingToSleep);
}

TEST_F(StreamInterleavings, FindsAWakeUpBeforeTheCompletion) {
  Finds(OrderingFault::kNotifiesBeforeAdvancing, Failure::kDeadlock, "waits on condition",
        PushWhileGoingToSleep);
}

// One op more than the queue has room for.
TEST_F(StreamInterleavings, RunAheadIsFull) {
  Passes("run-ahead is full", [] {
    ModelVm vm;
    const StorageRef x = vm.Make();
    for (int i = 1; i <= 3; ++i) { vm.Set(x, i); }
    vm.Finish();
    Require(ModelVm::Peek(x) == 3, "the last value");
  });
}

// What is queued at the exit of an interrupted program runs, or its readers hear that it has not.
TEST_F(StreamInterleavings, GiveUpQueued) {
  Passes("give up what is queued", [] {
    ModelVm vm;
    const StorageRef x = vm.Make();
    const StorageRef y = vm.Make();
    vm.Set(x, 1);
    CHECK_JUST(vm.Issue(kAddOne, &x, y));
    Stream::GiveUpQueued();
    CHECK_JUST(vm->WaitForAll());
    const int first = vm.Read(x);
    const int second = vm.Read(y);
    Require((first == 1 && second == 2) || second == -1, "a value, or an error");
    Require(first != -1 || second == -1, "an error is passed on");
  });
}

// The second stream's op waits, on its worker, for the first stream's.
TEST_F(StreamInterleavings, OneStreamAwaitsAnother) {
  Passes("one stream awaits another", [] {
    ModelVm vm;
    Stream* other = CHECK_JUST(vm->NewStream(Device(), "other"));
    const StorageRef x = vm.Make();
    const StorageRef y = vm.Make(other);
    vm.Set(x, 4);
    CHECK_JUST(vm.Issue(kAddOne, &x, y, 0, other));
    Require(vm.Read(y) == 5, "the other stream's value");
  });
}

}  // namespace
}  // namespace oneflow
