#include "oneflow/graph/call_builder.h"

namespace oneflow {
namespace graph {

CallBuilder::CallBuilder(const LogicalGraph& graph, const Node& node) : places_(node.inputs) {
  places_.insert(places_.end(), node.outputs.begin(), node.outputs.end());
  for (ValueId id : places_) {
    ArrayView view;
    if (id == kNoValue) {
      view.given = false;
      byte_offsets_.push_back(0);
      views_.push_back(view);
      continue;
    }
    const TensorMeta& meta = graph.value(id).meta;
    view.shape = meta.shape.data();
    view.strides = meta.strides.data();
    view.ndim = meta.shape.size();
    view.dtype = meta.dtype;
    view.contiguous = meta.contiguous;
    byte_offsets_.push_back(meta.offset * static_cast<int64_t>(SizeOf(meta.dtype)));
    views_.push_back(view);
  }
  call_.inputs = views_.data();
  call_.num_inputs = static_cast<int>(node.inputs.size());
  call_.outputs = views_.data() + node.inputs.size();
  call_.num_outputs = static_cast<int>(node.outputs.size());
  call_.attrs = node.attrs.data();
}

double CostOf(const Kernel& kernel, const KernelCall& call) {
  if (kernel.cost != nullptr) { return kernel.cost(call); }
  return call.num_outputs == 0 ? 100.0 : 50.0 + static_cast<double>(call.outputs[0].Count());
}

}  // namespace graph
}  // namespace oneflow
