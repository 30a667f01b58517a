// Trace: where the layers say what they are doing, for a profiler to collect.
//
// A layer opens a TraceScope around a piece of work. Without a sink that costs one load; with one
// (oneflow/profiler is it) the sink hears of the scope when it closes.
//
// Thread safety: all. A sink is called by any thread, beside itself, and must stay valid for ever:
// scopes that were open when it was taken away still report to it.
#ifndef ONEFLOW_COMMON_TRACE_H_
#define ONEFLOW_COMMON_TRACE_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "oneflow/common/stack_source.h"

namespace oneflow {

// Nanoseconds of the steady clock.
inline int64_t TraceClock() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// What else a scope says of its work.
struct TraceDetails {
  StackId stack = kNoStack;  // of the line that asked for it
  std::string shapes;        // of its operands: "(2, 3), (3,)"
};

class TraceSink {
 public:
  virtual ~TraceSink() = default;
  // `category` is a layer's name and lives for ever; `name` is copied. `details` may be nullptr.
  virtual void Record(const char* category, const char* name, int64_t begin_ns, int64_t end_ns,
                      const TraceDetails* details) = 0;
  virtual bool WantsShapes() const { return false; }

  static TraceSink* Get() { return current_.load(std::memory_order_acquire); }
  static void Set(TraceSink* sink) { current_.store(sink, std::memory_order_release); }

 private:
  static inline std::atomic<TraceSink*> current_{nullptr};
};

class TraceScope {
 public:
  // `name` must outlive the scope. Nobody hears of a scope without a category.
  TraceScope(const char* category, const char* name)
      : sink_(category == nullptr ? nullptr : TraceSink::Get()) {
    if (__builtin_expect(sink_ != nullptr, 0)) {
      category_ = category;
      name_ = name;
      begin_ns_ = TraceClock();
    }
  }
  ~TraceScope() {
    if (__builtin_expect(sink_ != nullptr, 0)) {
      sink_->Record(category_, name_, begin_ns_, TraceClock(), details_.get());
    }
  }
  // Who hears of the scope; nullptr: nobody, and Tell need not be called.
  TraceSink* sink() const { return sink_; }
  void Tell(TraceDetails details) { details_ = std::make_unique<TraceDetails>(std::move(details)); }
  TraceScope(const TraceScope&) = delete;
  TraceScope& operator=(const TraceScope&) = delete;

 private:
  TraceSink* sink_;
  const char* category_ = nullptr;
  const char* name_ = nullptr;
  int64_t begin_ns_ = 0;
  std::unique_ptr<TraceDetails> details_;
};

}  // namespace oneflow

#endif  // ONEFLOW_COMMON_TRACE_H_
