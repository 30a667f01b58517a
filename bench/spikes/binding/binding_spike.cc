// One operator, `add`, bound to Python in several ways, to measure what a binding costs.
//
// Every variant does the same work behind the binding: it allocates a new shared `Scalar` that
// holds the sum. What differs is how the arguments arrive, how they are checked, and how the result
// becomes a Python object. `measure.py` times the variants and prints the table that
// docs/decisions/0003-binding-by-c-api.md quotes.
//
// Threads: all functions need the GIL. Ownership: a Python object owns one reference to its Scalar.
#include <Python.h>
#include <pybind11/operators.h>
#include <pybind11/pybind11.h>

#include <array>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace py = pybind11;

// Stands in for a tensor: what an op returns lives behind a shared pointer.
struct Scalar {
  explicit Scalar(double v) : value(v) {}
  double value;
};

std::shared_ptr<Scalar> Sum(const Scalar& x, const Scalar& y) {
  return std::make_shared<Scalar>(x.value + y.value);
}

// ---- C API: one object layout, four heap types that differ in GC flag and free list ----

struct Object {
  PyObject_HEAD;
  std::shared_ptr<Scalar> impl;
};

constexpr int kFreeListCapacity = 64;

// Blocks of one type that wait for their next use. Guarded by the GIL.
struct FreeList {
  std::array<Object*, kFreeListCapacity> blocks;
  int size = 0;
};

enum Kind { kPlain = 0, kPlainFreeList, kGc, kGcFreeList, kKinds };

PyTypeObject* g_types[kKinds];
FreeList g_free_lists[kKinds];

constexpr bool IsGc(Kind kind) { return kind == kGc || kind == kGcFreeList; }
constexpr bool HasFreeList(Kind kind) { return kind == kPlainFreeList || kind == kGcFreeList; }

template <Kind kind>
Object* AllocateBlock() {
  if constexpr (HasFreeList(kind)) {
    FreeList& list = g_free_lists[kind];
    if (list.size > 0) {
      Object* block = list.blocks[--list.size];
      PyObject_Init(reinterpret_cast<PyObject*>(block), g_types[kind]);  // takes the type reference
      return block;
    }
  }
  if constexpr (IsGc(kind)) return PyObject_GC_New(Object, g_types[kind]);
  return PyObject_New(Object, g_types[kind]);
}

template <Kind kind>
PyObject* Wrap(std::shared_ptr<Scalar> impl) {
  Object* self = AllocateBlock<kind>();
  if (self == nullptr) return nullptr;
  new (&self->impl) std::shared_ptr<Scalar>(std::move(impl));
  if constexpr (IsGc(kind)) PyObject_GC_Track(self);
  return reinterpret_cast<PyObject*>(self);
}

template <Kind kind>
void Dealloc(PyObject* object) {
  Object* self = reinterpret_cast<Object*>(object);
  PyTypeObject* type = Py_TYPE(object);
  if constexpr (IsGc(kind)) PyObject_GC_UnTrack(object);
  self->impl.~shared_ptr();
  FreeList& list = g_free_lists[kind];
  if (HasFreeList(kind) && type == g_types[kind] && list.size < kFreeListCapacity) {
    list.blocks[list.size++] = self;
  } else if constexpr (IsGc(kind)) {
    PyObject_GC_Del(self);
  } else {
    PyObject_Free(self);
  }
  Py_DECREF(type);
}

int Traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  return 0;
}

// The argument check that a generated binding would do: exact type first, then subclasses.
template <Kind kind>
const Scalar* Unwrap(PyObject* object) {
  if (Py_TYPE(object) == g_types[kind] || PyObject_TypeCheck(object, g_types[kind])) {
    return reinterpret_cast<Object*>(object)->impl.get();
  }
  return nullptr;
}

template <Kind kind>
PyObject* NbAdd(PyObject* a, PyObject* b) {
  const Scalar* x = Unwrap<kind>(a);
  const Scalar* y = Unwrap<kind>(b);
  if (x != nullptr && y != nullptr) return Wrap<kind>(Sum(*x, *y));
  // tensor + number and number + tensor: the slot sees both orders.
  const Scalar* tensor = x != nullptr ? x : y;
  PyObject* number = x != nullptr ? b : a;
  if (tensor == nullptr || !(PyLong_Check(number) || PyFloat_Check(number))) {
    Py_RETURN_NOTIMPLEMENTED;
  }
  const double value = PyFloat_AsDouble(number);
  if (value == -1.0 && PyErr_Occurred()) return nullptr;
  return Wrap<kind>(std::make_shared<Scalar>(tensor->value + value));
}

