#include "oneflow/common/interleave/scheduler.h"

#include <algorithm>
#include <cstring>
#include <ctime>
#include <exception>

#include "oneflow/common/interleave/quarantine.h"
#include "oneflow/common/interleave/thread_state.h"

namespace oneflow {
namespace interleave {

namespace {
// How many objects a thread that polls may look at in one round.
constexpr size_t kMaxSeen = 16;
// How often a thread that pauses goes on though nothing has changed, before that is a livelock.
constexpr int kIdleWakes = 2;
}  // namespace

Scheduler* Scheduler::current_ = nullptr;

Scheduler::Scheduler(const Options& options, const std::function<void()>& scenario)
    : options_(options), scenario_(scenario), search_(options), began_(std::clock()) {
  clock_object_.kind = "clock";
}

Scheduler::~Scheduler() = default;

Report Scheduler::RunAll() {
  do {
    RunSchedule();
    if (report_.failure != Failure::kNone) { break; }
    report_.steps += search_.steps().size();
    report_.longest = std::max(report_.longest, static_cast<int>(search_.steps().size()));
    report_.threads = std::max(report_.threads, num_threads_);
    ++(search_.redundant() ? report_.redundant : report_.schedules);
    if (report_.schedules + report_.redundant > options_.max_schedules) {
      report_.failure = Failure::kTooMany;
      report_.message = "more schedules than Options::max_schedules";
      break;
    }
  } while (search_.EndSchedule());
  return Describe();
}

Report Scheduler::Describe() const {
  Report report = report_;
  report.seconds = static_cast<double>(std::clock() - began_) / CLOCKS_PER_SEC;
  if (report.failure != Failure::kNone && report.failure != Failure::kTooMany) {
    report.trace = TraceText();
    report.schedule = ScheduleText(search_.steps());
  }
  return report;
}

Report Scheduler::DescribeCrash() {
  report_.failure = Failure::kCrash;
  return Describe();
}

void Scheduler::RunSchedule() {
  ++schedule_;
  num_threads_ = 0;
  next_id_ = 0;
  starter_ = kNobody;
  now_ = TimePoint(std::chrono::hours(24 * 365));  // far from both ends of the clock
  search_.BeginSchedule();
  current_ = this;
  HoldFreedMemory(true);
  Touch(&clock_object_);
  Start(scenario_);  // comes back when the schedule is over
  current_ = nullptr;
  if (report_.failure != Failure::kNone) { return; }  // the trace needs the objects
  for (Object* object : ended_objects_) { delete object; }
  ended_objects_.clear();
  HoldFreedMemory(false);
}

void Scheduler::LeaveSchedule() {
  Fiber::Switch(&thread(running_).fiber, &root_);
  __builtin_unreachable();
}

void Scheduler::Fail(Failure failure, const std::string& message) {
  report_.failure = failure;
  report_.message = message;
  LeaveSchedule();  // the fibers stay as they are: this process explores nothing else
}

void Scheduler::FiberMain() {
  Scheduler* scheduler = current_;
  const int index = scheduler->running_;
  ThreadState& self = scheduler->thread(index);
  try {
    self.main();
    self.main = nullptr;
  } catch (const std::exception& e) {
    scheduler->Fail(Failure::kCrash, std::string("a thread threw: ") + e.what());
  } catch (...) { scheduler->Fail(Failure::kCrash, "a thread threw"); }
  self.ended = true;
  self.next = Op();
  if (scheduler->starter_ != kNobody) {
    scheduler->Resume(std::exchange(scheduler->starter_, kNobody));
  }
  scheduler->Dispatch();
}

// Runs the new thread up to its first Point(): nobody can tell what it does until then from its
// doing it later.
int Scheduler::Start(std::function<void()> main) {
  const int index = num_threads_;
  const bool first = index == 0;
  if (index == kMaxThreads) { Fail(Failure::kMisuse, "more threads than kMaxThreads"); }
  ++num_threads_;
  if (pool_.size() < static_cast<size_t>(num_threads_)) {
    pool_.push_back(std::make_unique<ThreadState>());
  }
  ThreadState& started = thread(index);
  started.Reset();
  started.main = std::move(main);
  started.fiber.Prepare(&Scheduler::FiberMain);
  const int starter = first ? kNobody : running_;
  if (!first) { search_.clock(index) = search_.clock(starter); }
  const int outer = std::exchange(starter_, starter);
  running_ = index;
  Fiber::Switch(first ? &root_ : &thread(starter).fiber, &started.fiber);
  starter_ = outer;
  return index;
}

void Scheduler::Resume(int index) {
  Fiber* from = &thread(running_).fiber;
  running_ = index;
  Fiber::Switch(from, &thread(index).fiber);
}

int Scheduler::Point(const Op& op) {
  const int me = running_;
  ThreadState& self = thread(me);
  if (self.hidden_locks > 0) {
    Fail(Failure::kMisuse, std::string("a scheduling point (") + NameOf(op.kind) +
                               ") in a critical section of Options::hidden_files");
  }
  self.next = op;
  search_.Renewed(me);
  if (starter_ != kNobody) {
    Resume(std::exchange(starter_, kNobody));  // comes back when this step is decided
  } else {
    Dispatch();
  }
  return last_choice_;
}

void Scheduler::Dispatch() {
  for (;;) {
    const Situation now = Look();
    if (now.enabled == 0) {
      if (WakeAPauser()) { continue; }
      EndOfSchedule();
    }
    const int process = search_.Decide(now);
    if (!search_.divergence().empty()) { Fail(Failure::kNotDeterministic, search_.divergence()); }
    if (!search_.race().empty()) { Fail(Failure::kDataRace, search_.race()); }
    if (static_cast<int>(search_.steps().size()) > options_.max_steps) {
      Fail(Failure::kLivelock, "more steps than Options::max_steps");
    }
    if (process >= kMaxThreads) {
      TakeTimeout(process - kMaxThreads);
      continue;
    }
    TakeStep(process);
    if (process != running_) { Resume(process); }
    return;
  }
}

Situation Scheduler::Look() const {
  Situation now;
  now.running = running_;
  for (int t = 0; t < num_threads_; ++t) {
    ThreadState& state = thread(t);
    if (state.ended) { continue; }
    if (Enabled(state)) { now.enabled |= Only(t); }
    const bool paused = state.next.kind == OpKind::kPause;
    if (paused) { state.next.cause = FirstChange(state); }
    if (!state.waiting && (state.next.object != nullptr || paused)) {
      now.next[static_cast<size_t>(t)] = &state.next;
      now.present |= Only(t);
    }
    if (!CanTimeOut(state)) { continue; }
    if (state.waiting) { now.enabled |= Only(kMaxThreads + t); }
    // What has just been notified could have timed out before: the search has to see that too.
    if (state.waiting || (state.notified_at > 0 && state.notified_at == search_.steps().size())) {
      now.next[static_cast<size_t>(kMaxThreads + t)] = &state.timeout;
      now.present |= Only(kMaxThreads + t);
    }
  }
  return now;
}

bool Scheduler::Enabled(const ThreadState& state) const {
  const Op& next = state.next;
  switch (next.kind) {
    case OpKind::kLock: return next.object->holder < 0;
    case OpKind::kWake: return !state.waiting && next.object->holder < 0;
    case OpKind::kJoin: return AllEnded(next.threads);
    case OpKind::kPause: return state.pause_over || state.seen.empty() || FirstChange(state) != 0;
    case OpKind::kNone:
    case OpKind::kPark: return false;
    default: return true;
  }
}

bool Scheduler::CanTimeOut(const ThreadState& state) const {
  return state.timed ? state.timeouts < options_.timeouts : state.spurious < options_.spurious;
}

// A parked one is as good as ended.
bool Scheduler::AllEnded(ProcessSet threads) const {
  for (int t = 0; t < num_threads_; ++t) {
    const bool over = thread(t).ended || thread(t).next.kind == OpKind::kPark;
    if (Has(threads, t) && !over) { return false; }
  }
  return true;
}

int Scheduler::OutcomesOf(const Op& op) const {
  if (op.kind == OpKind::kNotifyOne) {
    return std::max(1, static_cast<int>(op.object->waiters.size()));
  }
  return op.choices;
}

void Scheduler::TakeStep(int index) {
  const Op op = thread(index).next;
  for (int t = 0; t < num_threads_; ++t) {
    if (Has(op.threads, t)) { search_.clock(index).Join(search_.clock(t)); }
  }
  if (op.kind == OpKind::kPause) { AfterPause(index); }
  const int outcomes = OutcomesOf(op);
  const int choice = search_.DecideChoice(outcomes);
  search_.Commit(index, choice, op);
  if (outcomes > 1) { NoteValue(choice); }
  for (const Object* object : {op.object, op.second}) {
    if (object != nullptr && !object->alive) {
      Fail(Failure::kUseAfterEnd, std::string("a ") + object->kind + " is used after its end");
    }
  }
  Act(index, op, choice);
  RememberSeen(&thread(index), op);
  last_choice_ = choice;
}

void Scheduler::Act(int index, const Op& op, int choice) {
  Object* object = op.object;
  switch (op.kind) {
    case OpKind::kLock:
    case OpKind::kWake: object->holder = index; break;
    case OpKind::kTryLock:
      NoteValue(object->holder < 0 ? 1 : 0);
      if (object->holder < 0) { object->holder = index; }
      break;
    case OpKind::kUnlock:
      if (object->holder != index) {
        Fail(Failure::kMisuse, "a thread unlocks a mutex that it does not hold");
      }
      object->holder = -1;
      break;
    case OpKind::kWait: BeginWait(index, op); break;
    case OpKind::kNotifyOne:
      if (!object->waiters.empty()) { Wake(object->waiters[static_cast<size_t>(choice)], index); }
      break;
    case OpKind::kNotifyAll:
      while (!object->waiters.empty()) { Wake(object->waiters.front(), index); }
      break;
    case OpKind::kDestroy:
      if (object->holder >= 0) { Fail(Failure::kMisuse, "a mutex ends while it is held"); }
      if (!object->waiters.empty()) {
        Fail(Failure::kMisuse, "a condition variable ends while a thread waits on it");
      }
      object->alive = false;
      ended_objects_.push_back(object);
      break;
    default: break;
  }
}

void Scheduler::BeginWait(int index, const Op& op) {
  ThreadState& state = thread(index);
  if (op.second->holder != index) {
    Fail(Failure::kMisuse, "a thread waits without holding the mutex");
  }
  op.second->holder = -1;
  op.object->waiters.push_back(index);
  state.waiting = true;
  state.timed_out = false;
  state.timeout = op;
  state.timeout.kind = OpKind::kTimeout;
  state.timeout.second = state.timed ? &clock_object_ : nullptr;
  search_.clock(kMaxThreads + index).Join(search_.clock(index));
  search_.Renewed(kMaxThreads + index);
  if (state.timed && state.deadline <= now_) {
    state.timed_out = true;
    Wake(index, index);
  }
}

void Scheduler::TakeTimeout(int index) {
  ThreadState& state = thread(index);
  search_.DecideChoice(1);
  search_.Commit(kMaxThreads + index, 0, state.timeout);
  if (state.timed) {
    ++state.timeouts;
    state.timed_out = true;
    now_ = std::max(now_, state.deadline);
  } else {
    ++state.spurious;
  }
  Wake(index, kMaxThreads + index);
}

void Scheduler::Wake(int index, int by) {
  ThreadState& state = thread(index);
  auto& waiters = state.timeout.object->waiters;
  waiters.erase(std::find(waiters.begin(), waiters.end(), index));
  state.waiting = false;
  if (by < kMaxThreads) { state.notified_at = search_.steps().size(); }
  search_.clock(index).Join(search_.clock(by));
  search_.Renewed(index);
}

// ---- pauses

void Scheduler::RememberSeen(ThreadState* state, const Op& op) {
  if (op.object == nullptr || op.kind == OpKind::kDestroy) { return; }
  for (Seen& seen : state->seen) {
    if (seen.object == op.object) {
      seen.changes = op.object->changes.size();
      return;
    }
  }
  if (state->seen.size() == kMaxSeen) { state->seen.erase(state->seen.begin()); }
  state->seen.push_back({op.object, op.object->changes.size()});
}

// The number of the first step that changed what the thread has seen; 0: none has.
size_t Scheduler::FirstChange(const ThreadState& state) const {
  size_t first = 0;
  for (const Seen& seen : state.seen) {
    if (seen.object->changes.size() == seen.changes) { continue; }
    const size_t step = seen.object->changes[seen.changes];
    if (first == 0 || step < first) { first = step; }
  }
  return first;
}

// A pause comes after the first change of something that the thread has seen: not after later ones,
// which may as well come after the pause. Without a change it comes after all there is.
void Scheduler::AfterPause(int index) {
  ThreadState& state = thread(index);
  if (const size_t first = FirstChange(state); first != 0) {
    search_.clock(index).Join(search_.clock_of_step(first));
    state.idle_wakes = 0;
  } else if (state.pause_over) {
    for (int p = 0; p < kMaxProcesses; ++p) { search_.clock(index).Join(search_.clock(p)); }
  }
  state.seen.clear();
  state.pause_over = false;
}

bool Scheduler::WakeAPauser() {
  for (int t = 0; t < num_threads_; ++t) {
    ThreadState& state = thread(t);
    if (state.ended || state.next.kind != OpKind::kPause || state.idle_wakes == kIdleWakes) {
      continue;
    }
    ++state.idle_wakes;
    state.pause_over = true;
    return true;
  }
  return false;
}

void Scheduler::EndOfSchedule() {
  bool pausing = false;
  bool left = false;
  for (int t = 0; t < num_threads_; ++t) {
    const ThreadState& state = thread(t);
    if (state.ended || state.next.kind == OpKind::kPark) { continue; }
    left = true;
    pausing = pausing || state.next.kind == OpKind::kPause;
  }
  if (!left) { LeaveSchedule(); }
  if (pausing) { Fail(Failure::kLivelock, "a thread polls for what nobody is left to change"); }
  if (thread(0).ended) { Fail(Failure::kThreadLeft, "a thread has not ended with the scenario"); }
  Fail(Failure::kDeadlock, "no thread can go on");
}

// ---- what the primitives call

bool Scheduler::Touch(Object* object) {
  uintptr_t bits;
  static_assert(sizeof(bits) == sizeof(object));
  std::memcpy(&bits, &object, sizeof(bits));
  if (bits == kFreedBits) { Fail(Failure::kUseAfterEnd, "freed memory is used"); }
  if (object->schedule == schedule_) { return true; }
  object->schedule = schedule_;
  object->id = next_id_++;
  object->changes.clear();
  object->waiters.clear();
  object->reads = object->writes = VectorClock();
  if (object->is_static) { object->holder = -1; }
  return !object->is_static;
}

void Scheduler::NoteValue(long long value) {
  if (search_.steps().empty()) { return; }
  search_.steps().back().has_value = true;
  search_.steps().back().value = value;
}

void Scheduler::Lock(Object* mutex, Place place) {
  Touch(mutex);
  if (!IsHidden(place)) {
    Point({OpKind::kLock, mutex, nullptr, 0, 1, place});
    return;
  }
  if (mutex->holder >= 0) { Fail(Failure::kMisuse, "a hidden mutex is held at a point"); }
  mutex->holder = running_;
  mutex->held_hidden = true;
  ++thread(running_).hidden_locks;
}

bool Scheduler::TryLock(Object* mutex, Place place) {
  Touch(mutex);
  const bool was_mine = mutex->holder == running_;
  Point({OpKind::kTryLock, mutex, nullptr, 0, 1, place});
  return !was_mine && mutex->holder == running_;
}

void Scheduler::Unlock(Object* mutex, Place place) {
  Touch(mutex);
  if (!mutex->held_hidden) {
    Point({OpKind::kUnlock, mutex, nullptr, 0, 1, place});
    return;
  }
  mutex->holder = -1;
  mutex->held_hidden = false;
  --thread(running_).hidden_locks;
}

bool Scheduler::Wait(Object* condition, Object* mutex, bool timed, std::chrono::nanoseconds limit,
                     Place place) {
  Touch(condition);
  Touch(mutex);
  ThreadState& self = thread(running_);
  self.timed = timed;
  self.deadline = now_ + limit;
  Point({OpKind::kWait, condition, mutex, 0, 1, place});
  Point({OpKind::kWake, mutex, nullptr, 0, 1, place});
  return !self.timed_out;
}

void Scheduler::Join(ProcessSet threads, Place place) {
  Point({OpKind::kJoin, nullptr, nullptr, threads, 1, place});
}

TimePoint Scheduler::Now(Place place) {
  if (options_.timeouts > 0) { Point({OpKind::kLoad, &clock_object_, nullptr, 0, 1, place}); }
  return now_;
}

void Scheduler::SetName(const std::string& name) { thread(running_).name = name; }

Object* Scheduler::NewObject(const char* kind) {
  auto* object = new Object;
  object->kind = kind;
  object->is_static = current_ == nullptr;
  return object;
}

void Scheduler::EndObject(Object* object, Place place) {
  if (current_ == nullptr) {
    object->alive = false;  // leaked, as a static one may still be looked at
    return;
  }
  current_->Touch(object);
  current_->Point({OpKind::kDestroy, object, nullptr, 0, 1, place});
}

bool Scheduler::IsHidden(Place place) {
  if (place.file == nullptr || options_.hidden_files.empty()) { return false; }
  for (const auto& [file, hidden] : hidden_) {
    if (file == place.file) { return hidden; }
  }
  const std::string path = place.file;
  const bool hidden = std::any_of(
      options_.hidden_files.begin(), options_.hidden_files.end(), [&](const std::string& end) {
        return path.size() >= end.size() &&
               path.compare(path.size() - end.size(), end.size(), end) == 0;
      });
  hidden_.emplace_back(place.file, hidden);
  return hidden;
}

}  // namespace interleave
}  // namespace oneflow
