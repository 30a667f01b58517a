// Profiler: collects what the layers trace (common/trace.h), thread by thread.
//
// Each thread writes to a buffer of its own, which holds a bounded number of events; what does not
// fit is counted and dropped, the oldest events stay.
//
// Thread safety: all functions. Recording an event takes some tens of nanoseconds and never blocks
// on another thread that records.
#ifndef ONEFLOW_PROFILER_PROFILER_H_
#define ONEFLOW_PROFILER_PROFILER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "oneflow/common/maybe.h"
#include "oneflow/common/stack_source.h"

namespace oneflow {
namespace profiler {

struct Event {
  static constexpr size_t kMaxName = 47;
  const char* category;
  char name[kMaxName + 1];  // cut to fit
  int64_t begin_ns;
  int64_t end_ns;
  StackId stack = kNoStack;  // only a key of Trace::lines: its frames may be gone
  std::string shapes;        // of the operands, where that was asked for
};

struct ThreadTrace {
  int64_t thread_id;
  std::string thread_name;
  std::vector<Event> events;  // in the order in which they ended
  int64_t dropped = 0;
};

struct Trace {
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  std::vector<ThreadTrace> threads;  // only those that recorded something
  std::unordered_map<StackId, StackFrame>
      lines;  // the program's line, of the stacks that are known
};

struct Options {
  size_t max_events_per_thread = 200000;
  bool shapes = false;  // of each op's operands
};

// RuntimeError when a trace is being taken already. In a fork child none is.
Maybe<void> Start(const Options& options = Options());
// RuntimeError when none is.
Maybe<Trace> Stop();
bool Running();

// A scope of the program itself, which the calling thread has just ended.
void RecordScope(const char* name, int64_t begin_ns);

}  // namespace profiler
}  // namespace oneflow

#endif  // ONEFLOW_PROFILER_PROFILER_H_
