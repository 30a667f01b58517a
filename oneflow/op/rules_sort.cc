#include "oneflow/op/rules_sort.h"

#include "oneflow/kernels/attrs_reduce.h"
#include "oneflow/op/rules.h"
#include "oneflow/op/rules_util.h"

namespace oneflow {

namespace {

// Elements along a dim; a tensor without dims counts as one of one element.
int64_t LengthOf(const Shape& shape, int64_t dim) {
  return shape.empty() ? 1 : shape[static_cast<int>(dim)];
}

void AddIndices(TensorMeta* outputs) {
  outputs[1].shape = outputs[0].shape;
  outputs[1].dtype = DataType::kInt64;
}

}  // namespace

Maybe<void> InferCumulative(const InferContext& context, TensorMeta* outputs) {
  outputs[0].shape = context.inputs[0]->shape;
  outputs[0].dtype = context.GetAttrs<CumulativeAttrs>().dtype;
  return Ok();
}

Maybe<void> InferWithIndices(const InferContext& context, TensorMeta* outputs) {
  outputs[0].shape = context.inputs[0]->shape;
  AddIndices(outputs);
  return Ok();
}

Maybe<void> InferTopk(const InferContext& context, TensorMeta* outputs) {
  const TopkAttrs& attrs = context.GetAttrs<TopkAttrs>();
  const Shape& shape = context.inputs[0]->shape;
  const int64_t n = LengthOf(shape, attrs.dim);
  if (attrs.k < 0 || attrs.k > n) {
    return RuntimeError("[{}] expects k in [0, {}] for dim {} of shape {}, got {}", context.op, n,
                        attrs.dim, shape, attrs.k);
  }
  outputs[0].shape = shape;
  if (!shape.empty()) { outputs[0].shape[static_cast<int>(attrs.dim)] = attrs.k; }
  AddIndices(outputs);
  return Ok();
}

Maybe<void> InferSelect(const InferContext& context, TensorMeta* outputs) {
  const SelectAttrs& attrs = context.GetAttrs<SelectAttrs>();
  const Shape& shape = context.inputs[0]->shape;
  const int64_t n = LengthOf(shape, attrs.dim);
  Shape out = shape;
  if (!shape.empty()) {
    if (attrs.keepdim) {
      out[static_cast<int>(attrs.dim)] = 1;
    } else {
      out.Erase(static_cast<int>(attrs.dim));
    }
  }
  if (n == 0 && ElementCount(out) > 0) {
    return IndexError("[{}] expects at least one element along dim {} to choose from, got shape {}",
                      context.op, attrs.dim, shape);
  }
  if (n > 0 && (attrs.k < 0 || attrs.k >= n)) {
    return RuntimeError("[{}] expects k in [1, {}] for dim {} of shape {}, got {}", context.op, n,
                        attrs.dim, shape, attrs.k + 1);
  }
  outputs[0].shape = out;
  AddIndices(outputs);
  return Ok();
}

Maybe<void> InferElement(const InferContext& context, TensorMeta* outputs) {
  outputs[0].shape = Shape();
  return Ok();
}

Maybe<void> InferSearch(const InferContext& context, TensorMeta* outputs) {
  const TensorMeta& sequence = *context.inputs[0];
  const TensorMeta& values = *context.inputs[1];
  const TensorMeta* sorter = context.inputs[2];
  if (sequence.dtype != values.dtype) {
    return RuntimeError("[{}] expects a sequence and values of one dtype, got {} and {}",
                        context.op, DataTypeName(sequence.dtype), DataTypeName(values.dtype));
  }
  const int last = sequence.shape.size() - 1;
  bool fits = last == 0;
  if (last > 0 && values.shape.size() == sequence.shape.size()) {
    fits = true;
    for (int d = 0; d < last; ++d) { fits = fits && sequence.shape[d] == values.shape[d]; }
  }
  if (!fits) {
    return RuntimeError(
        "[{}] expects a sequence of shape (n,), or one whose leading dims are those "
        "of the values, got {} and {}",
        context.op, sequence.shape, values.shape);
  }
  if (sorter != nullptr && (sorter->shape != sequence.shape || sorter->dtype != DataType::kInt64)) {
    return RuntimeError("[{}] expects an int64 sorter of the sequence's shape {}, got {} {}",
                        context.op, sequence.shape, DataTypeName(sorter->dtype), sorter->shape);
  }
  outputs[0].shape = values.shape;
  outputs[0].dtype = context.GetAttrs<SearchAttrs>().dtype;
  return Ok();
}

Maybe<void> InferInTopk(const InferContext& context, TensorMeta* outputs) {
  const TensorMeta& targets = *context.inputs[0];
  const TensorMeta& predictions = *context.inputs[1];
  if (targets.shape.size() != 1 || predictions.shape.size() != 2 ||
      targets.shape[0] != predictions.shape[0]) {
    return RuntimeError("[{}] expects targets of shape (n,) and predictions of shape (n, classes), "
                        "got {} and {}",
                        context.op, targets.shape, predictions.shape);
  }
  if (targets.dtype != DataType::kInt32 && targets.dtype != DataType::kInt64) {
    return RuntimeError("[{}] expects targets of int32 or int64, got {}", context.op,
                        DataTypeName(targets.dtype));
  }
  JUST(CheckFloating(context, 1));
  outputs[0].shape = targets.shape;
  outputs[0].dtype = DataType::kBool;
  return Ok();
}

Maybe<void> InferAuc(const InferContext& context, TensorMeta* outputs) {
  JUST(CheckSameDtype(context));
  JUST(CheckShape(context, 1, context.inputs[0]->shape));
  outputs[0].shape = Shape{1};
  return Ok();
}

Maybe<void> InferUnique(const InferContext& context, TensorMeta* outputs) {
  for (int i = 0; i < 4; ++i) {
    outputs[i].shape = i < 3 ? context.inputs[0]->shape : Shape();
    if (i > 0) { outputs[i].dtype = DataType::kInt64; }
  }
  return Ok();
}

Maybe<void> InferBincount(const InferContext& context, TensorMeta* outputs) {
  const BincountAttrs& attrs = context.GetAttrs<BincountAttrs>();
  const TensorMeta& input = *context.inputs[0];
  if (input.shape.size() != 1 || !IsIntegral(input.dtype)) {
    return RuntimeError("[{}] expects whole numbers of shape (n,), got {} {}", context.op,
                        DataTypeName(input.dtype), input.shape);
  }
  if (context.inputs[1] != nullptr) { JUST(CheckShape(context, 1, input.shape)); }
  outputs[0].shape = Shape{attrs.size};
  outputs[0].dtype = attrs.dtype;
  return Ok();
}

Maybe<void> SbpBroadcastPair(const InferContext& context, SbpSignatureList* out) {
  JUST(SbpBroadcastOnly(context, out));
  out->back().outputs.push_back(Sbp::Broadcast());
  return Ok();
}

Maybe<void> SbpBroadcastFour(const InferContext& context, SbpSignatureList* out) {
  JUST(SbpBroadcastOnly(context, out));
  out->back().outputs.resize(4, Sbp::Broadcast());
  return Ok();
}

}  // namespace oneflow
