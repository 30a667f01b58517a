// Generator: a random number stream as Python sees it.
#include <optional>

#include "oneflow/api/python/errors.h"
#include "oneflow/api/python/py_ref.h"
#include "oneflow/api/python/py_types.h"

namespace oneflow {

namespace {

struct PyGenerator {
  PyObject_HEAD GeneratorPtr generator;
  Device device;
};
PyTypeObject* generator_type = nullptr;

const GeneratorPtr& G(PyObject* self) { return reinterpret_cast<PyGenerator*>(self)->generator; }

PyObject* New(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"device", nullptr};
  PyObject* device = Py_None;
  if (PyArg_ParseTupleAndKeywords(args, kwargs, "|O:Generator", const_cast<char**>(names),
                                  &device) == 0) {
    return nullptr;
  }
  // "auto" is one stream for all devices, of which there is one.
  const bool any = PyUnicode_Check(device) && PyUnicode_CompareWithASCIIString(device, "auto") == 0;
  const bool named = device != Py_None && !any;
  const std::optional<Device> place = named ? DeviceFromPython(device) : Device();
  if (!place.has_value()) { return nullptr; }
  constexpr uint64_t kDefaultSeed = 67280421310721;  // a large prime, the same every time
  PyObject* made = NewGenerator(MakeIntrusive<Generator>(kDefaultSeed));
  if (made != nullptr) { reinterpret_cast<PyGenerator*>(made)->device = *place; }
  return made;
}

void Dealloc(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  reinterpret_cast<PyGenerator*>(object)->generator.~GeneratorPtr();
  type->tp_free(object);
  Py_DECREF(type);
}

// Seeds are 64 bits wide; negative ones count from 2^64 down.
bool SeedFrom(PyObject* object, uint64_t* seed) {
  PyRef number = PyRef::Steal(PyNumber_Index(object));
  if (!number) { return false; }
  *seed = PyLong_AsUnsignedLongLongMask(number.get());
  return PyErr_Occurred() == nullptr;
}

PyObject* ManualSeed(PyObject* self, PyObject* value) {
  uint64_t seed = 0;
  if (!SeedFrom(value, &seed)) { return nullptr; }
  G(self)->ManualSeed(seed);
  Py_INCREF(self);
  return self;
}

PyObject* InitialSeed(PyObject* self, PyObject*) {
  return PyLong_FromUnsignedLongLong(G(self)->seed());
}

PyObject* GetState(PyObject* self, PyObject*) {
  return Py_BuildValue("KK", static_cast<unsigned long long>(G(self)->seed()),
                       static_cast<unsigned long long>(G(self)->offset()));
}

PyObject* SetState(PyObject* self, PyObject* state) {
  if (!PyTuple_Check(state) || PyTuple_GET_SIZE(state) != 2) {
    PyErr_SetString(PyExc_TypeError, "[set_state] expects the pair (seed, blocks)");
    return nullptr;
  }
  uint64_t seed = 0;
  uint64_t offset = 0;
  if (!SeedFrom(PyTuple_GET_ITEM(state, 0), &seed) ||
      !SeedFrom(PyTuple_GET_ITEM(state, 1), &offset)) {
    return nullptr;
  }
  G(self)->SetState(seed, offset);
  Py_RETURN_NONE;
}

PyObject* GetDevice(PyObject* self, void*) {
  return NewDevice(reinterpret_cast<PyGenerator*>(self)->device);
}

PyGetSetDef getset[] = {
    {"device", GetDevice, nullptr, "Where its numbers are drawn; the CPU for 'auto'.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

// framework/generator.py makes a tensor of the state, and the other way round.
PyMethodDef methods[] = {
    {"manual_seed", ManualSeed, METH_O, "Starts the stream of this seed anew; returns itself."},
    {"initial_seed", InitialSeed, METH_NOARGS, "The seed."},
    {"_get_state", GetState, METH_NOARGS, "(seed, how many blocks were drawn)."},
    {"_set_state", SetState, METH_O, "Goes to a state that _get_state() returned."},
    {nullptr, nullptr, 0, nullptr}};
PyType_Slot slots[] = {
    {Py_tp_doc, const_cast<char*>("Generator(device='cpu'): a stream of random numbers.")},
    {Py_tp_new, reinterpret_cast<void*>(New)},
    {Py_tp_dealloc, reinterpret_cast<void*>(Dealloc)},
    {Py_tp_methods, methods},
    {Py_tp_getset, getset},
    {0, nullptr}};
PyType_Spec spec = {"oneflow.Generator", sizeof(PyGenerator), 0, Py_TPFLAGS_DEFAULT, slots};

}  // namespace

bool InitGenerator(PyObject* module) {
  generator_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (generator_type == nullptr) { return false; }
  PyRef default_generator = PyRef::Steal(NewGenerator(DefaultGenerator()));
  return default_generator &&
         PyObject_SetAttrString(module, "Generator", reinterpret_cast<PyObject*>(generator_type)) ==
             0 &&
         PyObject_SetAttrString(module, "default_generator", default_generator.get()) == 0;
}

PyObject* NewGenerator(const GeneratorPtr& generator) {
  auto* self = PyObject_New(PyGenerator, generator_type);
  if (self == nullptr) { return nullptr; }
  new (&self->generator) GeneratorPtr(generator);
  new (&self->device) Device();
  return reinterpret_cast<PyObject*>(self);
}

bool IsGenerator(PyObject* object) { return Py_TYPE(object) == generator_type; }
const GeneratorPtr& GeneratorValue(PyObject* object) { return G(object); }

}  // namespace oneflow
