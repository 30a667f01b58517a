// What a failure leaves behind, and what a wait may not do: starve, outlast a deadline, forget the
// memory's last owner.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "oneflow/common/planted_faults_testlib.h"
#include "oneflow/vm/vm_testlib.h"

namespace oneflow {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

class VmFailureTest : public VmTest {
 protected:
  Vec Filled(float value) {
    const Vec x = Make(4);
    CHECK_JUST(Issue(kFill, {}, x, {0, value}));
    return x;
  }
  // Poisoned, and the error was read.
  Vec ReadFailure() {
    vm_->SetMode(Vm::Mode::kQueued);
    const Vec x = Make(4);
    CHECK_JUST(Issue(kFail, {}, x));
    const Maybe<void> read = vm_->SyncRead(x.storage.get());
    EXPECT_FALSE(read.ok());
    read.error()->MarkRead();
    return x;
  }
};

constexpr Vm::Mode kModes[] = {Vm::Mode::kAuto, Vm::Mode::kInline, Vm::Mode::kQueued};

TEST_F(VmFailureTest, AnUpdateWithAPoisonedInputIsSkippedHoweverItRuns) {
  const Vec bad = ReadFailure();
  for (const Vm::Mode mode : kModes) {
    const Vec x = Filled(5);
    vm_->SetMode(mode);
    CHECK_JUST(Issue(kAffine, {x, bad}, x, {1, 0}, OnFailure::kSkip));
    CHECK_JUST(vm_->SyncRead(x.storage.get()));
    EXPECT_EQ(x.data()[0], 5.0f);
    CHECK_JUST(vm_->Sync());
  }
}

TEST_F(VmFailureTest, AnOpInPlaceThatWasSkippedIsToldAtTheNextSync) {
  const Vec bad = ReadFailure();
  const Vec x = Filled(5);
  CHECK_JUST(Issue(kAffine, {x, bad}, x, {1, 0}, OnFailure::kKeepTarget));
  CHECK_JUST(vm_->SyncRead(x.storage.get()));
  EXPECT_EQ(x.data()[0], 5.0f);
  const Maybe<void> synced = vm_->Sync();
  ASSERT_FALSE(synced.ok());  // the error has been read before, but not that x is as it was
  EXPECT_EQ(synced.error()->message(), "[fail] on purpose");
  CHECK_JUST(vm_->Sync());
}

TEST_F(VmFailureTest, InlineAnOpWithAPoisonedInputFailsAtItsLine) {
  const Vec bad = ReadFailure();
  const Vec x = Filled(5);
  vm_->SetMode(Vm::Mode::kInline);
  for (const OnFailure what : {OnFailure::kKeepTarget, OnFailure::kPoison}) {
    const Maybe<void> issued = Issue(kAffine, {x, bad}, x, {1, 0}, what);
    ASSERT_FALSE(issued.ok());
    EXPECT_EQ(issued.error()->message(), "[fail] on purpose");
  }
  EXPECT_EQ(x.data()[0], 5.0f);
  CHECK_JUST(vm_->Sync());
}

// --- memory that had another owner ---

class VmReuseTest : public VmFailureTest {
 protected:
  // A new storage over memory whose last owner is still being read by a queued instruction.
  Vec Reused() {
    vm_->SetMode(Vm::Mode::kQueued);
    out_ = Make(4);
    Vec old = Filled(7);
    CHECK_JUST(vm_->Sync());
    void* const memory = old.storage->data();
    gate_open = false;
    CHECK_JUST(Issue(kAffineLong, {old}, out_, {1, 0}));
    return DropAndTake(std::move(old), memory);
  }
  // The old owner's value was what the queued instruction read.
  void ExpectIntact() {
    CHECK_JUST(vm_->SyncRead(out_.storage.get()));
    EXPECT_EQ(out_.data()[0], 7.0f);
  }
  std::thread OpenSoon() {
    return std::thread([] {
      std::this_thread::sleep_for(milliseconds(30));
      gate_open = true;
    });
  }

