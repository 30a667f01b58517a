#include "oneflow/api/python/errors.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "oneflow/api/python/py_ref.h"
#include "oneflow/common/stack_context.h"
#include "oneflow/common/stack_source.h"
#include "oneflow/extension/stack/stack_recorder.h"

namespace oneflow {

namespace {

PyObject* out_of_memory_error = nullptr;
PyObject* internal_error = nullptr;

// An error that came from Python code keeps the exception object, to be raised again as it was.
class PythonError : public Error {
 public:
  PythonError(std::string message, PyRef exception)
      : Error(ErrorKind::kInterrupted, std::move(message)), exception_(std::move(exception)) {}
  const PyRef& exception() const { return exception_; }

 private:
  PyRef exception_;
};

PyObject* ExceptionType(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kType: return PyExc_TypeError;
    case ErrorKind::kValue: return PyExc_ValueError;
    case ErrorKind::kIndex: return PyExc_IndexError;
    case ErrorKind::kRuntime: return PyExc_RuntimeError;
    case ErrorKind::kNotImplemented: return PyExc_NotImplementedError;
    case ErrorKind::kOutOfMemory: return out_of_memory_error;
    case ErrorKind::kInternal: return internal_error;
    case ErrorKind::kEnvironment: return PyExc_OSError;
    case ErrorKind::kInterrupted: return PyExc_RuntimeError;
  }
  return PyExc_RuntimeError;
}

// A stack that stays in the recorder's table while it is looked at, though Python code runs.
class PinnedStack {
 public:
  explicit PinnedStack(StackId id) : id_(StackSource::Get() == nullptr ? kNoStack : id) {
    if (id_ != kNoStack) { StackSource::Get()->Pin(id_); }
  }
  ~PinnedStack() {
    if (id_ != kNoStack) { StackSource::Get()->Unpin(id_); }
  }
  PinnedStack(const PinnedStack&) = delete;
  PinnedStack& operator=(const PinnedStack&) = delete;

  std::vector<StackFrame> Frames() const {
    return id_ == kNoStack ? std::vector<StackFrame>() : StackSource::Get()->Resolve(id_);
  }

