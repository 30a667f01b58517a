#include "oneflow/api/python/errors.h"

#include <string>

#include "oneflow/api/python/py_ref.h"
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

// The traceback that Python shows is not the line that issued the op if the failure happened in the
// background (it was published), or in backward(): then that line's stack is said beneath. An op that
// backward issued has the lines of its context too.
std::string Text(const ErrorPtr& error, const std::string& stack) {
  const StackContext* context = error->stack_context();
  const bool shown_by_python = !error->published() && error->stack() == CurrentStack();
  std::string lines = context == nullptr ? "" : FormatLines(context->before());
  if (!stack.empty() && !shown_by_python) { lines += "Related Python stack trace:\n" + stack; }
  if (context != nullptr) { lines += FormatLines(context->after()); }
  if (!lines.empty()) { return error->Describe() + "\n" + lines; }
  if (!error->published() || StackSource::Get() != nullptr) { return error->Describe(); }
  return error->Describe() +
         "\nThe op ran in the background. Set ONEFLOW_PYTHON_STACK_GETTER=1 or ONEFLOW_DEBUG=1 "
         "to have the line that issued it named here.";
}

// The stacks of `lines`, and for each the source text that only Python can fetch.
std::string TextOf(const std::vector<StackContext::Line>& lines) {
  for (const StackContext::Line& line : lines) { LoadPythonSources(line.stack); }
  return lines.size() == 1 ? FormatStack(lines[0].stack) : FormatLines(lines);
}

bool SetText(PyObject* exception, const char* name, const std::string& text) {
  PyRef value = PyRef::Steal(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
  return value && PyObject_SetAttrString(exception, name, value.get()) == 0;
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
  LoadPythonSources(error->stack());
  const std::string stack = FormatStack(error->stack());
  const StackContext* context = error->stack_context();
  const std::string forward = context == nullptr ? "" : TextOf(context->before());
  const std::string backward = context == nullptr ? "" : TextOf(context->after());
  std::string text = Text(error, stack);
  if (!error->footer().empty()) { text += (text.back() == '\n' ? "" : "\n") + error->footer(); }
  PyObject* type = ExceptionType(error->kind());
  PyRef message = PyRef::Steal(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
  if (!message) { return nullptr; }
  PyRef exception = PyRef::Steal(PyObject_CallOneArg(type, message.get()));
  if (!exception) { return nullptr; }
  if (!SetText(exception.get(), "op", error->op()) || !SetText(exception.get(), "stack", stack) ||
      !SetText(exception.get(), "forward_stack", forward) ||
      !SetText(exception.get(), "backward_stack", backward)) {
    return nullptr;
  }
  PyErr_SetObject(type, exception.get());
  return nullptr;
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
