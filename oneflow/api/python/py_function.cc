// AutogradFunctionBase.apply: runs a class's forward and puts a FunctionNode on the tape.
#include <algorithm>

#include "oneflow/api/python/call_python.h"
#include "oneflow/api/python/errors.h"
#include "oneflow/api/python/methods.h"
#include "oneflow/api/python/py_function_node.h"
#include "oneflow/api/python/py_types.h"
#include "oneflow/autograd/anomaly_mode.h"
#include "oneflow/autograd/grad_mode.h"
#include "oneflow/functional/dispatch.h"
#include "oneflow/functional/generated/functional.h"

namespace oneflow {

namespace {

bool Contains(const TensorTuple& tensors, const TensorPtr& tensor) {
  return std::find(tensors.begin(), tensors.end(), tensor) != tensors.end();
}

// One call of apply().
class Application {
 public:
  Application(PyObject* cls, PyObject* args) : cls_(PyRef::Borrow(cls)), args_(args) {}

  PyObject* Run() {
    if (!ReadName() || !ReadArguments()) { return nullptr; }
    const PyRef result = PyRef::Steal(CallForward());
    if (!result) { return nullptr; }
    return Finish(result.get());
  }

 private:
  bool ReadName() {
    python_name_ = PyRef::Steal(PyObject_GetAttrString(cls_.get(), "__name__"));
    const char* text = python_name_ ? PyUnicode_AsUTF8(python_name_.get()) : nullptr;
    if (text == nullptr) { return false; }
    name_ = text;
    return true;
  }

  // Finds the tensors, and whether a gradient can be asked for.
  bool ReadArguments() {
    const Py_ssize_t count = PyTuple_GET_SIZE(args_);
    PyRef needs = PyRef::Steal(PyTuple_New(count));
    if (!needs) { return false; }
    for (Py_ssize_t i = 0; i < count; ++i) {
      PyObject* arg = PyTuple_GET_ITEM(args_, i);
      if (IsTensor(arg)) { FollowBase(TensorValue(arg)); }
      const bool needed = IsTensor(arg) && TensorValue(arg)->requires_grad();
      PyTuple_SET_ITEM(needs.get(), i, PyBool_FromLong(needed));
      recorded_ = recorded_ || (needed && GradModeEnabled());
    }
    for (Py_ssize_t i = 0; i < count; ++i) {
      PyObject* arg = PyTuple_GET_ITEM(args_, i);
      FunctionNode::Argument argument;
      if (IsTensor(arg)) {
        const TensorPtr& tensor = TensorValue(arg);
        argument.edge = static_cast<int>(inputs_.size());
        argument.meta = tensor->meta();
        edges_.push_back(recorded_ ? GradientEdge(tensor) : Edge());
        inputs_.push_back(tensor);
      }
      arguments_.push_back(argument);
    }
    ctx_ =
        PyRef::Steal(reinterpret_cast<PyObject*>(NewFunctionCtx(python_name_.get(), needs.get())));
    return static_cast<bool>(ctx_);
  }

  FunctionCtx* ctx() const { return reinterpret_cast<FunctionCtx*>(ctx_.get()); }

  // forward(ctx, *args); where the class has a setup_context, forward(*args) and
  // setup_context(ctx, args, result).
  PyObject* CallForward() {
    const ScopedGradMode no_grad(false);
    const PyRef forward = PyRef::Steal(PyObject_GetAttrString(cls_.get(), "forward"));
    const PyRef setup = PyRef::Steal(PyObject_GetAttrString(cls_.get(), "setup_context"));
    if (!forward || !setup) { return nullptr; }
    if (setup.get() != Py_None) {
      PyRef result = PyRef::Steal(CallPython(PyObject_Call, forward.get(), args_, nullptr));
      if (!result) { return nullptr; }
      const PyRef done = PyRef::Steal(CallPython(PyObject_CallFunctionObjArgs, setup.get(),
                                                 ctx_.get(), args_, result.get(), nullptr));
      return done ? result.Release() : nullptr;
    }
    const Py_ssize_t count = PyTuple_GET_SIZE(args_);
    const PyRef all = PyRef::Steal(PyTuple_New(count + 1));
    if (!all) { return nullptr; }
    PyTuple_SET_ITEM(all.get(), 0, PyRef(ctx_).Release());
    for (Py_ssize_t i = 0; i < count; ++i) {
      PyTuple_SET_ITEM(all.get(), i + 1, PyRef::Borrow(PyTuple_GET_ITEM(args_, i)).Release());
    }
    return CallPython(PyObject_Call, forward.get(), all.get(), nullptr);
  }

