// Unwrap: the value of a Maybe, or its error as a Python exception, for what pybind11 binds.
//
// Thread safety: with the GIL held.
#ifndef ONEFLOW_API_PYTHON_UNWRAP_H_
#define ONEFLOW_API_PYTHON_UNWRAP_H_

#include <pybind11/pybind11.h>

#include <utility>

#include "oneflow/api/python/errors.h"
#include "oneflow/common/maybe.h"

namespace oneflow {

template <typename T>
T Unwrap(Maybe<T>&& result) {
  if (!result.ok()) {
    RaiseError(result.error());
    throw pybind11::error_already_set();
  }
  return std::move(result).value();
}

inline void Unwrap(Maybe<void>&& result) {
  if (result.ok()) { return; }
  RaiseError(result.error());
  throw pybind11::error_already_set();
}

}  // namespace oneflow

#endif  // ONEFLOW_API_PYTHON_UNWRAP_H_
