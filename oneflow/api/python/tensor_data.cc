// Data of tensors as Python sees it: numpy arrays, numbers, lists.
#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#include <numpy/arrayobject.h>

#include <cstring>

#include "oneflow/api/python/call_python.h"
#include "oneflow/api/python/errors.h"
#include "oneflow/api/python/methods.h"
#include "oneflow/api/python/py_ref.h"
#include "oneflow/api/python/py_types.h"
#include "oneflow/common/planted_fault.h"
#include "oneflow/functional/attr_helpers.h"
#include "oneflow/functional/generated/functional.h"
#include "oneflow/functional/graph_trace.h"
#include "oneflow/lifetime/env.h"
#include "oneflow/vm/vm.h"

namespace oneflow {

namespace {

const TensorPtr& T(PyObject* self) { return TensorValue(self); }

int NumpyType(DataType dtype) {
  switch (dtype) {
    case DataType::kBool: return NPY_BOOL;
    case DataType::kUInt8: return NPY_UINT8;
    case DataType::kInt8: return NPY_INT8;
    case DataType::kInt16: return NPY_INT16;
    case DataType::kInt32: return NPY_INT32;
    case DataType::kInt64: return NPY_INT64;
    case DataType::kFloat16: return NPY_HALF;
    case DataType::kBFloat16: return NPY_NOTYPE;
    case DataType::kFloat: return NPY_FLOAT;
    case DataType::kDouble: return NPY_DOUBLE;
  }
  return NPY_NOTYPE;
}

std::optional<DataType> FromNumpyType(PyArrayObject* array) {
  if (PyArray_ISBYTESWAPPED(array)) { return std::nullopt; }
  // By kind and size: `long` and `long long` are both int64 here.
  const PyArray_Descr* descr = PyArray_DESCR(array);
  const npy_intp size = PyArray_ITEMSIZE(array);
  switch (descr->kind) {
    case 'b': return DataType::kBool;
    case 'u': return size == 1 ? std::optional<DataType>(DataType::kUInt8) : std::nullopt;
    case 'i':
      if (size == 1) { return DataType::kInt8; }
      if (size == 2) { return DataType::kInt16; }
      if (size == 4) { return DataType::kInt32; }
      return DataType::kInt64;
    case 'f':
      if (size == 2) { return DataType::kFloat16; }
      if (size == 4) { return DataType::kFloat; }
      if (size == 8) { return DataType::kDouble; }
      return std::nullopt;
    default: return std::nullopt;
  }
}

void DropHandle(PyObject* capsule) {
  if (FaultPlanted(Fault::kDestructorThrowsOnceClosed)) {
    CHECK_JUST(lifetime::Env::Get()->CheckOpen("[numpy]"));
  }
  delete static_cast<StorageRef*>(PyCapsule_GetPointer(capsule, "oneflow.storage"));
}

// For memory whose address is handed out. Marked before the wait, so that an op which another thread
// issues meanwhile is complete when its call returns, as all later ones are.
Maybe<void> Expose(const Tensor& tensor) {
  tensor.storage()->MarkHostVisible();
  return Vm::Get()->SyncWrite(tensor.storage());
}

// The tensor's memory as an array that keeps the memory alive, not the tensor. It becomes host-visible.
PyObject* ExportArray(const TensorPtr& tensor) {
  const int type = NumpyType(tensor->dtype());
  if (type == NPY_NOTYPE) {
    PyErr_Format(PyExc_TypeError, "[numpy] has no dtype for %s; cast to float32 first",
                 DataTypeName(tensor->dtype()));
    return nullptr;
  }
  if (tensor->device().type() != DeviceType::kCPU) {
    PyErr_SetString(PyExc_TypeError, "[numpy] expects a tensor on the CPU; use .cpu() first");
    return nullptr;
  }
  PY_JUST(CheckHasValue("numpy", *tensor));
  PY_JUST(Expose(*tensor));
  PY_JUST(Vm::Get()->SyncRead(tensor->storage()));
  npy_intp shape[kMaxDims];
  npy_intp strides[kMaxDims];
  const auto size = static_cast<npy_intp>(SizeOf(tensor->dtype()));
  for (int i = 0; i < tensor->ndim(); ++i) {
    shape[i] = tensor->shape()[i];
    strides[i] = tensor->strides()[i] * size;
  }
  static char nothing[8];  // numpy allocates when given no pointer
  void* data = tensor->Count() == 0 ? nothing : tensor->data();
  const int flags = tensor->storage()->read_only() ? 0 : NPY_ARRAY_WRITEABLE;
  PyRef array = PyRef::Steal(
      PyArray_New(&PyArray_Type, tensor->ndim(), shape, type, strides, data, 0, flags, nullptr));
  if (!array) { return nullptr; }
  PyRef owner = PyRef::Steal(
      PyCapsule_New(new StorageRef(tensor->storage_ref()), "oneflow.storage", &DropHandle));
  if (!owner) { return nullptr; }
  auto* raw = reinterpret_cast<PyArrayObject*>(array.get());
  if (PyArray_SetBaseObject(raw, owner.Release()) != 0) { return nullptr; }
  PyArray_UpdateFlags(raw, NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_F_CONTIGUOUS | NPY_ARRAY_ALIGNED);
  return array.Release();
}

// Of a tensor that requires grad too, as OneFlow gives it.
// numpy has no bfloat16: of such a tensor it is a float32 copy.
PyObject* NumpyArray(PyObject* self) {
  if (T(self)->dtype() == DataType::kBFloat16) {
    return ExportArray(PY_JUST(functional::cast(T(self)->Alias(), DataType::kFloat)));
  }
  return ExportArray(T(self));
}

PyObject* Numpy(PyObject* self, PyObject*) { return NumpyArray(self); }

// An array of its own. The vm copies, not numpy, which lets go of the host's lock for that.
PyObject* CopiedArray(const char* op, const TensorPtr& tensor) {
  PY_JUST(CheckHasValue(op, *tensor));
  const ScopedEager eager;
  const TensorPtr own = tensor->dtype() == DataType::kBFloat16
                            ? PY_JUST(functional::cast(tensor->Alias(), DataType::kFloat))
                            : PY_JUST(functional::copy(tensor->Alias()));
  return ExportArray(own);
}

// numpy's protocol: np.asarray(t, dtype).
PyObject* Array(PyObject* self, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"dtype", "copy", nullptr};
  PyObject* dtype = Py_None;
  PyObject* copy = Py_None;
  if (PyArg_ParseTupleAndKeywords(args, kwargs, "|OO:__array__", const_cast<char**>(names), &dtype,
                                  &copy) == 0) {
    return nullptr;
  }
  if (dtype == Py_None && copy != Py_True) { return NumpyArray(self); }
  PyRef array = PyRef::Steal(CopiedArray("numpy", T(self)));
  if (!array || dtype == Py_None) { return array.Release(); }
  return PyObject_CallMethod(array.get(), "astype", "O", dtype);
}

void ReleaseArray(void* owner) { DropReference(static_cast<PyObject*>(owner)); }

// The meta of an array that can be used in place; false with an exception set.
bool MetaOf(PyArrayObject* array, TensorMeta* meta) {
  const std::optional<DataType> dtype = FromNumpyType(array);
  if (!dtype.has_value()) {
    PyErr_Format(PyExc_TypeError,
                 "[from_numpy] expects bool, uint8, int8 to int64, float16, float32 or float64 in "
                 "native byte order, got dtype %R",
                 PyArray_DESCR(array));
    return false;
  }
  if (PyArray_NDIM(array) > kMaxDims) {
    PyErr_Format(PyExc_ValueError, "[from_numpy] expects at most %d dimensions, got %d", kMaxDims,
                 PyArray_NDIM(array));
    return false;
  }
  const auto size = static_cast<npy_intp>(SizeOf(*dtype));
  meta->dtype = *dtype;
  for (int i = 0; i < PyArray_NDIM(array); ++i) {
    const npy_intp stride = PyArray_STRIDE(array, i);
    if (PyArray_DIM(array, i) > 1 && (stride < 0 || stride % size != 0)) {
      PyErr_Format(PyExc_ValueError,
                   "[from_numpy] expects strides that are multiples of the element size and not "
                   "negative, got %zd bytes for dimension %d; use array.copy()",
                   static_cast<Py_ssize_t>(stride), i);
      return false;
    }
    meta->shape.PushBack(PyArray_DIM(array, i));
    meta->strides.PushBack(stride < 0 ? 1 : stride / size);
  }
  meta->contiguous = IsContiguous(meta->shape, meta->strides);
  return true;
}

// `import`: Storage::Import or Storage::Adopt.
PyObject* TensorOver(PyObject* object, decltype(&Storage::Import) import) {
  if (!PyArray_Check(object)) {
    PyErr_Format(PyExc_TypeError, "[from_numpy] expects a numpy array, got %s",
                 Py_TYPE(object)->tp_name);
    return nullptr;
  }
  auto* array = reinterpret_cast<PyArrayObject*>(object);
  TensorMeta meta;
  if (!MetaOf(array, &meta)) { return nullptr; }
  if (!PyArray_ISALIGNED(array)) {
    PyErr_SetString(PyExc_ValueError, "[from_numpy] expects memory aligned for its dtype, got an "
                                      "unaligned array; use array.copy()");
    return nullptr;
  }
  Py_INCREF(object);
  StorageRef storage = import(Device(), PyArray_DATA(array),
                              static_cast<size_t>(PyArray_NBYTES(array)), object, &ReleaseArray);
  if (!PyArray_ISWRITEABLE(array)) { storage->MarkReadOnly(); }
  return WrapTensor(MakeIntrusive<Tensor>(std::move(storage), std::move(meta)));
}

PyObject* FromNumpy(PyObject*, PyObject* object) { return TensorOver(object, &Storage::Import); }
PyObject* AdoptArray(PyObject*, PyObject* object) { return TensorOver(object, &Storage::Adopt); }

// Says why `array`, which numpy made of `data`, cannot become a tensor.
void RefuseElements(PyObject* data, PyArrayObject* array) {
  if (PyArray_Check(data)) {
    PyErr_Format(PyExc_TypeError, "[tensor] expects numbers or bools, got an array of dtype %S",
                 PyArray_DESCR(array));
    return;
  }
  auto* items = static_cast<char*>(PyArray_DATA(array));
  for (npy_intp i = 0; i < PyArray_SIZE(array); ++i) {
    const PyRef item = PyRef::Steal(PyArray_GETITEM(array, items + i * PyArray_ITEMSIZE(array)));
    if (!item) { return; }
    if (PyLong_Check(item.get()) || PyFloat_Check(item.get())) { continue; }
    PyErr_Format(PyExc_TypeError, "[tensor] expects numbers or bools, got %s",
                 Py_TYPE(item.get())->tp_name);
    return;
  }
  PyErr_SetString(PyExc_TypeError, "[tensor] expects ints that fit int64, got a larger one");
}

// numpy refused a list or tuple: most often because its items do not line up.
void RefuseNested(PyObject* data) {
  const bool nested = PyList_Check(data) || PyTuple_Check(data);
  if (!nested || PyErr_ExceptionMatches(PyExc_ValueError) == 0) { return; }
  PyErr_Clear();
  PyErr_Format(PyExc_ValueError,
               "[tensor] expects items of one length at each depth, got a %s of %zd that differ",
               Py_TYPE(data)->tp_name, PySequence_Size(data));
}

// A copy of anything numpy can make an array of.
PyObject* CopyOf(PyObject* data, std::optional<DataType> dtype) {
  // np.float64 is a Python float too, and counts as one.
  const bool is_array =
      PyArray_Check(data) || (PyArray_IsScalar(data, Generic) && !PyFloat_Check(data));
  PyRef array = PyRef::Steal(CallPython([data] {  // __array__, or the items of a sequence
    return PyArray_FROM_OF(data, NPY_ARRAY_CARRAY_RO | NPY_ARRAY_NOTSWAPPED);
  }));
  if (!array) {
    RefuseNested(data);
    return nullptr;
  }
  auto* raw = reinterpret_cast<PyArrayObject*>(array.get());
  std::optional<DataType> own = FromNumpyType(raw);
  if (!own.has_value()) {
    RefuseElements(data, raw);
    return nullptr;
  }
  // Python's floats and numbers without a type become the default float type.
  const DataType wanted =
      dtype.value_or(!is_array && *own == DataType::kDouble ? functional::DefaultDtype() : *own);
  const int type = NumpyType(wanted);
  const bool through_numpy = type != NPY_NOTYPE;
  const DataType made = through_numpy ? wanted : DataType::kFloat;
  array = PyRef::Steal(PyArray_FROMANY(array.get(), NumpyType(made), 0, kMaxDims,
                                       NPY_ARRAY_CARRAY_RO | NPY_ARRAY_FORCECAST));
  if (!array) { return nullptr; }
  raw = reinterpret_cast<PyArrayObject*>(array.get());
  Shape shape;
  for (int i = 0; i < PyArray_NDIM(raw); ++i) { shape.PushBack(PyArray_DIM(raw, i)); }
  TensorPtr tensor = PY_JUST(AllocateHostTensor("tensor", shape, made));
  const auto bytes = static_cast<size_t>(PyArray_NBYTES(raw));
  if (bytes > 0) { std::memcpy(tensor->data(), PyArray_DATA(raw), bytes); }
  if (GraphTrace* trace = GraphTrace::Current()) { trace->NoteMade(tensor); }
  if (!through_numpy) { return WrapResult(functional::cast(tensor, wanted)); }
  return WrapTensor(std::move(tensor));
}

Maybe<TensorPtr> CopyAs(const TensorPtr& tensor, std::optional<DataType> dtype) {
  if (dtype.has_value() && *dtype != tensor->dtype()) { return functional::cast(tensor, *dtype); }
  return functional::copy(tensor);
}

// A global tensor of a new one, by the package's Python code.
PyObject* MakeGlobal(PyObject* tensor, PyObject* placement, PyObject* sbp) {
  PyRef module = PyRef::Steal(PyImport_ImportModule("oneflow.framework.global_tensor"));
  if (!module) { return nullptr; }
  return PyObject_CallMethod(module.get(), "made_global", "OOO", tensor, placement, sbp);
}

PyObject* MakeTensor(PyObject*, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"data",      "dtype", "device",     "requires_grad",
                                "placement", "sbp",   "pin_memory", nullptr};
  PyObject* data = nullptr;
  PyObject* dtype = Py_None;
  PyObject* device = Py_None;
  PyObject* placement = Py_None;
  PyObject* sbp = Py_None;
  int requires_grad = 0;
  int pin_memory = 0;  // means nothing without a GPU
  if (PyArg_ParseTupleAndKeywords(args, kwargs, "O|$OOpOOp:tensor", const_cast<char**>(names),
                                  &data, &dtype, &device, &requires_grad, &placement, &sbp,
                                  &pin_memory) == 0) {
    return nullptr;
  }
  std::optional<DataType> wanted;
  if (dtype != Py_None) {
    if (!IsDtype(dtype)) {
      PyErr_Format(PyExc_TypeError, "[tensor] expects dtype to be a oneflow dtype, got %R", dtype);
      return nullptr;
    }
    wanted = DtypeValue(dtype);
  }
  if (device != Py_None) {
    const std::optional<Device> where = DeviceFromPython(device);
    if (!where.has_value()) { return nullptr; }
    PY_JUST(GetAllocator(*where));
  }
  PyRef result;
  if (IsTensor(data)) {
    const TensorPtr plain = TensorValue(data)->Alias();
    result = PyRef::Steal(WrapResult(CopyAs(plain, wanted)));
  } else {
    result = PyRef::Steal(CopyOf(data, wanted));
  }
  if (!result) { return nullptr; }
  if (placement != Py_None || sbp != Py_None) {
    result = PyRef::Steal(MakeGlobal(result.get(), placement, sbp));
    if (!result) { return nullptr; }
  }
  if (requires_grad != 0 && SetRequiresGrad(result.get(), Py_True, nullptr) != 0) {
    return nullptr;
  }
  return result.Release();
}

