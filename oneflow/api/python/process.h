// What the process is in which the module is imported.
//
// Thread safety: REQUIRES the GIL.
#ifndef ONEFLOW_API_PYTHON_PROCESS_H_
#define ONEFLOW_API_PYTHON_PROCESS_H_

namespace oneflow {

// Is it a Python program? Otherwise another program embeds the interpreter: it outlives it, and its
// status is its own.
bool IsPythonProgram();

// False, with an ImportError set, in a sub-interpreter: threads find their interpreter by
// PyGILState, which knows the main one only.
bool InMainInterpreter();

// False, with an ImportError set, from the second call on: in an interpreter that was initialised
// after another had ended. The runtime's tables hold objects of the first.
bool ClaimProcess();

}  // namespace oneflow

#endif  // ONEFLOW_API_PYTHON_PROCESS_H_