template <Kind kind>
PyObject* GetItem(PyObject* self, PyObject*) {
  return PyFloat_FromDouble(reinterpret_cast<Object*>(self)->impl->value);
}

// Interned parameter names: a keyword that the compiler interned compares by identity.
PyObject* g_names[2];

// Puts positional and keyword arguments into `slots`, or sets TypeError.
bool ParseXY(PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames, PyObject** slots) {
  const Py_ssize_t nkw = kwnames == nullptr ? 0 : PyTuple_GET_SIZE(kwnames);
  if (nargs + nkw != 2 || nargs > 2) {
    PyErr_Format(PyExc_TypeError, "[add] expects 2 arguments, got %zd", nargs + nkw);
    return false;
  }
  for (Py_ssize_t i = 0; i < nargs; ++i) slots[i] = args[i];
  for (Py_ssize_t k = 0; k < nkw; ++k) {
    PyObject* name = PyTuple_GET_ITEM(kwnames, k);
    int slot = -1;
    for (int i = 0; i < 2 && slot < 0; ++i) {
      if (name == g_names[i] || PyUnicode_Compare(name, g_names[i]) == 0) slot = i;
    }
    if (slot < 0 || slots[slot] != nullptr) {
      PyErr_Format(PyExc_TypeError, "[add] got an unexpected or repeated argument '%U'", name);
      return false;
    }
    slots[slot] = args[nargs + k];
  }
  return true;
}

template <bool kReleaseGil>
PyObject* FastAdd(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  PyObject* slots[2] = {nullptr, nullptr};
  if (!ParseXY(args, nargs, kwnames, slots)) return nullptr;
  const Scalar* x = Unwrap<kPlainFreeList>(slots[0]);
  const Scalar* y = Unwrap<kPlainFreeList>(slots[1]);
  if (x == nullptr || y == nullptr) {
    PyErr_Format(PyExc_TypeError, "[add] expects two tensors, got %s and %s",
                 Py_TYPE(slots[0])->tp_name, Py_TYPE(slots[1])->tp_name);
    return nullptr;
  }
  std::shared_ptr<Scalar> sum;
  if constexpr (kReleaseGil) {
    Py_BEGIN_ALLOW_THREADS;
    sum = Sum(*x, *y);
    Py_END_ALLOW_THREADS;
  } else {
    sum = Sum(*x, *y);
  }
  return Wrap<kPlainFreeList>(std::move(sum));
}

// The same op by METH_VARARGS and PyArg_ParseTupleAndKeywords, the classic way.
PyObject* VarargsAdd(PyObject*, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"x", "y", nullptr};
  PyObject* a = nullptr;
  PyObject* b = nullptr;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!O!:add", const_cast<char**>(names),
                                   g_types[kPlainFreeList], &a, g_types[kPlainFreeList], &b)) {
    return nullptr;
  }
  return Wrap<kPlainFreeList>(Sum(*Unwrap<kPlainFreeList>(a), *Unwrap<kPlainFreeList>(b)));
}

// Does nothing: the floor of a call into C.
PyObject* Nothing(PyObject*, PyObject* const*, Py_ssize_t, PyObject*) { Py_RETURN_NONE; }

// Allocates and frees `count` objects, `live` at a time, all around one Scalar, so that nothing but
// the Python object is measured.
template <Kind kind>
bool Churn(long count, long live) {
  const auto impl = std::make_shared<Scalar>(1.0);
  std::vector<PyObject*> held(live);
  for (long done = 0; done < count; done += live) {
    for (PyObject*& object : held) {
      object = Wrap<kind>(impl);
      if (object == nullptr) return false;
    }
    for (PyObject* object : held) Py_DECREF(object);
  }
  return impl.use_count() == 1;  // every object gave its reference back
}

