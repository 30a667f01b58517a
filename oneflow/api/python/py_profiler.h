// The bindings that oneflow.profiler is written on: `oneflow._oneflow_internal.profiler`, by pybind11.
//
//   start(shapes: bool, max_events_per_thread: int) -> None
//       RuntimeError when a trace is being taken already.
//   stop() -> Trace
//       RuntimeError when none is. Ops that were issued and have not run are not in it: sync() first.
//   running() -> bool
//   clock() -> int
//       Nanoseconds of the trace's clock.
//   record(name: str, begin_ns: int) -> None
//       A scope of the calling thread, which ends now. Nothing happens when no trace is taken.
//
//   class Trace
//     begin_ns, end_ns, dropped: int
//     events() -> list[tuple[int, str, str, str, int, int, str, str, int, str]]
//         Thread's number and name; category, name, begin, end, shapes; file, line and function of the
//         program's line ("", 0, "" where it is not known). In the order in which scopes ended.
//     write(path: str, process: int = 0) -> None
//         The trace in the form that Perfetto and chrome://tracing show. OSError.
//
// Thread safety: with the GIL held, which write() gives up.
#ifndef ONEFLOW_API_PYTHON_PY_PROFILER_H_
#define ONEFLOW_API_PYTHON_PY_PROFILER_H_

#include <pybind11/pybind11.h>

namespace oneflow {

// Adds the submodule `profiler`.
void BindProfiler(pybind11::module_* module);

}  // namespace oneflow

#endif  // ONEFLOW_API_PYTHON_PY_PROFILER_H_
