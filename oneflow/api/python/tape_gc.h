// How Python's garbage collector sees through the tape.
//
// A tensor owns nodes, and these own other nodes, saved tensors, and Python objects: hooks, and the
// ctx of an autograd.Function. The collector sees none of that, so that a hook whose closure holds
// its own tensor would never die. VisitTape() tells it which Python objects die with a tensor.
//
// Only what one wrapper alone keeps alive is told of. So two outputs of one Function that its ctx
// holds are not collected; and of a chain of results, each held by a hook of its own, a collection
// takes the last one, the next collection the one before it.
//
// Thread safety: with the GIL held.
#ifndef ONEFLOW_API_PYTHON_TAPE_GC_H_
#define ONEFLOW_API_PYTHON_TAPE_GC_H_

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <atomic>

#include "oneflow/autograd/node.h"

namespace oneflow {

// A Python object that the tape owns has one of these beside it: while there is none, VisitTape()
// costs nothing.
class OnTape {
 public:
  OnTape() { count_.fetch_add(1, std::memory_order_relaxed); }
  OnTape(const OnTape&) : OnTape() {}
  OnTape& operator=(const OnTape&) = default;
  ~OnTape() { count_.fetch_sub(1, std::memory_order_relaxed); }
  static bool Any() { return count_.load(std::memory_order_relaxed) != 0; }

 private:
  static std::atomic<int64_t> count_;
};

// For tp_traverse of the only owner of `tensor` (or `node`): visits each Python object that would
// die with it, once for each reference. Does nothing where there is another owner. `held`: another
// tensor to which that owner has a reference, beside those on the tape.
int VisitTape(const TensorPtr& tensor, visitproc visit, void* arg, const Tensor* held = nullptr);
int VisitTape(const NodePtr& node, visitproc visit, void* arg);

}  // namespace oneflow

#endif  // ONEFLOW_API_PYTHON_TAPE_GC_H_
