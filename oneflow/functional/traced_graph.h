// TracedGraph: a handle on a graph of the session, with what only whoever holds tensors can do: check
// and bind arguments, wrap outputs, tell whether captured tensors are still the same.
//
// Thread safety: Run() from any thread that holds the host's lock; the rest as a plain value under that
// lock. Ownership: the session owns the graph; a TracedGraph that goes posts its close.
// Blocking: Run() as ops do, Close() waits for runs.
#ifndef ONEFLOW_FUNCTIONAL_TRACED_GRAPH_H_
#define ONEFLOW_FUNCTIONAL_TRACED_GRAPH_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "oneflow/common/maybe.h"
#include "oneflow/functional/graph_trace.h"
#include "oneflow/graph/compiled_graph.h"
#include "oneflow/lifetime/session.h"

namespace oneflow {

class TracedGraph {
 public:
  // Ends the trace of this thread, compiles what it recorded and gives it to the session. Also where it
  // fails the trace is over.
  static Maybe<std::unique_ptr<TracedGraph>> FromTrace(
      const TensorTuple& outputs, const graph::CompiledGraph::Options& options);
  ~TracedGraph();
  TracedGraph(const TracedGraph&) = delete;
  TracedGraph& operator=(const TracedGraph&) = delete;

  const std::string& name() const { return handle_.name; }
  bool closed() const;
  Maybe<TensorTuple> Run(const TensorTuple& inputs) const;
  // Was a captured tensor given other memory since, or one that the trace met made to require
  // gradients, or not to?
  bool Stale() const;
  Maybe<void> Close();
  // RuntimeError: graph '...' is closed.
  Maybe<void> With(const std::function<void(graph::CompiledGraph*)>& use) const;
  // Captured tensors by name; those whose tensor is gone as new ones over the same memory.
  Maybe<std::vector<std::pair<std::string, TensorPtr>>> CapturedTensors() const;

 private:
  explicit TracedGraph(lifetime::GraphHandle handle) : handle_(std::move(handle)) {}
  Maybe<lifetime::GraphLease> Lease() const;

  struct Kept {
    IntrusivePtr<WeakTensor> tensor;
    IntrusivePtr<Storage> storage;  // its record, not its memory
    TensorMeta meta;
  };
  const lifetime::GraphHandle handle_;
  std::vector<Kept> kept_;
  std::vector<GraphTrace::Watched> watched_;
};

}  // namespace oneflow

#endif  // ONEFLOW_FUNCTIONAL_TRACED_GRAPH_H_
