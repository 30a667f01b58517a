// stack_testing: the recorder as a Python module, for its tests.
//
// record(tag) stands for an op that fails in the background: it captures the stack as an op does and
// hands the id to a worker, which resolves it at once and never takes the GIL. plant() makes the
// module err as recorders have erred: with one record for each Python frame, whose line is
// overwritten, or with one current stack for all threads.
#include <Python.h>
#include <pthread.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "oneflow/extension/stack/code_record.h"
#include "oneflow/extension/stack/frame_walk.h"
#include "oneflow/extension/stack/stack_recorder.h"
#include "oneflow/lifetime/deferred_release.h"

namespace oneflow {
namespace {

using Frames = std::vector<StackFrame>;

// A call of record(): its tag, and its number among all calls.
struct Call {
  long tag;
  long number;
};

std::vector<StackFrame> Resolve(StackId id) {
  StackSource* source = StackSource::Get();
  return source == nullptr ? Frames() : source->Resolve(id);
}

PyObject* Text(const std::string& s) {
  return PyUnicode_DecodeUTF8(s.data(), static_cast<Py_ssize_t>(s.size()), "surrogateescape");
}

PyObject* ToPython(const Frames& frames) {
  PyObject* list = PyList_New(0);
  for (const StackFrame& f : frames) {
    PyObject* item = Py_BuildValue("(NNiiiiN)", Text(f.file), Text(f.function), f.line, f.end_line,
                                   f.column, f.end_column, Text(f.source));
    if (item == nullptr || PyList_Append(list, item) != 0) {
      Py_XDECREF(item);
      Py_DECREF(list);
      return nullptr;
    }
    Py_DECREF(item);
  }
  return list;
}

// A thread that resolves stacks. Joined and waited for with the GIL held, to show that it needs none.
class Worker {
 public:
  Worker() : thread_([this] { Run(); }) {}
  ~Worker() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  void Push(Call call, StackId id) {
    StackSource::Get()->Pin(id);
    {
      std::lock_guard<std::mutex> lock(mutex_);
      queue_.emplace_back(call, id);
      ++open_;
    }
    changed_.notify_all();
  }
  std::vector<std::pair<Call, Frames>> TakeResults() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return open_ == 0; });
    return std::exchange(results_, {});
  }

 private:
  void Run() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
      if (queue_.empty()) { return; }
      const auto [call, id] = queue_.front();
      queue_.pop_front();
      lock.unlock();
      Frames frames = Resolve(id);
      StackSource::Get()->Unpin(id);
      lock.lock();
      results_.emplace_back(call, std::move(frames));
      --open_;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::pair<Call, StackId>> queue_;
  std::vector<std::pair<Call, Frames>> results_;
  int open_ = 0;
  bool stopping_ = false;
  std::thread thread_;
};

Worker* worker = nullptr;
PyObject* oracle = nullptr;
long muted = 0;

std::string planted;

// What each frame recorded, by the frame's address.
std::map<void*, std::vector<Call>> calls_of_frame;
std::map<void*, StackId> last_of_frame;

void RecordForgetful(Call call, StackId id) {
  void* frame = PyEval_GetFrame();
  calls_of_frame[frame].push_back(call);
  StackSource::Get()->Pin(id);
  last_of_frame[frame] = id;
}

void FlushForgetful() {
  for (const auto& [frame, calls] : calls_of_frame) {
    for (const Call& call : calls) { worker->Push(call, last_of_frame[frame]); }
  }
  calls_of_frame.clear();
  last_of_frame.clear();
}

PyObject* Install(PyObject*, PyObject*) {
  const Maybe<void> installed = InstallStackRecorder();
  if (!installed.ok()) {
    PyErr_SetString(PyExc_RuntimeError, installed.error()->message().c_str());
    return nullptr;
  }
  Py_RETURN_NONE;
}

