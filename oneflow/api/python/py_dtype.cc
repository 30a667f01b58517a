// dtype, device and Size.
#include <cstring>

#include "oneflow/api/python/errors.h"
#include "oneflow/api/python/py_ref.h"
#include "oneflow/api/python/py_types.h"

namespace oneflow {

namespace {

struct PyDtype {
  PyObject_HEAD DataType value;
};
PyTypeObject* dtype_type = nullptr;
PyObject* dtype_objects[kNumDataTypes];

DataType ValueOf(PyObject* self) { return reinterpret_cast<PyDtype*>(self)->value; }

PyObject* DtypeRepr(PyObject* self) {
  return PyUnicode_FromFormat("oneflow.%s", DataTypeName(ValueOf(self)));
}

// Pickled and copied by name, so that identity survives.
PyObject* DtypeReduce(PyObject* self, PyObject*) {
  return PyUnicode_FromString(DataTypeName(ValueOf(self)));
}

PyObject* DtypeItemsize(PyObject* self, void*) { return PyLong_FromSize_t(SizeOf(ValueOf(self))); }

PyObject* DtypeIsFloating(PyObject* self, void*) {
  return PyBool_FromLong(IsFloating(ValueOf(self)));
}

PyObject* DtypeIsSigned(PyObject* self, void*) {
  const DataType t = ValueOf(self);
  return PyBool_FromLong(t != DataType::kBool && t != DataType::kUInt8);
}

PyObject* DtypeIsComplex(PyObject*, void*) { Py_RETURN_FALSE; }

void FreeHeapObject(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyMethodDef dtype_methods[] = {{"__reduce__", DtypeReduce, METH_NOARGS, nullptr},
                               {nullptr, nullptr, 0, nullptr}};
PyGetSetDef dtype_getset[] = {
    {"itemsize", DtypeItemsize, nullptr, "Bytes of one element.", nullptr},
    {"is_floating_point", DtypeIsFloating, nullptr, "True for float dtypes.", nullptr},
    {"is_signed", DtypeIsSigned, nullptr, "True if negative values exist.", nullptr},
    {"is_complex", DtypeIsComplex, nullptr, "False: there are no complex dtypes.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyType_Slot dtype_slots[] = {
    {Py_tp_doc, const_cast<char*>("The element type of a tensor; one object for each.")},
    {Py_tp_repr, reinterpret_cast<void*>(DtypeRepr)},
    {Py_tp_dealloc, reinterpret_cast<void*>(FreeHeapObject)},
    {Py_tp_methods, dtype_methods},
    {Py_tp_getset, dtype_getset},
    {0, nullptr}};
PyType_Spec dtype_spec = {"oneflow.dtype", sizeof(PyDtype), 0, Py_TPFLAGS_DEFAULT, dtype_slots};

struct PyDevice {
  PyObject_HEAD Device value;
};
PyTypeObject* device_type = nullptr;

Device DeviceOf(PyObject* self) { return reinterpret_cast<PyDevice*>(self)->value; }

PyObject* DeviceNew(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"type", "index", nullptr};
  PyObject* what = nullptr;
  PyObject* index = Py_None;
  if (PyArg_ParseTupleAndKeywords(args, kwargs, "O|O:device", const_cast<char**>(names), &what,
                                  &index) == 0) {
    return nullptr;
  }
  std::optional<Device> device = DeviceFromPython(what);
  if (!device.has_value()) { return nullptr; }
  if (index != Py_None) {
    const long number = PyLong_AsLong(index);
    if (number == -1 && PyErr_Occurred() != nullptr) { return nullptr; }
    if (number < 0 || number > 4095 || device->index() != 0) {
      PyErr_Format(PyExc_ValueError, "[device] expects one index of 0 or more, got %R and %R", what,
                   index);
      return nullptr;
    }
    device = Device(device->type(), static_cast<int>(number));
  }
  return NewDevice(*device);
}

PyObject* DeviceRepr(PyObject* self) {
  const Device device = DeviceOf(self);
  return PyUnicode_FromFormat("device(type='%s', index=%d)", DeviceTypeName(device.type()),
                              device.index());
}

PyObject* DeviceStr(PyObject* self) {
  return PyUnicode_FromString(DeviceOf(self).ToString().c_str());
}

Py_hash_t DeviceHash(PyObject* self) {
  const Device device = DeviceOf(self);
  return static_cast<Py_hash_t>(device.type()) * 4096 + device.index();
}

PyObject* DeviceCompare(PyObject* self, PyObject* other, int op) {
  if (!IsDevice(other) || (op != Py_EQ && op != Py_NE)) { Py_RETURN_NOTIMPLEMENTED; }
  const bool equal = DeviceOf(self) == DeviceOf(other);
  return PyBool_FromLong(equal == (op == Py_EQ));
}

PyObject* DeviceTypeAttribute(PyObject* self, void*) {
  return PyUnicode_FromString(DeviceTypeName(DeviceOf(self).type()));
}

PyObject* DeviceIndexAttribute(PyObject* self, void*) {
  return PyLong_FromLong(DeviceOf(self).index());
}

PyObject* DeviceReduce(PyObject* self, PyObject*) {
  const std::string text = DeviceOf(self).ToString();
  return Py_BuildValue("O(s)", Py_TYPE(self), text.c_str());
}

PyMethodDef device_methods[] = {{"__reduce__", DeviceReduce, METH_NOARGS, nullptr},
                                {nullptr, nullptr, 0, nullptr}};
PyGetSetDef device_getset[] = {
    {"type", DeviceTypeAttribute, nullptr, "'cpu' or 'cuda'.", nullptr},
    {"index", DeviceIndexAttribute, nullptr, "Which device of its type.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyType_Slot device_slots[] = {
    {Py_tp_doc, const_cast<char*>("device(type, index=None): where a tensor lives.\n\n"
                                  "    >>> oneflow.device('cpu')\n"
                                  "    device(type='cpu', index=0)\n")},
    {Py_tp_new, reinterpret_cast<void*>(DeviceNew)},
    {Py_tp_repr, reinterpret_cast<void*>(DeviceRepr)},
    {Py_tp_str, reinterpret_cast<void*>(DeviceStr)},
    {Py_tp_hash, reinterpret_cast<void*>(DeviceHash)},
    {Py_tp_richcompare, reinterpret_cast<void*>(DeviceCompare)},
    {Py_tp_dealloc, reinterpret_cast<void*>(FreeHeapObject)},
    {Py_tp_methods, device_methods},
    {Py_tp_getset, device_getset},
    {0, nullptr}};
PyType_Spec device_spec = {"oneflow.device", sizeof(PyDevice), 0, Py_TPFLAGS_DEFAULT, device_slots};

PyTypeObject* size_type = nullptr;

PyObject* SizeRepr(PyObject* self) {
  PyRef items = PyRef::Steal(PySequence_List(self));
  return items ? PyUnicode_FromFormat("oneflow.Size(%R)", items.get()) : nullptr;
}

PyObject* SizeNumel(PyObject* self, PyObject*) {
  PyRef product = PyRef::Steal(PyLong_FromLong(1));
  for (Py_ssize_t i = 0; product && i < PyTuple_GET_SIZE(self); ++i) {
    product = PyRef::Steal(PyNumber_Multiply(product.get(), PyTuple_GET_ITEM(self, i)));
  }
  return product.Release();
}

// Items become plain ints; they may be numpy's, or tensors of one element.
PyObject* SizeNew(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  PyRef size = PyRef::Steal(PyTuple_Type.tp_new(type, args, kwargs));
  for (Py_ssize_t i = 0; size && i < PyTuple_GET_SIZE(size.get()); ++i) {
    PyObject* item = PyTuple_GET_ITEM(size.get(), i);
    if (PyLong_CheckExact(item)) { continue; }
    PyObject* number = PyIndex_Check(item) != 0 ? PyNumber_Index(item) : nullptr;
    if (number == nullptr) {
      if (PyErr_Occurred() == nullptr) {
        PyErr_Format(PyExc_TypeError, "[Size] expects ints, got %s as item %zd",
                     Py_TYPE(item)->tp_name, i);
      }
      return nullptr;
    }
    PyTuple_SET_ITEM(size.get(), i, number);  // nobody else knows the new tuple yet
    Py_DECREF(item);
  }
  return size.Release();
}

PyObject* AsSize(PyObject* tuple) {
  const PyRef owned = PyRef::Steal(tuple);
  if (!owned || !PyTuple_Check(tuple)) { return owned ? Py_NewRef(tuple) : nullptr; }
  return PyObject_CallOneArg(reinterpret_cast<PyObject*>(size_type), tuple);
}

// A slice of a Size is a Size, as users index shapes; so is what they put together of one.
PyObject* SizeSubscript(PyObject* self, PyObject* key) {
  PyObject* item = PyTuple_Type.tp_as_mapping->mp_subscript(self, key);
  return PySlice_Check(key) ? AsSize(item) : item;
}
PyObject* SizeConcat(PyObject* self, PyObject* other) {
  return AsSize(PyTuple_Type.tp_as_sequence->sq_concat(self, other));
}
PyObject* SizeRepeat(PyObject* self, Py_ssize_t times) {
  return AsSize(PyTuple_Type.tp_as_sequence->sq_repeat(self, times));
}

PyMethodDef size_methods[] = {
    {"numel", SizeNumel, METH_NOARGS, "The number of elements of a tensor of this size."},
    {nullptr, nullptr, 0, nullptr}};
PyType_Slot size_slots[] = {
    {Py_tp_doc, const_cast<char*>("The shape of a tensor: a tuple of ints.")},
    {Py_tp_base, nullptr},  // set before use: not a constant expression on all platforms
    {Py_tp_new, reinterpret_cast<void*>(SizeNew)},
    {Py_tp_repr, reinterpret_cast<void*>(SizeRepr)},
    {Py_sq_concat, reinterpret_cast<void*>(SizeConcat)},
    {Py_sq_repeat, reinterpret_cast<void*>(SizeRepeat)},
    {Py_mp_subscript, reinterpret_cast<void*>(SizeSubscript)},
    {Py_tp_methods, size_methods},
    {0, nullptr}};
PyType_Spec size_spec = {"oneflow.Size", 0, 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                         size_slots};

bool AddType(PyObject* module, const char* name, PyType_Spec* spec, PyTypeObject** type) {
  *type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(spec));
  return *type != nullptr &&
         PyObject_SetAttrString(module, name, reinterpret_cast<PyObject*>(*type)) == 0;
}

}  // namespace

bool InitDtype(PyObject* module) {
  if (!AddType(module, "dtype", &dtype_spec, &dtype_type)) { return false; }
  for (int i = 0; i < kNumDataTypes; ++i) {
    auto* object = reinterpret_cast<PyDtype*>(dtype_type->tp_alloc(dtype_type, 0));
    if (object == nullptr) { return false; }
    object->value = static_cast<DataType>(i);
    dtype_objects[i] = reinterpret_cast<PyObject*>(object);
    const char* name = DataTypeName(object->value);
    if (PyObject_SetAttrString(module, name, dtype_objects[i]) != 0) { return false; }
  }
  dtype_type->tp_new = nullptr;  // no further ones
  return true;
}

PyObject* DtypeObject(DataType dtype) { return dtype_objects[static_cast<int>(dtype)]; }
bool IsDtype(PyObject* object) { return Py_TYPE(object) == dtype_type; }
DataType DtypeValue(PyObject* object) { return ValueOf(object); }

bool InitDevice(PyObject* module) { return AddType(module, "device", &device_spec, &device_type); }

PyObject* NewDevice(Device device) {
  auto* object = reinterpret_cast<PyDevice*>(device_type->tp_alloc(device_type, 0));
  if (object != nullptr) { object->value = device; }
  return reinterpret_cast<PyObject*>(object);
}

bool IsDevice(PyObject* object) { return Py_TYPE(object) == device_type; }
Device DeviceValue(PyObject* object) { return DeviceOf(object); }

std::optional<Device> DeviceFromPython(PyObject* object) {
  if (IsDevice(object)) { return DeviceOf(object); }
  if (!PyUnicode_Check(object)) {
    PyErr_Format(PyExc_TypeError, "[device] expects a device or its name, got %s",
                 Py_TYPE(object)->tp_name);
    return std::nullopt;
  }
  const char* text = PyUnicode_AsUTF8(object);
  if (text == nullptr) { return std::nullopt; }
  Maybe<Device> parsed = Device::Parse(text);
  if (!parsed.ok()) {
    RaiseError(parsed.error());
    return std::nullopt;
  }
  return parsed.value();
}

bool InitSize(PyObject* module) {
  size_slots[1].pfunc = &PyTuple_Type;
  return AddType(module, "Size", &size_spec, &size_type);
}

PyObject* NewSize(const Dims& dims) {
  PyObject* size = size_type->tp_alloc(size_type, dims.size());
  if (size == nullptr) { return nullptr; }
  for (int i = 0; i < dims.size(); ++i) {
    PyObject* item = PyLong_FromLongLong(dims[i]);
    if (item == nullptr) {
      Py_DECREF(size);
      return nullptr;
    }
    PyTuple_SET_ITEM(size, i, item);
  }
  return size;
}

}  // namespace oneflow
