#include "oneflow/vm/vm.h"

#include <algorithm>
#include <limits>

#include "oneflow/common/env_var.h"
#include "oneflow/common/host_hooks.h"
#include "oneflow/common/interleave/ordering_fault.h"
#include "oneflow/common/planted_fault.h"
#include "oneflow/common/thread.h"
#include "oneflow/common/trace.h"
#include "oneflow/device/cpu/parallel.h"
#include "oneflow/vm/in_flight.h"
#include "oneflow/vm/take_memory.h"

namespace oneflow {

namespace {

// A kernel without an estimate of its own: memory-bound on every output element.
double CostOf(const OpCall& op) {
  const KernelCall& call = op.call;
  if (op.kernel->cost != nullptr) { return op.kernel->cost(call); }
  return call.num_outputs == 0 ? 100.0 : 50.0 + static_cast<double>(call.outputs[0].Count());
}

Vm::Mode ModeFromEnvironment() {
  if (EnvBool("ONEFLOW_VM_SYNC", false)) { return Vm::Mode::kInline; }
  const std::string mode = EnvString("ONEFLOW_VM_MODE", "auto");
  if (mode == "inline") { return Vm::Mode::kInline; }
  if (mode == "queued") { return Vm::Mode::kQueued; }
  if (mode == "random") { return Vm::Mode::kRandom; }
  return Vm::Mode::kAuto;
}

bool TouchesVisible(const OpCall& call) {
  for (int i = 0; i < call.num_reads; ++i) {
    if (call.reads[i]->host_visible()) { return true; }
  }
  for (int i = 0; i < call.num_writes; ++i) {
    if (call.writes[i]->host_visible()) { return true; }
  }
  return false;
}

// Calls fn(point) for everything that `call` must come after.
template <typename Fn>
void ForEachDependency(const OpCall& call, const Fn& fn) {
  for (int i = 0; i < call.num_reads; ++i) { fn(call.reads[i]->last_write()); }
  for (int i = 0; i < call.num_writes; ++i) {
    const Storage& storage = *call.writes[i];
    fn(storage.last_write());
    fn(storage.first_read());
    for (const StreamPoint& point : storage.more_reads()) { fn(point); }
  }
}

bool DependenciesPassed(const OpCall& call) {
  bool passed = true;
  ForEachDependency(call, [&](StreamPoint p) { passed = passed && StreamClock::Passed(p); });
  return passed;
}

// Scratch for one call, from the stream's own pool. Freed in stream order, so that it may be given
// back as soon as the call is issued; until the call has run the pool keeps it from the system.
class Scratch {
 public:
  ~Scratch() {
    if (block_ != nullptr) { allocator_->Free(block_, &last_use, 1); }
  }
  Maybe<void> Provide(OpCall* call) {
    const size_t bytes = call->kernel->scratch(call->call);
    if (bytes == 0) { return Ok(); }
    const Device device = call->stream->device();
    allocator_ = JUST(GetAllocator(device));
    block_ = JUST(TakeMemory(allocator_, {call->op, bytes, device}, call->stream->index()));
    call->call.scratch = block_->data;
    call->call.scratch_bytes = bytes;
    return Ok();
  }

  StreamPoint last_use;  // stays zero when the call ran inline

