#include "oneflow/api/python/py_profiler.h"

#include <string>
#include <utility>

#include "oneflow/api/python/gil.h"
#include "oneflow/api/python/unwrap.h"
#include "oneflow/common/trace.h"
#include "oneflow/profiler/chrome_trace.h"
#include "oneflow/profiler/profiler.h"

namespace py = pybind11;

namespace oneflow {

namespace {

using profiler::Event;
using profiler::ThreadTrace;
using profiler::Trace;

void Start(bool shapes, int64_t max_events_per_thread) {
  if (max_events_per_thread < 1) {
    throw py::value_error("[profiler] expects max_events_per_thread of 1 or more, got " +
                          std::to_string(max_events_per_thread));
  }
  Unwrap(profiler::Start({static_cast<size_t>(max_events_per_thread), shapes}));
}

// Names come from outside, and are cut anywhere: not always UTF-8.
py::str Text(const char* text) {
  PyObject* decoded = PyUnicode_DecodeUTF8(
      text, static_cast<Py_ssize_t>(std::char_traits<char>::length(text)), "replace");
  if (decoded == nullptr) { throw py::error_already_set(); }
  return py::reinterpret_steal<py::str>(decoded);
}

py::list EventsOf(const Trace& trace) {
  py::list out;
  const StackFrame unknown;
  for (const ThreadTrace& thread : trace.threads) {
    const py::str thread_name = Text(thread.thread_name.c_str());
    for (const Event& event : thread.events) {
      const auto line = trace.lines.find(event.stack);
      const StackFrame& frame = line == trace.lines.end() ? unknown : line->second;
      out.append(py::make_tuple(thread.thread_id, thread_name, event.category, Text(event.name),
                                event.begin_ns, event.end_ns, event.shapes,
                                Text(frame.file.c_str()), frame.line < 0 ? 0 : frame.line,
                                Text(frame.function.c_str())));
    }
  }
  return out;
}

int64_t DroppedOf(const Trace& trace) {
  int64_t dropped = 0;
  for (const ThreadTrace& thread : trace.threads) { dropped += thread.dropped; }
  return dropped;
}

void Write(const Trace& trace, const std::string& path, int64_t process) {
  Maybe<void> written = [&] {
    const GilReleased released;
    return profiler::WriteChromeTrace(trace, path, process);
  }();
  Unwrap(std::move(written));
}

}  // namespace

void BindProfiler(py::module_* module) {
  py::module_ m = module->def_submodule("profiler");
  py::class_<Trace>(m, "Trace")
      .def_readonly("begin_ns", &Trace::begin_ns)
      .def_readonly("end_ns", &Trace::end_ns)
      .def_property_readonly("dropped", &DroppedOf)
      .def("events", &EventsOf)
      .def("write", &Write, py::arg("path"), py::arg("process") = 0);
  m.def("start", &Start, py::arg("shapes"), py::arg("max_events_per_thread"));
  m.def("stop", [] { return Unwrap(profiler::Stop()); });
  m.def("running", &profiler::Running);
  m.def("clock", &TraceClock);
  m.def("record", [](const std::string& name, int64_t begin_ns) {
    profiler::RecordScope(name.c_str(), begin_ns);
  });
}

}  // namespace oneflow