 private:
  Vec DropAndTake(Vec old, void* memory) {
    old.storage = StorageRef();
    Vec taken = Make(4);
    EXPECT_EQ(taken.storage->data(), memory) << "the pool no longer reuses at once";
    return taken;
  }

  Vec out_;
};

TEST_F(VmReuseTest, TheHostWaitsForTheLastOwnersReaders) {
  Vec fresh;
  {
    fresh = Reused();
    std::thread opener = OpenSoon();
    CHECK_JUST(vm_->SyncWrite(fresh.storage.get()));
    fresh.data()[0] = -1;
    opener.join();
  }
  ExpectIntact();
}

TEST_F(VmReuseTest, AnotherStreamWaitsForTheLastOwnersReaders) {
  Stream* other = CHECK_JUST(vm_->NewStream(Device(), "reuse"));
  const Vec fresh = Reused();
  CHECK_JUST(Issue(kFill, {}, fresh, {0, -1}, OnFailure::kPoison, other));
  std::this_thread::sleep_for(milliseconds(20));
  gate_open = true;
  ExpectIntact();
  CHECK_JUST(vm_->SyncRead(fresh.storage.get()));
  EXPECT_EQ(fresh.data()[0], -1.0f);
}

TEST_F(VmReuseTest, ImportedMemoryIsReleasedBehindItsLastInstruction) {
  static std::atomic<int> released;
  released = 0;
  float memory[4] = {1, 2, 3, 4};
  Vec host = {Storage::Import(Device(), memory, sizeof(memory), nullptr, [](void*) { ++released; }),
              4};
  const Vec out = Make(4);
  gate_open = false;
  vm_->SetMode(Vm::Mode::kQueued);
  {
    // As when an interrupt has ended the wait for it.
    const ScopedFault returns_early(Fault::kVisibleNotAwaited);
    CHECK_JUST(Issue(kAffineLong, {host}, out, {1, 0}));
  }
  host.storage = StorageRef();  // at once, though an instruction is about to read it
  EXPECT_EQ(released, 0);
  gate_open = true;
  CHECK_JUST(vm_->Sync());
  EXPECT_EQ(released, 1);
  EXPECT_EQ(out.data()[3], 4.0f);
}

// --- waiting ---

TEST_F(VmFailureTest, AnOpOnVisibleMemoryIsNotStarvedByAnotherThread) {
  std::atomic<bool> stop{false};
  std::thread busy([&] {
    const Vec x = Filled(1);
    while (!stop) { CHECK_JUST(Issue(kAffineLong, {x}, x, {1, 0})); }
  });
  while (stream_->running_op() == nullptr) { std::this_thread::yield(); }
  float memory[4] = {1, 2, 3, 4};
  const Vec host = {Storage::Import(Device(), memory, sizeof(memory), nullptr, [](void*) {}), 4};
  for (const Vm::Mode mode : {Vm::Mode::kAuto, Vm::Mode::kRandom}) {
    vm_->SetMode(mode);
    for (int i = 0; i < 3; ++i) { CHECK_JUST(Issue(kAffine, {host}, host, {2, 0})); }
  }
  EXPECT_EQ(memory[0], 64.0f);
  stop = true;
  busy.join();
}

TEST_F(VmFailureTest, AnInlineOpOfAnotherThreadDoesNotOutlastTheDeadline) {
  vm_->SetMode(Vm::Mode::kInline);
  const Vec x = Filled(1);
  gate_open = false;
  std::thread inside([&] { CHECK_JUST(Issue(kAffineLong, {x}, x, {2, 0})); });
  while (vm_->DescribeUnfinished().find("a thread runs affine.long") == std::string::npos) {
    std::this_thread::yield();
  }
  const auto start = Clock::now();
  EXPECT_FALSE(vm_->Stop(start + milliseconds(20)));
  EXPECT_LT(Clock::now() - start, seconds(5));
  gate_open = true;
  inside.join();
  EXPECT_TRUE(vm_->Stop(Clock::now() + seconds(10)));
  EXPECT_EQ(vm_->DescribeUnfinished(), "");
  EXPECT_EQ(x.data()[0], 2.0f);
  vm_->Start();
}

}  // namespace
}  // namespace oneflow
