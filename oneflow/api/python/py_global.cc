// What global tensors have beside local ones. Python's placement and sbp are classes of the package
// (framework/global_tensor.py); here they are text.
#include <string>
#include <vector>

#include "oneflow/api/python/errors.h"
#include "oneflow/api/python/methods.h"
#include "oneflow/api/python/py_ref.h"
#include "oneflow/api/python/py_types.h"
#include "oneflow/functional/global_results.h"

namespace oneflow {

namespace {

const GlobalMetaPtr& Global(PyObject* self) { return TensorValue(self)->global(); }

Maybe<GlobalMetaPtr> Parse(const std::string& placement, const std::vector<std::string>& sbps) {
  GlobalMeta meta{JUST(Placement::Parse(placement)), {}};
  for (const std::string& sbp : sbps) { meta.sbps.push_back(JUST(Sbp::Parse(sbp))); }
  if (meta.sbps.size() != static_cast<size_t>(meta.placement.grid().size())) {
    return ValueError("[global] expects an sbp for each of {} dims of {}, got {}",
                      meta.placement.grid().size(), placement, sbps.size());
  }
  return GlobalMetaPtr(std::make_shared<const GlobalMeta>(std::move(meta)));
}

// False, and a TypeError, for what is no list of strings.
bool Strings(PyObject* list, std::vector<std::string>* strings) {
  PyRef items = PyRef::Steal(PySequence_Fast(list, "[global] expects a sequence of sbps"));
  if (!items) { return false; }
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
    const char* text = PyUnicode_AsUTF8(PySequence_Fast_GET_ITEM(items.get(), i));
    if (text == nullptr) { return false; }
    strings->emplace_back(text);
  }
  return true;
}

}  // namespace

PyObject* GetIsGlobal(PyObject* self, void*) { return PyBool_FromLong(Global(self) != nullptr); }

PyObject* GetIsLocal(PyObject* self, void*) { return PyBool_FromLong(Global(self) == nullptr); }

namespace {

PyObject* Text(const GlobalMetaPtr& global) {
  if (global == nullptr) { Py_RETURN_NONE; }
  PyRef sbps = PyRef::Steal(PyTuple_New(static_cast<Py_ssize_t>(global->sbps.size())));
  if (!sbps) { return nullptr; }
  for (size_t i = 0; i < global->sbps.size(); ++i) {
    PyObject* text = PyUnicode_FromString(global->sbps[i].ToString().c_str());
    if (text == nullptr) { return nullptr; }
    PyTuple_SET_ITEM(sbps.get(), static_cast<Py_ssize_t>(i), text);
  }
  return Py_BuildValue("(sO)", global->placement.ToString().c_str(), sbps.get());
}

// nullptr for None; false, and an exception, for what Text does not give.
bool FromText(PyObject* value, GlobalMetaPtr* global) {
  if (value == nullptr || value == Py_None) { return true; }
  const char* placement = nullptr;
  PyObject* list = nullptr;
  if (!PyTuple_Check(value)) {
    PyErr_SetString(PyExc_TypeError, "[global] expects a placement and sbps, or None");
    return false;
  }
  if (PyArg_ParseTuple(value, "sO", &placement, &list) == 0) { return false; }
  std::vector<std::string> sbps;
  if (!Strings(list, &sbps)) { return false; }
  *global = PY_JUST_OR(Parse(placement, sbps), false);
  return true;
}

PyObject* GetSourceGlobal(PyObject*, PyObject*) { return Text(SourceGlobal()); }

PyObject* SetSourceGlobalTo(PyObject*, PyObject* value) {
  GlobalMetaPtr global;
  if (!FromText(value, &global)) { return nullptr; }
  SetSourceGlobal(std::move(global));
  Py_RETURN_NONE;
}

}  // namespace

PyObject* GetGlobal(PyObject* self, void*) { return Text(Global(self)); }

int SetGlobal(PyObject* self, PyObject* value, void*) {
  GlobalMetaPtr global;
  if (!FromText(value, &global)) { return -1; }
  TensorValue(self)->set_global(std::move(global));
  return 0;
}

PyMethodDef kGlobalFunctions[] = {
    {"source_global", GetSourceGlobal, METH_NOARGS,
     "How what ops without operands make on this thread lies; None for local tensors."},
    {"set_source_global", SetSourceGlobalTo, METH_O, "Sets what source_global() gives."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace oneflow
