#include "oneflow/graph/logical_graph.h"

#include <algorithm>
#include <cstring>

namespace oneflow {
namespace graph {

namespace {

bool SameMeta(const TensorMeta& a, const TensorMeta& b) {
  return a.shape == b.shape && a.strides == b.strides && a.offset == b.offset &&
         a.dtype == b.dtype && a.device == b.device;
}

std::string Join(const std::vector<ValueId>& ids) {
  std::string out;
  for (ValueId id : ids) {
    out += (out.empty() ? "" : ", ") + (id == kNoValue ? "none" : "%" + std::to_string(id));
  }
  return out;
}

std::string DescribeMeta(const TensorMeta& meta) {
  return Format("{} {} {}{}", DataTypeName(meta.dtype), meta.shape, meta.device,
                meta.contiguous ? "" : ", strides " + meta.strides.ToString());
}

// " # train.py:12 in build", or nothing when the line is not known.
std::string DescribeLine(StackId stack) {
  const StackSource* source = StackSource::Get();
  if (stack == kNoStack || source == nullptr) { return ""; }
  if (source->Evicted(stack)) { return "  # stack evicted"; }
  const std::vector<StackFrame> frames = source->Resolve(stack);
  if (frames.empty()) { return ""; }
  const StackFrame& line = frames.back();
  return Format("  # {}:{} in {}", line.file, line.line, line.function);
}

}  // namespace

ValueId LogicalGraph::AddValue(Value value) {
  values_.push_back(std::move(value));
  return static_cast<ValueId>(values_.size()) - 1;
}

ValueId LogicalGraph::AddInput(std::string name, const TensorMeta& meta) {
  Value value;
  value.kind = Value::Kind::kInput;
  value.name = std::move(name);
  value.meta = meta;
  inputs_.push_back(AddValue(std::move(value)));
  return inputs_.back();
}

ValueId LogicalGraph::AddCaptured(std::string name, const TensorMeta& meta, StorageRef storage) {
  Value value;
  value.kind = Value::Kind::kCaptured;
  value.name = std::move(name);
  value.meta = meta;
  value.storage = std::move(storage);
  return AddValue(std::move(value));
}

Maybe<std::vector<TensorMeta>> LogicalGraph::InferOutputs(const OpDef& def, const void* attrs,
                                                          const std::vector<ValueId>& inputs,
                                                          Device device, DataType dtype) const {
  std::vector<const TensorMeta*> metas;
  metas.reserve(inputs.size());
  for (ValueId id : inputs) { metas.push_back(id == kNoValue ? nullptr : &value(id).meta); }
  const InferContext context{def.name, metas.data(), static_cast<int>(metas.size()), attrs};
  std::vector<TensorMeta> outputs(static_cast<size_t>(def.num_outputs));
  for (TensorMeta& output : outputs) {
    const bool from_input = !metas.empty() && metas[0] != nullptr;
    output.dtype = from_input ? metas[0]->dtype : dtype;
    output.device = from_input ? metas[0]->device : device;
  }
  JUST(def.infer(context, outputs.data()));
  for (TensorMeta& output : outputs) {
    JUST(CheckedBytes(def.name, output.shape, output.dtype));
    if (!def.is_view) {
      output.SetContiguous(Shape(output.shape));
    } else {
      output.contiguous = IsContiguous(output.shape, output.strides);
    }
  }
  return outputs;
}

Maybe<std::vector<ValueId>> LogicalGraph::Append(const OpDef* def, const void* attrs,
                                                 const std::vector<ValueId>& inputs, StackId stack,
                                                 Device device, DataType dtype) {
  if (def->syncs) {
    return RuntimeError("[{}] cannot be part of a graph: the shape of its result depends on data",
                        def->name);
  }
  const int count = static_cast<int>(inputs.size());
  CHECK_OR_RETURN(def->num_inputs < 0 || count == def->num_inputs, "[{}] expects {} inputs, got {}",
                  def->name, def->num_inputs, count);
  for (ValueId id : inputs) {
    CHECK_OR_RETURN(id >= kNoValue && id < static_cast<ValueId>(values_.size()),
                    "[{}] expects a value of the graph, got %{}", def->name, id);
  }
  const std::vector<TensorMeta> metas = JUST(InferOutputs(*def, attrs, inputs, device, dtype));
  Node node;
  node.def = def;
  node.stack = PinnedStack(stack);
  node.attrs.resize(def->attrs_size);
  if (def->attrs_size > 0) { std::memcpy(node.attrs.data(), attrs, def->attrs_size); }
  return AppendCopy(node, inputs, metas);
}

std::vector<ValueId> LogicalGraph::AppendCopy(const Node& from, std::vector<ValueId> inputs,
                                              const std::vector<TensorMeta>& output_metas) {
  Node node;
  node.def = from.def;
  node.attrs = from.attrs;
  node.stack = from.stack;
  node.inputs = std::move(inputs);
  for (size_t i = 0; i < output_metas.size(); ++i) {
    Value value;
    value.meta = output_metas[i];
    value.producer = static_cast<NodeId>(nodes_.size());
    value.output_index = static_cast<int>(i);
    node.outputs.push_back(AddValue(std::move(value)));
  }
  nodes_.push_back(std::move(node));
  return nodes_.back().outputs;
}

Maybe<void> LogicalGraph::VerifyUse(ValueId id, NodeId user) const {
  CHECK_OR_RETURN(id >= 0 && id < static_cast<ValueId>(values_.size()),
                  "graph '{}': %{} does not exist", name_, id);
  const Value& used = value(id);
  CHECK_OR_RETURN(used.kind != Value::Kind::kComputed || used.producer < user,
                  "graph '{}': %{} is used before it is computed", name_, id);
  return Ok();
}

Maybe<void> LogicalGraph::VerifyNode(NodeId id) const {
  const Node& n = node(id);
  CHECK_OR_RETURN(n.attrs.size() == n.def->attrs_size,
                  "graph '{}': [{}] has {} bytes of attributes", name_, n.def->name,
                  n.attrs.size());
  for (ValueId input : n.inputs) {
    if (input != kNoValue) { JUST(VerifyUse(input, id)); }
  }
  CHECK_OR_RETURN(n.outputs.size() == static_cast<size_t>(n.def->num_outputs) && !n.outputs.empty(),
                  "graph '{}': [{}] has {} outputs", name_, n.def->name, n.outputs.size());
  for (size_t i = 0; i < n.outputs.size(); ++i) {
    const ValueId output = n.outputs[i];
    CHECK_OR_RETURN(output >= 0 && output < static_cast<ValueId>(values_.size()) &&
                        value(output).kind == Value::Kind::kComputed &&
                        value(output).producer == id &&
                        value(output).output_index == static_cast<int>(i),
                    "graph '{}': %{} is not output {} of [{}]", name_, output, i, n.def->name);
  }
  const TensorMeta& call = value(n.outputs[0]).meta;
  const std::vector<TensorMeta> metas =
      JUST(InferOutputs(*n.def, n.attrs.data(), n.inputs, call.device, call.dtype));
  for (size_t i = 0; i < metas.size(); ++i) {
    const ValueId output = n.outputs[i];
    CHECK_OR_RETURN(SameMeta(metas[i], value(output).meta),
                    "graph '{}': [{}] infers {} for %{}, which is {}", name_, n.def->name,
                    DescribeMeta(metas[i]), output, DescribeMeta(value(output).meta));
  }
  return Ok();
}

Maybe<void> LogicalGraph::Verify() const {
  const NodeId end = static_cast<NodeId>(nodes_.size());
  for (NodeId id = 0; id < end; ++id) { JUST(VerifyNode(id)); }
  for (ValueId output : outputs_) { JUST(VerifyUse(output, end)); }
  for (const Update& update : updates_) {
    JUST(VerifyUse(update.target, end));
    JUST(VerifyUse(update.source, end));
    const Value& target = value(update.target);
    CHECK_OR_RETURN(target.kind == Value::Kind::kCaptured, "graph '{}': %{} is no captured tensor",
                    name_, update.target);
    CHECK_OR_RETURN(target.meta.shape == value(update.source).meta.shape &&
                        target.meta.dtype == value(update.source).meta.dtype,
                    "graph '{}': %{} cannot hold %{}", name_, update.target, update.source);
  }
  return Ok();
}

std::string LogicalGraph::DescribeNode(const Node& node) const {
  std::string out =
      Format("  {} = {}({}) : ", Join(node.outputs), node.def->name, Join(node.inputs));
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    out += (i == 0 ? "" : "; ") + DescribeMeta(value(node.outputs[i]).meta);
  }
  return out + DescribeLine(node.stack.id()) + "\n";
}

std::string LogicalGraph::ToString() const {
  std::string out = "graph '" + name_ + "':\n";
  for (size_t i = 0; i < values_.size(); ++i) {
    const Value& v = values_[i];
    if (v.kind == Value::Kind::kComputed) { continue; }
    out += Format("  %{} = {} '{}' : {}\n", i, v.kind == Value::Kind::kInput ? "input" : "captured",
                  v.name, DescribeMeta(v.meta));
  }
  for (const Node& node : nodes_) { out += DescribeNode(node); }
  for (const Update& update : updates_) {
    out += Format("  update %{} with %{}\n", update.target, update.source);
  }
  return out + "  return " + Join(outputs_) + "\n";
}

}  // namespace graph
}  // namespace oneflow
