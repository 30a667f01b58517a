// Accesses: which nodes read and write each buffer, in their order, for passes that replace several nodes by one.
//
// Nodes that only name views do not count. Thread safety: const after construction.
#ifndef ONEFLOW_GRAPH_PASSES_ACCESSES_H_
#define ONEFLOW_GRAPH_PASSES_ACCESSES_H_

#include <vector>

#include "oneflow/graph/logical_graph.h"

namespace oneflow {
namespace graph {

class Accesses {
 public:
  // Without the nodes that `removed` says.
  Accesses(const LogicalGraph& graph, const std::vector<bool>& removed);

  // The last node before `node` that uses the value's buffer; -1: none.
  NodeId LastBefore(ValueId id, NodeId node) const;
  // The first node behind `node` that uses it; -1: none.
  NodeId FirstAfter(ValueId id, NodeId node) const;
  // Does a node strictly between the two use, or write, the value's buffer? Never one that was not given.
  bool UsedBetween(ValueId id, NodeId begin, NodeId end) const;
  bool WrittenBetween(ValueId id, NodeId begin, NodeId end) const;
  // Is the buffer a result of the graph, or a view of it?
  bool IsOutput(ValueId id) const;

 private:
  struct Access {
    NodeId node;
    bool writes;
  };
  const std::vector<Access>& Of(ValueId id) const {
    return of_[static_cast<size_t>(graph_.BufferOf(id))];
  }

  const LogicalGraph& graph_;
  std::vector<std::vector<Access>> of_;
  std::vector<bool> output_;
};

}  // namespace graph
}  // namespace oneflow

#endif  // ONEFLOW_GRAPH_PASSES_ACCESSES_H_