// --- one number ---

template <typename T>
T ReadAs(const Tensor& tensor) {
  T value;
  std::memcpy(&value, tensor.data(), sizeof(T));
  return value;
}

// Waits for the value. REQUIRES one element. Halves are read through a cast.
Maybe<Scalar> ReadScalar(const char* op, TensorPtr tensor) {
  if (tensor->Count() != 1) {
    return RuntimeError("[{}] expects a tensor with one element, got shape {}", op,
                        tensor->shape());
  }
  JUST(CheckHasValue(op, *tensor));
  if (tensor->dtype() == DataType::kFloat16 || tensor->dtype() == DataType::kBFloat16) {
    const ScopedEager eager;
    tensor = JUST(functional::cast(tensor->Alias(), DataType::kFloat));
  }
  JUST(Vm::Get()->SyncRead(tensor->storage()));
  switch (tensor->dtype()) {
    case DataType::kBool: return Scalar(ReadAs<uint8_t>(*tensor) != 0);
    case DataType::kUInt8: return Scalar(static_cast<int64_t>(ReadAs<uint8_t>(*tensor)));
    case DataType::kInt8: return Scalar(static_cast<int64_t>(ReadAs<int8_t>(*tensor)));
    case DataType::kInt16: return Scalar(static_cast<int64_t>(ReadAs<int16_t>(*tensor)));
    case DataType::kInt32: return Scalar(static_cast<int64_t>(ReadAs<int32_t>(*tensor)));
    case DataType::kInt64: return Scalar(ReadAs<int64_t>(*tensor));
    case DataType::kFloat: return Scalar(static_cast<double>(ReadAs<float>(*tensor)));
    default: return Scalar(ReadAs<double>(*tensor));
  }
}

