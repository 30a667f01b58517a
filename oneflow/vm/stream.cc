#include "oneflow/vm/stream.h"

#include <csignal>

#include <algorithm>
#include <exception>

#include "oneflow/common/host_hooks.h"
#include "oneflow/common/interleave/ordering_fault.h"
#include "oneflow/common/planted_fault.h"
#include "oneflow/lifetime/runtime_thread.h"

namespace oneflow {

namespace {

using Clock = SteadyClock;
using interleave::Misordered;
using interleave::OrderingFault;

// Long enough to bridge the gap between two ops of a Python program, short enough to burn nothing.
constexpr auto kSpin = std::chrono::microseconds(20);
constexpr auto kSignalPoll = std::chrono::milliseconds(50);

// Waiters of all streams share one condition: waits are rare and long compared with a wake-up.
// A worker notifies only when somebody waits for a number that it has reached.
Mutex wait_mutex;
// Leaked, as threads may wait while the process exits. Another one after fork(): destroying, or
// using, the one that threads waited for would wait for them, who do not exist in the child.
CondVar* wait_condition = new CondVar;
Atomic<uint64_t> awaited[kMaxStreams];  // smallest awaited number, 0: nobody waits

Atomic<bool> given_up{false};

void GiveUp(Instruction* instruction) {
  instruction->Abandon(NotRun(instruction->op(), "was not run: an interrupt ended the program"));
}

// A kernel's failure is its own matter. What else is thrown (no memory for an Error, say) ends the
// instruction, not the thread.
Instruction::Outcome ExecuteOrCatch(Instruction* instruction) {
  ErrorPtr error;
  try {
    return instruction->Execute();
  } catch (const std::exception& e) {
    error = InternalError("[{}] its stream caught: {}", instruction->op(), e.what());
  } catch (...) {
    error = InternalError("[{}] its stream caught what is no std::exception", instruction->op());
  }
  if (FaultPlanted(Fault::kKernelErrorEscapes)) { CHECK_JUST(Maybe<void>(error)); }
  error->set_op(instruction->op());
  error->MarkPublished();
  instruction->Abandon(error);
  return {error};
}

bool SpinFor(StreamPoint point) {
  return SpinUntil(kSpin, [&] { return StreamClock::Passed(point); });
}

void NotifyWaiters(StreamIndex stream, uint64_t seq) {
  // seq_cst on both sides (here and in SleepFor): either the worker sees the awaited number, or the
  // waiter sees the advanced clock. Never neither.
  const uint64_t wanted = awaited[stream].load(std::memory_order_seq_cst);
  if (wanted == 0 || wanted > seq) { return; }
  MutexLock lock(&wait_mutex);
  awaited[stream].store(0, std::memory_order_relaxed);
  wait_condition->NotifyAll();
}

// Sleeps until the point passed or `limit` elapsed.
void SleepFor(StreamPoint point, Clock::duration limit) {
  const auto end = Clock::now() + limit;
  MutexLock lock(&wait_mutex);
  while (true) {
    Atomic<uint64_t>& slot = awaited[point.stream];
    const uint64_t current = slot.load(std::memory_order_relaxed);
    if (current == 0 || current > point.seq) { slot.store(point.seq, std::memory_order_seq_cst); }
    if (StreamClock::PassedInOrder(point)) { return; }
    const auto now = Clock::now();
    if (now >= end) { return; }
    wait_condition->WaitFor(&wait_mutex, end - now);
  }
}

}  // namespace

Stream::Stream(Device device, const char* name, StreamIndex index, FailureFn failed)
    : device_(device),
      name_(name),
      index_(index),
      failed_(failed),
      issued_(StreamClock::Completed(index)),
      ring_(new InstructionPtr[kRunAhead]),
      pushed_(issued_) {}

Maybe<std::unique_ptr<Stream>> Stream::Create(Device device, const char* name, FailureFn failed) {
  const int index = StreamClock::Allot();
  if (index < 0) {
    return RuntimeError("[stream] expects at most {} streams at a time", kMaxStreams - 1);
  }
  return std::unique_ptr<Stream>(new Stream(device, name, static_cast<StreamIndex>(index), failed));
}

Stream::~Stream() {
  Stop(Clock::time_point::max());
  StreamClock::Return(index_);
}

Maybe<StreamPoint> Stream::Push(InstructionPtr instruction) {
  if (!thread_.joinable()) {
    // Signals belong to the main thread: a worker that took one would run the handler's C part on
    // a stack that the host language does not know.
    sigset_t all;
    sigset_t old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    const std::error_code refused = StartThread(&thread_, [this] {
      lifetime::ScopedRuntimeThread runtime_thread(Format("{} on {}", name_, device_));
      Loop();
    });
    pthread_sigmask(SIG_SETMASK, &old, nullptr);
    if (refused) {
      return EnvironmentError("[stream] cannot start a thread for {}: {}", device_,
                              refused.message());
    }
  }
  const uint64_t seq = ++issued_;
  ring_[seq % kRunAhead] = std::move(instruction);
  pushed_.store(seq, std::memory_order_seq_cst);
  if (sleeping_.load(std::memory_order_seq_cst)) {
    MutexLock lock(&mutex_);
    work_.NotifyOne();
  }
  return StreamPoint{seq, index_};
}

// Waits until instruction `next` is in the ring; false: the stream stops and there is none.
bool Stream::NextReady(uint64_t next) {
  const auto pushed = [&] { return pushed_.load(std::memory_order_acquire) >= next; };
  if (SpinUntil(kSpin, pushed)) { return true; }
  MutexLock lock(&mutex_);
  const bool late = Misordered(OrderingFault::kSleepsBeforeSayingSo);
  if (!late) { sleeping_.store(true, std::memory_order_seq_cst); }
  bool ready = pushed_.load(std::memory_order_seq_cst) >= next;
  if (late) { sleeping_.store(true, std::memory_order_seq_cst); }
  while (!ready && !stopping_.load(std::memory_order_relaxed)) {
    work_.Wait(&mutex_);
    ready = pushed();
  }
  sleeping_.store(false, std::memory_order_relaxed);
  return ready;
}

void Stream::Loop() {
  uint64_t next = StreamClock::Completed(index_) + 1;
  while (pushed_.load(std::memory_order_acquire) >= next || NextReady(next)) {
    InstructionPtr instruction = std::move(ring_[next % kRunAhead]);
    running_op_.store(instruction->op(), std::memory_order_relaxed);
    running_.store(instruction.get(), std::memory_order_relaxed);
    if (given_up.load(std::memory_order_relaxed)) {
      GiveUp(instruction.get());
    } else if (const Instruction::Outcome outcome = ExecuteOrCatch(instruction.get());
               outcome.error) {
      if (Misordered(OrderingFault::kPoisonsAfterAdvancing)) {
        StreamClock::Advance(index_, next);
        instruction->Abandon(outcome.error);
      }
      failed_(outcome.error, outcome.skipped ? Failure::kKeptTarget : Failure::kRoot);
    }
    running_op_.store(nullptr, std::memory_order_relaxed);
    running_.store(nullptr, std::memory_order_relaxed);
    // References are dropped before the point passes: who waited for the stream finds them gone.
    instruction.reset();
    if (Misordered(OrderingFault::kNotifiesBeforeAdvancing)) { NotifyWaiters(index_, next); }
    StreamClock::Advance(index_, next);
    if (!Misordered(OrderingFault::kNotifiesBeforeAdvancing)) { NotifyWaiters(index_, next); }
    ++next;
  }
}

Maybe<bool> Stream::Wait(StreamPoint point, Clock::time_point deadline) {
  if (StreamClock::Passed(point)) { return true; }
  HostUnlocked unlocked;
  if (SpinFor(point)) { return true; }
  while (!StreamClock::Passed(point)) {
    const auto now = Clock::now();
    if (now >= deadline) { return false; }
    const Clock::duration left = deadline - now;
    SleepFor(point, std::min<Clock::duration>(left, kSignalPoll));
    if (!FaultPlanted(Fault::kWaitsIgnoreSignals)) { JUST(unlocked.PollSignals()); }
  }
  return true;
}

void Stream::AwaitOnWorker(StreamPoint point) {
  if (StreamClock::Passed(point) || SpinFor(point)) { return; }
  while (!StreamClock::Passed(point)) { SleepFor(point, std::chrono::seconds(1)); }
}

bool Stream::Drain(Clock::time_point deadline) {
  const StreamPoint last{issued_, index_};
  if (StreamClock::Passed(last) || SpinFor(last)) { return true; }
  while (!StreamClock::Passed(last)) {
    const auto now = Clock::now();
    if (now >= deadline) { return false; }
    SleepFor(last, std::min<Clock::duration>(deadline - now, std::chrono::seconds(1)));
  }
  return true;
}

bool Stream::Stop(Clock::time_point deadline) {
  if (!thread_.joinable()) { return true; }
  if (!Drain(deadline)) { return false; }
  {
    MutexLock lock(&mutex_);
    if (!FaultPlanted(Fault::kStopDoesNotWakeStream)) {
      stopping_.store(true, std::memory_order_relaxed);
      work_.NotifyOne();
    }
  }
  thread_.join();
  stopping_.store(false, std::memory_order_relaxed);
  return true;
}

void Stream::GiveUpQueued() { given_up.store(true, std::memory_order_relaxed); }

void Stream::LockForFork() ONEFLOW_TSA_(no_thread_safety_analysis) { wait_mutex.Lock(); }

void Stream::UnlockAfterFork() ONEFLOW_TSA_(no_thread_safety_analysis) { wait_mutex.Unlock(); }

void Stream::ResetInChild() ONEFLOW_TSA_(no_thread_safety_analysis) {
  wait_condition = new CondVar;
  wait_mutex.Unlock();
}

void Stream::AbandonInChild() {
  const auto abandon = [](Instruction* i) { i->Abandon(NotRun(i->op(), kForked)); };
  if (Instruction* running = running_.load(std::memory_order_relaxed)) { abandon(running); }
  for (uint64_t seq = StreamClock::Completed(index_) + 1; seq <= issued_; ++seq) {
    if (ring_[seq % kRunAhead] != nullptr) { abandon(ring_[seq % kRunAhead].get()); }
  }
  StreamClock::Advance(index_, issued_);
}

}  // namespace oneflow
