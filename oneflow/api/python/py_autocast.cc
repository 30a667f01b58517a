// Autocast of the calling thread.
#include "oneflow/api/python/errors.h"
#include "oneflow/api/python/methods.h"
#include "oneflow/api/python/py_types.h"
#include "oneflow/functional/autocast.h"

namespace oneflow {

namespace {

PyObject* IsEnabled(PyObject*, PyObject*) { return PyBool_FromLong(autocast::Enabled()); }

PyObject* SetEnabled(PyObject*, PyObject* value) {
  const int enabled = PyObject_IsTrue(value);
  if (enabled < 0) { return nullptr; }
  autocast::SetEnabled(enabled != 0);
  Py_RETURN_NONE;
}

PyObject* IsCacheEnabled(PyObject*, PyObject*) { return PyBool_FromLong(autocast::CacheEnabled()); }

PyObject* SetCacheEnabled(PyObject*, PyObject* value) {
  const int enabled = PyObject_IsTrue(value);
  if (enabled < 0) { return nullptr; }
  autocast::SetCacheEnabled(enabled != 0);
  Py_RETURN_NONE;
}

PyObject* ClearCache(PyObject*, PyObject*) {
  autocast::ClearCache();
  Py_RETURN_NONE;
}

template <DeviceType kDevice>
PyObject* GetDtype(PyObject*, PyObject*) {
  return Py_NewRef(DtypeObject(autocast::ShortDtype(kDevice)));
}

template <DeviceType kDevice>
PyObject* SetDtype(PyObject*, PyObject* value) {
  if (!IsDtype(value) || !IsFloating(DtypeValue(value))) {
    return PyErr_Format(PyExc_TypeError, "[autocast] expects a floating oneflow.dtype, got %R",
                        value);
  }
  autocast::SetShortDtype(kDevice, DtypeValue(value));
  Py_RETURN_NONE;
}

}  // namespace

PyMethodDef kAutocastFunctions[] = {
    {"is_autocast_enabled", IsEnabled, METH_NOARGS, "Is autocast on, in this thread?"},
    {"set_autocast_enabled", SetEnabled, METH_O, "Turns autocast on or off, for this thread."},
    {"is_autocast_cache_enabled", IsCacheEnabled, METH_NOARGS,
     "Does autocast keep the casts of parameters?"},
    {"set_autocast_cache_enabled", SetCacheEnabled, METH_O,
     "Says whether autocast keeps the casts of parameters."},
    {"clear_autocast_cache", ClearCache, METH_NOARGS, "Forgets the casts that autocast kept."},
    {"get_autocast_cpu_dtype", GetDtype<DeviceType::kCPU>, METH_NOARGS,
     "The short dtype of autocast on the CPU."},
    {"set_autocast_cpu_dtype", SetDtype<DeviceType::kCPU>, METH_O,
     "Sets the short dtype of autocast on the CPU."},
    {"get_autocast_gpu_dtype", GetDtype<DeviceType::kCUDA>, METH_NOARGS,
     "The short dtype of autocast on a GPU."},
    {"set_autocast_gpu_dtype", SetDtype<DeviceType::kCUDA>, METH_O,
     "Sets the short dtype of autocast on a GPU."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace oneflow