PyObject* Item(PyObject* self, PyObject*) {
  const Scalar value = PY_JUST(ReadScalar("item", T(self)));
  switch (value.kind()) {
    case Scalar::Kind::kBool: return PyBool_FromLong(value.To<bool>());
    case Scalar::Kind::kInt: return PyLong_FromLongLong(value.To<int64_t>());
    case Scalar::Kind::kFloat: return PyFloat_FromDouble(value.To<double>());
  }
  return nullptr;
}

PyObject* ToList(PyObject* self, PyObject*) {
  // Python's collector may run other code between two elements.
  PyRef array = PyRef::Steal(CopiedArray("tolist", T(self)));
  return array ? PyObject_CallMethod(array.get(), "tolist", nullptr) : nullptr;
}

PyObject* Stride(PyObject* self, PyObject*) {
  const Strides& strides = T(self)->strides();
  PyRef tuple = PyRef::Steal(PyTuple_New(strides.size()));
  for (int i = 0; tuple && i < strides.size(); ++i) {
    PyObject* item = PyLong_FromLongLong(strides[i]);
    if (item == nullptr) { return nullptr; }
    PyTuple_SET_ITEM(tuple.get(), i, item);
  }
  return tuple.Release();
}

PyObject* StorageOffset(PyObject* self, PyObject*) {
  return PyLong_FromLongLong(T(self)->meta().offset);
}

