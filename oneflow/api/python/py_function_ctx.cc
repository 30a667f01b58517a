#include "oneflow/api/python/py_function_ctx.h"

#include <structmember.h>

#include "oneflow/api/python/errors.h"
#include "oneflow/api/python/py_function_node.h"
#include "oneflow/api/python/py_types.h"

namespace oneflow {

namespace {

PyTypeObject* ctx_type = nullptr;

FunctionCtx* Ctx(PyObject* object) { return reinterpret_cast<FunctionCtx*>(object); }

int CtxTraverse(PyObject* object, visitproc visit, void* arg) {
  FunctionCtx* self = Ctx(object);
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(self->dict);
  Py_VISIT(self->name);
  Py_VISIT(self->needs_input_grad);
  Py_VISIT(self->to_save);
  Py_VISIT(self->dirty);
  Py_VISIT(self->non_differentiable);
  return 0;
}

int CtxClear(PyObject* object) {
  FunctionCtx* self = Ctx(object);
  Py_CLEAR(self->dict);
  Py_CLEAR(self->to_save);
  Py_CLEAR(self->dirty);
  Py_CLEAR(self->non_differentiable);
  return 0;
}

void CtxDealloc(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  if (Ctx(object)->weakrefs != nullptr) { PyObject_ClearWeakRefs(object); }
  CtxClear(object);
  Py_CLEAR(Ctx(object)->name);
  Py_CLEAR(Ctx(object)->needs_input_grad);
  type->tp_free(object);
  Py_DECREF(type);
}

// Keeps `args` in `slot` if it holds tensors (and None) only.
PyObject* Keep(PyObject* self, const char* method, PyObject* args, bool allow_none,
               PyObject** slot) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); ++i) {
    PyObject* item = PyTuple_GET_ITEM(args, i);
    if (IsTensor(item) || (allow_none && item == Py_None)) { continue; }
    PyErr_Format(PyExc_TypeError, "[%U.%s] expects Tensors%s, got %s", Ctx(self)->name, method,
                 allow_none ? " or None" : "", Py_TYPE(item)->tp_name);
    return nullptr;
  }
  Py_INCREF(args);
  Py_XSETREF(*slot, args);
  Py_RETURN_NONE;
}

PyObject* SaveForBackward(PyObject* self, PyObject* args) {
  return Keep(self, "save_for_backward", args, true, &Ctx(self)->to_save);
}
PyObject* MarkDirty(PyObject* self, PyObject* args) {
  return Keep(self, "mark_dirty", args, false, &Ctx(self)->dirty);
}
PyObject* MarkNonDifferentiable(PyObject* self, PyObject* args) {
  return Keep(self, "mark_non_differentiable", args, false, &Ctx(self)->non_differentiable);
}

PyObject* SetMaterializeGrads(PyObject* self, PyObject* value) {
  if (!PyBool_Check(value)) {
    PyErr_Format(PyExc_TypeError, "[%U.set_materialize_grads] expects a bool, got %s",
                 Ctx(self)->name, Py_TYPE(value)->tp_name);
    return nullptr;
  }
  Ctx(self)->materialize_grads = value == Py_True;
  Py_RETURN_NONE;
}

PyObject* SavedTensors(PyObject* self, void*) {
  const FunctionNode* node = Ctx(self)->node;
  if (node == nullptr) {
    PyErr_Format(PyExc_RuntimeError,
                 "[%U] ctx.saved_tensors is for backward, while the graph is alive",
                 Ctx(self)->name);
    return nullptr;
  }
  const TensorTuple tensors = PY_JUST(node->Saved());
  PyRef tuple = PyRef::Steal(PyTuple_New(static_cast<Py_ssize_t>(tensors.size())));
  for (size_t i = 0; tuple && i < tensors.size(); ++i) {
    PyObject* item = WrapTensor(tensors[i]);
    if (item == nullptr) { return nullptr; }
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), item);
  }
  return tuple.Release();
}

// OneFlow's name.
PyObject* IsDataValid(PyObject* self, PyObject*) {
  const FunctionNode* node = Ctx(self)->node;
  return PyBool_FromLong(node != nullptr && !node->released());
}

PyObject* NeedsInputGrad(PyObject* self, void*) {
  PyObject* tuple = Ctx(self)->needs_input_grad;
  Py_INCREF(tuple);
  return tuple;
}

PyMethodDef methods[] = {
    {"save_for_backward", SaveForBackward, METH_VARARGS,
     "save_for_backward(*tensors): keeps tensors, or None, for ctx.saved_tensors in backward."},
    {"mark_dirty", MarkDirty, METH_VARARGS,
     "mark_dirty(*tensors): says which arguments forward changed in place; it returns them."},
    {"mark_non_differentiable", MarkNonDifferentiable, METH_VARARGS,
     "mark_non_differentiable(*tensors): says which outputs have no gradient."},
    {"_is_data_valid", IsDataValid, METH_NOARGS, "Could backward run, with what was saved?"},
    {"set_materialize_grads", SetMaterializeGrads, METH_O,
     "set_materialize_grads(value): whether backward gets zeros (the default) or None for the "
     "gradient of an output that nothing used."},
    {nullptr, nullptr, 0, nullptr}};

PyGetSetDef getset[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {"saved_tensors", SavedTensors, nullptr, "What save_for_backward was given.", nullptr},
    {"needs_input_grad", NeedsInputGrad, nullptr,
     "For each argument of forward, whether it is a tensor that requires grad.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyMemberDef members[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(FunctionCtx, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(FunctionCtx, weakrefs), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

PyType_Slot slots[] = {
    {Py_tp_doc, const_cast<char*>("What forward hands to backward; attributes may be set freely.")},
    {Py_tp_dealloc, reinterpret_cast<void*>(CtxDealloc)},
    {Py_tp_traverse, reinterpret_cast<void*>(CtxTraverse)},
    {Py_tp_clear, reinterpret_cast<void*>(CtxClear)},
    {Py_tp_methods, methods},
    {Py_tp_getset, getset},
    {Py_tp_members, members},
    {0, nullptr}};
PyType_Spec spec = {"oneflow.autograd.FunctionCtx", sizeof(FunctionCtx), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                    slots};

}  // namespace

bool InitFunctionCtx(PyObject* module) {
  ctx_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  return ctx_type != nullptr &&
         PyObject_SetAttrString(module, "FunctionCtx", reinterpret_cast<PyObject*>(ctx_type)) == 0;
}

FunctionCtx* NewFunctionCtx(PyObject* name, PyObject* needs_input_grad) {
  auto* self = reinterpret_cast<FunctionCtx*>(ctx_type->tp_alloc(ctx_type, 0));  // all null
  if (self == nullptr) { return nullptr; }
  self->materialize_grads = true;
  Py_INCREF(name);
  self->name = name;
  Py_INCREF(needs_input_grad);
  self->needs_input_grad = needs_input_grad;
  return self;
}

std::vector<TensorPtr> TensorsOf(PyObject* tuple_or_null) {
  std::vector<TensorPtr> tensors;
  if (tuple_or_null == nullptr) { return tensors; }
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple_or_null); ++i) {
    PyObject* item = PyTuple_GET_ITEM(tuple_or_null, i);
    tensors.push_back(item == Py_None ? TensorPtr() : TensorValue(item));
  }
  return tensors;
}

}  // namespace oneflow
