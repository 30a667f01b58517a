// The extension module `oneflow._oneflow_internal`.
//
// What is called once in a while is bound here by pybind11; tensors and ops are bound by the C API
// (docs/decisions/0003-binding-by-c-api.md).
#include <pybind11/pybind11.h>
#include <sys/utsname.h>

#include "oneflow/api/python/errors.h"
#include "oneflow/api/python/gil.h"
#include "oneflow/api/python/methods.h"
#include "oneflow/api/python/process.h"
#include "oneflow/api/python/py_graph.h"
#include "oneflow/api/python/py_profiler.h"
#include "oneflow/api/python/py_types.h"
#include "oneflow/api/python/unwrap.h"
#include "oneflow/boot/boot.h"
#include "oneflow/common/log.h"
#include "oneflow/common/planted_fault.h"
#include "oneflow/common/terminal.h"
#include "oneflow/common/tripped_check.h"
#include "oneflow/core/generator.h"
#include "oneflow/device/allocator.h"
#include "oneflow/device/cpu/parallel.h"
#include "oneflow/device/out_of_memory.h"
#include "oneflow/extension/stack/stack_recorder.h"
#include "oneflow/functional/attr_helpers.h"
#include "oneflow/lifetime/deferred_release.h"
#include "oneflow/lifetime/fork_hooks.h"
#include "oneflow/lifetime/late_exit.h"
#include "oneflow/lifetime/unread_errors.h"
#include "oneflow/vm/stream.h"
#include "oneflow/vm/vm.h"

namespace py = pybind11;

