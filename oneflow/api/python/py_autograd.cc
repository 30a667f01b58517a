// Autograd as Python sees it: requires_grad, grad, backward, hooks, grad mode.
#include <atomic>
#include <string>

#include "oneflow/api/python/call_python.h"
#include "oneflow/api/python/errors.h"
#include "oneflow/api/python/methods.h"
#include "oneflow/api/python/py_ref.h"
#include "oneflow/api/python/py_types.h"
#include "oneflow/api/python/tape_gc.h"
#include "oneflow/autograd/anomaly_mode.h"
#include "oneflow/autograd/engine.h"
#include "oneflow/autograd/grad_mode.h"
#include "oneflow/functional/graph_trace.h"
#include "oneflow/vm/vm.h"

namespace oneflow {

namespace {

const TensorPtr& T(PyObject* self) { return TensorValue(self); }

PyCFunction Cast(PyCFunctionWithKeywords f) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(f));
}

// For the collector: what owns a node, or a gradient, can be part of a cycle.
void Track(PyObject* self) {
  if (PyObject_GC_IsTracked(self) == 0) { PyObject_GC_Track(self); }
}

NodePtr NodeOf(const TensorPtr& tensor) {
  return NodePtr(static_cast<Node*>(tensor->autograd()->grad_fn.get()));
}

// --- grad_fn: a look at a node ---

struct PyNode {
  PyObject_HEAD NodePtr node;
};
PyTypeObject* node_type = nullptr;

PyObject* NewNode(NodePtr node) {
  if (node == nullptr) { Py_RETURN_NONE; }
  auto* self = PyObject_GC_New(PyNode, node_type);
  if (self == nullptr) { return nullptr; }
  new (&self->node) NodePtr(std::move(node));
  PyObject_GC_Track(self);
  return reinterpret_cast<PyObject*>(self);
}

void NodeDealloc(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  reinterpret_cast<PyNode*>(object)->node.~NodePtr();
  type->tp_free(object);
  Py_DECREF(type);
}

int NodeTraverse(PyObject* object, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(object));
  return VisitTape(reinterpret_cast<PyNode*>(object)->node, visit, arg);
}

PyObject* NodeName(PyObject* self, PyObject*) {
  return PyUnicode_FromString(reinterpret_cast<PyNode*>(self)->node->name());
}

PyObject* NodeRepr(PyObject* self) {
  const Node& node = *reinterpret_cast<PyNode*>(self)->node;
  return PyUnicode_FromFormat("<%s_backward>", node.name());
}

PyObject* NodeNext(PyObject* self, void*) {
  const Node& node = *reinterpret_cast<PyNode*>(self)->node;
  PyRef tuple = PyRef::Steal(PyTuple_New(static_cast<Py_ssize_t>(node.edges().size())));
  for (size_t i = 0; tuple && i < node.edges().size(); ++i) {
    const Edge& edge = node.edges()[i];
    PyObject* pair = Py_BuildValue("Ni", NewNode(edge.node), static_cast<int>(edge.index));
    if (pair == nullptr) { return nullptr; }
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), pair);
  }
  return tuple.Release();
}

PyMethodDef node_methods[] = {{"name", NodeName, METH_NOARGS, "The op's name."},
                              {nullptr, nullptr, 0, nullptr}};
