#include "oneflow/api/python/process.h"

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <sys/stat.h>

namespace oneflow {

bool IsPythonProgram() {
  // A host hands its command line to the interpreter seldom, and is never the interpreter's own
  // executable.
  PyObject* command_line = PySys_GetObject("orig_argv");  // borrowed
  if (command_line == nullptr || PyObject_Size(command_line) <= 0) {
    PyErr_Clear();
    return false;
  }
  PyObject* executable = PySys_GetObject("executable");  // borrowed
  const char* path = executable != nullptr && PyUnicode_Check(executable) != 0
                         ? PyUnicode_AsUTF8(executable)
                         : nullptr;
  struct stat named;
  struct stat running;
  if (path == nullptr || ::stat(path, &named) != 0 || ::stat("/proc/self/exe", &running) != 0) {
    PyErr_Clear();
    return false;
  }
  return named.st_dev == running.st_dev && named.st_ino == running.st_ino;
}

bool InMainInterpreter() {
  if (PyInterpreterState_Get() == PyInterpreterState_Main()) { return true; }
  PyErr_SetString(PyExc_ImportError, "oneflow cannot be imported in a sub-interpreter");
  return false;
}

bool ClaimProcess() {
  static bool claimed = false;
  if (!claimed) { return claimed = true; }
  PyErr_SetString(PyExc_ImportError,
                  "oneflow cannot be imported a second time in one process, after the interpreter "
                  "that imported it has ended");
  return false;
}

}  // namespace oneflow
