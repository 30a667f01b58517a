// Stream: a queue of instructions and the thread that runs them in order.
//
// The queue is a ring with one producer (issuers are serialised by the vm's issue lock) and one
// consumer. A consumer without work polls for a bounded time (kSpin), then sleeps; a producer pays
// for a wake-up only when it sleeps. See docs/decisions/0002-inline-or-queued.md for the figures.
//
// Thread safety: Push() and Idle() REQUIRE the vm's issue lock; Wait() and the counters from any
// thread. The thread starts with the first Push().
// Blocking: Push() never blocks (REQUIRES Full() is false); Wait() blocks; Stop() joins.
#ifndef ONEFLOW_VM_STREAM_H_
#define ONEFLOW_VM_STREAM_H_

#include <chrono>
#include <cstdint>
#include <memory>

#include "oneflow/common/atomic.h"
#include "oneflow/common/maybe.h"
#include "oneflow/common/mutex.h"
#include "oneflow/common/thread.h"
#include "oneflow/core/device.h"
#include "oneflow/device/stream_clock.h"
#include "oneflow/vm/instruction.h"

namespace oneflow {

class Stream {
 public:
  // kRoot: an instruction failed. kKeptTarget: one in place was skipped because of an older error.
  enum class Failure { kRoot, kKeptTarget };
  // Called on the stream's thread.
  using FailureFn = void (*)(const ErrorPtr& error, Failure failure);

  static Maybe<std::unique_ptr<Stream>> Create(Device device, const char* name, FailureFn failed);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  Device device() const { return device_; }
  StreamIndex index() const { return index_; }
  const char* name() const { return name_; }

  // Everything issued so far is complete.
  bool Idle() const { return StreamClock::Completed(index_) == issued_; }
  // No room for another instruction: run-ahead has reached its bound.
  bool Full() const { return issued_ - StreamClock::Completed(index_) >= kRunAhead; }
  uint64_t issued() const { return issued_; }
  // Queues; returns the point that passes when the instruction is complete. EnvironmentError when
  // the thread cannot be started.
  Maybe<StreamPoint> Push(InstructionPtr instruction);

  // Waits for `point` of any stream. With `deadline`, returns false when it passed first.
  // Looks at pending signals of the host language; an error is what its handler raised.
  static Maybe<bool> Wait(StreamPoint point, std::chrono::steady_clock::time_point deadline =
                                                 std::chrono::steady_clock::time_point::max());
  // For a stream's thread, which must not touch the host's lock.
  static void AwaitOnWorker(StreamPoint point);

  // Runs what is queued, then ends the thread. REQUIRES that nobody issues any more. False when the
  // deadline passed first; the thread is then left alone.
  bool Stop(std::chrono::steady_clock::time_point deadline);
  // Waits until the queue is empty, without the host's lock and signals; false past the deadline.
  bool Drain(std::chrono::steady_clock::time_point deadline);

  // From now on queued instructions of all streams are given up instead of run, and their outputs
  // poisoned: for the exit of a program that an interrupt ended. Never undone.
  static void GiveUpQueued();

  // Around fork(). The child's copy of a stream has no thread: what was queued is given up, its
  // outputs are poisoned, and its points pass.
  static void LockForFork();
  static void UnlockAfterFork();
  static void ResetInChild();
  void AbandonInChild();

  bool HasThread() const { return thread_.joinable(); }
  // The op that the thread is running, or nullptr: for the report of what did not finish.
  const char* running_op() const { return running_op_.load(std::memory_order_relaxed); }

#ifdef ONEFLOW_MODEL_CHECK
  static constexpr uint64_t kRunAhead = 2;  // so that a few instructions fill it
#else
  static constexpr uint64_t kRunAhead = 2048;
#endif

 private:
  Stream(Device device, const char* name, StreamIndex index, FailureFn failed);
  void Loop();
  bool NextReady(uint64_t next);

  const Device device_;
  const char* const name_;
  const StreamIndex index_;
  const FailureFn failed_;
  uint64_t issued_;
  std::unique_ptr<InstructionPtr[]> ring_;
  Atomic<uint64_t> pushed_;  // sequence number of the newest instruction in the ring
  Atomic<bool> sleeping_{false};
  Atomic<bool> stopping_{false};
  Atomic<const char*> running_op_{nullptr};
  Atomic<Instruction*> running_{nullptr};
  Mutex mutex_;
  CondVar work_;
  Thread thread_;
};

}  // namespace oneflow

#endif  // ONEFLOW_VM_STREAM_H_