PyGetSetDef node_getset[] = {
    {"next_functions", NodeNext, nullptr, "The nodes of the op's inputs.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyType_Slot node_slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(NodeDealloc)},
                            {Py_tp_traverse, reinterpret_cast<void*>(NodeTraverse)},
                            {Py_tp_repr, reinterpret_cast<void*>(NodeRepr)},
                            {Py_tp_methods, node_methods},
                            {Py_tp_getset, node_getset},
                            {0, nullptr}};
PyType_Spec node_spec = {
    "oneflow.autograd.Node", sizeof(PyNode), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION, node_slots};

// --- hooks ---

std::atomic<int64_t> next_hook_id{1};

TensorHook MakeHook(PyObject* callable) {
  // The engine runs with the GIL held: it was entered from Python and gives the lock away only
  // inside waits.
  PyRef function = PyRef::Borrow(callable);
  const auto call = [function, on_tape = OnTape()](const TensorPtr& grad) -> Maybe<TensorPtr> {
    const StackContextPtr context = StackContext::InCallback(CurrentStackContext(), CurrentStack());
    const ScopedHostStack host_stack(context.get());
    PyRef argument = PyRef::Steal(WrapTensor(grad));
    if (!argument) { return TakePythonError(); }
    PyRef result = PyRef::Steal(CallPython(PyObject_CallOneArg, function.get(), argument.get()));
    if (!result) { return TakePythonError(); }
    if (result.get() == Py_None) { return TensorPtr(); }
    if (!IsTensor(result.get())) {
      return TypeError("[register_hook] expects the hook to return a Tensor or None, got {}",
                       Py_TYPE(result.get())->tp_name);
    }
    const TensorPtr& replaced = TensorValue(result.get());
    if (replaced->shape() != grad->shape() || replaced->dtype() != grad->dtype()) {
      return RuntimeError("[register_hook] expects a gradient of shape {} and dtype {}, got {} and "
                          "{}",
                          grad->shape(), DataTypeName(grad->dtype()), replaced->shape(),
                          DataTypeName(replaced->dtype()));
    }
    return replaced;
  };
  return {next_hook_id.fetch_add(1), call, callable};
}

void AttachHook(const TensorPtr& tensor, TensorHook hook) {
  const Edge edge = GradientEdge(tensor);  // a leaf's node is made here
  edge.node->AddHook(edge.index, std::move(hook));
}

// Does not keep the node alive: a hook that holds its own handle is no cycle.
struct PyHookHandle {
  PyObject_HEAD IntrusivePtr<WeakNode> node;
  int64_t id;
};
PyTypeObject* handle_type = nullptr;

void HandleDealloc(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  reinterpret_cast<PyHookHandle*>(object)->node.~IntrusivePtr<WeakNode>();
  type->tp_free(object);
  Py_DECREF(type);
}

PyObject* HandleRemove(PyObject* object, PyObject*) {
  auto* self = reinterpret_cast<PyHookHandle*>(object);
  if (self->node->node != nullptr) {
    const NodePtr node(self->node->node);  // what the hook owns may own the node
    node->RemoveHook(self->id);
  }
  Py_RETURN_NONE;
}

PyMethodDef handle_methods[] = {{"remove", HandleRemove, METH_NOARGS, "Removes the hook."},
                                {nullptr, nullptr, 0, nullptr}};
PyType_Slot handle_slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(HandleDealloc)},
                              {Py_tp_methods, handle_methods},
                              {0, nullptr}};
PyType_Spec handle_spec = {"oneflow.autograd.HookHandle", sizeof(PyHookHandle), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, handle_slots};

PyObject* RegisterHook(PyObject* self, PyObject* callable) {
  FollowBase(T(self));
  if (!T(self)->requires_grad()) {
    PyErr_SetString(PyExc_RuntimeError, "[register_hook] expects a tensor that requires grad");
    return nullptr;
  }
  if (PyCallable_Check(callable) == 0) {
    PyErr_Format(PyExc_TypeError, "[register_hook] expects a callable, got %s",
                 Py_TYPE(callable)->tp_name);
    return nullptr;
  }
  TensorHook hook = MakeHook(callable);
  auto* handle = PyObject_New(PyHookHandle, handle_type);
  if (handle == nullptr) { return nullptr; }
  new (&handle->node) IntrusivePtr<WeakNode>(GradientEdge(T(self)).node->Weak());
  handle->id = hook.id;
  AttachHook(T(self), std::move(hook));
  Track(self);
  return reinterpret_cast<PyObject*>(handle);
}

PyObject* RetainGrad(PyObject* self, PyObject*) {
  const TensorPtr& tensor = T(self);
  FollowBase(tensor);
  if (!tensor->requires_grad()) {
    PyErr_SetString(PyExc_RuntimeError, "[retain_grad] expects a tensor that requires grad");
    return nullptr;
  }
  if (!tensor->is_leaf() && !tensor->autograd()->retain_grad) {
    tensor->autograd()->retain_grad = true;
    const auto keep = [weak = tensor->Weak()](const TensorPtr& grad) -> Maybe<TensorPtr> {
      if (weak->tensor == nullptr) { return TensorPtr(); }
      const TensorPtr owner(weak->tensor);  // an op may let other threads run
      const TensorPtr before = owner->MutableAutograd()->grad;
      // A copy: the gradient goes on to others, which must not see changes of this one.
      owner->autograd()->grad = before == nullptr ? JUST(GetGradientOps().clone(grad))
                                                  : JUST(GetGradientOps().add(before, grad));
      return TensorPtr();
    };
    AttachHook(tensor, {next_hook_id.fetch_add(1), keep});
  }
  Py_RETURN_NONE;
}