 private:
  const StackId id_;
};

// Did the op fail elsewhere than at the line that Python's own traceback ends with: in the background
// (it was published), or in backward()?
bool FailedElsewhere(const Error& error) {
  return error.published() || (error.stack() != kNoStack && error.stack() != CurrentStack());
}

// Under a stack that fills a screen the message is said again: the end is what one sees.
constexpr ptrdiff_t kLinesOfAScreen = 24;

// The message, and beneath it the stack of the line that issued the op if that is another line. An op
// that backward issued has the lines of its context too.
std::string Text(const Error& error, bool elsewhere) {
  const std::string message = error.Describe();
  const StackContext* context = error.stack_context();
  std::string lines = context == nullptr ? "" : FormatLines(context->before());
  const std::string stack = elsewhere ? FormatStack(error.stack()) : "";
  if (!stack.empty()) { lines += "Related Python stack trace:\n" + stack; }
  if (context != nullptr) { lines += FormatLines(context->after()); }
  if (lines.empty()) {
    const std::string hint = error.published() ? RecorderHint() : "";
    return hint.empty() ? message : message + "\n" + hint.substr(0, hint.size() - 1);
  }
  const bool long_way_up =
      error.footer().empty() && std::count(lines.begin(), lines.end(), '\n') >= kLinesOfAScreen;
  lines.pop_back();
  if (long_way_up) { lines += Format("\n{}: {}", ErrorKindName(error.kind()), message); }
  return message + "\n" + lines;
}

std::string WholeText(const Error& error, bool elsewhere) {
  const std::string text = Text(error, elsewhere);
  return error.footer().empty() ? text : text + "\n" + error.footer();
}

PyRef Utf8(const std::string& text) {
  return PyRef::Steal(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
}

// traceback.FrameSummary(...). Its text is read when it is asked for, unless `load`.
PyRef FrameSummary(PyObject* type, const StackFrame& frame, bool load) {
  PyRef args = PyRef::Steal(Py_BuildValue("(NiN)", Utf8(frame.file).Release(), frame.line,
                                          Utf8(frame.function).Release()));
  PyRef kwargs = PyRef::Steal(Py_BuildValue("{s:O}", "lookup_line", Py_False));
  if (!args || !kwargs) { return PyRef(); }
#if PY_VERSION_HEX >= 0x030B0000
  if (frame.end_line >= 0 && frame.column >= 0 && frame.end_column >= 0) {
    PyRef place = PyRef::Steal(Py_BuildValue("{s:i,s:i,s:i}", "end_lineno", frame.end_line, "colno",
                                             frame.column, "end_colno", frame.end_column));
    if (!place || PyDict_Update(kwargs.get(), place.get()) != 0) { return PyRef(); }
  }
#endif
  PyRef summary = PyRef::Steal(PyObject_Call(type, args.get(), kwargs.get()));
  if (!summary || !load) { return summary; }
  const PyRef line = PyRef::Steal(PyObject_GetAttrString(summary.get(), "line"));
  return line ? summary : PyRef();
}

// A traceback.StackSummary. Null with a Python error set.
PyRef StackSummary(const std::vector<StackFrame>& frames, bool load) {
  PyRef module = PyRef::Steal(PyImport_ImportModule("traceback"));
  if (!module) { return PyRef(); }
  PyRef list_type = PyRef::Steal(PyObject_GetAttrString(module.get(), "StackSummary"));
  PyRef frame_type = PyRef::Steal(PyObject_GetAttrString(module.get(), "FrameSummary"));
  if (!list_type || !frame_type) { return PyRef(); }
  PyRef list = PyRef::Steal(PyObject_CallNoArgs(list_type.get()));
  for (const StackFrame& frame : frames) {
    PyRef summary = FrameSummary(frame_type.get(), frame, load);
    if (!list || !summary || PyList_Append(list.get(), summary.get()) != 0) { return PyRef(); }
  }
  return list;
}

// The exception without attributes. Null with a Python error set.
PyRef NewException(const Error& error, const std::string& text) {
  PyRef message = Utf8(text);
  if (!message) { return PyRef(); }
  return PyRef::Steal(PyObject_CallOneArg(ExceptionType(error.kind()), message.get()));
}

void LoadContextSources(const StackContext* context) {
  if (context == nullptr) { return; }
  for (const auto& lines : {context->before(), context->after()}) {
    for (const StackContext::Line& line : lines) { LoadPythonSources(line.stack); }
  }
}

// What cannot be said (no memory, an interpreter that ends) must not hide the error itself. But an
// interrupt, which came while Python code ran for this, goes before: false, and it is set.
bool SetAttribute(const PyRef& exception, const char* name, const PyRef& value) {
  if (value && PyObject_SetAttrString(exception.get(), name, value.get()) == 0) { return true; }
  if (PyErr_ExceptionMatches(PyExc_Exception) == 0) { return false; }
  PyErr_Clear();
  return true;
}

// See errors.h. False as SetAttribute.
bool SetAttributes(const PyRef& exception, const Error& error, bool elsewhere) {
  const bool here = !elsewhere && error.stack() == kNoStack;
  const StackContext* context = error.stack_context();
  const bool from_function = context != nullptr && !context->before().empty();
  const bool from_backward = context != nullptr && !context->after().empty();
  const std::pair<const char*, StackId> stacks[] = {
      {"stack", here ? CurrentStack() : error.stack()},
      {"forward_stack", from_function ? context->before().front().stack : kNoStack},
      {"backward_stack", from_backward ? context->after().back().stack : kNoStack}};
  if (!SetAttribute(exception, "op", Utf8(error.op()))) { return false; }
  for (const auto& [name, id] : stacks) {
    if (!SetAttribute(exception, name, StackSummary(PinnedStack(id).Frames(), elsewhere))) {
      return false;
    }
  }
  return true;
}

bool AddException(PyObject* module, PyObject* base, const char* full, const char* name,
                  const char* doc, PyObject** out) {
  *out = PyErr_NewExceptionWithDoc(full, doc, base, nullptr);
  if (*out == nullptr) { return false; }
  return PyObject_SetAttrString(module, name, *out) == 0;
}

}  // namespace

bool InitErrors(PyObject* module) {
  // Also a MemoryError, as Python's own programs expect of a failed allocation.
  PyRef bases = PyRef::Steal(PyTuple_Pack(2, PyExc_RuntimeError, PyExc_MemoryError));
  return bases &&
         AddException(module, bases.get(), "oneflow.OutOfMemoryError", "OutOfMemoryError",
                      "No memory for a tensor; the program can catch it and go on.",
                      &out_of_memory_error) &&
         AddException(module, PyExc_RuntimeError, "oneflow.InternalError", "InternalError",
                      "A bug in OneFlow; please report it.", &internal_error);
}

PyObject* RaiseError(const ErrorPtr& error) {
  error->MarkRead();
  if (error->kind() == ErrorKind::kInterrupted) {
    if (PyErr_Occurred() != nullptr) { return nullptr; }
    if (auto* python = dynamic_cast<PythonError*>(error.get())) {
      PyObject* exception = python->exception().get();
      PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception)), exception);
      return nullptr;
    }
  }
  PyErr_Clear();
  const bool elsewhere = FailedElsewhere(*error);
  if (elsewhere) { LoadPythonSources(error->stack()); }
  LoadContextSources(error->stack_context());
  PyRef exception = NewException(*error, WholeText(*error, elsewhere));
  if (!exception) { return nullptr; }
  if (!error->op().empty() && !SetAttributes(exception, *error, elsewhere)) { return nullptr; }
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.get())), exception.get());
  return nullptr;
}

PyObject* RaiseOpError(const ErrorPtr& error) {
  if (error->op().empty() && !error->published()) {
    error->set_op(BracketedName(error->message()));
  }
  return RaiseError(error);
}

ErrorPtr TakePythonError() {
  PyObject* type = nullptr;
  PyObject* value = nullptr;
  PyObject* traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  if (traceback != nullptr && value != nullptr) { PyException_SetTraceback(value, traceback); }
  Py_XDECREF(type);
  Py_XDECREF(traceback);
  return ErrorPtr(MakeIntrusive<PythonError>("a Python callback raised", PyRef::Steal(value)));
}

}  // namespace oneflow
