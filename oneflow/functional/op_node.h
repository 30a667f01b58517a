// OpNode: the tape's node for a row of the op table, and FunctionalOp: an op with its derivative.
//
// A backward formula is generated into a function of this node. What it may look at was decided by
// the generator: whole inputs or outputs (saved), or only their meta.
//
// Thread safety: as Node.
#ifndef ONEFLOW_FUNCTIONAL_OP_NODE_H_
#define ONEFLOW_FUNCTIONAL_OP_NODE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "oneflow/autograd/node.h"
#include "oneflow/functional/saved_tensor_hooks.h"
#include "oneflow/op/op_def.h"
#include "oneflow/tensor/tensor.h"

namespace oneflow {

class OpNode;

// Fills (*dxs)[i] for every i with node.NeedsGrad(i). `dys` has one entry an output; an output
// whose gradient is missing is nullptr (generated code returns early when all are).
using BackwardFn = Maybe<void> (*)(const OpNode& node, const TensorTuple& dys, TensorTuple* dxs);

// What the gradient of input `input` needs: bit i: input (output) i, as it was.
struct GradientUse {
  int input;
  uint32_t inputs;
  uint32_t outputs;
};

struct FunctionalOp {
  const OpDef* def;
  BackwardFn backward;  // nullptr: not differentiable (outputs do not require grad)
  // In masks of inputs, a list has one bit for all of it: that of its first (OpDef::ListAt).
  uint32_t save_inputs;   // bit i: input i is saved for backward
  uint32_t save_outputs;  // bit i: output i is saved for backward
  uint32_t save_metas;    // bit i: only the meta of input i is saved
  uint32_t grad_inputs;   // bit i: the formula has a gradient for input i
  // Of save_inputs and save_outputs, those are saved that a gradient which is wanted needs.
  const GradientUse* uses;  // nullptr: not differentiable
  int num_uses;
  const char* const* input_names;  // of tensors, for messages; one for a list
};

class OpNode : public Node {
 public:
  OpNode(const FunctionalOp* op, const TensorPtr* inputs, int num_inputs, const void* attrs);
  ~OpNode() override;

  const char* name() const override { return op_->def->name; }
  Maybe<void> Apply(const TensorTuple& dys, TensorTuple* dxs) override;
  void ReleaseSaved() override;
  void VisitTensors(const std::function<void(const Tensor*)>& visit) const override;
  // REQUIRES: called once, right after the forward op made its outputs.
  void SaveOutputs(const TensorPtr* outputs);

  // Hands what was saved to the hooks, and keeps what they made of it. After SaveOutputs.
  Maybe<void> Pack(SavedTensorHooks* hooks);
  std::vector<void*> HostObjects() const override;

  // For backward formulas. Input/Output: RuntimeError when the saved tensor was changed in place
  // since, or released by an earlier backward().
  Maybe<TensorPtr> Input(int i) const;
  Maybe<TensorPtr> Output(int i) const;
  const TensorMeta& InputMeta(int i) const { return metas_[static_cast<size_t>(i)]; }
  // Of a list that begins at input `at`: its tensors, their shapes, and whether one needs a gradient.
  Maybe<TensorTuple> InputsFrom(int at) const;
  std::vector<Dims> InputShapes(int at) const;
  bool NeedsGradFrom(int at) const;
  // Hands out a gradient for each tensor of the list.
  Maybe<void> SetListGradients(int at, TensorTuple grads, TensorTuple* dxs) const;

  bool NeedsGrad(int i) const {
    return static_cast<size_t>(i) < edges().size() &&
           edges()[static_cast<size_t>(i)].node != nullptr;
  }
  int num_inputs() const { return num_inputs_; }
  template <typename Attrs>
  const Attrs& GetAttrs() const {
    return *reinterpret_cast<const Attrs*>(attrs_.get());
  }

 private:
  struct Saved {
    TensorPtr tensor;  // for an output: an alias without history (else the node owned itself)
    uint32_t version = 0;
    PackedTensorPtr packed;  // in place of the tensor
  };
  uint32_t Needed(uint32_t GradientUse::* mask) const;
  Maybe<TensorPtr> Unpack(const Saved& saved, const char* kind, int i) const;

  const FunctionalOp* op_;
  int num_inputs_;
  bool released_ = false;
  std::unique_ptr<char[]> attrs_;
  std::vector<Saved> inputs_;
  std::vector<Saved> outputs_;
  std::vector<TensorMeta> metas_;
};

}  // namespace oneflow

#endif  // ONEFLOW_FUNCTIONAL_OP_NODE_H_
