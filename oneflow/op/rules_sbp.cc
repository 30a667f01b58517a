#include "oneflow/op/op_attrs.h"
#include "oneflow/op/rules.h"

namespace oneflow {

namespace {

// One signature with every operand broadcast, to be changed by the caller.
SbpSignature AllBroadcast(const InferContext& context, int outputs = 1) {
  SbpSignature signature;
  signature.inputs.assign(static_cast<size_t>(context.num_inputs), Sbp::Broadcast());
  signature.outputs.assign(static_cast<size_t>(outputs), Sbp::Broadcast());
  return signature;
}

// Splits each dim of the broadcast shape of all inputs.
void AddElementwiseSplits(const InferContext& context, SbpSignatureList* out) {
  int ndim = 0;
  for (int i = 0; i < context.num_inputs; ++i) {
    if (context.inputs[i] != nullptr && context.inputs[i]->shape.size() > ndim) {
      ndim = context.inputs[i]->shape.size();
    }
  }
  for (int dim = 0; dim < ndim; ++dim) {
    SbpSignature signature = AllBroadcast(context);
    signature.outputs[0] = Sbp::Split(dim);
    for (int i = 0; i < context.num_inputs; ++i) {
      if (context.inputs[i] == nullptr) { continue; }
      const Shape& shape = context.inputs[i]->shape;
      const int own = dim - (ndim - shape.size());
      if (own >= 0 && shape[own] != 1) {
        signature.inputs[static_cast<size_t>(i)] = Sbp::Split(own);
      }
    }
    out->push_back(signature);
  }
}

// Splits each dim of input 0 that `reduced` does not name, and tells the output's dim.
void AddKeptDimSplits(const InferContext& context, const IntList& dims, bool keepdim,
                      bool partial_sums, SbpSignatureList* out) {
  const int ndim = context.inputs[0]->shape.size();
  bool reduced[kMaxDims] = {};
  for (int i = 0; i < ndim; ++i) { reduced[i] = dims.count == 0; }
  for (int i = 0; i < dims.count; ++i) { reduced[dims.values[i]] = true; }
  int kept = 0;
  for (int dim = 0; dim < ndim; ++dim) {
    SbpSignature signature = AllBroadcast(context);
    signature.inputs[0] = Sbp::Split(dim);
    if (!reduced[dim]) {
      signature.outputs[0] = Sbp::Split(keepdim ? dim : kept++);
    } else if (partial_sums) {
      signature.outputs[0] = Sbp::PartialSum();
    } else {
      continue;
    }
    out->push_back(signature);
  }
}

}  // namespace

Maybe<void> SbpBroadcastOnly(const InferContext& context, SbpSignatureList* out) {
  out->push_back(AllBroadcast(context));
  return Ok();
}

Maybe<void> SbpElementwise(const InferContext& context, SbpSignatureList* out) {
  AddElementwiseSplits(context, out);
  return SbpBroadcastOnly(context, out);
}

Maybe<void> SbpLinearElementwise(const InferContext& context, SbpSignatureList* out) {
  JUST(SbpElementwise(context, out));
  SbpSignature partial = AllBroadcast(context);
  partial.inputs.assign(partial.inputs.size(), Sbp::PartialSum());
  partial.outputs[0] = Sbp::PartialSum();
  out->push_back(partial);
  return Ok();
}

Maybe<void> SbpBilinearElementwise(const InferContext& context, SbpSignatureList* out) {
  JUST(SbpElementwise(context, out));
  for (int i = 0; i < context.num_inputs; ++i) {
    SbpSignature partial = AllBroadcast(context);
    partial.inputs[static_cast<size_t>(i)] = Sbp::PartialSum();
    partial.outputs[0] = Sbp::PartialSum();
    out->push_back(partial);
  }
  return Ok();
}

Maybe<void> SbpSum(const InferContext& context, SbpSignatureList* out) {
  const ReduceAttrs& attrs = context.GetAttrs<ReduceAttrs>();
  AddKeptDimSplits(context, attrs.dims, attrs.keepdim, /*partial_sums=*/true, out);
  SbpSignature partial = AllBroadcast(context);
  partial.inputs[0] = Sbp::PartialSum();
  partial.outputs[0] = Sbp::PartialSum();
  out->push_back(partial);
  return SbpBroadcastOnly(context, out);
}

Maybe<void> SbpReduce(const InferContext& context, SbpSignatureList* out) {
  const ReduceAttrs& attrs = context.GetAttrs<ReduceAttrs>();
  AddKeptDimSplits(context, attrs.dims, attrs.keepdim, /*partial_sums=*/false, out);
  return SbpBroadcastOnly(context, out);
}

Maybe<void> SbpArgmax(const InferContext& context, SbpSignatureList* out) {
  const ArgmaxAttrs& attrs = context.GetAttrs<ArgmaxAttrs>();
  AddKeptDimSplits(context, attrs.dims, attrs.keepdim, /*partial_sums=*/false, out);
  return SbpBroadcastOnly(context, out);
}

Maybe<void> SbpMatmul(const InferContext& context, SbpSignatureList* out) {
  const int a = context.inputs[0]->shape.size();
  const int b = context.inputs[1]->shape.size();
  const int ndim = a > b ? a : b;
  out->push_back({{Sbp::Split(a - 2), Sbp::Broadcast()}, {Sbp::Split(ndim - 2)}});
  out->push_back({{Sbp::Broadcast(), Sbp::Split(b - 1)}, {Sbp::Split(ndim - 1)}});
  out->push_back({{Sbp::Split(a - 1), Sbp::Split(b - 2)}, {Sbp::PartialSum()}});
  out->push_back({{Sbp::PartialSum(), Sbp::Broadcast()}, {Sbp::PartialSum()}});
  out->push_back({{Sbp::Broadcast(), Sbp::PartialSum()}, {Sbp::PartialSum()}});
  for (int dim = 0; a == b && dim < ndim - 2; ++dim) {
    if (context.inputs[0]->shape[dim] == context.inputs[1]->shape[dim]) {
      out->push_back({{Sbp::Split(dim), Sbp::Split(dim)}, {Sbp::Split(dim)}});
    }
  }
  return SbpBroadcastOnly(context, out);
}

Maybe<void> SbpLinear(const InferContext& context, SbpSignatureList* out) {
  const int ndim = context.inputs[0]->shape.size();
  for (int dim = 0; dim < ndim - 1; ++dim) {
    SbpSignature rows = AllBroadcast(context);
    rows.inputs[0] = Sbp::Split(dim);
    rows.outputs[0] = Sbp::Split(dim);
    out->push_back(rows);
  }
  SbpSignature columns = AllBroadcast(context);
  columns.inputs[1] = Sbp::Split(0);
  if (context.num_inputs > 2) { columns.inputs[2] = Sbp::Split(0); }
  columns.outputs[0] = Sbp::Split(ndim - 1);
  out->push_back(columns);
  return SbpBroadcastOnly(context, out);
}

Maybe<void> SbpPermute(const InferContext& context, SbpSignatureList* out) {
  const IntList& dims = context.GetAttrs<PermuteAttrs>().dims;
  for (int i = 0; i < dims.count; ++i) {
    out->push_back({{Sbp::Split(static_cast<int>(dims.values[i]))}, {Sbp::Split(i)}});
  }
  out->push_back({{Sbp::PartialSum()}, {Sbp::PartialSum()}});
  return SbpBroadcastOnly(context, out);
}

Maybe<void> SbpSlice(const InferContext& context, SbpSignatureList* out) {
  const int64_t sliced = context.GetAttrs<SliceAttrs>().dim;
  for (int dim = 0; dim < context.inputs[0]->shape.size(); ++dim) {
    const Sbp result = dim == sliced ? Sbp::PartialSum() : Sbp::Split(dim);
    out->push_back({{Sbp::Split(dim)}, {result}});
  }
  out->push_back({{Sbp::PartialSum()}, {Sbp::PartialSum()}});
  return SbpBroadcastOnly(context, out);
}

Maybe<void> SbpLogSoftmax(const InferContext& context, SbpSignatureList* out) {
  const int64_t softmax_dim = context.GetAttrs<LogSoftmaxAttrs>().dim;
  for (int dim = 0; dim < context.inputs[0]->shape.size(); ++dim) {
    if (dim == softmax_dim) { continue; }
    SbpSignature signature = AllBroadcast(context);
    signature.inputs.assign(signature.inputs.size(), Sbp::Split(dim));
    signature.outputs[0] = Sbp::Split(dim);
    out->push_back(signature);
  }
  return SbpBroadcastOnly(context, out);
}

}  // namespace oneflow
