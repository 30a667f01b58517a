// The small value types of the Python API: dtype, device, Size; and the Tensor type's object layout.
//
// Thread safety: with the GIL held.
#ifndef ONEFLOW_API_PYTHON_PY_TYPES_H_
#define ONEFLOW_API_PYTHON_PY_TYPES_H_

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <optional>

#include "oneflow/core/device.h"
#include "oneflow/core/dims.h"
#include "oneflow/core/dtype.h"
#include "oneflow/core/generator.h"
#include "oneflow/tensor/tensor.h"

namespace oneflow {

// dtype: one object for each DataType; compared by identity.
bool InitDtype(PyObject* module);
PyObject* DtypeObject(DataType dtype);  // borrowed
bool IsDtype(PyObject* object);
DataType DtypeValue(PyObject* object);  // REQUIRES IsDtype

// device(type, index=None): immutable, hashable.
bool InitDevice(PyObject* module);
PyObject* NewDevice(Device device);
bool IsDevice(PyObject* object);
Device DeviceValue(PyObject* object);  // REQUIRES IsDevice
// From a device object or a string; nullopt with an exception set.
std::optional<Device> DeviceFromPython(PyObject* object);

// Size: the tuple subclass that shapes are given as.
bool InitSize(PyObject* module);
PyObject* NewSize(const Dims& dims);

// Generator: a random number stream.
bool InitGenerator(PyObject* module);
PyObject* NewGenerator(const GeneratorPtr& generator);
bool IsGenerator(PyObject* object);
const GeneratorPtr& GeneratorValue(PyObject* object);  // REQUIRES IsGenerator

// Tensor. The wrapper owns one reference to the C++ tensor, which remembers its wrapper, so that a
// tensor that comes back to Python is the same object while the wrapper lives.
struct PyTensor {
  PyObject_HEAD TensorPtr tensor;
  PyObject* dict;
  PyObject* weakrefs;
  PyObject* grad;  // of `x.grad`, once asked for: the same object each time, with its attributes
};
extern PyTypeObject* tensor_type;

bool InitTensor(PyObject* module);
inline bool IsTensor(PyObject* object) {
  return Py_TYPE(object) == tensor_type || PyType_IsSubtype(Py_TYPE(object), tensor_type) != 0;
}
inline const TensorPtr& TensorValue(PyObject* object) {
  return reinterpret_cast<PyTensor*>(object)->tensor;
}
// A new reference; None for a null pointer.
PyObject* WrapTensor(TensorPtr tensor);

}  // namespace oneflow

#endif  // ONEFLOW_API_PYTHON_PY_TYPES_H_
