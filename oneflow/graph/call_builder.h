// CallBuilder: the kernel call of a node, with its views; addresses are filled in later.
//
// Thread safety: none. Ownership: points into the graph's values and the node's attributes, which must
// stay where they are.
#ifndef ONEFLOW_GRAPH_CALL_BUILDER_H_
#define ONEFLOW_GRAPH_CALL_BUILDER_H_

#include <vector>

#include "oneflow/graph/logical_graph.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace graph {

class CallBuilder {
 public:
  CallBuilder(const LogicalGraph& graph, const Node& node);
  CallBuilder(CallBuilder&&) = default;
  CallBuilder(const CallBuilder&) = delete;
  CallBuilder& operator=(const CallBuilder&) = delete;

  // Without scratch and threads.
  KernelCall* call() { return &call_; }
  const KernelCall* call() const { return &call_; }
  // Operands are counted over inputs, then outputs. An operand that was not given has no place.
  size_t size() const { return places_.size(); }
  ValueId place(size_t operand) const { return places_[operand]; }
  ArrayView* view(size_t operand) { return &views_[operand]; }
  int64_t byte_offset(size_t operand) const { return byte_offsets_[operand]; }
  // Where the operand's buffer begins.
  void SetBase(size_t operand, void* base) {
    views_[operand].data = static_cast<char*>(base) + byte_offsets_[operand];
  }

 private:
  std::vector<ValueId> places_;
  std::vector<ArrayView> views_;
  std::vector<int64_t> byte_offsets_;
  KernelCall call_;
};

// Estimated serial nanoseconds of a call.
double CostOf(const Kernel& kernel, const KernelCall& call);

}  // namespace graph
}  // namespace oneflow

#endif  // ONEFLOW_GRAPH_CALL_BUILDER_H_