PyObject* Stats(PyObject*, PyObject*) {
  const StackRecorderStats s = GetStackRecorderStats();
  return Py_BuildValue(
      "{s:O,s:O,s:n,s:n,s:n,s:n,s:n}", "enabled", s.enabled ? Py_True : Py_False, "public_api",
      s.public_api ? Py_True : Py_False, "bytes", static_cast<Py_ssize_t>(s.bytes), "stacks",
      static_cast<Py_ssize_t>(s.stacks), "sites", static_cast<Py_ssize_t>(s.sites), "codes",
      static_cast<Py_ssize_t>(s.codes), "evictions", static_cast<Py_ssize_t>(s.evictions));
}

PyObject* Capture(PyObject*, PyObject*) {
  static StackId current = kNoStack;
  const StackId previous = std::exchange(current, CurrentStack());
  lifetime::DrainDeferredReleases();  // as the package does between ops
  const bool mixed = planted == "one stack for all threads";
  return PyLong_FromUnsignedLong(mixed ? previous : current);
}

PyObject* Nothing(PyObject*, PyObject*) { Py_RETURN_NONE; }

PyObject* Record(PyObject*, PyObject* tag_object) {
  const long tag = PyLong_AsLong(tag_object);
  if (tag == -1 && PyErr_Occurred() != nullptr) { return nullptr; }
  const StackId id = CurrentStack();
  if (muted > 0) { return PyLong_FromLong(tag); }
  static long calls = 0;
  const Call call{tag, ++calls};
  if (planted == "one line for each frame") {
    RecordForgetful(call, id);
  } else {
    worker->Push(call, id);
  }
  if (oracle != nullptr) {
    PyObject* result = PyObject_CallFunction(oracle, "ll", tag, call.number);
    if (result == nullptr) { return nullptr; }
    Py_DECREF(result);
  }
  return PyLong_FromLong(tag);
}

PyObject* Mute(PyObject*, PyObject* more) {
  muted += PyLong_AsLong(more);
  return PyErr_Occurred() == nullptr ? PyLong_FromLong(muted) : nullptr;
}

PyObject* Results(PyObject*, PyObject*) {
  FlushForgetful();
  PyObject* list = PyList_New(0);
  for (const auto& [call, frames] : worker->TakeResults()) {
    PyObject* item = Py_BuildValue("(llN)", call.tag, call.number, ToPython(frames));
    if (item == nullptr || PyList_Append(list, item) != 0) { return nullptr; }
    Py_DECREF(item);
  }
  return list;
}

PyObject* SetOracle(PyObject*, PyObject* callable) {
  Py_XDECREF(oracle);
  oracle = callable == Py_None ? nullptr : callable;
  Py_XINCREF(oracle);
  Py_RETURN_NONE;
}

PyObject* Plant(PyObject*, PyObject* fault) {
  const char* text = PyUnicode_AsUTF8(fault);
  if (text == nullptr) { return nullptr; }
  planted = text;
  Py_RETURN_NONE;
}

bool ParseId(PyObject* object, StackId* id) {
  const unsigned long value = PyLong_AsUnsignedLong(object);
  *id = static_cast<StackId>(value);
  return PyErr_Occurred() == nullptr;
}

PyObject* ResolveHere(PyObject*, PyObject* object) {
  StackId id;
  return ParseId(object, &id) ? ToPython(Resolve(id)) : nullptr;
}

PyObject* FormatWithoutGil(PyObject*, PyObject* object) {
  StackId id;
  if (!ParseId(object, &id)) { return nullptr; }
  std::string text;
  std::thread([&] { text = FormatStack(id); }).join();
  return Text(text);
}

// A worker that writes a stack to stdout in a moment, whoever holds the GIL then.
PyObject* PrintLater(PyObject*, PyObject* object) {
  StackId id;
  if (!ParseId(object, &id)) { return nullptr; }
  StackSource::Get()->Pin(id);
  std::thread([id] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    std::fputs((FormatStack(id) + "printed\n").c_str(), stdout);
    std::fflush(stdout);
  }).detach();
  Py_RETURN_NONE;
}

PyObject* CaptureWithoutGil(PyObject*, PyObject*) {
  StackId id = kNoStack;
  std::thread([&] { id = CurrentStack(); }).join();
  return PyLong_FromUnsignedLong(id);
}