PyObject* AllocationLoop(PyObject*, PyObject* args) {
  int kind = 0;
  long count = 0;
  long live = 1;
  if (!PyArg_ParseTuple(args, "ill:allocation_loop", &kind, &count, &live)) return nullptr;
  bool (*const loops[kKinds])(long, long) = {Churn<kPlain>, Churn<kPlainFreeList>, Churn<kGc>,
                                             Churn<kGcFreeList>};
  if (kind < 0 || kind >= kKinds || live < 1 || !loops[kind](count, live)) {
    PyErr_SetString(PyExc_RuntimeError, "allocation_loop: bad arguments, or a lost reference");
    return nullptr;
  }
  Py_RETURN_NONE;
}

PyObject* MakeScalar(PyObject*, PyObject* number) {
  const double value = PyFloat_AsDouble(number);
  if (value == -1.0 && PyErr_Occurred()) return nullptr;
  return Wrap<kPlainFreeList>(std::make_shared<Scalar>(value));
}

PyObject* MakeGcScalar(PyObject*, PyObject* number) {
  const double value = PyFloat_AsDouble(number);
  if (value == -1.0 && PyErr_Occurred()) return nullptr;
  return Wrap<kGc>(std::make_shared<Scalar>(value));
}

template <Kind kind>
bool MakeType(const char* name) {
  static PyMethodDef methods[] = {{"item", GetItem<kind>, METH_NOARGS, nullptr},
                                  {nullptr, nullptr, 0, nullptr}};
  PyType_Slot slots[] = {
      {Py_tp_dealloc, reinterpret_cast<void*>(Dealloc<kind>)},
      {Py_nb_add, reinterpret_cast<void*>(NbAdd<kind>)},
      {Py_tp_methods, methods},
      {IsGc(kind) ? Py_tp_traverse : 0, reinterpret_cast<void*>(IsGc(kind) ? Traverse : nullptr)},
      {0, nullptr}};
  unsigned int flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION;
  if (IsGc(kind)) flags |= Py_TPFLAGS_HAVE_GC;
  PyType_Spec spec = {name, sizeof(Object), 0, flags, slots};
  g_types[kind] = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  return g_types[kind] != nullptr;
}

template <typename F>
PyCFunction AsCFunction(F* f) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(f));
}

PyMethodDef g_functions[] = {
    {"c_nothing", AsCFunction(Nothing), METH_FASTCALL | METH_KEYWORDS, nullptr},
    {"c_add", AsCFunction(FastAdd<false>), METH_FASTCALL | METH_KEYWORDS, nullptr},
    {"c_add_release", AsCFunction(FastAdd<true>), METH_FASTCALL | METH_KEYWORDS, nullptr},
    {"c_add_varargs", AsCFunction(VarargsAdd), METH_VARARGS | METH_KEYWORDS, nullptr},
    {"c_make", MakeScalar, METH_O, nullptr},
    {"c_make_gc", MakeGcScalar, METH_O, nullptr},
    {"allocation_loop", AllocationLoop, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr}};

// ---- pybind11: the same op as a function with named arguments, and as an operator ----

void BindByPybind(py::module_& m) {
  py::class_<Scalar, std::shared_ptr<Scalar>>(m, "PybindScalar")
      .def(py::init<double>())
      .def("item", [](const Scalar& s) { return s.value; })
      .def(
          "__add__", [](const Scalar& x, const Scalar& y) { return Sum(x, y); }, py::is_operator())
      .def(
          "__add__",
          [](const Scalar& x, double y) { return std::make_shared<Scalar>(x.value + y); },
          py::is_operator());
  m.def(
      "pybind_add", [](const Scalar& x, const Scalar& y) { return Sum(x, y); }, py::arg("x"),
      py::arg("y"));
  m.def(
      "pybind_add_shared",
      [](const std::shared_ptr<Scalar>& x, const std::shared_ptr<Scalar>& y) {
        return Sum(*x, *y);
      },
      py::arg("x"), py::arg("y"));
}

}  // namespace

PYBIND11_MODULE(binding_spike, m) {
  g_names[0] = PyUnicode_InternFromString("x");
  g_names[1] = PyUnicode_InternFromString("y");
  const bool made = MakeType<kPlain>("binding_spike.Plain") &&
                    MakeType<kPlainFreeList>("binding_spike.PlainFreeList") &&
                    MakeType<kGc>("binding_spike.Gc") &&
                    MakeType<kGcFreeList>("binding_spike.GcFreeList");
  if (!made || PyModule_AddFunctions(m.ptr(), g_functions) != 0) throw py::error_already_set();
  BindByPybind(m);
}
