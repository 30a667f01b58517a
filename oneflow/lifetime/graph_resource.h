// GraphResource: what a Session owns for each graph. The graph engine implements it.
//
// Ownership: by unique_ptr in the Session, nobody else. Everybody else holds a GraphHandle, and
// borrows the resource through a GraphLease for the length of one call.
#ifndef ONEFLOW_LIFETIME_GRAPH_RESOURCE_H_
#define ONEFLOW_LIFETIME_GRAPH_RESOURCE_H_

#include <cstdint>
#include <string>

#include "oneflow/lifetime/deadline.h"

namespace oneflow {
namespace lifetime {

class GraphResource {
 public:
  // Runs on a runtime thread, without the host's lock: owners that need it go to DeferRelease().
  virtual ~GraphResource() = default;

  virtual const std::string& name() const = 0;
  // Waits for its runs and ends its actors. Called once, when no lease is out and none can be taken
  // any more. May return early once `deadline` has expired; the resource is then leaked.
  virtual void Close(Deadline deadline) = 0;
  // What Close() is still waiting for ("2 runs in flight"). Called from another thread; must not
  // block.
  virtual std::string Unfinished() const { return ""; }
};

// Names a graph without owning it. Ids are never used again. Plain value.
struct GraphHandle {
  uint64_t id = 0;
  uint32_t generation = 0;  // of the session
  std::string name;         // for the message, once the graph is gone
};

}  // namespace lifetime
}  // namespace oneflow

#endif  // ONEFLOW_LIFETIME_GRAPH_RESOURCE_H_
