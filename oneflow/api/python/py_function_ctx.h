// FunctionCtx: what an autograd.Function's forward hands to its backward.
//
// Python's `ctx`. The tape's node owns it; it knows its node while that lives. Tensors that were
// saved belong to the node, in C++, where the collector sees through them (tape_gc.h).
//
// Thread safety: with the GIL held.
#ifndef ONEFLOW_API_PYTHON_PY_FUNCTION_CTX_H_
#define ONEFLOW_API_PYTHON_PY_FUNCTION_CTX_H_

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <string>
#include <vector>

#include "oneflow/api/python/py_ref.h"
#include "oneflow/tensor/tensor.h"

namespace oneflow {

class FunctionNode;

struct FunctionCtx {
  PyObject_HEAD PyObject* dict;
  PyObject* weakrefs;
  PyObject* name;                // str: the class
  PyObject* needs_input_grad;    // tuple of bools
  PyObject* to_save;             // tuples of tensors and None, or null
  PyObject* dirty;               //
  PyObject* non_differentiable;  //
  bool materialize_grads;
  FunctionNode* node;  // borrowed; null before forward returned, and after the node died
};

bool InitFunctionCtx(PyObject* module);
// nullptr with an exception set.
FunctionCtx* NewFunctionCtx(PyObject* name, PyObject* needs_input_grad);
// The tensors of one of its tuples; null for None.
std::vector<TensorPtr> TensorsOf(PyObject* tuple_or_null);

}  // namespace oneflow

#endif  // ONEFLOW_API_PYTHON_PY_FUNCTION_CTX_H_
