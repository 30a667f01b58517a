#include "oneflow/op/rules.h"
#include "oneflow/op/rules_spatial.h"

namespace oneflow {

namespace {

SbpSignature SplitBatch(const InferContext& context, int split_inputs, int outputs, Sbp result) {
  SbpSignature signature;
  signature.inputs.assign(static_cast<size_t>(context.num_inputs), Sbp::Broadcast());
  for (int i = 0; i < split_inputs; ++i) {
    signature.inputs[static_cast<size_t>(i)] = Sbp::Split(0);
  }
  signature.outputs.assign(static_cast<size_t>(outputs), result);
  return signature;
}

}  // namespace

Maybe<void> SbpBatch(const InferContext& context, SbpSignatureList* out) {
  out->push_back(SplitBatch(context, 1, 1, Sbp::Split(0)));
  return SbpBroadcastOnly(context, out);
}

Maybe<void> SbpBatchOfAll(const InferContext& context, SbpSignatureList* out) {
  out->push_back(SplitBatch(context, context.num_inputs, 1, Sbp::Split(0)));
  return SbpBroadcastOnly(context, out);
}

Maybe<void> SbpSumOverBatch(const InferContext& context, SbpSignatureList* out) {
  out->push_back(SplitBatch(context, context.num_inputs, 1, Sbp::PartialSum()));
  return SbpBroadcastOnly(context, out);
}

}  // namespace oneflow
