// The number protocol and the comparisons of the Tensor type: x + 1, 2 ** x, x < y, ~x, ...
//
// Thread safety: called with the GIL held.
#ifndef ONEFLOW_API_PYTHON_PY_NUMBER_H_
#define ONEFLOW_API_PYTHON_PY_NUMBER_H_

#include <Python.h>

#include <vector>

namespace oneflow {

// Adds the slots; no end mark.
void AppendNumberSlots(std::vector<PyType_Slot>* slots);

}  // namespace oneflow

#endif  // ONEFLOW_API_PYTHON_PY_NUMBER_H_
