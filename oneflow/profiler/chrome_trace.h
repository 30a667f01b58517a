// Writes a trace in the JSON form that chrome://tracing and Perfetto show.
//
// Source: Google, "Trace Event Format" (2016): complete events (ph "X", ts and dur in microseconds)
// and thread names (ph "M"). Thread safety: pure functions.
#ifndef ONEFLOW_PROFILER_CHROME_TRACE_H_
#define ONEFLOW_PROFILER_CHROME_TRACE_H_

#include <string>

#include "oneflow/common/maybe.h"
#include "oneflow/profiler/profiler.h"

namespace oneflow {
namespace profiler {

// Times count from the start of the trace. `process` becomes the pid: the rank.
std::string ToChromeJson(const Trace& trace, int64_t process = 0);

// Writes a file beside `path` first, then renames it: `path` is never half a trace.
// EnvironmentError naming the file and the system's reason.
Maybe<void> WriteChromeTrace(const Trace& trace, const std::string& path, int64_t process = 0);

}  // namespace profiler
}  // namespace oneflow

#endif  // ONEFLOW_PROFILER_CHROME_TRACE_H_