namespace oneflow {

namespace {

void Sync() {
  Maybe<void> synced = Vm::Get()->Sync();
  lifetime::DrainDeferredReleases();
  Unwrap(std::move(synced));
}

void SetVmMode(const std::string& mode) {
  const std::pair<const char*, Vm::Mode> modes[] = {{"auto", Vm::Mode::kAuto},
                                                    {"inline", Vm::Mode::kInline},
                                                    {"queued", Vm::Mode::kQueued},
                                                    {"random", Vm::Mode::kRandom}};
  for (const auto& [name, value] : modes) {
    if (mode == name) {
      Vm::Get()->SetMode(value);
      return;
    }
  }
  throw py::value_error("[vm] expects auto, inline, queued or random, got '" + mode + "'");
}

bool InterruptEndedTheProgram() {
  PyObject* kind = PySys_GetObject("last_type");  // borrowed
  return kind != nullptr && PyErr_GivenExceptionMatches(kind, PyExc_KeyboardInterrupt) != 0;
}

// The exit hook, called once from Python's atexit. The wait inside lets go of the GIL by itself and
// looks at signals; what a handler raised then goes to Python, once everything is closed.
void Shutdown(int status) {
  Gil::CloseAdmission(status);
  lifetime::RenderUnreadErrors();
  // Nobody waits for what is still queued, which may be minutes of work.
  if (InterruptEndedTheProgram()) { Stream::GiveUpQueued(); }
  StopRuntime(status);
  {
    py::error_scope pending;
    lifetime::DrainDeferredReleases();
  }
  if (PyErr_Occurred() != nullptr) { throw py::error_already_set(); }
}

// For the end of a process that could not close in time.
void FlushPythonStreams() {
  if (!Gil::Held()) { return; }
  py::error_scope pending;
  for (const char* name : {"stdout", "stderr"}) {
    PyObject* stream = PySys_GetObject(name);  // borrowed
    if (stream == nullptr || stream == Py_None) { continue; }
    Py_XDECREF(PyObject_CallMethod(stream, "flush", nullptr));
    PyErr_Clear();
  }
}

void SetNumThreads(int threads) {
  if (threads < 1) {
    throw py::value_error("[set_num_threads] expects a number of 1 or more, got " +
                          std::to_string(threads));
  }
  cpu::SetNumThreads(threads);
}

// What reports need to know of the package: whose lines are not the program's own, and what a bug was
// met with.
void SetPackage(const std::string& folder, const std::string& version) {
  SetPackageFolder(folder);
  const std::string python = Py_GetVersion();  // begins with "3.11.7 (main, ..."
  utsname system{};
  ::uname(&system);
  SetReportFacts(Format("OneFlow {}, Python {}, {} {} on {}", version,
                        python.substr(0, python.find(' ')), system.sysname, system.release,
                        system.machine));
}

void BindRuntime(py::module_& m) {
  BindGraph(&m);
  BindProfiler(&m);
  m.def("set_package", &SetPackage, py::arg("folder"), py::arg("version"));
  m.def(
      "trip_internal_check", [] { Unwrap(TripInternalCheck("[trip_internal_check] on purpose")); },
      "For tests: fails as a bug of ours would.");
  m.def("sync", &Sync, "Waits for every op; raises the first failure that nobody has read.");
  m.def_submodule("eager").def("Sync", &Sync);
  m.def("set_vm_mode", &SetVmMode, "For tests: auto, inline, queued or random.");
  m.def("cuda_is_available", [] { return GetAllocator(Device(DeviceType::kCUDA, 0)).ok(); });
  m.def("wants_color", &WantsColor, "May a stream, a terminal or not, be written to in colour?");
  m.def("set_default_dtype", [](py::handle dtype) {
    if (!IsDtype(dtype.ptr())) {
      throw py::type_error("[set_default_dtype] expects a oneflow dtype, got " +
                           std::string(py::str(dtype)));
    }
    Unwrap(functional::SetDefaultDtype(DtypeValue(dtype.ptr())));
  });
  m.def("get_default_dtype",
        [] { return py::reinterpret_borrow<py::object>(DtypeObject(functional::DefaultDtype())); });
  m.def("set_num_threads", &SetNumThreads);
  m.def("get_num_threads", &cpu::NumThreads);
  m.def("manual_seed", [](py::int_ seed) {
    DefaultGenerator()->ManualSeed(PyLong_AsUnsignedLongLongMask(seed.ptr()));
  });
  m.def("get_current_stack", &CurrentPythonStack);
  m.def("GetCurrentStack", &CurrentPythonStack);
  m.def("pause_stack_recorder", &PauseStackRecorder,
        "For measuring what it costs: captures nothing, or captures again.");
  m.def("stack_recorder_bytes", [] { return GetStackRecorderStats().bytes; });
  m.def("shutdown", &Shutdown, py::arg("status") = 0);
  m.def("unread_error_report", &lifetime::UnreadErrorReport);
  m.def("forget_unread_errors", &lifetime::ForgetUnreadErrors);
  m.def("describe_unfinished", [] { return Vm::Get()->DescribeUnfinished(); });
}

void StartForPython() {
  Gil::InstallHooks();
  Unwrap(StartRuntime());
  Unwrap(InstallStackRecorder());
  lifetime::RegisterForkHooks(
      lifetime::ForkOrder::kRecorder,
      {&LockStackRecorderForFork, &UnlockStackRecorderAfterFork, &UnlockStackRecorderAfterFork});
  lifetime::RegisterForkHooks(lifetime::ForkOrder::kRecorder,
                              {nullptr, nullptr, &Gil::ResetInChild});
  lifetime::SetFlushHook(&FlushPythonStreams);
  if (PySys_GetObject("__stderr__") == Py_None) { DisownStderr(); }
  if (IsPythonProgram()) { lifetime::InstallUnreadErrorReport(); }
}

using Dispatcher = PyObject* (*)(PyObject*, PyObject* const*, size_t, PyObject*);
Dispatcher pybind_dispatcher = nullptr;

// pybind11 lets out what is thrown while it words a TypeError of its own (of a keyword that is no
// UTF-8, say): through the interpreter's frames, which ends the process.
PyObject* DispatchAndCatch(PyObject* self, PyObject* const* args, size_t nargs, PyObject* kwnames) {
  try {
    return pybind_dispatcher(self, args, nargs, kwnames);
  } catch (py::error_already_set& e) { e.restore(); } catch (const std::exception& e) {
    PyErr_SetString(PyExc_RuntimeError, e.what());
  }
  return nullptr;
}

// All functions that pybind11 has bound share one dispatcher.
void GuardFunctions(const py::module_& m) {
  const auto method_of = [](py::handle function) {
    return reinterpret_cast<PyCFunctionObject*>(function.ptr())->m_ml;
  };
  const py::object one = m.attr("sync");
  const PyCFunction shared = method_of(one)->ml_meth;
  pybind_dispatcher = reinterpret_cast<Dispatcher>(reinterpret_cast<void*>(shared));
  const auto guarded = reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(&DispatchAndCatch));
  const py::module_ eager = m.attr("eager"), profiler = m.attr("profiler");
  for (const py::module_& module : {m, eager, profiler}) {
    for (const auto& [name, value] : py::dict(module.attr("__dict__"))) {
      if (PyCFunction_Check(value.ptr()) && method_of(value)->ml_meth == shared) {
        method_of(value)->ml_meth = guarded;
      }
    }
  }
}

bool Init(py::module_& m) {
  PyObject* module = m.ptr();
  py::module_ ops = m.def_submodule("_C", "The ops of the op table.");
  return InitNumpy() && InitErrors(module) && InitDtype(module) && InitDevice(module) &&
         InitSize(module) && InitGenerator(module) && InitTensor(module) && InitAutograd(module) &&
         InitFunction(module) && PyModule_AddFunctions(module, kDataFunctions) == 0 &&
         PyModule_AddFunctions(module, kMemoryFunctions) == 0 &&
         PyModule_AddFunctions(module, kAutocastFunctions) == 0 &&
         PyModule_AddFunctions(module, kGlobalFunctions) == 0 &&
         PyModule_AddFunctions(module, kDlpackFunctions) == 0 &&
         PyModule_AddFunctions(module, kSavedHooksFunctions) == 0 &&
         PyModule_AddFunctions(ops.ptr(), kDlpackFunctions) == 0 &&
         PyModule_AddFunctions(ops.ptr(), kGeneratedFunctions) == 0;
}

}  // namespace

}  // namespace oneflow

// In a sub-interpreter pybind11's own beginning would wait for the GIL for ever.
extern "C" PYBIND11_EXPORT PyObject* PyInit__oneflow_internal();
PYBIND11_MODULE_PYINIT(_oneflow_bindings)
extern "C" PYBIND11_EXPORT PyObject* PyInit__oneflow_internal() {
  return oneflow::InMainInterpreter() ? PyInit__oneflow_bindings() : nullptr;
}

PYBIND11_MODULE_EXEC(_oneflow_bindings, m) {
  oneflow::Unwrap(oneflow::CheckPlantedFault());
  if (!oneflow::ClaimProcess() || !oneflow::Init(m)) { throw py::error_already_set(); }
  oneflow::BindRuntime(m);
  oneflow::GuardFunctions(m);
  oneflow::StartForPython();
}
