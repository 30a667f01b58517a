// The Tensor type: allocation, attributes, the number protocol. Methods that read or index data are
// in tensor_data.cc and indexing.cc, those of autograd in py_autograd.cc, ops in generated code.
#include <cmath>
#include <new>

#include "oneflow/api/python/errors.h"
#include "oneflow/api/python/methods.h"
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
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(reinterpret_cast<PyTensor*>(object)->dict);
  return VisitTape(TensorValue(object), visit, arg);
}

// What only this wrapper kept alive goes at once, with all that it holds on the tape. An empty
// tensor takes its place: others in the same cycle may still look.
int TensorClear(PyObject* object) {
  auto* self = reinterpret_cast<PyTensor*>(object);
  Py_CLEAR(self->dict);
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

// --- the number protocol ---

// Of an int that is too large Python would only say that it is an int.
PyObject* TooLarge(const char* op, PyObject* number) {
  PyRef text = PyRef::Steal(PyObject_Repr(number));
  const char* digits = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
  return RaiseOpError(TypeError("[{}] expects a number of at most 64 bits, got {}", op,
                                digits == nullptr ? "a larger int" : digits));
}

// Calls with_array(t), where t is a tensor with the values of `array`; NotImplemented if that is no
// numpy array.
template <typename WithArray>
PyObject* OrWithArray(const char* op, PyObject* array, const WithArray& with_array) {
  if (PyLong_Check(array) && !ScalarFromPython(array).has_value()) { return TooLarge(op, array); }
  if (!IsNumpyArray(array)) { Py_RETURN_NOTIMPLEMENTED; }
  PyRef made = PyRef::Steal(TensorFromPython(array));
  return made ? WrapResult(with_array(TensorValue(made.get()))) : nullptr;
}

// Calls with_tensor(x, y), or with_scalar(x, s) where one side is a number; `swapped` tells the
// latter that the number was on the left.
template <typename WithTensor, typename WithScalar>
PyObject* Binary(const char* op, PyObject* a, PyObject* b, const WithTensor& with_tensor,
                 const WithScalar& with_scalar) {
  if (IsTensor(a)) {
    if (IsTensor(b)) { return WrapResult(with_tensor(TensorValue(a), TensorValue(b))); }
    const std::optional<Scalar> scalar = ScalarFromPython(b);
    if (scalar.has_value()) { return WrapResult(with_scalar(TensorValue(a), *scalar, false)); }
    return OrWithArray(op, b, [&](const TensorPtr& y) { return with_tensor(TensorValue(a), y); });
  }
  const std::optional<Scalar> scalar = ScalarFromPython(a);
  if (scalar.has_value()) { return WrapResult(with_scalar(TensorValue(b), *scalar, true)); }
  return OrWithArray(op, a, [&](const TensorPtr& x) { return with_tensor(x, TensorValue(b)); });
}

PyObject* Add(PyObject* a, PyObject* b) {
  return Binary(
      "add", a, b,
      [](const TensorPtr& x, const TensorPtr& y) { return functional::add(x, y, Scalar(1)); },
      [](const TensorPtr& x, Scalar s, bool) { return functional::scalar_add(x, s, Scalar(1)); });
}

PyObject* Subtract(PyObject* a, PyObject* b) {
  return Binary(
      "sub", a, b,
      [](const TensorPtr& x, const TensorPtr& y) { return functional::sub(x, y, Scalar(1)); },
      [](const TensorPtr& x, Scalar s, bool swapped) {
        return swapped ? functional::rsub(x, s, Scalar(1))
                       : functional::scalar_sub(x, s, Scalar(1));
      });
}

PyObject* TrueDivide(PyObject* a, PyObject* b) {
  return Binary(
      "div", a, b, [](const TensorPtr& x, const TensorPtr& y) { return functional::div(x, y); },
      [](const TensorPtr& x, Scalar s, bool swapped) -> Maybe<TensorPtr> {
        if (!swapped) { return functional::scalar_div(x, s); }
        const TensorPtr top = JUST(functional::full(Dims(), s, std::nullopt, x->device()));
        return functional::div(top, x);
      });
}

PyObject* Multiply(PyObject* a, PyObject* b) {
  return Binary(
      "mul", a, b, [](const TensorPtr& x, const TensorPtr& y) { return functional::mul(x, y); },
      [](const TensorPtr& x, Scalar s, bool) { return functional::scalar_mul(x, s); });
}

PyObject* MatrixMultiply(PyObject* a, PyObject* b) {
  if (IsTensor(a) && IsTensor(b)) {
    return WrapResult(functional::matmul(TensorValue(a), TensorValue(b)));
  }
  if (IsTensor(a)) {
    return OrWithArray("matmul", b,
                       [&](const TensorPtr& y) { return functional::matmul(TensorValue(a), y); });
  }
  return OrWithArray("matmul", a,
                     [&](const TensorPtr& x) { return functional::matmul(x, TensorValue(b)); });
}

PyObject* Negative(PyObject* a) { return WrapResult(functional::neg(TensorValue(a))); }

// In place, the result is the left operand itself.
template <typename WithTensor, typename WithScalar>
PyObject* InPlace(const char* op, PyObject* a, PyObject* b, const WithTensor& with_tensor,
                  const WithScalar& with_scalar) {
  if (IsTensor(b)) {
    PY_JUST_OP(with_tensor(TensorValue(a), TensorValue(b)));
  } else {
    const std::optional<Scalar> scalar = ScalarFromPython(b);
    if (!scalar.has_value()) {
      return OrWithArray(op, b, [&](const TensorPtr& y) { return with_tensor(TensorValue(a), y); });
    }
    PY_JUST_OP(with_scalar(TensorValue(a), *scalar));
  }
  Py_INCREF(a);
  return a;
}

PyObject* InPlaceAdd(PyObject* a, PyObject* b) {
  return InPlace(
      "add_", a, b,
      [](const TensorPtr& x, const TensorPtr& y) { return functional::add_(x, y, Scalar(1)); },
      [](const TensorPtr& x, Scalar s) { return functional::scalar_add_(x, s, Scalar(1)); });
}

PyObject* InPlaceSubtract(PyObject* a, PyObject* b) {
  return InPlace(
      "sub_", a, b,
      [](const TensorPtr& x, const TensorPtr& y) { return functional::sub_(x, y, Scalar(1)); },
      [](const TensorPtr& x, Scalar s) { return functional::scalar_add_(x, s, Scalar(-1)); });
}

PyObject* InPlaceMultiply(PyObject* a, PyObject* b) {
  return InPlace(
      "mul_", a, b, [](const TensorPtr& x, const TensorPtr& y) { return functional::mul_(x, y); },
      [](const TensorPtr& x, Scalar s) { return functional::scalar_mul_(x, s); });
}

// x == y and x != y, element by element; without the second Python would compare identities.
Maybe<TensorPtr> NegatedUnless(bool equal, Maybe<TensorPtr> same) {
  if (equal || !same.ok()) { return same; }
  return functional::scalar_eq(same.value(), Scalar(false));
}

PyObject* RichCompare(PyObject* a, PyObject* b, int op) {
  if (op != Py_EQ && op != Py_NE) { Py_RETURN_NOTIMPLEMENTED; }
  const auto with_tensor = [&](const TensorPtr& y) {
    return NegatedUnless(op == Py_EQ, functional::eq(TensorValue(a), y));
  };
  if (IsTensor(b)) { return WrapResult(with_tensor(TensorValue(b))); }
  std::optional<Scalar> scalar = ScalarFromPython(b);
  // An int past 64 bits equals no element; neither does NaN.
  if (!scalar.has_value() && PyLong_Check(b)) { scalar = Scalar(std::nan("")); }
  if (!scalar.has_value()) { return OrWithArray("eq", b, with_tensor); }
  return WrapResult(NegatedUnless(op == Py_EQ, functional::scalar_eq(TensorValue(a), *scalar)));
}

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
    {Py_tp_richcompare, reinterpret_cast<void*>(RichCompare)},
    {Py_tp_hash, reinterpret_cast<void*>(Hash)},
    {Py_nb_add, reinterpret_cast<void*>(Add)},
    {Py_nb_subtract, reinterpret_cast<void*>(Subtract)},
    {Py_nb_true_divide, reinterpret_cast<void*>(TrueDivide)},
    {Py_nb_multiply, reinterpret_cast<void*>(Multiply)},
    {Py_nb_matrix_multiply, reinterpret_cast<void*>(MatrixMultiply)},
    {Py_nb_negative, reinterpret_cast<void*>(Negative)},
    {Py_nb_inplace_add, reinterpret_cast<void*>(InPlaceAdd)},
    {Py_nb_inplace_subtract, reinterpret_cast<void*>(InPlaceSubtract)},
    {Py_nb_inplace_multiply, reinterpret_cast<void*>(InPlaceMultiply)},
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
    {Py_tp_iter, reinterpret_cast<void*>(TensorIter)},
    {0, nullptr}};
PyType_Spec spec = {"oneflow.Tensor", sizeof(PyTensor), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};

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
  tensor_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (tensor_type == nullptr) { return false; }
  return AddMethods(tensor_type, kGeneratedMethods) && AddMethods(tensor_type, kDataMethods) &&
         AddMethods(tensor_type, kAutogradMethods) && AddMethods(tensor_type, kDlpackMethods) && DeferNumpy(tensor_type) &&
         PyObject_SetAttrString(module, "Tensor", reinterpret_cast<PyObject*>(tensor_type)) == 0;
}

}  // namespace oneflow