// --- backward ---

// Tensors of a tuple or list, None as null. False with an exception set.
bool TensorsFrom(const char* op, PyObject* sequence, bool allow_none, TensorTuple* out) {
  if (IsTensor(sequence)) {
    out->push_back(TensorValue(sequence));
    return true;
  }
  PyRef fast =
      PyRef::Steal(PySequence_Fast(sequence, "expects a Tensor, or a sequence of Tensors"));
  if (!fast) { return false; }
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(fast.get()); ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(fast.get(), i);
    if (item == Py_None && allow_none) {
      out->push_back(TensorPtr());
    } else if (IsTensor(item)) {
      out->push_back(TensorValue(item));
    } else {
      PyErr_Format(PyExc_TypeError, "[%s] expects Tensors, got %s", op, Py_TYPE(item)->tp_name);
      return false;
    }
  }
  return true;
}

PyObject* BackwardMethod(PyObject* self, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"gradient", "retain_graph", "create_graph", nullptr};
  PyObject* gradient = Py_None;
  PyObject* retain = Py_None;
  int create = 0;
  if (PyArg_ParseTupleAndKeywords(args, kwargs, "|OOp:backward", const_cast<char**>(names),
                                  &gradient, &retain, &create) == 0) {
    return nullptr;
  }
  if (gradient != Py_None && !IsTensor(gradient)) {
    PyErr_Format(PyExc_TypeError, "[backward] expects gradient to be a Tensor or None, got %s",
                 Py_TYPE(gradient)->tp_name);
    return nullptr;
  }
  const int keep = retain == Py_None ? create : PyObject_IsTrue(retain);
  if (keep < 0) { return nullptr; }
  TensorTuple grads;
  if (gradient != Py_None) { grads.push_back(TensorValue(gradient)); }
  PY_JUST(Backward({T(self)}, grads, {keep != 0, create != 0}));
  Py_RETURN_NONE;
}

PyObject* BackwardFunction(PyObject*, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"tensors", "grad_tensors", "retain_graph", "create_graph", nullptr};
  PyObject* roots = nullptr;
  PyObject* grads = Py_None;
  int retain = 0;
  int create = 0;
  if (PyArg_ParseTupleAndKeywords(args, kwargs, "O|Opp:backward", const_cast<char**>(names), &roots,
                                  &grads, &retain, &create) == 0) {
    return nullptr;
  }
  TensorTuple root_list;
  TensorTuple grad_list;
  if (!TensorsFrom("backward", roots, false, &root_list)) { return nullptr; }
  if (grads != Py_None && !TensorsFrom("backward", grads, true, &grad_list)) { return nullptr; }
  if (!grad_list.empty() && grad_list.size() != root_list.size()) {
    PyErr_Format(PyExc_ValueError, "[backward] expects a gradient for each of %zu tensors, got %zu",
                 root_list.size(), grad_list.size());
    return nullptr;
  }
  PY_JUST(Backward(root_list, grad_list, {retain != 0 || create != 0, create != 0}));
  Py_RETURN_NONE;
}

PyObject* GradFunction(PyObject*, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"outputs",      "inputs",       "grad_outputs", "retain_graph",
                                "create_graph", "allow_unused", nullptr};
  PyObject* outputs = nullptr;
  PyObject* inputs = nullptr;
  PyObject* grads = Py_None;
  int retain = 0;
  int create = 0;
  int unused = 0;
  if (PyArg_ParseTupleAndKeywords(args, kwargs, "OO|Oppp:grad", const_cast<char**>(names), &outputs,
                                  &inputs, &grads, &retain, &create, &unused) == 0) {
    return nullptr;
  }
  TensorTuple output_list;
  TensorTuple input_list;
  TensorTuple grad_list;
  if (!TensorsFrom("grad", outputs, false, &output_list)) { return nullptr; }
  if (!TensorsFrom("grad", inputs, false, &input_list)) { return nullptr; }
  if (grads != Py_None && !TensorsFrom("grad", grads, true, &grad_list)) { return nullptr; }
  if (!grad_list.empty() && grad_list.size() != output_list.size()) {
    PyErr_Format(PyExc_ValueError, "[grad] expects a gradient for each of %zu outputs, got %zu",
                 output_list.size(), grad_list.size());
    return nullptr;
  }
  return WrapResult(Gradients(output_list, input_list, grad_list,
                              {retain != 0 || create != 0, create != 0}, unused != 0));
}

