// The Tensor type: allocation and attributes. Operators are in py_number.cc, methods that read or
// index data in tensor_data.cc and indexing.cc, those of autograd in py_autograd.cc, ops in generated
// code.
#include <iterator>
#include <new>
#include <vector>

#include "oneflow/api/python/errors.h"
#include "oneflow/api/python/methods.h"
#include "oneflow/api/python/py_number.h"
#include "oneflow/api/python/py_ref.h"
#include "oneflow/api/python/py_types.h"
#include "oneflow/api/python/tape_gc.h"
#include "oneflow/functional/generated/functional.h"
#include "oneflow/lifetime/deferred_release.h"

namespace oneflow {

PyTypeObject* tensor_type = nullptr;

namespace {

// Wrappers of exact type Tensor come and go with every op. A few dead ones are kept: reuse skips the
// allocator and, since no allocation is counted, does not bring the garbage collector nearer.
constexpr int kFreeListSize = 64;
PyTensor* free_list[kFreeListSize];
int free_count = 0;

// Nodes own hooks and other Python objects, which may own the wrapper.
void TrackIfOnTape(PyObject* object) {
  const AutogradMeta* meta = TensorValue(object)->autograd();
  if (meta == nullptr || (!meta->requires_grad && meta->accumulator == nullptr)) { return; }
  if (PyObject_GC_IsTracked(object) == 0) { PyObject_GC_Track(object); }
}

PyObject* NewWrapper(PyTypeObject* type, TensorPtr tensor) {
  PyTensor* self = nullptr;
  if (type == tensor_type && free_count > 0) {
    self = free_list[--free_count];
    PyObject_Init(reinterpret_cast<PyObject*>(self), type);
  } else if (type == tensor_type) {
    // Not tracked by the collector: a tensor without a __dict__ or a place on the tape cannot be part
    // of a cycle. Tracking starts when it gets one (TensorSetattr, TrackIfOnTape).
    self = PyObject_GC_New(PyTensor, type);
  } else {
    self = reinterpret_cast<PyTensor*>(type->tp_alloc(type, 0));
  }
  if (self == nullptr) { return nullptr; }
  new (&self->tensor) TensorPtr(std::move(tensor));
  self->dict = nullptr;
  self->weakrefs = nullptr;
  self->grad = nullptr;
  self->tensor->set_host_object(self);
  TrackIfOnTape(reinterpret_cast<PyObject*>(self));
  return reinterpret_cast<PyObject*>(self);
}

void TensorDealloc(PyObject* object) {
  auto* self = reinterpret_cast<PyTensor*>(object);
  PyTypeObject* type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  // First: what runs below (callbacks, destructors) may ask for the tensor, and must not get this
  // wrapper. It may have made another one already (WrapTensor).
  if (self->tensor->host_object() == self) { self->tensor->set_host_object(nullptr); }
  if (self->weakrefs != nullptr) { PyObject_ClearWeakRefs(object); }
  Py_CLEAR(self->dict);
  Py_CLEAR(self->grad);
  self->tensor.~TensorPtr();
  if (type == tensor_type && free_count < kFreeListSize) {
    free_list[free_count++] = self;
  } else {
    type->tp_free(object);
  }
  Py_DECREF(type);
  if (__builtin_expect(lifetime::HasDeferredReleases(), 0)) { lifetime::DrainDeferredReleases(); }
}

int TensorTraverse(PyObject* object, visitproc visit, void* arg) {
  auto* self = reinterpret_cast<PyTensor*>(object);
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(self->dict);
  Py_VISIT(self->grad);
  const bool only_ours = self->grad != nullptr && Py_REFCNT(self->grad) == 1;
  return VisitTape(self->tensor, visit, arg, only_ours ? TensorValue(self->grad).get() : nullptr);
}

// What only this wrapper kept alive goes at once, with all that it holds on the tape. An empty
// tensor takes its place: others in the same cycle may still look.
int TensorClear(PyObject* object) {
  auto* self = reinterpret_cast<PyTensor*>(object);
  Py_CLEAR(self->dict);
  Py_CLEAR(self->grad);
  if (self->tensor->autograd() == nullptr || self->tensor->ref_count() != 1) { return 0; }
  Maybe<TensorPtr> empty = AllocateTensor("clear", Shape({0}), DataType::kFloat, Device());
  if (!empty.ok()) { return 0; }
  const TensorPtr doomed = std::move(self->tensor);
  doomed->set_host_object(nullptr);
  self->tensor = std::move(empty).value();
  return 0;
}

int TensorSetattr(PyObject* object, PyObject* name, PyObject* value) {
  auto* self = reinterpret_cast<PyTensor*>(object);
  const bool had_dict = self->dict != nullptr;
  const int result = PyObject_GenericSetAttr(object, name, value);
  if (!had_dict && self->dict != nullptr && PyObject_GC_IsTracked(object) == 0) {
    PyObject_GC_Track(object);
  }
  return result;
}

// Tensor(other): another handle over the same data, without history; how subclasses are made.
PyObject* TensorNew(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  if (PyTuple_GET_SIZE(args) < 1 || !IsTensor(PyTuple_GET_ITEM(args, 0))) {
    if (type != tensor_type && PyTuple_GET_SIZE(args) == 0) {
      PyErr_Format(PyExc_TypeError, "[%s] expects a Tensor to share its data with", type->tp_name);
      return nullptr;
    }
    PyRef plain = PyRef::Steal(NewLegacyTensor(args, kwargs));
    if (!plain || type == tensor_type) { return plain.Release(); }
    return NewWrapper(type, TensorValue(plain.get())->Alias());
  }
  return NewWrapper(type, TensorValue(PyTuple_GET_ITEM(args, 0))->Alias());
}

int TensorInit(PyObject*, PyObject*, PyObject*) { return 0; }

// --- attributes ---

const TensorPtr& T(PyObject* self) { return TensorValue(self); }

PyObject* GetShape(PyObject* self, void*) { return NewSize(T(self)->shape()); }
PyObject* GetDtype(PyObject* self, void*) {
  PyObject* dtype = DtypeObject(T(self)->dtype());
  Py_INCREF(dtype);
  return dtype;
}
PyObject* GetDevice(PyObject* self, void*) { return NewDevice(T(self)->device()); }
PyObject* GetNdim(PyObject* self, void*) { return PyLong_FromLong(T(self)->ndim()); }
PyObject* GetIsCuda(PyObject* self, void*) {
  return PyBool_FromLong(T(self)->device().type() == DeviceType::kCUDA);
}
PyObject* GetVersion(PyObject* self, void*) {
  return PyLong_FromUnsignedLong(T(self)->storage()->version());
}
PyObject* GetTranspose(PyObject* self, void*) {
  return WrapResult(functional::reverse_dims(T(self)));
}

// What has a __dict__ can be part of a cycle: from now on the collector looks at it.
PyObject* GetDict(PyObject* self, void*) {
  PyObject* dict = PyObject_GenericGetDict(self, nullptr);
  if (dict != nullptr && PyObject_GC_IsTracked(self) == 0) { PyObject_GC_Track(self); }
  return dict;
}
int SetDict(PyObject* self, PyObject* value, void*) {
  if (PyObject_GenericSetDict(self, value, nullptr) != 0) { return -1; }
  if (PyObject_GC_IsTracked(self) == 0) { PyObject_GC_Track(self); }
  return 0;
}

PyGetSetDef getset[] = {
    {"__dict__", GetDict, SetDict, nullptr, nullptr},
    {"shape", GetShape, nullptr, "Size: the dimensions.", nullptr},
    {"dtype", GetDtype, nullptr, "The element type.", nullptr},
    {"device", GetDevice, nullptr, "Where the data lives.", nullptr},
    {"ndim", GetNdim, nullptr, "The number of dimensions.", nullptr},
    {"is_global", GetIsGlobal, nullptr, "Is it a tensor over the ranks of a placement?", nullptr},
    {"is_local", GetIsLocal, nullptr, "Is it this process's own?", nullptr},
    {"_global", GetGlobal, SetGlobal, "(placement, [sbp, ...]) as text, or None.", nullptr},
    {"is_cuda", GetIsCuda, nullptr, "True on a CUDA device.", nullptr},
    {"_version", GetVersion, nullptr, "How often the data was changed in place.", nullptr},
    {"T", GetTranspose, nullptr, "The dims in reverse order, as a view.", nullptr},
    {"requires_grad", GetRequiresGrad, SetRequiresGrad, "Does autograd follow it?", nullptr},
    {"is_leaf", GetIsLeaf, nullptr, "True if no recorded op made it.", nullptr},
    {"grad", GetGrad, SetGrad, "The accumulated gradient, or None.", nullptr},
    {"grad_fn", GetGradFn, nullptr, "The op that made it, or None.", nullptr},
    {"data", GetData, SetData, "The same data without history.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyMemberDef members[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(PyTensor, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(PyTensor, weakrefs), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

Py_hash_t Hash(PyObject* self) { return _Py_HashPointer(self); }

PyType_Slot slots[] = {
    {Py_tp_doc, const_cast<char*>("A multi-dimensional array on a device, known to autograd.")},
    {Py_tp_new, reinterpret_cast<void*>(TensorNew)},
    {Py_tp_init, reinterpret_cast<void*>(TensorInit)},
    {Py_tp_dealloc, reinterpret_cast<void*>(TensorDealloc)},
    {Py_tp_traverse, reinterpret_cast<void*>(TensorTraverse)},
    {Py_tp_clear, reinterpret_cast<void*>(TensorClear)},
    {Py_tp_setattro, reinterpret_cast<void*>(TensorSetattr)},
    {Py_tp_getset, getset},
    {Py_tp_members, members},
    {Py_tp_hash, reinterpret_cast<void*>(Hash)},
    {Py_nb_bool, reinterpret_cast<void*>(TensorBool)},
    {Py_nb_int, reinterpret_cast<void*>(TensorInt)},
    {Py_nb_float, reinterpret_cast<void*>(TensorFloat)},
    {Py_nb_index, reinterpret_cast<void*>(TensorIndex)},
    {Py_sq_length, reinterpret_cast<void*>(TensorLength)},
    {Py_sq_item, reinterpret_cast<void*>(SequenceItem)},
    {Py_sq_contains, reinterpret_cast<void*>(TensorContains)},
    {Py_mp_length, reinterpret_cast<void*>(TensorLength)},
    {Py_mp_subscript, reinterpret_cast<void*>(GetItem)},
    {Py_mp_ass_subscript, reinterpret_cast<void*>(SetItem)},
    {Py_tp_iter, reinterpret_cast<void*>(TensorIter)}};

PyTypeObject* MakeTensorType() {
  std::vector<PyType_Slot> all(std::begin(slots), std::end(slots));
  AppendNumberSlots(&all);
  all.push_back({0, nullptr});
  PyType_Spec spec = {"oneflow.Tensor", sizeof(PyTensor), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, all.data()};
  return reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
}

// Methods are plain descriptors, so that they can be listed in several tables.
bool AddMethods(PyTypeObject* type, PyMethodDef* methods) {
  for (PyMethodDef* method = methods; method->ml_name != nullptr; ++method) {
    PyRef descriptor = PyRef::Steal(PyDescr_NewMethod(type, method));
    if (!descriptor || PyObject_SetAttrString(reinterpret_cast<PyObject*>(type), method->ml_name,
                                              descriptor.get()) != 0) {
      return false;
    }
  }
  return true;
}

// numpy's scalars leave `np.float32(2) * tensor` to the tensor: it has the higher priority.
bool DeferNumpy(PyTypeObject* type) {
  PyRef priority = PyRef::Steal(PyLong_FromLong(1000));
  return priority && PyObject_SetAttrString(reinterpret_cast<PyObject*>(type), "__array_priority__",
                                            priority.get()) == 0;
}

}  // namespace

PyObject* WrapTensor(TensorPtr tensor) {
  if (tensor == nullptr) { Py_RETURN_NONE; }
  auto* object = static_cast<PyObject*>(tensor->host_object());
  if (object != nullptr && Py_REFCNT(object) > 0) {  // 0: its class is taking it down just now
    Py_INCREF(object);
    TrackIfOnTape(object);
    return object;
  }
  return NewWrapper(tensor_type, std::move(tensor));
}

bool InitTensor(PyObject* module) {
  tensor_type = MakeTensorType();
  if (tensor_type == nullptr) { return false; }
  return AddMethods(tensor_type, kGeneratedMethods) && AddMethods(tensor_type, kDataMethods) &&
         AddMethods(tensor_type, kAutogradMethods) && AddMethods(tensor_type, kDlpackMethods) &&
         DeferNumpy(tensor_type) &&
         PyObject_SetAttrString(module, "Tensor", reinterpret_cast<PyObject*>(tensor_type)) == 0;
}

}  // namespace oneflow
