// Errors: from the runtime's Error to the Python exception that a synchronous failure would raise.
//
// Thread safety: with the GIL held.
#ifndef ONEFLOW_API_PYTHON_ERRORS_H_
#define ONEFLOW_API_PYTHON_ERRORS_H_

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "oneflow/common/maybe.h"

namespace oneflow {

// Creates the exception types and adds them to the module. False with a Python error set.
bool InitErrors(PyObject* module);

// Sets the Python exception for `error`, marks the error read, and returns nullptr, so that a binding
// can `return RaiseError(...)`. A new exception each time: it shares nothing with one that was raised
// before for the same error. The exception of an op has more attributes: `op`, its name, and as a
// traceback.StackSummary, empty where there is none, `stack`, the line that issued it; for an op
// issued by backward `backward_stack`, the call of backward; for one of a function that backward
// calls `forward_stack`, the op that the function was called for.
PyObject* RaiseError(const ErrorPtr& error);

// The same for what an op or a function refused: its name is the one in the message's brackets.
PyObject* RaiseOpError(const ErrorPtr& error);

// The Python exception that is set right now as an Error, for code that is called back from the
// runtime (hooks). The exception itself is kept and raised again by RaiseError.
ErrorPtr TakePythonError();

}  // namespace oneflow

// In functions that return PyObject*: the value of a Maybe, or raise and return nullptr.
#define PY_JUST(expr) JUST_IMPL_(expr, return ::oneflow::RaiseError(maybe__.error()))
// The same where failure is reported by another value (-1 for slots that return int).
#define PY_JUST_OR(expr, failure) \
  JUST_IMPL_(expr, ::oneflow::RaiseError(maybe__.error()); return failure)

// The same for ops: see RaiseOpError.
#define PY_JUST_OP(expr) JUST_IMPL_(expr, return ::oneflow::RaiseOpError(maybe__.error()))
#define PY_JUST_OP_OR(expr, failure) \
  JUST_IMPL_(expr, ::oneflow::RaiseOpError(maybe__.error()); return failure)

#endif  // ONEFLOW_API_PYTHON_ERRORS_H_