PyObject* Detach(PyObject* self, PyObject*) { return WrapTensor(T(self)->Alias()); }

PyObject* RequiresGradMethod(PyObject* self, PyObject* args) {
  PyObject* value = Py_True;
  if (PyArg_ParseTuple(args, "|O:requires_grad_", &value) == 0) { return nullptr; }
  if (SetRequiresGrad(self, value, nullptr) != 0) { return nullptr; }
  Py_INCREF(self);
  return self;
}

PyObject* IsGradEnabled(PyObject*, PyObject*) { return PyBool_FromLong(GradModeEnabled()); }

PyObject* SetGradEnabled(PyObject*, PyObject* value) {
  const int enabled = PyObject_IsTrue(value);
  if (enabled < 0) { return nullptr; }
  SetGradModeEnabled(enabled != 0);
  Py_RETURN_NONE;
}

PyObject* SetAnomaly(PyObject*, PyObject* args) {
  int gradients = 0;
  int forward = 0;
  if (PyArg_ParseTuple(args, "pp:set_anomaly_mode", &gradients, &forward) == 0) { return nullptr; }
  PyRef before = PyRef::Steal(PyTuple_Pack(2, ChecksGradients() ? Py_True : Py_False,
                                           ChecksForward() ? Py_True : Py_False));
  if (before) { SetAnomalyMode(gradients != 0, forward != 0); }
  return before.Release();
}

PyObject* GetAnomaly(PyObject*, PyObject*) {
  return PyTuple_Pack(2, ChecksGradients() ? Py_True : Py_False,
                      ChecksForward() ? Py_True : Py_False);
}

bool AddType(PyType_Spec* spec, PyTypeObject** type) {
  *type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(spec));
  return *type != nullptr;
}

}  // namespace

bool InitAutograd(PyObject* module) {
  return AddType(&node_spec, &node_type) && AddType(&handle_spec, &handle_type) &&
         PyModule_AddFunctions(module, kAutogradFunctions) == 0;
}

PyObject* GetRequiresGrad(PyObject* self, void*) {
  FollowBase(T(self));
  return PyBool_FromLong(T(self)->requires_grad());
}

int SetRequiresGrad(PyObject* self, PyObject* value, void*) {
  const int wanted = value == nullptr ? -1 : PyObject_IsTrue(value);
  if (wanted < 0) {
    if (value == nullptr) { PyErr_SetString(PyExc_TypeError, "requires_grad cannot be deleted"); }
    return -1;
  }
  const TensorPtr& tensor = T(self);
  FollowBase(tensor);
  if (!tensor->is_leaf()) {
    if (wanted != 0) { return 0; }
    PyErr_SetString(PyExc_RuntimeError, "[requires_grad] can be turned off for leaf tensors only; "
                                        "use .detach() for one that an op made");
    return -1;
  }
  if (wanted != 0 && !IsFloating(tensor->dtype())) {
    PyErr_Format(PyExc_RuntimeError, "[requires_grad] expects a floating-point tensor, got %s",
                 DataTypeName(tensor->dtype()));
    return -1;
  }
  if (wanted != 0 || tensor->autograd() != nullptr) {
    tensor->MutableAutograd()->requires_grad = wanted != 0;
    Track(self);
  }
  return 0;
}

PyObject* GetIsLeaf(PyObject* self, void*) {
  FollowBase(T(self));
  return PyBool_FromLong(T(self)->is_leaf());
}

// Keeps `grad`, nothing for a null pointer, as what `self.grad` is.
void KeepGrad(PyObject* self, PyObject* grad) {
  PyObject*& kept = reinterpret_cast<PyTensor*>(self)->grad;
  if (kept == grad) { return; }
  PyObject* before = kept;
  Py_XINCREF(grad);
  kept = grad;
  if (grad != nullptr) { Track(self); }
  Py_XDECREF(before);  // may run the program's code
}

