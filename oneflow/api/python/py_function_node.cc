#include "oneflow/api/python/py_function_node.h"

#include "oneflow/api/python/call_python.h"
#include "oneflow/api/python/errors.h"
#include "oneflow/api/python/gil.h"
#include "oneflow/api/python/py_types.h"
#include "oneflow/autograd/grad_mode.h"
#include "oneflow/functional/generated/functional.h"

namespace oneflow {

FunctionNode::FunctionNode(std::string name, PyRef function, PyRef ctx,
                           std::vector<Argument> arguments, std::vector<Output> outputs)
    : Node(static_cast<int>(outputs.size())),
      name_(std::move(name)),
      function_(std::move(function)),
      ctx_(std::move(ctx)),
      arguments_(std::move(arguments)),
      outputs_(std::move(outputs)) {}

FunctionNode::~FunctionNode() { ctx()->node = nullptr; }

void FunctionNode::ReleaseSaved() {
  released_ = !saved_.empty();
  saved_.clear();
}

void FunctionNode::VisitTensors(const std::function<void(const Tensor*)>& visit) const {
  for (const SavedTensor& saved : saved_) {
    if (saved.tensor != nullptr) { visit(saved.tensor.get()); }
  }
}

void FunctionNode::Save(const TensorPtr& tensor, int output) {
  SavedTensor saved;
  if (tensor != nullptr) {
    saved.tensor = output < 0 ? tensor : tensor->Alias();
    saved.output = output;
    saved.version = tensor->storage()->version();
  }
  saved_.push_back(std::move(saved));
}

Maybe<TensorPtr> FunctionNode::Unpack(size_t i) const {
  const SavedTensor& saved = saved_[i];
  if (saved.tensor == nullptr) { return TensorPtr(); }
  if (saved.tensor->storage()->version() != saved.version) {
    return RuntimeError(
        "[{}] expects tensor number {} of those that save_for_backward was given, of "
        "shape {}, as it was (version {}), but it was changed in place (version "
        "{}); change a copy",
        name(), i, saved.tensor->shape(), saved.version, saved.tensor->storage()->version());
  }
  if (saved.output < 0) { return saved.tensor; }
  TensorPtr output = saved.tensor->Alias();
  if (GradModeEnabled()) {
    SetHistory(output, NodePtr(const_cast<FunctionNode*>(this)), saved.output);
  }
  return output;
}

Maybe<TensorTuple> FunctionNode::Saved() const {
  if (released_) {
    return RuntimeError(
        "[{}] expects one backward through it, got backward a second time, when its "
        "saved tensors were released; pass retain_graph=True to the first one",
        name());
  }
  TensorTuple tensors;
  for (size_t i = 0; i < saved_.size(); ++i) { tensors.push_back(JUST(Unpack(i))); }
  return tensors;
}

// What backward is called with: ctx, and for each output of forward its gradient.
PyRef FunctionNode::Arguments(const TensorTuple& dys) const {
  PyRef arguments = PyRef::Steal(PyTuple_New(static_cast<Py_ssize_t>(dys.size()) + 1));
  if (!arguments) { return arguments; }
  PyTuple_SET_ITEM(arguments.get(), 0, PyRef(ctx_).Release());
  for (size_t i = 0; i < dys.size(); ++i) {
    TensorPtr dy = dys[i];
    if (dy == nullptr && outputs_[i].tensor && ctx()->materialize_grads) {
      const TensorMeta& meta = outputs_[i].meta;
      Maybe<TensorPtr> zeros = functional::zeros(Dims(meta.shape), meta.dtype, meta.device);
      if (!zeros.ok()) {
        RaiseError(zeros.error());
        return PyRef();
      }
      dy = std::move(zeros).value();
    }
    PyObject* wrapped = WrapTensor(std::move(dy));
    if (wrapped == nullptr) { return PyRef(); }
    PyTuple_SET_ITEM(arguments.get(), static_cast<Py_ssize_t>(i) + 1, wrapped);
  }
  return arguments;
}

Maybe<void> FunctionNode::Apply(const TensorTuple& dys, TensorTuple* dxs) {
  CHECK_OR_RETURN(Gil::Held());
  const StackContextPtr context = StackContext::InCallback(CurrentStackContext(), stack());
  const ScopedHostStack host_stack(context.get());
  const PyRef arguments = Arguments(dys);
  if (!arguments) { return TakePythonError(); }
  const PyRef backward = PyRef::Steal(PyObject_GetAttrString(function_.get(), "backward"));
  if (!backward) { return TakePythonError(); }
  const PyRef result =
      PyRef::Steal(CallPython(PyObject_Call, backward.get(), arguments.get(), nullptr));
  if (!result) { return TakePythonError(); }
  return TakeResults(result.get(), dxs);
}

Maybe<void> FunctionNode::TakeResults(PyObject* result, TensorTuple* dxs) const {
  const bool several = PyTuple_Check(result) || PyList_Check(result);
  const size_t count = several ? static_cast<size_t>(PySequence_Fast_GET_SIZE(result)) : 1;
  if (count < arguments_.size()) {
    return RuntimeError("[{}.backward] expects to return {} gradients, one for each argument of "
                        "forward, got {}",
                        name(), arguments_.size(), count);
  }
  for (size_t i = 0; i < count; ++i) {
    PyObject* value =
        several ? PySequence_Fast_GET_ITEM(result, static_cast<Py_ssize_t>(i)) : result;
    if (i < arguments_.size()) {
      JUST(TakeResult(i, value, dxs));
    } else if (value != Py_None) {
      return RuntimeError("[{}.backward] expects to return {} gradients, one for each argument of "
                          "forward, got {}",
                          name(), arguments_.size(), count);
    }
  }
  return Ok();
}

Maybe<void> FunctionNode::TakeResult(size_t i, PyObject* value, TensorTuple* dxs) const {
  if (value == Py_None) { return Ok(); }
  const Argument& argument = arguments_[i];
  if (!IsTensor(value)) {
    return TypeError("[{}.backward] expects a Tensor or None as gradient {}, got {}", name(), i,
                     Py_TYPE(value)->tp_name);
  }
  if (argument.edge < 0) {
    return RuntimeError(
        "[{}.backward] expects None as gradient {}, since argument {} of forward was "
        "no Tensor, got a Tensor of shape {}",
        name(), i, i, TensorValue(value)->shape());
  }
  if (edges()[static_cast<size_t>(argument.edge)].node == nullptr) { return Ok(); }
  const TensorPtr& grad = TensorValue(value);
  const TensorMeta& meta = argument.meta;
  if (grad->shape() != meta.shape || grad->dtype() != meta.dtype || grad->device() != meta.device) {
    return RuntimeError(
        "[{}.backward] expects gradient {} to have shape {}, dtype {} and device {} "
        "as the argument of forward, got {}, {} and {}",
        name(), i, meta.shape, DataTypeName(meta.dtype), meta.device, grad->shape(),
        DataTypeName(grad->dtype()), grad->device());
  }
  // Without create_graph a gradient has no history, even if backward recorded one for itself.
  const bool cut = !GradModeEnabled() && grad->requires_grad();
  (*dxs)[static_cast<size_t>(argument.edge)] = cut ? grad->Alias() : grad;
  return Ok();
}

}  // namespace oneflow
