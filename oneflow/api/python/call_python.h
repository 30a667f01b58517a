// CallPython: runs Python code of the user from ours: hooks, conversions, autograd functions.
//
// Once the interpreter is being finalised, CPython (up to 3.13) ends every thread but the main one
// where it comes back for the GIL, by unwinding its stack: through the frames of ours that called the
// Python code, whose destructors would then run without the GIL. Here such a thread is parked instead;
// the process ends without it.
//
// Thread safety: REQUIRES the GIL.
#ifndef ONEFLOW_API_PYTHON_CALL_PYTHON_H_
#define ONEFLOW_API_PYTHON_CALL_PYTHON_H_

#include <cxxabi.h>

#include <utility>

#include "oneflow/api/python/gil.h"

namespace oneflow {

// function(arguments...), which is C code and so throws nothing else.
template <typename Function, typename... Arguments>
auto CallPython(Function&& function, Arguments&&... arguments) {
  try {
    return function(std::forward<Arguments>(arguments)...);
  } catch (abi::__forced_unwind&) { Gil::ParkForEver(); }
}

}  // namespace oneflow

#endif  // ONEFLOW_API_PYTHON_CALL_PYTHON_H_
