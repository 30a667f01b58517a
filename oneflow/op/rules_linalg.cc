#include "oneflow/op/rules_linalg.h"

#include "oneflow/kernels/attrs_linalg.h"
#include "oneflow/op/rules_util.h"

namespace oneflow {

namespace {

// How many gates a cell has, whether it has a cell state, how many arrays it saves.
struct CellKind {
  int64_t gates;
  bool has_cell;
  int64_t saved;
};
constexpr CellKind kLstm = {4, true, 5};
constexpr CellKind kGru = {3, false, 4};
constexpr CellKind kRnn = {1, false, 0};

// Given inputs, but for the sizes, have the dtype of the first that is given, a floating one.
Maybe<void> CheckFloats(const InferContext& context, int sizes) {
  const TensorMeta* first = nullptr;
  for (int i = 0; i < context.num_inputs; ++i) {
    const TensorMeta* meta = context.inputs[i];
    if (meta == nullptr) { continue; }
    if (i == sizes) {
      if (meta->dtype == DataType::kInt64 && meta->shape.size() == 1) { continue; }
      return RuntimeError("[{}] expects batch sizes (steps,) of dtype int64, got {} {}", context.op,
                          DataTypeName(meta->dtype), meta->shape);
    }
    if (first == nullptr) { first = meta; }
    if (!IsFloating(meta->dtype) || meta->dtype != first->dtype) {
      return RuntimeError("[{}] expects operands of one floating dtype, got {} {} and {} {}",
                          context.op, DataTypeName(first->dtype), first->shape,
                          DataTypeName(meta->dtype), meta->shape);
    }
  }
  return Ok();
}

Maybe<void> InferLayer(const CellKind& cell, const InferContext& context, TensorMeta* outputs) {
  JUST(CheckFloats(context, 1));
  const Shape& x = context.inputs[0]->shape;
  const Shape& h0 = context.inputs[2]->shape;
  if (x.size() != 2 || h0.size() != 2) {
    return RuntimeError("[{}] expects rows (rows, in) and a state (batch, hidden), got {} and {}",
                        context.op, x, h0);
  }
  const int64_t hidden = h0[1], width = cell.gates * hidden;
  int i = 3;
  if (cell.has_cell) { JUST(CheckShape(context, i++, h0)); }
  JUST(CheckShape(context, i++, Shape{width, x[1]}));
  JUST(CheckShape(context, i++, Shape{width, hidden}));
  for (; i < context.num_inputs; ++i) {
    if (context.inputs[i] != nullptr) { JUST(CheckShape(context, i, Shape{width})); }
  }
  if (context.inputs[1] == nullptr && (h0[0] == 0 ? x[0] != 0 : x[0] % h0[0] != 0)) {
    return RuntimeError("[{}] expects whole steps of {} rows, got {} rows", context.op, h0[0],
                        x[0]);
  }
  int o = 0;
  outputs[o++].shape = Shape{x[0], hidden};
  outputs[o++].shape = h0;
  if (cell.has_cell) { outputs[o++].shape = h0; }
  if (cell.saved > 0) { outputs[o++].shape = Shape{x[0], cell.saved * hidden}; }
  return Ok();
}

// Input `i` is not given, or has this shape.
Maybe<void> CheckOptional(const InferContext& context, int i, const Shape& expected) {
  return context.inputs[i] == nullptr ? Maybe<void>(Ok()) : CheckShape(context, i, expected);
}

Maybe<void> InferLayerBackward(const CellKind& cell, const InferContext& context,
                               TensorMeta* outputs) {
  const int sizes = cell.has_cell ? 3 : 2;
  JUST(CheckFloats(context, sizes));
  const TensorMeta& h0 = *context.inputs[sizes + 1];
  const int weight = sizes + (cell.has_cell ? 3 : 2);
  const Shape& w = context.inputs[weight]->shape;
  const Shape& y = context.inputs[weight + 1]->shape;
  JUST(CheckOptional(context, 0, y));
  for (int i = 1; i < sizes; ++i) { JUST(CheckOptional(context, i, h0.shape)); }
  int o = 0;
  for (int i = 0; i < 3 + (cell.has_cell ? 1 : 0) + (cell.gates == 3 ? 1 : 0); ++i) {
    outputs[i].dtype = h0.dtype;
    outputs[i].device = h0.device;
  }
  outputs[o++].shape = Shape{y[0], w[0]};
  outputs[o++].shape = h0.shape;
  if (cell.has_cell) { outputs[o++].shape = h0.shape; }
  outputs[o++].shape = w;
  if (cell.gates == 3) { outputs[o++].shape = Shape{w[0]}; }
  return Ok();
}

// Stacks of square matrices of a floating dtype.
Maybe<void> CheckSquare(const InferContext& context) {
  const Shape& shape = context.inputs[0]->shape;
  const int n = shape.size();
  if (n < 2) {
    return RuntimeError("[{}] expects one matrix or a stack of them, got {}", context.op, shape);
  }
  if (shape[n - 1] != shape[n - 2]) {
    return RuntimeError("[{}] expects square matrices, got {}", context.op, shape);
  }
  return CheckFloating(context, 0);
}

// (a, b, rows, cols), or as (a, rows, b, cols).
Shape InRows(const Shape& shape, bool rows_first) {
  return rows_first ? Shape{shape[0], shape[2], shape[1], shape[3]} : shape;
}

}  // namespace

Maybe<void> InferLstmLayer(const InferContext& context, TensorMeta* outputs) {
  return InferLayer(kLstm, context, outputs);
}
Maybe<void> InferGruLayer(const InferContext& context, TensorMeta* outputs) {
  return InferLayer(kGru, context, outputs);
}
Maybe<void> InferRnnLayer(const InferContext& context, TensorMeta* outputs) {
  return InferLayer(kRnn, context, outputs);
}
Maybe<void> InferLstmLayerBackward(const InferContext& context, TensorMeta* outputs) {
  return InferLayerBackward(kLstm, context, outputs);
}
Maybe<void> InferGruLayerBackward(const InferContext& context, TensorMeta* outputs) {
  return InferLayerBackward(kGru, context, outputs);
}
Maybe<void> InferRnnLayerBackward(const InferContext& context, TensorMeta* outputs) {
  return InferLayerBackward(kRnn, context, outputs);
}

Maybe<void> InferAttention(const InferContext& context, TensorMeta* outputs) {
  const Shape& q = context.inputs[0]->shape;
  const Shape& k = context.inputs[1]->shape;
  const Shape& v = context.inputs[2]->shape;
  JUST(CheckFloating(context, 0));
  const bool fits = q.size() == 4 && k.size() == 4 && v.size() == 4 && q[0] == k[0] &&
                    q[0] == v[0] && q[1] == k[1] && q[1] == v[1] && q[3] == k[3] && k[2] == v[2];
  if (!fits) {
    return RuntimeError(
        "[{}] expects query (a, b, l, e), key (a, b, s, e) and value (a, b, s, f), got "
        "{}, {} and {}",
        context.op, q, k, v);
  }
  if (context.inputs[3] != nullptr) {
    const Shape scores{q[0], q[1], q[2], k[2]};
    const Maybe<Shape> joined = BroadcastShapes(context.op, context.inputs[3]->shape, scores);
    if (!joined.ok() || joined.value() != scores) {
      return RuntimeError("[{}] expects a mask that broadcasts to {}, got {}", context.op, scores,
                          context.inputs[3]->shape);
    }
  }
  if (context.inputs[4] != nullptr) {
    const TensorMeta& kept = *context.inputs[4];
    const Shape scores{q[0], q[1], q[2], k[2]};
    if (kept.dtype != DataType::kBool || kept.shape != scores) {
      return RuntimeError(
          "[{}] expects a bool for each weight, {}, that says whether it is kept, got "
          "{} {}",
          context.op, scores, DataTypeName(kept.dtype), kept.shape);
    }
  }
  const bool rows_first = context.GetAttrs<AttentionAttrs>().rows_first;
  outputs[0].shape = InRows(Shape{q[0], q[1], q[2], v[3]}, rows_first);
  outputs[1].shape = Shape{q[0], q[1], q[2]};
  if (outputs[1].dtype == DataType::kBFloat16) { outputs[1].dtype = DataType::kFloat; }
  return Ok();
}

Maybe<void> InferAttentionBackward(const InferContext& context, TensorMeta* outputs) {
  const bool rows_first = context.GetAttrs<AttentionAttrs>().rows_first;
  for (int i = 0; i < 3; ++i) {
    outputs[i].shape = InRows(context.inputs[i + 1]->shape, rows_first);
  }
  return CheckShape(context, 0, context.inputs[6]->shape);
}

Maybe<void> InferInverse(const InferContext& context, TensorMeta* outputs) {
  JUST(CheckSquare(context));
  outputs[0].shape = context.inputs[0]->shape;
  return Ok();
}

}  // namespace oneflow
