// PyRef: owns one reference to a Python object; and how one is dropped without the GIL.
//
// Thread safety: a PyRef is used with the GIL held, except that it may be destroyed by any thread:
// without the GIL the reference goes to lifetime's deferred list, which a thread that holds the GIL
// drains. Once Python is finalizing, references are leaked.
#ifndef ONEFLOW_API_PYTHON_PY_REF_H_
#define ONEFLOW_API_PYTHON_PY_REF_H_

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <utility>

namespace oneflow {

// Gives up a reference from any thread.
void DropReference(PyObject* object);

class PyRef {
 public:
  PyRef() = default;
  ~PyRef() {
    if (object_ != nullptr) { DropReference(object_); }
  }
  PyRef(const PyRef& other) : object_(other.object_) { Py_XINCREF(object_); }
  PyRef(PyRef&& other) noexcept : object_(other.Release()) {}
  PyRef& operator=(PyRef other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }

  // Takes over a new reference (what most of the C API returns).
  static PyRef Steal(PyObject* object) {
    PyRef ref;
    ref.object_ = object;
    return ref;
  }
  static PyRef Borrow(PyObject* object) {
    Py_XINCREF(object);
    return Steal(object);
  }

  PyObject* get() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }
  PyObject* Release() {
    PyObject* object = object_;
    object_ = nullptr;
    return object;
  }

 private:
  PyObject* object_ = nullptr;
};

}  // namespace oneflow

#endif  // ONEFLOW_API_PYTHON_PY_REF_H_