  PyObject* Finish(PyObject* result) {
    const bool several = PyTuple_Check(result) || PyList_Check(result);
    const Py_ssize_t count = several ? PySequence_Fast_GET_SIZE(result) : 1;
    std::vector<FunctionNode::Output> metas;
    for (Py_ssize_t i = 0; i < count; ++i) {
      PyObject* item = several ? PySequence_Fast_GET_ITEM(result, i) : result;
      FunctionNode::Output output;
      output.tensor = IsTensor(item);
      if (output.tensor) { output.meta = TensorValue(item)->meta(); }
      metas.push_back(output);
      returned_.push_back(output.tensor ? TensorValue(item) : TensorPtr());
    }
    dirty_ = TensorsOf(ctx()->dirty);
    non_differentiable_ = TensorsOf(ctx()->non_differentiable);
    PY_JUST(CheckMarks());
    if (recorded_) {
      node_ =
          MakeIntrusive<FunctionNode>(name_, cls_, ctx_, std::move(arguments_), std::move(metas));
      for (Edge& edge : edges_) { node_->AddEdge(std::move(edge)); }
    }
    PyRef out = PyRef::Steal(PyTuple_New(count));
    for (Py_ssize_t i = 0; out && i < count; ++i) {
      PyObject* item = several ? PySequence_Fast_GET_ITEM(result, i) : result;
      const TensorPtr tensor = PY_JUST(Record(static_cast<int>(i)));
      PyObject* wrapped = tensor == nullptr ? PyRef::Borrow(item).Release() : WrapTensor(tensor);
      if (wrapped == nullptr) { return nullptr; }
      PyTuple_SET_ITEM(out.get(), i, wrapped);
    }
    if (!out) { return nullptr; }
    if (recorded_) { SaveTensors(); }
    if (recorded_ && ChecksForward()) {
      PY_JUST(CheckForwardNan(name_.c_str(), inputs_.data(), static_cast<int>(inputs_.size()),
                              returned_.data(), static_cast<int>(returned_.size())));
    }
    Py_CLEAR(ctx()->to_save);
    Py_CLEAR(ctx()->dirty);
    Py_CLEAR(ctx()->non_differentiable);
    return several ? out.Release() : PyRef::Borrow(PyTuple_GET_ITEM(out.get(), 0)).Release();
  }

  Maybe<void> CheckMarks() const {
    for (const TensorPtr& tensor : dirty_) {
      if (!Contains(inputs_, tensor) || !Contains(returned_, tensor)) {
        return RuntimeError(
            "[{}.mark_dirty] expects arguments of forward that forward returns, got "
            "another tensor of shape {}",
            name_, tensor->shape());
      }
      const AutogradMeta* meta = tensor->autograd();
      if (!GradModeEnabled() || meta == nullptr) { continue; }
      if (meta->requires_grad && meta->grad_fn == nullptr) {
        return RuntimeError("[{}] in place on a leaf tensor that requires grad (shape {})", name_,
                            tensor->shape());
      }
      if (meta->view_base != nullptr && recorded_) {
        return RuntimeError("[{}] in place on a view (shape {}) is not supported where a gradient "
                            "is recorded; use an out-of-place function",
                            name_, tensor->shape());
      }
    }
    for (const TensorPtr& tensor : non_differentiable_) {
      if (!Contains(returned_, tensor)) {
        return RuntimeError("[{}.mark_non_differentiable] expects outputs of forward, got another "
                            "tensor of shape {}",
                            name_, tensor->shape());
      }
    }
    return Ok();
  }

  // What apply() returns for output i: null where that is no tensor.
  Maybe<TensorPtr> Record(int i) {
    TensorPtr tensor = returned_[static_cast<size_t>(i)];
    if (tensor == nullptr) { return tensor; }
    if (Contains(dirty_, tensor)) {
      tensor->storage()->BumpVersion();
    } else if (Contains(inputs_, tensor)) {
      const ScopedGradMode no_grad(false);
      tensor = JUST(functional::expand(tensor, tensor->shape()));
    } else if (tensor->requires_grad()) {
      tensor = tensor->Alias();  // its own history, made inside forward, is not this function's
    }
    const bool differentiable = node_ != nullptr && IsFloating(tensor->dtype()) &&
                                !Contains(non_differentiable_, returned_[static_cast<size_t>(i)]);
    if (differentiable) { SetHistory(tensor, node_, i); }
    return tensor;
  }

  void SaveTensors() {
    ctx()->node = node_.get();
    for (const TensorPtr& tensor : TensorsOf(ctx()->to_save)) {
      node_->Save(tensor, tensor == nullptr ? -1 : OutputOf(tensor));
    }
  }

  int OutputOf(const TensorPtr& tensor) const {
    if (Contains(inputs_, tensor) && !Contains(dirty_, tensor)) { return -1; }
    if (Contains(non_differentiable_, tensor) || !IsFloating(tensor->dtype())) { return -1; }
    const auto found = std::find(returned_.begin(), returned_.end(), tensor);
    return found == returned_.end() ? -1 : static_cast<int>(found - returned_.begin());
  }

  const PyRef cls_;
  PyObject* const args_;
  PyRef python_name_;
  std::string name_;
  PyRef ctx_;
  bool recorded_ = false;
  std::vector<FunctionNode::Argument> arguments_;
  TensorTuple inputs_;
  std::vector<Edge> edges_;  // of inputs_, as they were before forward
  TensorTuple returned_;
  TensorTuple dirty_;
  TensorTuple non_differentiable_;
  IntrusivePtr<FunctionNode> node_;
};

PyObject* Apply(PyObject* cls, PyObject* args) { return Application(cls, args).Run(); }

PyMethodDef methods[] = {
    {"apply", Apply, METH_VARARGS | METH_CLASS,
     "apply(*args): forward's result, with backward as its derivative. No keyword arguments."},
    {nullptr, nullptr, 0, nullptr}};
PyType_Slot slots[] = {{Py_tp_doc, const_cast<char*>("The base of oneflow.autograd.Function.")},
                       {Py_tp_methods, methods},
                       {0, nullptr}};
PyType_Spec spec = {"oneflow.autograd.AutogradFunctionBase", sizeof(PyObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};

}  // namespace

bool InitFunction(PyObject* module) {
  const PyRef type = PyRef::Steal(PyType_FromSpec(&spec));
  return type && InitFunctionCtx(module) &&
         PyObject_SetAttrString(module, "AutogradFunctionBase", type.get()) == 0;
}

}  // namespace oneflow
