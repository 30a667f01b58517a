// Ops, metas and stacks for tests of graphs: a small op table of their own.
#ifndef ONEFLOW_GRAPH_GRAPH_TESTLIB_H_
#define ONEFLOW_GRAPH_GRAPH_TESTLIB_H_

#include <vector>

#include "oneflow/core/generator.h"
#include "oneflow/graph/logical_graph.h"

namespace oneflow {
namespace graph {

struct ShiftAttrs {
  int64_t by = 0;
};
struct DrawAttrs {
  RandomSlot slot;
};

inline Maybe<void> InferLikeFirst(const InferContext& context, TensorMeta* outputs) {
  outputs[0].shape = context.inputs[0]->shape;
  return Ok();
}
inline Maybe<void> InferAdd(const InferContext& context, TensorMeta* outputs) {
  outputs[0].shape =
      JUST(BroadcastShapes(context.op, context.inputs[0]->shape, context.inputs[1]->shape));
  return Ok();
}
inline Maybe<void> InferTranspose(const InferContext& context, TensorMeta* outputs) {
  const TensorMeta& in = *context.inputs[0];
  outputs[0].shape = {in.shape[1], in.shape[0]};
  outputs[0].strides = {in.strides[1], in.strides[0]};
  return Ok();
}
inline Maybe<void> InferOnes(const InferContext&, TensorMeta* outputs) {
  outputs[0].shape = {2, 3};
  return Ok();
}

inline OpDef MakeOp(const char* name, int inputs, InferFn infer, size_t attrs_size = 0,
                    int random_slot = -1, bool is_view = false, bool syncs = false) {
  return {name,
          inputs,
          1,
          infer,
          nullptr,
          attrs_size,
          random_slot,
          is_view,
          false,
          syncs,
          InplaceFailure::kNoInplace,
          {},
          {},
          {}};
}

inline const OpDef kRelu = MakeOp("relu", 1, &InferLikeFirst);
inline const OpDef kAdd = MakeOp("add", 2, &InferAdd);
inline const OpDef kShift = MakeOp("shift", 1, &InferLikeFirst, sizeof(ShiftAttrs));
inline const OpDef kDropout = MakeOp("dropout", 1, &InferLikeFirst, sizeof(DrawAttrs), 0);
inline const OpDef kTranspose = MakeOp("transpose", 1, &InferTranspose, 0, -1, true);
inline const OpDef kOnes = MakeOp("ones", 0, &InferOnes);
inline const OpDef kNonzero = MakeOp("nonzero", 1, &InferLikeFirst, 0, -1, false, true);

inline TensorMeta MetaOf(const Shape& shape, DataType dtype = DataType::kFloat) {
  TensorMeta meta;
  meta.dtype = dtype;
  meta.SetContiguous(shape);
  return meta;
}

// Appends an op of one output, which must succeed.
inline ValueId Call(LogicalGraph* graph, const OpDef& def, const std::vector<ValueId>& inputs,
                    const void* attrs = nullptr, StackId stack = kNoStack) {
  return CHECK_JUST(graph->Append(&def, attrs, inputs, stack))[0];
}
inline ValueId Shift(LogicalGraph* graph, ValueId input, int64_t by) {
  const ShiftAttrs attrs{by};
  return Call(graph, kShift, {input}, &attrs);
}

// Stack n is line n of net.py; remembers what is pinned.
class Lines : public StackSource {
 public:
  Lines() { StackSource::Set(this); }
  ~Lines() override { StackSource::Set(nullptr); }

  StackId Capture() override { return kNoStack; }
  void Pin(StackId id) override { pinned.push_back(id); }
  void Unpin(StackId id) override {
    for (size_t i = 0; i < pinned.size(); ++i) {
      if (pinned[i] == id) {
        pinned.erase(pinned.begin() + static_cast<std::ptrdiff_t>(i));
        return;
      }
    }
  }
  std::vector<StackFrame> Resolve(StackId id) const override {
    StackFrame outer;
    outer.file = "train.py";
    StackFrame frame;
    frame.file = "net.py";
    frame.function = "build";
    frame.line = static_cast<int>(id);
    return {outer, frame};
  }
  bool Evicted(StackId id) const override { return id == 99; }

  std::vector<StackId> pinned;
};

}  // namespace graph
}  // namespace oneflow

#endif  // ONEFLOW_GRAPH_GRAPH_TESTLIB_H_
