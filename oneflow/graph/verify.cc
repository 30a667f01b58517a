// LogicalGraph::Verify().
#include "oneflow/graph/logical_graph.h"

namespace oneflow {
namespace graph {

namespace {

std::string Describe(const TensorMeta& meta) {
  return Format("{} {} {}", DataTypeName(meta.dtype), meta.shape, meta.device);
}

}  // namespace

Maybe<void> LogicalGraph::VerifyPlace(ValueId id) const {
  CHECK_OR_RETURN(id >= 0 && id < static_cast<ValueId>(values_.size()),
                  "graph '{}': %{} does not exist", name_, id);
  const Value& place = value(id);
  CHECK_OR_RETURN(place.buffer >= 0 && place.buffer < static_cast<BufferId>(buffers_.size()),
                  "graph '{}': %{} is in no buffer", name_, id);
  CHECK_OR_RETURN(EndOfPlace(place.meta) <= buffer(place.buffer).bytes,
                  "graph '{}': %{} ends at byte {} of a buffer of {}", name_, id,
                  EndOfPlace(place.meta), buffer(place.buffer).bytes);
  return Ok();
}

Maybe<void> LogicalGraph::VerifyMetas(const Node& node) const {
  if (node.form == Form::kOverwrite || node.def->num_outputs < 0) { return Ok(); }
  CHECK_OR_RETURN(static_cast<int>(node.outputs.size()) == node.def->num_outputs,
                  "graph '{}': [{}] has {} outputs", name_, node.def->name, node.outputs.size());
  const TensorMeta call = node.outputs.empty() ? TensorMeta() : value(node.outputs[0]).meta;
  const std::vector<TensorMeta> metas = JUST(InferOutputs(
      *node.def, node.attrs.data(), node.inputs, call.device, call.dtype, node.outputs.size()));
  for (size_t i = 0; i < metas.size(); ++i) {
    const TensorMeta& is = value(node.outputs[i]).meta;
    const bool same = node.form == Form::kInPlace
                          ? metas[i].shape == is.shape && metas[i].dtype == is.dtype
                          : SameMeta(metas[i], is);
    CHECK_OR_RETURN(same, "graph '{}': [{}] infers {} for %{}, which is {}", name_, node.def->name,
                    Describe(metas[i]), node.outputs[i], Describe(is));
  }
  return Ok();
}

// `made[b]`: buffer b exists before node `id` runs.
Maybe<void> LogicalGraph::VerifyNode(NodeId id, std::vector<bool>* made) const {
  const Node& n = node(id);
  CHECK_OR_RETURN(n.attrs.size() == n.def->attrs_size,
                  "graph '{}': [{}] has {} bytes of attributes", name_, n.def->name,
                  n.attrs.size());
  for (ValueId input : n.inputs) {
    if (input == kNoValue) { continue; }
    JUST(VerifyPlace(input));
    CHECK_OR_RETURN((*made)[static_cast<size_t>(BufferOf(input))],
                    "graph '{}': %{} is used before it is computed", name_, input);
  }
  for (size_t i = 0; i < n.outputs.size(); ++i) {
    const ValueId output = n.outputs[i];
    JUST(VerifyPlace(output));
    const auto at = static_cast<size_t>(BufferOf(output));
    const bool exists = (*made)[at];
    if (n.form == Form::kFresh) {
      CHECK_OR_RETURN(!exists, "graph '{}': [{}] makes %{}, which exists", name_, n.def->name,
                      output);
      (*made)[at] = true;
    } else {
      CHECK_OR_RETURN(exists, "graph '{}': %{} is used before it is computed", name_, output);
    }
    if (n.form == Form::kInPlace) {
      CHECK_OR_RETURN(i < n.inputs.size() && n.inputs[i] == output,
                      "graph '{}': [{}] writes %{}, which is not its input {}", name_, n.def->name,
                      output, i);
    }
    if (n.form == Form::kView) {
      CHECK_OR_RETURN(BufferOf(n.inputs[0]) == BufferOf(output),
                      "graph '{}': [{}] gives %{} for a view of %{}", name_, n.def->name, output,
                      n.inputs[0]);
      continue;
    }
    CHECK_OR_RETURN(buffer(BufferOf(output)).kind != Buffer::Kind::kConstant,
                    "graph '{}': [{}] writes the constant %{}", name_, n.def->name, output);
  }
  return VerifyMetas(n);
}

Maybe<void> LogicalGraph::Verify() const {
  std::vector<bool> made;
  made.reserve(buffers_.size());
  for (const Buffer& b : buffers_) { made.push_back(b.kind != Buffer::Kind::kComputed); }
  const auto end = static_cast<NodeId>(nodes_.size());
  for (NodeId id = 0; id < end; ++id) { JUST(VerifyNode(id, &made)); }
  for (ValueId output : outputs_) {
    JUST(VerifyPlace(output));
    CHECK_OR_RETURN(made[static_cast<size_t>(BufferOf(output))],
                    "graph '{}': %{} is used before it is computed", name_, output);
  }
  return Ok();
}

}  // namespace graph
}  // namespace oneflow
