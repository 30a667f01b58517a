#include "oneflow/functional/op_node.h"

#include <cstring>

#include "oneflow/autograd/grad_mode.h"

namespace oneflow {

OpNode::OpNode(const FunctionalOp* op, const TensorPtr* inputs, int num_inputs, const void* attrs)
    : Node(op->def->num_outputs), op_(op), num_inputs_(num_inputs) {
  if (attrs != nullptr && op->def->attrs_size > 0) {
    attrs_.reset(new char[op->def->attrs_size]);
    std::memcpy(attrs_.get(), attrs, op->def->attrs_size);
  }
  const bool list = op->def->num_inputs < 0;
  // Bits stop at 31; a list of tensors longer than that shares the last one.
  const auto bit_of = [](int i) { return uint32_t{1} << (i < 31 ? i : 31); };
  for (int i = 0; i < num_inputs; ++i) {
    const bool differentiable = list || (op->grad_inputs & bit_of(i)) != 0;
    AddEdge(differentiable && inputs[i] != nullptr ? GradientEdge(inputs[i]) : Edge());
  }
  const uint32_t metas = op->save_metas | op->save_inputs;
  const uint32_t values = list ? op->save_inputs : Needed(&GradientUse::inputs);
  for (int i = 0; i < num_inputs; ++i) {
    const TensorPtr& input = inputs[i];
    const uint32_t bit = bit_of(i);
    if (list ? metas != 0 : (metas & bit) != 0) {
      metas_.resize(static_cast<size_t>(num_inputs));
      if (input != nullptr) { metas_[static_cast<size_t>(i)] = input->meta(); }
    }
    if (list ? values != 0 : (values & bit) != 0) {
      inputs_.resize(static_cast<size_t>(num_inputs));
      if (input == nullptr) { continue; }
      inputs_[static_cast<size_t>(i)] = {input, input->storage()->version()};
    }
  }
}

OpNode::~OpNode() = default;

uint32_t OpNode::Needed(uint32_t GradientUse::* mask) const {
  uint32_t needed = 0;
  for (int i = 0; i < op_->num_uses; ++i) {
    if (NeedsGrad(op_->uses[i].input)) { needed |= op_->uses[i].*mask; }
  }
  return needed;
}

void OpNode::SaveOutputs(const TensorPtr* outputs) {
  const uint32_t needed =
      op_->def->num_inputs < 0 ? op_->save_outputs : Needed(&GradientUse::outputs);
  for (int i = 0; i < op_->def->num_outputs; ++i) {
    if ((needed >> i & 1) == 0) { continue; }
    outputs_.resize(static_cast<size_t>(op_->def->num_outputs));
    outputs_[static_cast<size_t>(i)] = {outputs[i]->Alias(), outputs[i]->storage()->version()};
  }
}

Maybe<void> OpNode::Apply(const TensorTuple& dys, TensorTuple* dxs) {
  if (released_) {
    return RuntimeError(
        "[{}] expects one backward through it, got backward a second time, when its "
        "saved tensors were released; pass retain_graph=True to the first one",
        name());
  }
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

Maybe<TensorPtr> OpNode::Input(int i) const {
  return Unpack(inputs_[static_cast<size_t>(i)], "operand", i);
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
  if (saved.tensor == nullptr || saved.tensor->storage()->version() == saved.version) {
    return saved.tensor;
  }
  const std::string number = Format("number {}", i);
  const bool named = kind == std::string_view("operand") && op_->def->num_inputs >= 0;
  return RuntimeError(
      "[{}] expects its {} {} of shape {} as it was, since backward needs it (version {}), but it "
      "was changed in place (version {}); change a copy",
      name(), kind, named ? op_->input_names[i] : number.c_str(), saved.tensor->shape(),
      saved.version, saved.tensor->storage()->version());
}

}  // namespace oneflow
