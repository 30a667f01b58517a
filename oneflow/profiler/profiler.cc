#include "oneflow/profiler/profiler.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "oneflow/common/mutex.h"
#include "oneflow/common/trace.h"
#include "oneflow/device/out_of_memory.h"
#include "oneflow/lifetime/fork_hooks.h"

namespace oneflow {
namespace profiler {

namespace {

// One thread's events of one trace. The lock is taken by its thread for each event, and once by
// Stop(): it is never contended while a trace is taken.
struct Buffer {
  Mutex mutex;
  ThreadTrace trace GUARDED_BY(mutex);
  bool closed GUARDED_BY(mutex) = false;  // Stop() has taken the events
};
using BufferPtr = std::shared_ptr<Buffer>;

class Collector final : public TraceSink {
 public:
  Maybe<void> Start(const Options& options) {
    MutexLock lock(&mutex_);
    if (running_) { return RuntimeError("[profiler] is running already"); }
    running_ = true;
    begin_ns_ = TraceClock();
    max_events_.store(options.max_events_per_thread, std::memory_order_relaxed);
    shapes_.store(options.shapes, std::memory_order_relaxed);
    session_.fetch_add(1, std::memory_order_release);
    TraceSink::Set(this);
    return Ok();
  }

  Maybe<Trace> Stop() {
    MutexLock lock(&mutex_);
    if (!running_) { return RuntimeError("[profiler] is not running"); }
    TraceSink::Set(nullptr);
    running_ = false;
    Trace out;
    out.begin_ns = begin_ns_;
    out.end_ns = TraceClock();
    for (const BufferPtr& buffer : buffers_) {
      MutexLock buffer_lock(&buffer->mutex);
      buffer->closed = true;
      out.threads.push_back(std::move(buffer->trace));
    }
    buffers_.clear();
    ResolveLines(&out);
    return out;
  }

  bool Running() {
    MutexLock lock(&mutex_);
    return running_;
  }

  bool WantsShapes() const override { return shapes_.load(std::memory_order_relaxed); }

  void Record(const char* category, const char* name, int64_t begin_ns, int64_t end_ns,
              const TraceDetails* details) override {
    Buffer* buffer = BufferOfThread();
    if (buffer == nullptr) { return; }
    MutexLock lock(&buffer->mutex);
    if (buffer->closed) { return; }
    std::vector<Event>& events = buffer->trace.events;
    if (events.size() >= max_events_.load(std::memory_order_relaxed)) {
      ++buffer->trace.dropped;
      return;
    }
    Event event;
    event.category = category;
    const size_t length = strnlen(name, Event::kMaxName);
    std::memcpy(event.name, name, length);
    event.name[length] = '\0';
    event.begin_ns = begin_ns;
    event.end_ns = end_ns;
    if (details != nullptr) {
      event.stack = details->stack;
      event.shapes = details->shapes;
      Pin(event.stack);
    }
    events.push_back(std::move(event));
  }

 private:
  static void Pin(StackId stack) {
    StackSource* source = StackSource::Get();
    if (stack != kNoStack && source != nullptr) { source->Pin(stack); }
  }

  // Names the lines of all events, and lets go of their stacks.
  static void ResolveLines(Trace* trace) {
    StackSource* source = StackSource::Get();
    if (source == nullptr) { return; }
    for (const ThreadTrace& thread : trace->threads) {
      for (const Event& event : thread.events) {
        if (event.stack == kNoStack) { continue; }
        if (trace->lines.count(event.stack) == 0) {
          const std::vector<StackFrame> frames = ProgramLines(source->Resolve(event.stack));
          if (!frames.empty()) { trace->lines[event.stack] = frames.back(); }
        }
        source->Unpin(event.stack);
      }
    }
  }

  // The calling thread's buffer for the trace that is being taken; nullptr between traces.
  Buffer* BufferOfThread() {
    thread_local BufferPtr buffer;
    thread_local uint64_t session = 0;
    const uint64_t now = session_.load(std::memory_order_acquire);
    if (session == now) { return buffer.get(); }
    auto fresh = std::make_shared<Buffer>();
    char name[16] = "";
    pthread_getname_np(pthread_self(), name, sizeof(name));
    {
      MutexLock buffer_lock(&fresh->mutex);
      fresh->trace.thread_id = static_cast<int64_t>(::syscall(SYS_gettid));
      fresh->trace.thread_name = name;
    }
    MutexLock lock(&mutex_);
    if (!running_) { return nullptr; }
    buffers_.push_back(fresh);
    buffer = std::move(fresh);
    session = now;
    return buffer.get();
  }

  Mutex mutex_;
  bool running_ GUARDED_BY(mutex_) = false;
  int64_t begin_ns_ GUARDED_BY(mutex_) = 0;
  std::vector<BufferPtr> buffers_ GUARDED_BY(mutex_);
  std::atomic<size_t> max_events_{0};
  std::atomic<bool> shapes_{false};
  std::atomic<uint64_t> session_{0};
};

// Leaked, as sinks are; another one in a fork child, where a lock may be held for ever.
Collector* TheCollector(bool renew = false) {
  static std::atomic<Collector*> collector{[] {
    lifetime::ForkHooks hooks;
    hooks.in_child = [] {
      TraceSink::Set(nullptr);
      TheCollector(/*renew=*/true);
    };
    lifetime::RegisterForkHooks(lifetime::ForkOrder::kRecorder, std::move(hooks));
    return new Collector;
  }()};
  if (renew) { collector.store(new Collector); }
  return collector.load();
}

}  // namespace

Maybe<void> Start(const Options& options) { return TheCollector()->Start(options); }
Maybe<Trace> Stop() { return TheCollector()->Stop(); }
bool Running() { return TheCollector()->Running(); }

void RecordScope(const char* name, int64_t begin_ns) {
  TraceSink* sink = TraceSink::Get();
  if (sink != nullptr) { sink->Record("python", name, begin_ns, TraceClock(), nullptr); }
}

}  // namespace profiler
}  // namespace oneflow