PyObject* Pin(PyObject*, PyObject* object) {
  StackId id;
  if (!ParseId(object, &id)) { return nullptr; }
  StackSource::Get()->Pin(id);
  Py_RETURN_NONE;
}

PyObject* Unpin(PyObject*, PyObject* object) {
  StackId id;
  if (!ParseId(object, &id)) { return nullptr; }
  StackSource::Get()->Unpin(id);
  Py_RETURN_NONE;
}

PyObject* Evicted(PyObject*, PyObject* object) {
  StackId id;
  if (!ParseId(object, &id)) { return nullptr; }
  return PyBool_FromLong(StackSource::Get()->Evicted(id));
}

PyObject* Evict(PyObject*, PyObject*) {
  EvictUnpinnedStacks();
  Py_RETURN_NONE;
}

PyObject* Load(PyObject*, PyObject* object) {
  StackId id;
  if (!ParseId(object, &id)) { return nullptr; }
  LoadPythonSources(id);
  Py_RETURN_NONE;
}

PyObject* HideBelow(PyObject*, PyObject* prefix) {
  const char* text = PyUnicode_AsUTF8(prefix);
  if (text == nullptr) { return nullptr; }
  HideFramesBelow(text);
  Py_RETURN_NONE;
}

PyObject* PositionOf(PyObject*, PyObject* arguments) {
  PyObject* code = nullptr;
  int lasti = 0;
  if (PyArg_ParseTuple(arguments, "O!i", &PyCode_Type, &code, &lasti) == 0) { return nullptr; }
  static pystack::SourceText sources;
  const pystack::CodeRecord record(reinterpret_cast<PyCodeObject*>(code));
  const StackFrame f = record.Describe(lasti, &sources);
  return Py_BuildValue("(iiii)", f.line, f.end_line, f.column, f.end_column);
}

std::atomic<bool> resolving{false};
std::thread resolver;

// Resolves `id` again and again on a thread of its own, and lets processes fork meanwhile.
PyObject* StartResolving(PyObject*, PyObject* object) {
  static const int once = pthread_atfork(LockStackRecorderForFork, UnlockStackRecorderAfterFork,
                                         UnlockStackRecorderAfterFork);
  StackId id;
  if (once != 0 || !ParseId(object, &id)) { return nullptr; }
  resolving = true;
  resolver = std::thread([id] {
    while (resolving) { Resolve(id); }
  });
  Py_RETURN_NONE;
}

PyObject* StopResolving(PyObject*, PyObject*) {
  resolving = false;
  resolver.join();
  Py_RETURN_NONE;
}

// What a C exit handler can still say, long after the interpreter is gone.
PyObject* FormatAtExit(PyObject*, PyObject* object) {
  static StackId id = kNoStack;
  if (!ParseId(object, &id)) { return nullptr; }
  StackSource::Get()->Pin(id);
  std::atexit([] { std::fputs(FormatStack(id).c_str(), stdout); });
  Py_RETURN_NONE;
}

PyObject* Current(PyObject*, PyObject*) { return Text(CurrentPythonStack()); }

// Nanoseconds for each of `n` captures from the line that calls.
PyObject* TimeCapture(PyObject*, PyObject* count) {
  const long n = PyLong_AsLong(count);
  if (n <= 0) { return PyErr_Format(PyExc_ValueError, "expects a count, got %ld", n); }
  const auto begin = std::chrono::steady_clock::now();
  unsigned long sum = 0;
  for (long i = 0; i < n; ++i) { sum += CurrentStack(); }
  const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - begin;
  return Py_BuildValue("(dk)", taken.count() / static_cast<double>(n), sum);
}

