// Engine: runs the tape backwards.
//
// Nodes run in the reverse of the order in which their ops were issued, each once all gradients of
// its outputs have arrived (a topological order; ties go to the younger node). Everything is issued
// on the calling thread, asynchronously like any op.
//
// Thread safety: under the host's lock (in Python: the GIL). Whenever a run lets go of it, another
// thread or a hook may begin a run over the same nodes: two graphs may share leaves. Blocking: as ops
// do. Every few milliseconds the host's lock is offered to other threads and signals are polled.
#ifndef ONEFLOW_AUTOGRAD_ENGINE_H_
#define ONEFLOW_AUTOGRAD_ENGINE_H_

#include <vector>

#include "oneflow/autograd/node.h"

namespace oneflow {

struct BackwardOptions {
  bool retain_graph = false;  // keep what was saved, so that backward can run again
  bool create_graph = false;  // record the backward ops themselves (higher derivatives)
};

// Adds d(roots)/d(leaf) into `grad` of every leaf that requires it. `grads[i]` may be nullptr for a
// root with one element (it counts as 1). RuntimeError for a root that needs no gradient, or a
// gradient of another shape.
Maybe<void> Backward(const TensorTuple& roots, const TensorTuple& grads,
                     const BackwardOptions& options);

// Returns d(roots)/d(inputs) without touching any `grad`. An input that the roots do not depend on
// gives nullptr if `allow_unused`, else RuntimeError.
Maybe<TensorTuple> Gradients(const TensorTuple& roots, const TensorTuple& inputs,
                             const TensorTuple& grads, const BackwardOptions& options,
                             bool allow_unused);

}  // namespace oneflow

#endif  // ONEFLOW_AUTOGRAD_ENGINE_H_
