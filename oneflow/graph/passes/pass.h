// Pass: a function from graph to graph that leaves every output, and what a run does to captured
// tensors, as it was, and says how often it fired. RunPasses() runs a list of them and verifies the
// graph after each. Values and buffers keep their numbers, so that graphs can be compared by eye.
//
// Thread safety: pure functions, but that constant folding runs kernels.
#ifndef ONEFLOW_GRAPH_PASSES_PASS_H_
#define ONEFLOW_GRAPH_PASSES_PASS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "oneflow/common/maybe.h"
#include "oneflow/graph/logical_graph.h"

namespace oneflow {
namespace graph {

struct PassResult {
  LogicalGraph graph;
  int64_t fired = 0;
};

struct Pass {
  const char* name;
  Maybe<PassResult> (*run)(const LogicalGraph& graph);
};

struct PassCount {
  std::string name;
  int64_t fired;
};

// The passes that every graph gets, in their order.
const std::vector<Pass>& DefaultPasses();

// Appends to `counts` one entry for each pass; those named in `disable` do not run, and count 0.
// ValueError for a name that no pass has.
Maybe<LogicalGraph> RunPasses(LogicalGraph graph, const std::vector<Pass>& passes,
                              std::vector<PassCount>* counts,
                              const std::vector<std::string>& disable = {});

// How the nodes of a graph use its buffers. Nodes that only name views use none.
struct Usage {
  struct Of {
    NodeId first = -1;  // the first and the last node that reads or writes it
    NodeId last = -1;
    int writers = 0;
    bool output = false;  // of the graph, or a view of it is
  };
  explicit Usage(const LogicalGraph& graph);
  const Of& operator[](BufferId id) const { return of[static_cast<size_t>(id)]; }
  std::vector<Of> of;
};

// Does element i of each output depend on element i of each input, broadcast, and nothing else? By
// the op's rule for splitting it over ranks, which says just that.
bool IsElementwise(const OpDef& def);

}  // namespace graph
}  // namespace oneflow

#endif  // ONEFLOW_GRAPH_PASSES_PASS_H_