// The address is handed out, so whoever uses it must find the data there.
PyObject* DataPtr(PyObject* self, PyObject*) {
  PY_JUST(CheckHasValue("data_ptr", *T(self)));
  PY_JUST(Expose(*T(self)));
  PY_JUST(Vm::Get()->SyncRead(T(self)->storage()));
  return PyLong_FromVoidPtr(T(self)->Count() == 0 ? nullptr : T(self)->data());
}

PyObject* IsContiguousMethod(PyObject* self, PyObject*) {
  return PyBool_FromLong(T(self)->contiguous());
}

PyObject* Numel(PyObject* self, PyObject*) { return PyLong_FromLongLong(T(self)->Count()); }

PyObject* ElementSize(PyObject* self, PyObject*) {
  return PyLong_FromSize_t(SizeOf(T(self)->dtype()));
}

PyObject* Dim(PyObject* self, PyObject*) { return PyLong_FromLong(T(self)->ndim()); }

PyObject* SizeMethod(PyObject* self, PyObject* const* args, Py_ssize_t nargs) {
  if (nargs == 0 || (nargs == 1 && args[0] == Py_None)) { return NewSize(T(self)->shape()); }
  if (nargs != 1 || !PyLong_Check(args[0])) {
    PyErr_SetString(PyExc_TypeError, "[size] expects no argument, or one int: the dimension");
    return nullptr;
  }
  int overflow = 0;
  const int64_t wanted = PyLong_AsLongLongAndOverflow(args[0], &overflow);
  const int ndim = T(self)->ndim();
  if (overflow != 0 || wanted < -ndim || wanted >= ndim) {
    PyErr_Format(PyExc_IndexError, "[size] expects a dim in [%d, %d], got %R", -ndim, ndim - 1,
                 args[0]);
    return nullptr;
  }
  return PyLong_FromLongLong(
      T(self)->shape()[static_cast<int>(wanted < 0 ? wanted + ndim : wanted)]);
}

