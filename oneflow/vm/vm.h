// Vm: issues instructions to streams. The eager engine.
//
// Issue() decides where an op runs. Inline, on the issuing thread: when it is single-threaded and
// estimated under kInlineLimitNs, its stream is idle, and every point it depends on has passed.
// Otherwise it is queued. An op that touches host-visible memory is complete when Issue() returns.
// A failure inline is returned by Issue(); a failure of a queued op poisons its outputs and reaches
// whoever reads them, or the next Sync(). Results are the same either way.
// A storage that lies in another order than the op, or the host, expects (arrangement.h) is brought
// into that first, by an instruction of the vm's own.
//
// Thread safety: all methods, from any thread. Issue() is serialised by one lock, which is held
// while a small op runs inline; while a longer one does, the lock is free, and nobody else issues.
// Blocking: Issue() blocks only for host-visible memory, for a longer op that another thread runs
// inline, and when run-ahead is at its bound; like every wait here it then releases the host's lock
// and looks at signals.
//
// ONEFLOW_VM_SYNC=1 runs everything inline. ONEFLOW_VM_MODE=inline|queued|random is for tests.
#ifndef ONEFLOW_VM_VM_H_
#define ONEFLOW_VM_VM_H_

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "oneflow/common/atomic.h"
#include "oneflow/common/maybe.h"
#include "oneflow/common/mutex.h"
#include "oneflow/vm/instruction.h"
#include "oneflow/vm/stream.h"

namespace oneflow {

class InFlight;

class Vm {
 public:
  enum class Mode : int { kAuto, kInline, kQueued, kRandom };

  // The process's vm. Never destroyed: tensors may be used until the very end of the process.
  static Vm* Get();

  // Runs or queues an op. The stack is captured only when the op is queued, or when it fails.
  // Sets the call's threads and scratch. Look at call->arranged->refused, where it is given.
  Maybe<void> Issue(OpCall* call);

  // Waits until `storage` holds its value; the root error if it is poisoned. After it the host may
  // read the memory as long as it keeps its lock; if it lets go of it, until another thread issues an op
  // that writes the memory, or a graph that reads it in another order (arrangement.h). Memory that is
  // marked as visible to the host first is never in another order afterwards.
  Maybe<void> SyncRead(Storage* storage);
  // Also waits for readers: after it the host may write the memory.
  Maybe<void> SyncWrite(Storage* storage);
  // Waits until nothing that was issued uses `storage`; false when the deadline passed first.
  bool AwaitUses(const Storage& storage, std::chrono::steady_clock::time_point deadline);
  // Waits until no call of another thread, which has let go of the host's lock, looks at a tensor over
  // `storage`. Until the caller lets go of that lock too, such tensors may be pointed elsewhere.
  Maybe<void> AwaitCallsOn(const Storage& storage);
  // Waits for every stream. kInterrupted when the host's signal handler raised meanwhile.
  Maybe<void> WaitForAll();
  // Waits for every stream; then the oldest root error since the last sync that nobody has read, or
  // that kept an op in place from changing its target. The others are forgotten here.
  Maybe<void> Sync();

  // The stream for ops on `device`. RuntimeError when there is no such device.
  Maybe<Stream*> StreamFor(Device device);
  // A further stream on a device (copies, tests). Lives until Stop().
  Maybe<Stream*> NewStream(Device device, const char* name);

  Mode mode() const { return mode_.load(std::memory_order_relaxed); }
  void SetMode(Mode mode) { mode_.store(mode, std::memory_order_relaxed); }

  // Drains every stream and ends its thread; afterwards everything runs inline. False when the
  // deadline passed first. Start() undoes it.
  bool Stop(std::chrono::steady_clock::time_point deadline);
  void Start();
  // What is still running or queued, for the report of a shutdown that took too long.
  std::string DescribeUnfinished();

  // Around fork(): drains up to the deadline and keeps the issue lock; the child forgets the
  // streams, whose threads do not exist there.
  void PrepareFork(std::chrono::steady_clock::time_point deadline);
  void ParentAfterFork();
  void ChildAfterFork();

  // Told of every root failure on a stream's thread, besides what Sync() returns.
  using FailureObserver = void (*)(const ErrorPtr& error);
  void SetFailureObserver(FailureObserver observer) { observer_.store(observer); }

  static constexpr double kInlineLimitNs = 20e3;

 private:
  friend class VmPeer;  // empties it between two scenarios of the exhaustive scheduler
  Vm();
  static void OnFailure(const ErrorPtr& error, Stream::Failure failure);
  Maybe<void> LockIssue(InFlight* call = nullptr);
  bool AwaitInlineCall(std::chrono::steady_clock::time_point deadline);
  bool DrawInline(bool small);
  Maybe<void> RunInline(const OpCall& call, bool small, InFlight* in_flight);
  ErrorPtr RunUnlocked(const OpCall& call, StackId stack);
  Maybe<bool> AwaitTurn(const OpCall& call, bool small, InFlight* in_flight);
  Maybe<bool> AwaitReady(const OpCall& call, bool stubborn, InFlight* in_flight);
  Maybe<void> AwaitRoom(Stream* stream, InFlight* in_flight);
  Maybe<void> Enqueue(const OpCall& call, StreamPoint* issued, InFlight* in_flight);
  Maybe<StreamPoint> Push(const OpCall& call, const std::shared_ptr<ErrorPtr>& listener);
  Maybe<bool> LayOutOperands(const OpCall& call, InFlight* in_flight);
  Maybe<void> LayOut(Storage* storage, const Arrangement* wanted, Stream* stream,
                     InFlight* in_flight);
  Maybe<void> AwaitPlain(Storage* storage, bool readers, InFlight* in_flight);
  Maybe<std::vector<StreamPoint>> LastPoints();

  Atomic<Mode> mode_;
  Atomic<bool> stopped_{false};
  Atomic<FailureObserver> observer_{nullptr};
  Atomic<Stream*> cpu_stream_{nullptr};
  Mutex issue_;
  // The longer op that runs inline just now, on the stack of its thread. Guarded by issue_.
  const OpCall* inline_call_ = nullptr;
  CondVar* inline_done_ = new CondVar;  // of inline_call_
  Mutex streams_mutex_;
  std::vector<std::unique_ptr<Stream>> streams_ GUARDED_BY(streams_mutex_);
  Mutex failures_mutex_;
  struct FailureNote {
    ErrorPtr error;
    bool always;  // Sync() returns it even if somebody has read it
  };
  std::vector<FailureNote> failures_ GUARDED_BY(failures_mutex_);
  Atomic<uint64_t> random_state_{88172645463325252ull};
};

}  // namespace oneflow

#endif  // ONEFLOW_VM_VM_H_