 private:
  Allocator* allocator_ = nullptr;
  MemoryBlock* block_ = nullptr;
};

// What `call` wrote in full is no longer poisoned. REQUIRES that nobody issues meanwhile, so that a
// later writer's poison stays.
void ClearOverwritten(const OpCall& call) {
  if (!call.overwrites) { return; }
  for (int i = 0; i < call.num_writes - call.num_updates; ++i) { call.writes[i]->ClearPoison(); }
}

// Is a storage of the call in another order than it must be? REQUIRES the issue lock.
bool LiesOtherwise(const OpCall& call) {
  bool other = false;
  if (__builtin_expect(call.arranged == nullptr, 1)) {
    for (int i = 0; i < call.num_reads; ++i) { other |= call.reads[i]->arrangement() != nullptr; }
    for (int i = 0; i < call.num_writes; ++i) { other |= call.writes[i]->arrangement() != nullptr; }
    return other;
  }
  const Arrangement* const* wanted = call.arranged->wanted;
  for (int i = 0; i < call.num_reads; ++i) { other |= call.reads[i]->arrangement() != *wanted++; }
  for (int i = 0; i < call.num_writes; ++i) { other |= call.writes[i]->arrangement() != *wanted++; }
  return other;
}

using interleave::Misordered;
using interleave::OrderingFault;

constexpr auto kSignalPoll = std::chrono::milliseconds(50);

}  // namespace

Vm* Vm::Get() {
  static Vm* vm = new Vm();
  return vm;
}

Vm::Vm() : mode_(ModeFromEnvironment()) {}

void Vm::OnFailure(const ErrorPtr& error, Stream::Failure failure) {
  Vm* vm = Get();
  const bool root = failure == Stream::Failure::kRoot;
  FailureObserver observer = vm->observer_.load();
  if (root && observer != nullptr) { observer(error); }
  constexpr size_t kKept = 64;  // the first failures matter, the rest follow from them
  MutexLock lock(&vm->failures_mutex_);
  std::vector<FailureNote>& notes = vm->failures_;
  if (notes.size() == kKept) {  // those that have been read must not keep out one that was not
    const auto told = [](const FailureNote& note) { return !note.always && note.error->read(); };
    notes.erase(std::remove_if(notes.begin(), notes.end(), told), notes.end());
  }
  if (notes.size() < kKept) { notes.push_back({error, !root}); }
}

// Takes the issue lock, once no other thread runs a longer op inline; on failure it is free. Neither
// this lock nor the host's is ever waited for while the other is held: who comes back for the host's
// may be parked there for ever (exit), or meet a fork that holds it and wants this one.
Maybe<void> Vm::LockIssue(InFlight* call) ONEFLOW_TSA_(no_thread_safety_analysis) {
  while (true) {
    if (issue_.TryLock()) {
      if (inline_call_ == nullptr) { return Ok(); }
      issue_.Unlock();
    }
    if (call != nullptr) { call->Begin(); }
    HostUnlocked unlocked;
    issue_.Lock();
    if (inline_call_ != nullptr) { inline_done_->WaitFor(&issue_, kSignalPoll); }
    const bool busy = inline_call_ != nullptr;
    issue_.Unlock();
    if (busy) { JUST(unlocked.PollSignals()); }
  }
}

// REQUIRES the issue lock. False when another thread still runs a longer op inline at the deadline.
bool Vm::AwaitInlineCall(std::chrono::steady_clock::time_point deadline) {
  while (inline_call_ != nullptr) {
    const auto now = SteadyClock::now();
    if (now >= deadline) { return false; }
    // In steps: no clock can add a deadline of `max` to its time.
    inline_done_->WaitFor(&issue_, std::min<std::chrono::nanoseconds>(deadline - now, kSignalPoll));
  }
  return true;
}

Maybe<Stream*> Vm::StreamFor(Device device) {
  if (device == Device()) {
    if (Stream* stream = cpu_stream_.load(std::memory_order_acquire)) { return stream; }
  }
  JUST(GetAllocator(device));  // says why when there is no such device
  MutexLock lock(&streams_mutex_);
  for (const auto& stream : streams_) {
    if (stream->device() == device) { return stream.get(); }
  }
  std::unique_ptr<Stream> made = JUST(Stream::Create(device, "compute", &Vm::OnFailure));
  streams_.push_back(std::move(made));
  Stream* stream = streams_.back().get();
  if (device == Device()) { cpu_stream_.store(stream, std::memory_order_release); }
  return stream;
}

Maybe<Stream*> Vm::NewStream(Device device, const char* name) {
  JUST(StreamFor(device));
  std::unique_ptr<Stream> made = JUST(Stream::Create(device, name, &Vm::OnFailure));
  MutexLock lock(&streams_mutex_);
  streams_.push_back(std::move(made));
  return streams_.back().get();
}

bool Vm::DrawInline(bool small) {
  switch (mode()) {
    case Mode::kAuto: return small;
    case Mode::kInline: return true;
    case Mode::kQueued: return false;
    case Mode::kRandom: break;
  }
  uint64_t x = random_state_.load(std::memory_order_relaxed);  // xorshift64 (Marsaglia 2003)
  x ^= x << 13;
  x ^= x >> 7;
  x ^= x << 17;
  random_state_.store(x, std::memory_order_relaxed);
  return (x & 1) != 0;
}

Maybe<void> Vm::Issue(OpCall* call) ONEFLOW_TSA_(no_thread_safety_analysis) {
  const double cost = CostOf(*call);
  const int threads = cpu::ThreadsForCost(cost);
  call->call.threads = threads;
  Scratch scratch;
  if (call->kernel->scratch != nullptr) { JUST(scratch.Provide(call)); }

  const bool small = threads == 1 && cost < kInlineLimitNs;
  InFlight in_flight(*call);
  JUST(LockIssue(&in_flight));
  bool run_inline = JUST(AwaitTurn(*call, small, &in_flight));  // on failure the lock is free
  while (__builtin_expect(LiesOtherwise(*call), 0)) {
    if (!JUST(LayOutOperands(*call, &in_flight))) { return Ok(); }
    run_inline = JUST(AwaitTurn(*call, small, &in_flight));  // others may issue meanwhile
  }
  if (run_inline) { return RunInline(*call, small, &in_flight); }
  return Enqueue(*call, &scratch.last_use, &in_flight);
}

// Waits until the call can be issued: inline (true), or to its stream's queue. REQUIRES the issue lock;
// holds it again on success, not on failure.
Maybe<bool> Vm::AwaitTurn(const OpCall& call, bool small, InFlight* in_flight)
    ONEFLOW_TSA_(no_thread_safety_analysis) {
  // Under the lock, here and below: Stop() may have ended the threads while this one waited.
  const bool must_inline = stopped_.load(std::memory_order_acquire) || mode() == Mode::kInline;
  // Host-visible memory: the call waits anyway, so that a hand-over would only add to it.
  const bool wanted_inline =
      must_inline || (mode() == Mode::kAuto && TouchesVisible(call)) ||
      DrawInline(call.inline_limit_ns > 0 ? CostOf(call) < call.inline_limit_ns : small);
  if (wanted_inline) {
    bool ready = call.stream->Idle() && DependenciesPassed(call);
    // Others may keep the stream busy for ever: only where nobody can queue is it waited for to the end.
    if (!ready && (must_inline || mode() == Mode::kRandom)) {
      ready = JUST(AwaitReady(call, must_inline, in_flight));
    }
    if (ready) { return true; }
  }
  JUST(AwaitRoom(call.stream, in_flight));
  if (!stopped_.load(std::memory_order_acquire)) { return false; }
  JUST(AwaitReady(call, true, in_flight));
  return true;
}

// REQUIRES the issue lock, and releases it.
Maybe<void> Vm::RunInline(const OpCall& call, bool small, InFlight* in_flight)
    ONEFLOW_TSA_(no_thread_safety_analysis) {
  ErrorPtr error;
  for (int i = 0; i < call.num_reads && error == nullptr; ++i) { error = call.reads[i]->poison(); }
  if (error != nullptr) {
    issue_.Unlock();
    // As a queued one does: an accumulation or an update is skipped, whoever reads hears of it.
    return call.on_failure == OnFailure::kSkip ? Maybe<void>(Ok()) : Maybe<void>(error);
  }
  const StackId stack =
      __builtin_expect(TraceSink::Get() != nullptr, 0) ? CurrentStack() : kNoStack;
  if (small) {
    const Maybe<void> ran = RunKernel(call, "vm", stack);
    if (ran.ok()) { ClearOverwritten(call); }
    issue_.Unlock();
    error = ran.error();
  } else {
    in_flight->Begin();
    error = RunUnlocked(call, stack);
  }
  if (__builtin_expect(error != nullptr, 0)) {
    if (error->stack() == kNoStack) { error->set_stack(CurrentStack(), CurrentStackContext()); }
    return error;
  }
  return Ok();
}

// Runs a longer op with both locks free. REQUIRES the issue lock.
ErrorPtr Vm::RunUnlocked(const OpCall& call, StackId stack)
    ONEFLOW_TSA_(no_thread_safety_analysis) {
  inline_call_ = &call;
  issue_.Unlock();
  HostUnlocked unlocked;
  const Maybe<void> ran = RunKernel(call, "vm", stack);
  issue_.Lock();
  if (ran.ok()) { ClearOverwritten(call); }
  inline_call_ = nullptr;
  inline_done_->NotifyAll();
  issue_.Unlock();
  return ran.error();
}

// Waits until the op could run inline; not `stubborn`: or until what was issued before it is complete.
// REQUIRES the issue lock; holds it again on success, not on failure.
Maybe<bool> Vm::AwaitReady(const OpCall& call, bool stubborn, InFlight* in_flight)
    ONEFLOW_TSA_(no_thread_safety_analysis) {
  bool ready = false;
  do {
    std::vector<StreamPoint> points = {{call.stream->issued(), call.stream->index()}};
    ForEachDependency(call, [&](StreamPoint p) {
      if (!StreamClock::Passed(p)) { points.push_back(p); }
    });
    issue_.Unlock();
    in_flight->Begin();
    for (const StreamPoint& point : points) { JUST(Stream::Wait(point)); }
    JUST(LockIssue(in_flight));
    ready = call.stream->Idle() && DependenciesPassed(call);
  } while (!ready && stubborn);
  return ready;
}

// Waits until run-ahead is below its bound. REQUIRES the issue lock; holds it again on success, not on
// failure.
Maybe<void> Vm::AwaitRoom(Stream* stream, InFlight* in_flight)
    ONEFLOW_TSA_(no_thread_safety_analysis) {
  while (stream->Full()) {
    const StreamPoint half{stream->issued() - Stream::kRunAhead / 2, stream->index()};
    issue_.Unlock();
    in_flight->Begin();
    JUST(Stream::Wait(half));
    JUST(LockIssue(in_flight));
  }
  return Ok();
}

// REQUIRES the issue lock and room in the queue; releases the lock.
Maybe<void> Vm::Enqueue(const OpCall& call, StreamPoint* issued, InFlight* in_flight)
    ONEFLOW_TSA_(no_thread_safety_analysis) {
  const bool visible = TouchesVisible(call);
  std::shared_ptr<ErrorPtr> error;
  if (visible) { error = std::make_shared<ErrorPtr>(); }
  const Maybe<StreamPoint> pushed = Push(call, error);
  if (pushed.ok()) { *issued = pushed.value(); }
  issue_.Unlock();
  if (!pushed.ok()) { return pushed.error(); }
  if (!visible || FaultPlanted(Fault::kVisibleNotAwaited)) { return Ok(); }
  in_flight->Begin();
  JUST(Stream::Wait(pushed.value()));
  if (*error != nullptr) { return *error; }
  return Ok();
}

// REQUIRES the issue lock and room in the queue; keeps the lock.
Maybe<StreamPoint> Vm::Push(const OpCall& call, const std::shared_ptr<ErrorPtr>& listener)
    ONEFLOW_TSA_(no_thread_safety_analysis) {
  Stream* stream = call.stream;
  InstructionPtr instruction = Instruction::Make(call, CurrentStack());
  ForEachDependency(call, [&](StreamPoint p) {
    if (p.stream != stream->index() && !StreamClock::Passed(p)) { instruction->AddWait(p); }
  });
  if (listener != nullptr) { instruction->SetListener(listener); }
  const StreamPoint point = JUST(stream->Push(std::move(instruction)));
  if (Misordered(OrderingFault::kLaunchedBeforeRecorded)) {
    issue_.Unlock();
    issue_.Lock();
  }
  for (int i = 0; i < call.num_reads; ++i) { call.reads[i]->RecordRead(point); }
  for (int i = 0; i < call.num_writes; ++i) { call.writes[i]->RecordWrite(point); }
  return point;
}

bool Vm::AwaitUses(const Storage& storage, std::chrono::steady_clock::time_point deadline)
    ONEFLOW_TSA_(no_thread_safety_analysis) {
  issue_.Lock();
  std::vector<StreamPoint> points = storage.more_reads();
  points.push_back(storage.last_write());
  points.push_back(storage.first_read());
  issue_.Unlock();
  for (const StreamPoint& point : points) {
    const Maybe<bool> passed = Stream::Wait(point, deadline);
    if (!passed.ok() || !passed.value()) { return false; }
  }
  return true;
}

Maybe<void> Vm::AwaitCallsOn(const Storage& storage) {
  while (!stopped_.load(std::memory_order_acquire)) {  // later, who is not back never will be
    const InFlight::Where where = InFlight::Find(storage);
    if (where == InFlight::Where::kNowhere) { break; }
    if (where == InFlight::Where::kOnThisThread) {
      return RuntimeError(
          "[data] expects a tensor that no op uses; this one is used by the op that "
          "a signal handler has interrupted");
    }
    HostUnlocked unlocked;
    PausePolling(std::chrono::microseconds(50));
    JUST(unlocked.PollSignals());
  }
  return Ok();
}

Maybe<void> Vm::WaitForAll() {
  if (stopped_.load(std::memory_order_acquire) && FaultPlanted(Fault::kSyncInDestructorHangs)) {
    JUST(Stream::Wait({std::numeric_limits<uint64_t>::max(), 0}));  // nobody will ever get there
  }
  const std::vector<StreamPoint> points = JUST(LastPoints());
  for (const StreamPoint& point : points) { JUST(Stream::Wait(point)); }
  return Ok();
}

Maybe<void> Vm::Sync() {
  JUST(WaitForAll());
  MutexLock lock(&failures_mutex_);
  ErrorPtr first;
  for (const FailureNote& note : failures_) {
    if (first == nullptr && (note.always || !note.error->read())) { first = note.error; }
  }
  failures_.clear();
  if (first != nullptr) { return first; }
  return Ok();
}

Maybe<std::vector<StreamPoint>> Vm::LastPoints() ONEFLOW_TSA_(no_thread_safety_analysis) {
  JUST(LockIssue());
  std::vector<StreamPoint> points;
  {
    MutexLock lock(&streams_mutex_);
    for (const auto& stream : streams_) { points.push_back({stream->issued(), stream->index()}); }
  }
  issue_.Unlock();
  return points;
}

bool Vm::Stop(std::chrono::steady_clock::time_point deadline)
    ONEFLOW_TSA_(no_thread_safety_analysis) {
  // From here on every new op runs inline; an op that was about to be queued holds the lock.
  const bool late = Misordered(OrderingFault::kStopsBeforeClosingQueues);
  if (!late) { stopped_.store(true, std::memory_order_release); }
  issue_.Lock();
  bool all = AwaitInlineCall(deadline);
  issue_.Unlock();
  // Not under the lock, which DescribeUnfinished() needs while this waits. Streams stay for ever.
  std::vector<Stream*> streams;
  {
    MutexLock lock(&streams_mutex_);
    for (const auto& stream : streams_) { streams.push_back(stream.get()); }
  }
  for (Stream* stream : streams) { all = stream->Stop(deadline) && all; }
  if (late) { stopped_.store(true, std::memory_order_release); }
  return all;
}

void Vm::Start() { stopped_.store(false, std::memory_order_release); }

std::string Vm::DescribeUnfinished() {
  std::string out;
  MutexLock issue(&issue_);
  if (inline_call_ != nullptr) { out += Format("a thread runs {}\n", inline_call_->op); }
  MutexLock lock(&streams_mutex_);
  for (const auto& stream : streams_) {
    if (stream->Idle()) { continue; }
    const char* op = stream->running_op();
    out += Format("stream {} on {}: {} instructions left, running {}\n", stream->name(),
                  stream->device(), stream->issued() - StreamClock::Completed(stream->index()),
                  op == nullptr ? "none" : op);
  }
  return out;
}

void Vm::PrepareFork(std::chrono::steady_clock::time_point deadline)
    ONEFLOW_TSA_(no_thread_safety_analysis) {
  issue_.Lock();
  AwaitInlineCall(deadline);
  streams_mutex_.Lock();
  for (const auto& stream : streams_) { stream->Drain(deadline); }
  Stream::LockForFork();
}

void Vm::ParentAfterFork() ONEFLOW_TSA_(no_thread_safety_analysis) {
  Stream::UnlockAfterFork();
  streams_mutex_.Unlock();
  issue_.Unlock();
}

void Vm::ChildAfterFork() ONEFLOW_TSA_(no_thread_safety_analysis) {
  Stream::ResetInChild();
  if (inline_call_ != nullptr) {  // on the copied stack of a thread that does not exist here
    const ErrorPtr error = NotRun(inline_call_->op, kForked);
    for (int i = 0; i < inline_call_->num_writes; ++i) { inline_call_->writes[i]->Poison(error); }
    inline_call_ = nullptr;
  }
  inline_done_ = new CondVar;  // the old one remembers waiters that do not exist here
  if (FaultPlanted(Fault::kForkChildWaitsForThreads)) {
    streams_mutex_.Unlock();
    issue_.Unlock();
    return;
  }
  for (auto& stream : streams_) {
    // Its thread does not exist here; the object is left where it is, and never used again.
    stream.release()->AbandonInChild();
  }
  streams_.clear();
  InFlight::ForgetInChild();
  cpu_stream_.store(nullptr);
  stopped_.store(true);
  streams_mutex_.Unlock();
  issue_.Unlock();
}

}  // namespace oneflow
