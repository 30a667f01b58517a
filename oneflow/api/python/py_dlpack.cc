// DLPack, both ways: memory that is shared with torch, numpy, jax and others, without a copy.
//
// An export owns a handle of the storage, not the tensor, and nothing of Python's: it may be released by
// any thread, at any moment, after the interpreter's end too. What was imported is released by its
// own deleter, with the GIL held, since that of a Python library may need it.
#include <memory>
#include <optional>
#include <utility>

#include "oneflow/api/python/call_python.h"
#include "oneflow/api/python/dlpack.h"
#include "oneflow/api/python/errors.h"
#include "oneflow/api/python/gil.h"
#include "oneflow/api/python/methods.h"
#include "oneflow/api/python/py_ref.h"
#include "oneflow/api/python/py_types.h"
#include "oneflow/autograd/node.h"
#include "oneflow/functional/generated/functional.h"
#include "oneflow/lifetime/deferred_release.h"
#include "oneflow/vm/vm.h"

namespace oneflow {

namespace {

constexpr char kPlain[] = "dltensor";
constexpr char kUsedPlain[] = "used_dltensor";
constexpr char kVersioned[] = "dltensor_versioned";
constexpr char kUsedVersioned[] = "used_dltensor_versioned";

const TensorPtr& T(PyObject* self) { return TensorValue(self); }

dlpack::DlDataType TypeOf(DataType dtype) {
  uint8_t code = dlpack::kInt;
  if (dtype == DataType::kBool) { code = dlpack::kBool; }
  if (dtype == DataType::kUInt8) { code = dlpack::kUInt; }
  if (IsFloating(dtype)) { code = dlpack::kFloat; }
  if (dtype == DataType::kBFloat16) { code = dlpack::kBFloat; }
  return {code, static_cast<uint8_t>(8 * SizeOf(dtype)), 1};
}

std::optional<DataType> TypeFrom(const dlpack::DlDataType& type) {
  for (int i = 0; i < kNumDataTypes; ++i) {
    const auto dtype = static_cast<DataType>(i);
    const dlpack::DlDataType own = TypeOf(dtype);
    if (own.code == type.code && own.bits == type.bits && type.lanes == 1) { return dtype; }
  }
  return std::nullopt;
}

// ---- export ----------------------------------------------------------------------------------------

// What an export owns: the memory, and the lists that the structure points at.
template <typename Struct>
struct Export {
  Struct managed;
  StorageRef storage;
  int64_t shape[kMaxDims];
  int64_t strides[kMaxDims];

