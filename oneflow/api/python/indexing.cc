// x[...]: integers, slices, None and Ellipsis give views, composed of the table's view ops.
#include <algorithm>

#include "oneflow/api/python/errors.h"
#include "oneflow/api/python/methods.h"
#include "oneflow/api/python/py_ref.h"
#include "oneflow/api/python/py_types.h"
#include "oneflow/functional/generated/functional.h"

namespace oneflow {

namespace {

// How many dimensions of the tensor an index takes up.
int DimsTaken(PyObject* index) { return index == Py_None || index == Py_Ellipsis ? 0 : 1; }

bool IsInteger(PyObject* index) {
  return !PyBool_Check(index) && !IsTensor(index) && PyIndex_Check(index) != 0;
}

Maybe<TensorPtr> IndexInteger(const TensorPtr& x, int dim, PyObject* index) {
  const Py_ssize_t value = PyNumber_AsSsize_t(index, PyExc_IndexError);
  if (value == -1 && PyErr_Occurred() != nullptr) { return TakePythonError(); }
  const int64_t size = x->shape()[dim];
  if (value < -size || value >= size) {
    return IndexError("[getitem] expects an index in [{}, {}) for dimension {} of shape {}, got {}",
                      -size, size, dim, x->shape(), static_cast<int64_t>(value));
  }
  return functional::select(x, dim, value);
}

Maybe<TensorPtr> IndexSlice(const TensorPtr& x, int dim, PyObject* index) {
  Py_ssize_t start = 0;
  Py_ssize_t stop = 0;
  Py_ssize_t step = 0;
  if (PySlice_Unpack(index, &start, &stop, &step) != 0) { return TakePythonError(); }
  if (step < 0) {
    return ValueError("[getitem] expects a slice with a positive step, got step {}",
                      static_cast<int64_t>(step));
  }
  PySlice_AdjustIndices(static_cast<Py_ssize_t>(x->shape()[dim]), &start, &stop, step);
  if (start == 0 && step == 1 && stop == x->shape()[dim]) { return x; }
  return functional::slice(x, dim, start, std::max(start, stop), step);
}

// One item of the index; moves *dim past the dimension that it made.
Maybe<TensorPtr> IndexOne(const TensorPtr& x, PyObject* index, int ellipsis_dims, int* dim) {
  if (index == Py_Ellipsis) {
    *dim += ellipsis_dims;
    return x;
  }
  if (index == Py_None) { return functional::unsqueeze(x, (*dim)++); }
  if (PySlice_Check(index)) { return IndexSlice(x, (*dim)++, index); }
  if (IsInteger(index)) { return IndexInteger(x, *dim, index); }
  if (IsTensor(index) && TensorValue(index)->ndim() == 0 &&
      IsIntegral(TensorValue(index)->dtype())) {
    return IndexInteger(x, *dim, index);
  }
  return TypeError("[getitem] expects ints, slices, None and ..., got an index of type {}; a list, "
                   "array or tensor as an index is not supported",
                   Py_TYPE(index)->tp_name);
}

Maybe<TensorPtr> Index(const TensorPtr& x, PyObject* key) {
  PyObject* const* items = &key;
  Py_ssize_t count = 1;
  if (PyTuple_Check(key)) {
    items = PySequence_Fast_ITEMS(key);
    count = PyTuple_GET_SIZE(key);
  }
  int taken = 0;
  int ellipses = 0;
  for (Py_ssize_t i = 0; i < count; ++i) {
    taken += DimsTaken(items[i]);
    ellipses += items[i] == Py_Ellipsis ? 1 : 0;
  }
  if (taken > x->ndim() || ellipses > 1) {
    return IndexError(
        "[getitem] expects at most {} indices and one ... for shape {}, got {} and {}", x->ndim(),
        x->shape(), taken, ellipses);
  }
  TensorPtr result = x;
  int dim = 0;
  for (Py_ssize_t i = 0; i < count; ++i) {
    result = JUST(IndexOne(result, items[i], x->ndim() - taken, &dim));
  }
  // x[...] is a view of its own, never x itself: a change of its attributes must not reach x.
  if (result == x) { return functional::view(x, x->shape()); }
  return result;
}

}  // namespace

Py_ssize_t TensorLength(PyObject* self) {
  const TensorPtr& x = TensorValue(self);
  if (x->ndim() == 0) {
    PyErr_SetString(PyExc_TypeError, "[len] expects a tensor with dimensions, got a scalar");
    return -1;
  }
  return static_cast<Py_ssize_t>(x->shape()[0]);
}

PyObject* SequenceItem(PyObject* self, Py_ssize_t index) {
  const TensorPtr& x = TensorValue(self);
  // What iteration ends with: no message is wanted. A negative index has been wrapped by Python.
  if (index < 0 || (x->ndim() > 0 && index >= x->shape()[0])) {
    PyErr_SetNone(PyExc_IndexError);
    return nullptr;
  }
  PyRef key = PyRef::Steal(PyLong_FromSsize_t(index));
  return key ? GetItem(self, key.get()) : nullptr;
}

PyObject* GetItem(PyObject* self, PyObject* key) {
  return WrapResult(Index(TensorValue(self), key));
}

int SetItem(PyObject* self, PyObject* key, PyObject* value) {
  if (value == nullptr) {
    PyErr_SetString(PyExc_TypeError, "[setitem] elements of a tensor cannot be deleted");
    return -1;
  }
  const TensorPtr target = PY_JUST_OP_OR(Index(TensorValue(self), key), -1);
  if (IsTensor(value)) {
    PY_JUST_OP_OR(functional::copy_(target, TensorValue(value)), -1);
    return 0;
  }
  const std::optional<Scalar> scalar = ScalarFromPython(value);
  if (scalar.has_value()) {
    PY_JUST_OP_OR(functional::fill_(target, *scalar), -1);
    return 0;
  }
  PyRef made = PyRef::Steal(TensorFromPython(value));
  if (!made) { return -1; }
  PY_JUST_OP_OR(functional::copy_(target, TensorValue(made.get())), -1);
  return 0;
}

PyObject* TensorIter(PyObject* self) {
  if (TensorValue(self)->ndim() == 0) {
    PyErr_SetString(PyExc_TypeError, "[iter] expects a tensor with dimensions, got a scalar");
    return nullptr;
  }
  return PySeqIter_New(self);
}

}  // namespace oneflow
