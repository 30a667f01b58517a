#include "oneflow/functional/op_node.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "oneflow/autograd/grad_mode.h"
#include "oneflow/functional/autocast.h"

namespace oneflow {

OpNode::OpNode(const FunctionalOp* op, const TensorPtr* inputs, int num_inputs, const void* attrs)
    : Node(op->def->num_outputs), op_(op), num_inputs_(num_inputs) {
  if (attrs != nullptr && op->def->attrs_size > 0) {
    attrs_.reset(new char[op->def->attrs_size]);
    std::memcpy(attrs_.get(), attrs, op->def->attrs_size);
  }
  const int list_at = op->def->ListAt();
  const auto bit_of = [list_at](int i) { return uint32_t{1} << std::min(i, list_at); };
  for (int i = 0; i < num_inputs; ++i) {
    const bool differentiable = (op->grad_inputs & bit_of(i)) != 0;
    AddEdge(differentiable && inputs[i] != nullptr ? GradientEdge(inputs[i]) : Edge());
  }
  const uint32_t metas = op->save_metas | op->save_inputs;
  const uint32_t values = Needed(&GradientUse::inputs);
  for (int i = 0; i < num_inputs; ++i) {
    const TensorPtr& input = inputs[i];
    const uint32_t bit = bit_of(i);
    if ((metas & bit) != 0) {
      metas_.resize(static_cast<size_t>(num_inputs));
      if (input != nullptr) { metas_[static_cast<size_t>(i)] = input->meta(); }
    }
    if ((values & bit) != 0) {
      inputs_.resize(static_cast<size_t>(num_inputs));
      if (input == nullptr) { continue; }
      inputs_[static_cast<size_t>(i)] = {input, input->storage()->version(), nullptr};
    }
  }
}

OpNode::~OpNode() = default;

uint32_t OpNode::Needed(uint32_t GradientUse::* mask) const {
  uint32_t needed = 0;
  for (int i = 0; i < op_->num_uses; ++i) {
    const int input = op_->uses[i].input;
    const bool wanted = input == op_->def->ListAt() ? NeedsGradFrom(input) : NeedsGrad(input);
    if (wanted) { needed |= op_->uses[i].*mask; }
  }
  return needed;
}

void OpNode::SaveOutputs(const TensorPtr* outputs) {
  const uint32_t needed = Needed(&GradientUse::outputs);
  for (int i = 0; i < op_->def->num_outputs; ++i) {
    if ((needed >> i & 1) == 0) { continue; }
    outputs_.resize(static_cast<size_t>(op_->def->num_outputs));
    outputs_[static_cast<size_t>(i)] = {outputs[i]->Alias(), outputs[i]->storage()->version(),
                                        nullptr};
  }
}

Maybe<void> OpNode::Apply(const TensorTuple& dys, TensorTuple* dxs) {
  if (released_) {
    return RuntimeError(
        "[{}] expects one backward through it, got backward a second time, when its "
        "saved tensors were released; pass retain_graph=True to the first one",
        name());
  }
  const autocast::Pause pause;
  return op_->backward(*this, dys, dxs);
}

void OpNode::ReleaseSaved() {
  released_ = released_ || !inputs_.empty() || !outputs_.empty();
  inputs_.clear();
  outputs_.clear();
}

void OpNode::VisitTensors(const std::function<void(const Tensor*)>& visit) const {
  for (const auto* saved : {&inputs_, &outputs_}) {
    for (const Saved& one : *saved) {
      if (one.tensor != nullptr) { visit(one.tensor.get()); }
    }
  }
}

Maybe<void> OpNode::Pack(SavedTensorHooks* hooks) {
  for (auto* list : {&inputs_, &outputs_}) {
    for (Saved& saved : *list) {
      if (saved.tensor == nullptr) { continue; }
      saved.packed = JUST(hooks->Pack(saved.tensor));
      saved.tensor.Reset();
    }
  }
  return Ok();
}

std::vector<void*> OpNode::HostObjects() const {
  std::vector<void*> objects;
  for (const auto* list : {&inputs_, &outputs_}) {
    for (const Saved& saved : *list) {
      if (saved.packed != nullptr) { objects.push_back(saved.packed->host_object()); }
    }
  }
  return objects;
}

Maybe<TensorPtr> OpNode::Input(int i) const {
  const Saved& saved = inputs_[static_cast<size_t>(i)];
  TensorPtr input = JUST(Unpack(saved, "operand", i));
  const Edge& edge = edges()[static_cast<size_t>(i)];
  if (saved.packed == nullptr || edge.node == nullptr || !GradModeEnabled()) { return input; }
  const TensorPtr with_history = input->Alias();
  SetHistory(with_history, edge.node, edge.index);
  return with_history;
}

Maybe<TensorTuple> OpNode::InputsFrom(int at) const {
  TensorTuple list;
  for (int i = at; i < num_inputs_; ++i) { list.push_back(JUST(Input(i))); }
  return list;
}

std::vector<Dims> OpNode::InputShapes(int at) const {
  std::vector<Dims> shapes;
  for (int i = at; i < num_inputs_; ++i) { shapes.push_back(InputMeta(i).shape); }
  return shapes;
}

bool OpNode::NeedsGradFrom(int at) const {
  for (int i = at; i < num_inputs_; ++i) {
    if (NeedsGrad(i)) { return true; }
  }
  return false;
}

Maybe<void> OpNode::SetListGradients(int at, TensorTuple grads, TensorTuple* dxs) const {
  CHECK_OR_RETURN(static_cast<int>(grads.size()) == num_inputs_ - at);
  for (int i = at; i < num_inputs_; ++i) {
    if (NeedsGrad(i)) {
      (*dxs)[static_cast<size_t>(i)] = std::move(grads[static_cast<size_t>(i - at)]);
    }
  }
  return Ok();
}

Maybe<TensorPtr> OpNode::Output(int i) const {
  const Saved& saved = outputs_[static_cast<size_t>(i)];
  TensorPtr alias = JUST(Unpack(saved, "result", i));
  if (!GradModeEnabled()) { return alias; }
  // Higher derivatives go through this node again; the history is given back for the time being.
  TensorPtr output = alias->Alias();
  SetHistory(output, NodePtr(const_cast<OpNode*>(this)), i);
  return output;
}

Maybe<TensorPtr> OpNode::Unpack(const Saved& saved, const char* kind, int i) const {
  if (saved.packed != nullptr) { return saved.packed->Unpack(); }
  if (saved.tensor == nullptr || saved.tensor->storage()->version() == saved.version) {
    return saved.tensor;
  }
  const std::string number = Format("number {}", i);
  const bool named = kind == std::string_view("operand") && i < op_->def->ListAt();
  return RuntimeError(
      "[{}] expects its {} {} of shape {} as it was, since backward needs it (version {}), but it "
      "was changed in place (version {}); change a copy",
      name(), kind, named ? op_->input_names[i] : number.c_str(), saved.tensor->shape(),
      saved.version, saved.tensor->storage()->version());
}

}  // namespace oneflow