  static void Delete(Struct* self) { delete static_cast<Export*>(self->manager); }
};

template <typename Struct>
Export<Struct>* MakeExport(const TensorPtr& tensor) {
  auto out = std::make_unique<Export<Struct>>();
  out->storage = tensor->storage_ref();
  out->managed = Struct();
  out->managed.manager = out.get();
  out->managed.deleter = &Export<Struct>::Delete;
  dlpack::DlTensor& to = out->managed.tensor;
  to.data = tensor->Count() == 0 ? nullptr : tensor->data();
  to.device = {dlpack::kCpu, 0};
  to.ndim = tensor->ndim();
  to.dtype = TypeOf(tensor->dtype());
  to.shape = out->shape;
  to.strides = out->strides;
  for (int i = 0; i < tensor->ndim(); ++i) {
    out->shape[i] = tensor->shape()[i];
    out->strides[i] = tensor->strides()[i];
  }
  return out.release();
}

// Of a capsule that nobody took over.
template <typename Struct>
void DropCapsule(PyObject* capsule, const char* name) {
  if (PyCapsule_IsValid(capsule, name) == 0) { return; }
  auto* managed = static_cast<Struct*>(PyCapsule_GetPointer(capsule, name));
  if (managed->deleter != nullptr) { managed->deleter(managed); }
}
void DropPlain(PyObject* capsule) { DropCapsule<dlpack::Managed>(capsule, kPlain); }
void DropVersioned(PyObject* capsule) {
  DropCapsule<dlpack::ManagedVersioned>(capsule, kVersioned);
}

Maybe<void> PrepareExport(const TensorPtr& tensor) {
  if (tensor->device().type() != DeviceType::kCPU) {
    return TypeError("[to_dlpack] expects a tensor on the CPU, got {}", tensor->device());
  }
  tensor->storage()->MarkHostVisible();
  JUST(Vm::Get()->SyncWrite(tensor->storage()));
  return Vm::Get()->SyncRead(tensor->storage());
}

PyObject* ExportCapsule(const TensorPtr& tensor, bool versioned, bool copied) {
  PY_JUST(PrepareExport(tensor));
  const bool read_only = tensor->storage()->read_only();
  if (!versioned) {
    if (read_only) {
      PyErr_SetString(PyExc_BufferError,
                      "[to_dlpack] expects memory that may be written, got a tensor made from a "
                      "read-only array; use .clone() first");
      return nullptr;
    }
    auto* plain = MakeExport<dlpack::Managed>(tensor);
    PyObject* capsule = PyCapsule_New(&plain->managed, kPlain, &DropPlain);
    if (capsule == nullptr) { delete plain; }
    return capsule;
  }
  auto* made = MakeExport<dlpack::ManagedVersioned>(tensor);
  made->managed.version = {1, 0};
  made->managed.flags = (read_only ? dlpack::kReadOnly : 0) | (copied ? dlpack::kIsCopied : 0);
  PyObject* capsule = PyCapsule_New(&made->managed, kVersioned, &DropVersioned);
  if (capsule == nullptr) { delete made; }
  return capsule;
}

// The consumer's newest version: (major, minor) or None.
bool WantsVersioned(PyObject* max_version) {
  if (!PyTuple_Check(max_version) || PyTuple_GET_SIZE(max_version) < 1) { return false; }
  const long major = PyLong_AsLong(PyTuple_GET_ITEM(max_version, 0));
  if (major == -1 && PyErr_Occurred() != nullptr) { PyErr_Clear(); }
  return major >= 1;
}

PyObject* DlpackMethod(PyObject* self, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"stream", "max_version", "dl_device", "copy", nullptr};
  PyObject* stream = Py_None;
  PyObject* max_version = Py_None;
  PyObject* device = Py_None;
  PyObject* copy = Py_None;
  if (PyArg_ParseTupleAndKeywords(args, kwargs, "|$OOOO:__dlpack__", const_cast<char**>(names),
                                  &stream, &max_version, &device, &copy) == 0) {
    return nullptr;
  }
  FollowBase(T(self));
  if (T(self)->requires_grad()) {
    PyErr_SetString(PyExc_BufferError, "[__dlpack__] expects a tensor that does not require grad; "
                                       "use .detach() first");
    return nullptr;
  }
  TensorPtr tensor = T(self);
  if (copy == Py_True) { tensor = PY_JUST(functional::copy(tensor)); }
  return ExportCapsule(tensor, WantsVersioned(max_version), copy == Py_True);
}

PyObject* DlpackDevice(PyObject*, PyObject*) { return Py_BuildValue("(ii)", dlpack::kCpu, 0); }

PyObject* ToDlpack(PyObject*, PyObject* object) {
  if (!IsTensor(object)) {
    PyErr_Format(PyExc_TypeError, "[to_dlpack] expects a Tensor, got %s", Py_TYPE(object)->tp_name);
    return nullptr;
  }
  return ExportCapsule(T(object), false, false);
}

// ---- import ----------------------------------------------------------------------------------------

template <typename Struct>
void Release(void* owner) {
  auto* managed = static_cast<Struct*>(owner);
  if (managed->deleter != nullptr) { managed->deleter(managed); }
}

template <typename Struct>
void ReleaseWithGil(void* owner) {
  if (Gil::Held()) { return Release<Struct>(owner); }
  lifetime::DeferRelease(&Release<Struct>, owner);
}

Maybe<TensorMeta> MetaOf(const dlpack::DlTensor& from) {
  const std::optional<DataType> dtype = TypeFrom(from.dtype);
  if (from.device.type != dlpack::kCpu) {
    return RuntimeError("[from_dlpack] expects memory of the CPU (device type {}), got {}",
                        dlpack::kCpu, from.device.type);
  }
  if (!dtype.has_value()) {
    return TypeError(
        "[from_dlpack] expects a dtype of oneflow's, got code {} with {} bits, {} lanes",
        static_cast<int>(from.dtype.code), static_cast<int>(from.dtype.bits),
        static_cast<int>(from.dtype.lanes));
  }
  if (from.ndim < 0 || from.ndim > kMaxDims) {
    return RuntimeError("[from_dlpack] expects at most {} dims, got {}", kMaxDims, from.ndim);
  }
  TensorMeta meta;
  meta.dtype = *dtype;
  for (int i = 0; i < from.ndim; ++i) {
    meta.shape.PushBack(from.shape[i]);
    const int64_t stride = from.strides == nullptr ? 0 : from.strides[i];
    if (stride < 0 && from.shape[i] > 1) {
      return RuntimeError("[from_dlpack] expects strides that are not negative, got {} for dim {}",
                          stride, i);
    }
    meta.strides.PushBack(stride < 0 ? 0 : stride);
  }
  if (from.strides == nullptr) { meta.strides = ContiguousStrides(meta.shape); }
  meta.contiguous = IsContiguous(meta.shape, meta.strides);
  return meta;
}

size_t BytesOf(const TensorMeta& meta) {
  int64_t last = 0;
  for (int i = 0; i < meta.shape.size(); ++i) {
    if (meta.shape[i] == 0) { return 0; }
    last += (meta.shape[i] - 1) * meta.strides[i];
  }
  return static_cast<size_t>(last + 1) * SizeOf(meta.dtype);
}

template <typename Struct>
Maybe<TensorPtr> Import(PyObject* capsule, const char* name, const char* used, bool read_only) {
  auto* managed = static_cast<Struct*>(PyCapsule_GetPointer(capsule, name));
  const dlpack::DlTensor& from = managed->tensor;
  TensorMeta meta = JUST(MetaOf(from));
  char* data = static_cast<char*>(from.data) + from.byte_offset;
  if (reinterpret_cast<uintptr_t>(data) % SizeOf(meta.dtype) != 0 && BytesOf(meta) > 0) {
    return RuntimeError("[from_dlpack] expects memory aligned for {}", DataTypeName(meta.dtype));
  }
  if (PyCapsule_SetName(capsule, used) != 0) { return TakePythonError(); }
  StorageRef storage =
      Storage::Import(Device(), data, BytesOf(meta), managed, &ReleaseWithGil<Struct>);
  if (read_only) { storage->MarkReadOnly(); }
  return MakeIntrusive<Tensor>(std::move(storage), std::move(meta));
}

Maybe<TensorPtr> ImportCapsule(PyObject* capsule) {
  if (PyCapsule_IsValid(capsule, kVersioned) != 0) {
    const auto* managed =
        static_cast<dlpack::ManagedVersioned*>(PyCapsule_GetPointer(capsule, kVersioned));
    if (managed->version.major != 1) {
      return RuntimeError("[from_dlpack] expects version 1 of DLPack, got {}",
                          managed->version.major);
    }
    const bool read_only = (managed->flags & dlpack::kReadOnly) != 0;
    return Import<dlpack::ManagedVersioned>(capsule, kVersioned, kUsedVersioned, read_only);
  }
  if (PyCapsule_IsValid(capsule, kPlain) != 0) {
    return Import<dlpack::Managed>(capsule, kPlain, kUsedPlain, false);
  }
  return RuntimeError("[from_dlpack] expects a DLPack capsule that nobody has used before");
}

// object.__dlpack__(max_version=(1, 0)); older producers know no such argument.
PyRef CallDlpack(PyObject* object) {
  return CallPython([object] {
    PyRef method = PyRef::Steal(PyObject_GetAttrString(object, "__dlpack__"));
    if (!method) { return PyRef(); }
    PyRef none = PyRef::Steal(PyTuple_New(0));
    PyRef named = PyRef::Steal(Py_BuildValue("{s:(ii)}", "max_version", 1, 0));
    if (!none || !named) { return PyRef(); }
    PyRef capsule = PyRef::Steal(PyObject_Call(method.get(), none.get(), named.get()));
    if (capsule || PyErr_ExceptionMatches(PyExc_TypeError) == 0) { return capsule; }
    PyErr_Clear();
    return PyRef::Steal(PyObject_CallNoArgs(method.get()));
  });
}

PyObject* FromDlpack(PyObject*, PyObject* object) {
  if (IsTensor(object)) { return WrapTensor(T(object)->Alias()); }
  PyRef capsule = PyRef::Borrow(object);
  if (!PyCapsule_CheckExact(object)) {
    if (PyObject_HasAttrString(object, "__dlpack__") == 0) {
      PyErr_Format(PyExc_TypeError,
                   "[from_dlpack] expects a DLPack capsule or an object with __dlpack__, got %s",
                   Py_TYPE(object)->tp_name);
      return nullptr;
    }
    capsule = CallDlpack(object);
    if (!capsule) { return nullptr; }
  }
  return WrapTensor(PY_JUST(ImportCapsule(capsule.get())));
}

PyCFunction Cast(PyCFunctionWithKeywords f) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(f));
}

}  // namespace

PyMethodDef kDlpackMethods[] = {
    {"__dlpack__", Cast(DlpackMethod), METH_VARARGS | METH_KEYWORDS,
     "The memory as a DLPack capsule, for from_dlpack of another library."},
    {"__dlpack_device__", DlpackDevice, METH_NOARGS,
     "DLPack's name of the device: (1, 0), the CPU."},
    {nullptr, nullptr, 0, nullptr}};

PyMethodDef kDlpackFunctions[] = {
    {"to_dlpack", ToDlpack, METH_O, "The tensor's memory as a DLPack capsule."},
    {"from_dlpack", FromDlpack, METH_O,
     "A tensor that shares the memory of a DLPack capsule, or of an object that gives one."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace oneflow