PyObject* GetGrad(PyObject* self, void*) {
  const AutogradMeta* meta = T(self)->autograd();
  PyObject* grad = WrapTensor(meta == nullptr ? TensorPtr() : meta->grad);
  if (grad != nullptr) { KeepGrad(self, grad == Py_None ? nullptr : grad); }
  return grad;
}

int SetGrad(PyObject* self, PyObject* value, void*) {
  const TensorPtr& tensor = T(self);
  if (value == nullptr || value == Py_None) {
    if (tensor->autograd() != nullptr) { tensor->autograd()->grad.Reset(); }
    KeepGrad(self, nullptr);
    return 0;
  }
  if (!IsTensor(value) || TensorValue(value)->shape() != tensor->shape() ||
      TensorValue(value)->dtype() != tensor->dtype()) {
    const std::string got = !IsTensor(value)
                                ? Py_TYPE(value)->tp_name
                                : Format("shape {} and dtype {}", TensorValue(value)->shape(),
                                         DataTypeName(TensorValue(value)->dtype()));
    PyErr_Format(PyExc_TypeError,
                 "[grad] expects None, or a Tensor of shape %s and dtype %s, got %s",
                 tensor->shape().ToString().c_str(), DataTypeName(tensor->dtype()), got.c_str());
    return -1;
  }
  if (TensorValue(value) == tensor) {
    PyErr_SetString(PyExc_RuntimeError, "[grad] a tensor cannot be its own gradient");
    return -1;
  }
  tensor->MutableAutograd()->grad = TensorValue(value);
  KeepGrad(self, value);
  return 0;
}

PyObject* GetGradFn(PyObject* self, void*) {
  FollowBase(T(self));
  if (T(self)->is_leaf()) { Py_RETURN_NONE; }
  return NewNode(NodeOf(T(self)));
}

PyObject* GetData(PyObject* self, void*) { return WrapTensor(T(self)->Alias()); }

int SetData(PyObject* self, PyObject* value, void*) {
  if (value == nullptr || !IsTensor(value)) {
    PyErr_SetString(PyExc_TypeError, "[data] expects a Tensor");
    return -1;
  }
  // A tensor that outlives the trace of a graph cannot become one that only the trace has.
  if (!T(self)->storage()->traced()) { PY_JUST_OR(CheckHasValue("data", *TensorValue(value)), -1); }
  StorageRef old;
  while (old.get() != T(self)->storage()) {  // another thread may change it during the wait
    old = T(self)->storage_ref();
    PY_JUST_OR(Vm::Get()->AwaitCallsOn(*old.get()), -1);
  }
  T(self)->SetData(*TensorValue(value));
  return 0;
}

PyMethodDef kAutogradMethods[] = {
    {"backward", Cast(BackwardMethod), METH_VARARGS | METH_KEYWORDS,
     "backward(gradient=None, retain_graph=None, create_graph=False): adds gradients to leaves."},
    {"register_hook", RegisterHook, METH_O, "Calls a function with each gradient of this tensor."},
    {"retain_grad", RetainGrad, METH_NOARGS, "Keeps `grad` also where an op made the tensor."},
    {"detach", Detach, METH_NOARGS, "The same data, without history."},
    {"requires_grad_", RequiresGradMethod, METH_VARARGS, "Sets requires_grad in place."},
    {nullptr, nullptr, 0, nullptr}};

PyMethodDef kAutogradFunctions[] = {
    {"autograd_backward", Cast(BackwardFunction), METH_VARARGS | METH_KEYWORDS,
     "autograd_backward(tensors, grad_tensors=None, retain_graph=False, create_graph=False)"},
    {"autograd_grad", Cast(GradFunction), METH_VARARGS | METH_KEYWORDS,
     "autograd_grad(outputs, inputs, grad_outputs=None, retain_graph=False, create_graph=False, "
     "allow_unused=False)"},
    {"set_anomaly_mode", SetAnomaly, METH_VARARGS,
     "set_anomaly_mode(gradients, forward): returns what was set before."},
    {"anomaly_mode", GetAnomaly, METH_NOARGS, "(gradients, forward)"},
    {"is_grad_enabled", IsGradEnabled, METH_NOARGS, "Are ops of this thread recorded?"},
    {"set_grad_enabled", SetGradEnabled, METH_O, "Turns recording on or off for this thread."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace oneflow
