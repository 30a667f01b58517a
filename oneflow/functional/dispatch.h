// Dispatch: the one road from the functional API to the engine.
//
// Checks devices, promotes dtypes, infers metas, allocates, chooses a kernel, hands the call to the
// vm (later: or appends it to a logical graph), and records the op on the tape.
//
// Thread safety: callable from any thread; tensors as their class says. Does not block while it
// holds the host's lock, except where the vm must wait for run-ahead to shrink (released there).
#ifndef ONEFLOW_FUNCTIONAL_DISPATCH_H_
#define ONEFLOW_FUNCTIONAL_DISPATCH_H_

#include "oneflow/core/generator.h"
#include "oneflow/functional/op_node.h"

namespace oneflow {

// For ops without tensor inputs, and those that draw.
struct DispatchOptions {
  Device device;                      // where outputs of an op without inputs go
  DataType dtype = DataType::kFloat;  // and their dtype, before `infer` has its say
  GeneratorPtr generator;             // nullptr: the default one
  int targets = 0;                    // in place on a list: how many of the operands are written
};

// Runs `op`; fills op.def->num_outputs entries of `outputs`. `attrs` points at the op's attribute
// struct (copied; its RandomSlot, if it has one, is filled in the copy). An optional input that was
// not given is a null pointer.
Maybe<void> Dispatch(const FunctionalOp& op, const TensorPtr* inputs, int num_inputs,
                     const void* attrs, TensorPtr* outputs,
                     const DispatchOptions& options = DispatchOptions());

// In place: output j is written into target `inputs[j]`, which keeps its shape and dtype. Given one
// tensor more than the op has inputs (copy_, fill_), inputs[0] is a target that is not read.
// RuntimeError if the result would not fit, if a target is a leaf that requires grad or a view of one
// (while grad mode is on), or if its elements overlap each other. A view's base gets the history of
// the change, and with it every other view of it. Where the op promotes, other operands are cast to
// the target's dtype if they are of its category or a lower one.
Maybe<void> DispatchInplace(const FunctionalOp& op, const TensorPtr* inputs, int num_inputs,
                            const void* attrs, const DispatchOptions& options = DispatchOptions());

// While one is alive, the targets of this thread's ops in place are results that nobody has seen yet,
// such as a composite's own copy: an op that fails poisons them, as if it had made them.
class FreshTargets {
 public:
  FreshTargets() : before_(active_) { active_ = true; }
  ~FreshTargets() { active_ = before_; }
  FreshTargets(const FreshTargets&) = delete;
  FreshTargets& operator=(const FreshTargets&) = delete;
  static bool active() { return active_; }

 private:
  static thread_local bool active_;
  const bool before_;
};

// How a tensor is cast, with history; registered once by the functional layer.
using CastFn = Maybe<TensorPtr> (*)(const TensorPtr& tensor, DataType dtype);
void SetCast(CastFn fn);

}  // namespace oneflow

#endif  // ONEFLOW_FUNCTIONAL_DISPATCH_H_