// Keeps a reader that was given a pointer safe from the vm: the tensor waits, then is visible.
PyObject* SyncMethod(PyObject* self, PyObject*) {
  PY_JUST(Vm::Get()->SyncRead(T(self)->storage()));
  Py_RETURN_NONE;
}

PyCFunction Cast(PyCFunctionWithKeywords f) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(f));
}
PyCFunction Cast(PyObject* (*f)(PyObject*, PyObject* const*, Py_ssize_t)) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(f));
}

}  // namespace

bool InitNumpy() { return _import_array() >= 0; }

int TensorBool(PyObject* self) {
  const Scalar value = PY_JUST_OR(ReadScalar("bool", T(self)), -1);
  return value.is_float() ? value.To<double>() != 0.0 : value.To<int64_t>() != 0;
}

PyObject* TensorInt(PyObject* self) {
  const Scalar value = PY_JUST(ReadScalar("int", T(self)));
  return value.is_float() ? PyLong_FromDouble(value.To<double>())
                          : PyLong_FromLongLong(value.To<int64_t>());
}

PyObject* TensorFloat(PyObject* self) {
  return PyFloat_FromDouble(PY_JUST(ReadScalar("float", T(self))).To<double>());
}

PyObject* TensorIndex(PyObject* self) {
  if (IsFloating(T(self)->dtype())) {
    PyErr_Format(PyExc_TypeError, "[index] expects an integer tensor, got dtype %s",
                 DataTypeName(T(self)->dtype()));
    return nullptr;
  }
  return TensorInt(self);
}

