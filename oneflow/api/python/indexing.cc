// x[...]: views where they are views, else what the indices choose; x[...] = value, iteration, `in`.
#include "oneflow/api/python/errors.h"
#include "oneflow/api/python/index_key.h"
#include "oneflow/api/python/methods.h"
#include "oneflow/api/python/py_ref.h"
#include "oneflow/api/python/py_types.h"
#include "oneflow/functional/composites_indexing.h"
#include "oneflow/functional/generated/functional.h"

namespace oneflow {

namespace {

Maybe<TensorPtr> Read(const TensorPtr& x, PyObject* key) {
  const IndexKey read = JUST(ReadIndexKey("getitem", x, key));
  TensorPtr result = read.view;
  if (!read.flipped.empty()) { result = JUST(functional::flip(result, read.flipped)); }
  if (read.indexed) { return functional::IndexWith(result, read.indices, IndexCaller::kGetitem); }
  // x[...] is a view of its own, never x itself: a change of its attributes must not reach x.
  if (result == x) { return functional::view(x, x->shape()); }
  return result;
}

bool SameMemory(const Tensor& a, const Tensor& b) {
  return a.storage() == b.storage() && a.meta().offset == b.meta().offset &&
         a.dtype() == b.dtype() && a.shape() == b.shape() && a.strides() == b.strides();
}

// Dims of size 1 in front that the target does not have go.
Maybe<TensorPtr> WithoutLeadingOnes(const TensorPtr& value, int ndim) {
  Dims shape = value->shape();
  while (shape.size() > ndim && shape[0] == 1) { shape.Erase(0); }
  return shape == value->shape() ? Maybe<TensorPtr>(value) : functional::reshape(value, shape);
}

Maybe<void> WriteTensor(const IndexKey& key, const TensorPtr& target, const TensorPtr& value) {
  if (key.indexed) {
    return functional::PutWith(target, key.indices, value, false, IndexCaller::kSetitem);
  }
  if (SameMemory(*target, *value)) { return Ok(); }  // the end of x[i] += y
  JUST(functional::copy_(target, JUST(WithoutLeadingOnes(value, target->ndim()))));
  return Ok();
}

// What was asked for backwards is turned round, written to, and turned back.
Maybe<void> Write(const TensorPtr& x, PyObject* key, const TensorPtr& value) {
  const IndexKey read = JUST(ReadIndexKey("setitem", x, key));
  if (read.flipped.empty()) { return WriteTensor(read, read.view, value); }
  const TensorPtr turned = JUST(functional::flip(read.view, read.flipped));
  JUST(WriteTensor(read, turned, value));
  JUST(functional::copy_(read.view, JUST(functional::flip(turned, read.flipped))));
  return Ok();
}

Maybe<void> WriteNumber(const TensorPtr& x, PyObject* key, const Scalar& number) {
  const IndexKey read = JUST(ReadIndexKey("setitem", x, key));
  if (!read.indexed) {
    JUST(functional::fill_(read.view, number));
    return Ok();
  }
  const TensorPtr value = JUST(functional::full(Dims(), number, x->dtype(), x->device()));
  if (!read.flipped.empty()) { return Write(x, key, value); }
  return WriteTensor(read, read.view, value);
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
  return WrapResult(Read(TensorValue(self), key));
}

int SetItem(PyObject* self, PyObject* key, PyObject* value) {
  if (value == nullptr) {
    PyErr_SetString(PyExc_TypeError, "[setitem] elements of a tensor cannot be deleted");
    return -1;
  }
  if (IsTensor(value)) {
    PY_JUST_OP_OR(Write(TensorValue(self), key, TensorValue(value)), -1);
    return 0;
  }
  const std::optional<Scalar> scalar = ScalarFromPython(value);
  if (scalar.has_value()) {
    PY_JUST_OP_OR(WriteNumber(TensorValue(self), key, *scalar), -1);
    return 0;
  }
  PyRef made = PyRef::Steal(TensorFromPython(value));
  if (!made) { return -1; }
  PY_JUST_OP_OR(Write(TensorValue(self), key, TensorValue(made.get())), -1);
  return 0;
}

namespace {

Maybe<bool> AnyTrue(const TensorPtr& mask) {
  const TensorPtr dense = JUST(functional::contiguous(mask));
  return JUST(functional::ReadInt(JUST(functional::nonzero_count(dense)))) != 0;
}

}  // namespace

// element in x: is any element of x equal to it?
int TensorContains(PyObject* self, PyObject* element) {
  if (!IsTensor(element) && !ScalarFromPython(element).has_value()) {
    PyErr_Format(PyExc_TypeError, "[contains] expects a number or a Tensor, got %s",
                 Py_TYPE(element)->tp_name);
    return -1;
  }
  PyRef equal = PyRef::Steal(PyObject_RichCompare(self, element, Py_EQ));
  if (!equal) { return -1; }
  const bool any = PY_JUST_OP_OR(AnyTrue(TensorValue(equal.get())), -1);
  return any ? 1 : 0;
}

PyObject* TensorIter(PyObject* self) {
  if (TensorValue(self)->ndim() == 0) {
    PyErr_SetString(PyExc_TypeError, "[iter] expects a tensor with dimensions, got a scalar");
    return nullptr;
  }
  return PySeqIter_New(self);
}

}  // namespace oneflow