#if ONEFLOW_STACK_HAS_LAYOUT
// Layouts of another version, as a recorder would meet them when CPython changes.
struct CallerMoved : pystack::FrameLayout {
  static const Frame* Previous(const Frame* f) {
    return reinterpret_cast<const Frame*>(reinterpret_cast<void* const*>(f)[4]);
  }
};
struct CodeMoved : pystack::FrameLayout {
  static PyCodeObject* Code(const Frame* f) { return reinterpret_cast<PyCodeObject* const*>(f)[2]; }
};
struct InstructionMoved : pystack::FrameLayout {
  static pystack::FramePlace Place(const Frame* f) {
    return {FrameLayout::Place(f).code, FrameLayout::Place(f).lasti + 2};
  }
};
struct TopMoved : pystack::FrameLayout {
  static const Frame* Top(const PyThreadState*) { return reinterpret_cast<const Frame*>(16); }
};

PyObject* LayoutChecks(PyObject*, PyObject*) {
  using pystack::CheckInPrograms;
  using pystack::WalkAgrees;
  const auto run = [](bool (*agrees)(const pystack::SafeReader&)) {
    return PyBool_FromLong(CheckInPrograms(agrees));
  };
  return Py_BuildValue("{s:N,s:N,s:N,s:N,s:N}", "declared", run(&WalkAgrees<pystack::FrameLayout>),
                       "caller moved", run(&WalkAgrees<CallerMoved>), "code moved",
                       run(&WalkAgrees<CodeMoved>), "instruction moved",
                       run(&WalkAgrees<InstructionMoved>), "top moved", run(&WalkAgrees<TopMoved>));
}
#else
PyObject* LayoutChecks(PyObject*, PyObject*) { return PyDict_New(); }
#endif

PyMethodDef methods[] = {
    {"install", Install, METH_NOARGS, "Installs the recorder."},
    {"stats", Stats, METH_NOARGS, "StackRecorderStats as a dict."},
    {"capture", Capture, METH_NOARGS, "The id of the calling line's stack."},
    {"capture_without_gil", CaptureWithoutGil, METH_NOARGS, "What a thread outside Python gets."},
    {"nothing", Nothing, METH_NOARGS, "Does nothing, for timing."},
    {"record", Record, METH_O, "An op that fails in the background; returns its tag."},
    {"mute", Mute, METH_O, "mute(1): record() captures only, until mute(-1)."},
    {"results", Results, METH_NOARGS,
     "[(tag, number of the call, frames)], as the worker saw them."},
    {"set_oracle", SetOracle, METH_O, "Called as oracle(tag, number of the call)."},
    {"plant", Plant, METH_O, "Plants a fault by its name; an empty one removes it."},
    {"resolve", ResolveHere, METH_O, "The frames of an id, oldest first."},
    {"format_without_gil", FormatWithoutGil, METH_O, "FormatStack on a thread without the GIL."},
    {"print_later", PrintLater, METH_O, "Prints a stack from a worker, 200 ms from now."},
    {"pin", Pin, METH_O, ""},
    {"unpin", Unpin, METH_O, ""},
    {"evicted", Evicted, METH_O, ""},
    {"evict", Evict, METH_NOARGS, "Evicts all that is not pinned."},
    {"load_sources", Load, METH_O, ""},
    {"hide_below", HideBelow, METH_O, ""},
    {"position", PositionOf, METH_VARARGS, "position(code, lasti): lines and columns."},
    {"start_resolving", StartResolving, METH_O, "Resolves an id on a thread, on and on."},
    {"stop_resolving", StopResolving, METH_NOARGS, ""},
    {"format_at_exit", FormatAtExit, METH_O, "Prints the stack from a C exit handler."},
    {"current", Current, METH_NOARGS, "CurrentPythonStack()."},
    {"time_capture", TimeCapture, METH_O, "(ns each, checksum) of n captures."},
    {"layout_checks", LayoutChecks, METH_NOARGS, "Which layouts pass the check at installation."},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef module_def = {
    PyModuleDef_HEAD_INIT,
    "stack_testing",
    nullptr,
    -1,
    methods,
    nullptr,
    nullptr,
    nullptr,
    [](void*) { delete std::exchange(worker, nullptr); },
};

}  // namespace
}  // namespace oneflow

PyMODINIT_FUNC PyInit_stack_testing() {
  oneflow::worker = new oneflow::Worker();
  return PyModule_Create(&oneflow::module_def);
}