bool IsNumpyArray(PyObject* object) { return PyArray_Check(object); }

PyObject* TensorFromPython(PyObject* data) { return CopyOf(data, std::nullopt); }

PyObject* NewLegacyTensor(PyObject* args, PyObject* kwargs) {
  PyObject* device = kwargs == nullptr ? nullptr : PyDict_GetItemString(kwargs, "device");
  if (kwargs != nullptr && PyDict_GET_SIZE(kwargs) > (device == nullptr ? 0 : 1)) {
    PyErr_SetString(PyExc_TypeError,
                    "[Tensor] takes no keyword arguments but device; use oneflow.tensor");
    return nullptr;
  }
  if (device != nullptr && device != Py_None) {
    const std::optional<Device> where = DeviceFromPython(device);
    if (!where.has_value()) { return nullptr; }
    PY_JUST(GetAllocator(*where));
  }
  const DataType dtype = functional::DefaultDtype();
  const Py_ssize_t n = PyTuple_GET_SIZE(args);
  if (n == 1 && !PyLong_Check(PyTuple_GET_ITEM(args, 0))) {
    PyObject* data = PyTuple_GET_ITEM(args, 0);
    const bool is_size =
        Py_TYPE(data)->tp_name != nullptr && PyTuple_CheckExact(data) == 0 && PyTuple_Check(data);
    if (!is_size) { return CopyOf(data, dtype); }
    args = data;
  }
  const std::optional<Dims> shape = n == 0 ? std::optional<Dims>(Dims{0}) : DimsFromPython(args);
  if (!shape.has_value()) {
    PyErr_SetString(PyExc_TypeError, "[Tensor] expects sizes or data");
    return nullptr;
  }
  return WrapResult(AllocateTensor("Tensor", *shape, dtype, Device()));
}

PyMethodDef kDataMethods[] = {
    {"numpy", Numpy, METH_NOARGS, "The data as a numpy array that shares it."},
    {"__array__", Cast(Array), METH_VARARGS | METH_KEYWORDS, nullptr},
    {"item", Item, METH_NOARGS, "The value of a tensor with one element, as a Python number."},
    {"tolist", ToList, METH_NOARGS, "The values as nested lists."},
    {"stride", Stride, METH_NOARGS, "Steps in elements from one index to the next."},
    {"storage_offset", StorageOffset, METH_NOARGS, "Elements before the first one."},
    {"data_ptr", DataPtr, METH_NOARGS, "The address of the first element."},
    {"is_contiguous", IsContiguousMethod, METH_NOARGS, "True for dense, row-major data."},
    {"numel", Numel, METH_NOARGS, "The number of elements."},
    {"nelement", Numel, METH_NOARGS, "The number of elements."},
    {"element_size", ElementSize, METH_NOARGS, "Bytes of one element."},
    {"dim", Dim, METH_NOARGS, "The number of dimensions."},
    {"size", Cast(SizeMethod), METH_FASTCALL, "size(dim=None): the shape, or one dimension."},
    {"_sync", SyncMethod, METH_NOARGS, "Waits until the value is computed."},
    {nullptr, nullptr, 0, nullptr}};

PyMethodDef kDataFunctions[] = {
    {"from_numpy", FromNumpy, METH_O,
     "A tensor that shares the memory of an aligned numpy array; read-only where the array is."},
    {"adopt_array", AdoptArray, METH_O,
     "As from_numpy, of an array that nobody else looks at from here on."},
    {"tensor", Cast(MakeTensor), METH_VARARGS | METH_KEYWORDS,
     "tensor(data, *, dtype=None, device=None, requires_grad=False, placement=None, sbp=None): a "
     "copy of data."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace oneflow
