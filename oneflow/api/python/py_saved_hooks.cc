// autograd.graph.saved_tensors_hooks: a stack of (pack, unpack) for each thread.
#include <memory>
#include <utility>
#include <vector>

#include "oneflow/api/python/call_python.h"
#include "oneflow/api/python/errors.h"
#include "oneflow/api/python/methods.h"
#include "oneflow/api/python/py_ref.h"
#include "oneflow/api/python/py_types.h"
#include "oneflow/functional/saved_tensor_hooks.h"

namespace oneflow {

namespace {

class PyPackedTensor : public PackedTensor {
 public:
  PyPackedTensor(PyRef object, PyRef unpack)
      : object_(std::move(object)), unpack_(std::move(unpack)) {}

  Maybe<TensorPtr> Unpack() const override {
    PyRef result = PyRef::Steal(CallPython(PyObject_CallOneArg, unpack_.get(), object_.get()));
    if (!result) { return TakePythonError(); }
    if (!IsTensor(result.get())) {
      return TypeError("[saved_tensors_hooks] expects unpack_hook to give a Tensor, got {}",
                       Py_TYPE(result.get())->tp_name);
    }
    return TensorValue(result.get());
  }
  void* host_object() const override { return object_.get(); }

 private:
  const PyRef object_;
  const PyRef unpack_;
};

class PyHooks : public SavedTensorHooks {
 public:
  PyHooks(PyObject* pack, PyObject* unpack)
      : pack_(PyRef::Borrow(pack)), unpack_(PyRef::Borrow(unpack)) {}

  // What the hook itself computes is saved as it is.
  Maybe<PackedTensorPtr> Pack(const TensorPtr& tensor) override {
    SavedTensorHooks* const before = std::exchange(saved_tensor_hooks, nullptr);
    PyRef argument = PyRef::Steal(WrapTensor(tensor->Alias()));
    PyRef packed;
    if (argument) {
      packed = PyRef::Steal(CallPython(PyObject_CallOneArg, pack_.get(), argument.get()));
    }
    saved_tensor_hooks = before;
    if (!packed) { return TakePythonError(); }
    return PackedTensorPtr(std::make_shared<PyPackedTensor>(std::move(packed), unpack_));
  }

 private:
  const PyRef pack_;
  const PyRef unpack_;
};

thread_local std::vector<std::unique_ptr<PyHooks>> stack;

PyObject* Push(PyObject*, PyObject* args) {
  PyObject* pack = nullptr;
  PyObject* unpack = nullptr;
  if (PyArg_ParseTuple(args, "OO:push_saved_tensors_hooks", &pack, &unpack) == 0) {
    return nullptr;
  }
  if (PyCallable_Check(pack) == 0 || PyCallable_Check(unpack) == 0) {
    PyErr_Format(PyExc_TypeError, "[saved_tensors_hooks] expects two functions, got %s and %s",
                 Py_TYPE(pack)->tp_name, Py_TYPE(unpack)->tp_name);
    return nullptr;
  }
  stack.push_back(std::make_unique<PyHooks>(pack, unpack));
  saved_tensor_hooks = stack.back().get();
  Py_RETURN_NONE;
}

PyObject* Pop(PyObject*, PyObject*) {
  if (stack.empty()) {
    PyErr_SetString(PyExc_RuntimeError, "[saved_tensors_hooks] expects hooks that were entered");
    return nullptr;
  }
  const std::unique_ptr<PyHooks> last = std::move(stack.back());
  stack.pop_back();
  saved_tensor_hooks = stack.empty() ? nullptr : stack.back().get();
  Py_RETURN_NONE;
}

}  // namespace

PyMethodDef kSavedHooksFunctions[] = {
    {"push_saved_tensors_hooks", Push, METH_VARARGS, "push_saved_tensors_hooks(pack, unpack)"},
    {"pop_saved_tensors_hooks", Pop, METH_NOARGS, "Ends the last ones of this thread."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace oneflow
