#include "oneflow/functional/global_results.h"

#include <utility>

#include "oneflow/common/inline_array.h"

namespace oneflow {

namespace {

thread_local GlobalMetaPtr source_global;

constexpr int kInline = 16;

struct GlobalOperands {
  const TensorPtr* tensors;
  int count;
  const GlobalMeta* where = nullptr;

  // At this dim of the grid. An operand that is not given, that is local, or whose placement has
  // another grid, is taken as it is wanted.
  int Changes(const SbpSignature& signature, size_t dim) const {
    int changes = 0;
    for (int i = 0; i < count; ++i) {
      if (tensors[i] == nullptr || tensors[i]->global() == nullptr) { continue; }
      if (tensors[i]->global()->placement.grid() != where->placement.grid()) { continue; }
      const auto at = static_cast<size_t>(i);
      const Sbp wanted = at < signature.inputs.size() ? signature.inputs[at] : Sbp::Broadcast();
      changes += tensors[i]->global()->sbps[dim] != wanted ? 1 : 0;
    }
    return changes;
  }
};

// The place in `ways` of the one that changes the fewest operands.
size_t BestWay(const SbpSignatureList& ways, const GlobalOperands& operands, size_t dim) {
  size_t best = 0;
  int fewest = operands.Changes(ways[0], dim);
  for (size_t i = 1; i < ways.size() && fewest > 0; ++i) {
    const int changes = operands.Changes(ways[i], dim);
    if (changes < fewest) {
      best = i;
      fewest = changes;
    }
  }
  return best;
}

Maybe<const GlobalMeta*> CommonPlacement(const OpDef& def, const GlobalOperands& operands) {
  const GlobalMeta* first = nullptr;
  for (int i = 0; i < operands.count; ++i) {
    if (operands.tensors[i] == nullptr) { continue; }
    const GlobalMeta* meta = operands.tensors[i]->global().get();
    if (meta == nullptr || meta == first) { continue; }
    if (first == nullptr) {
      first = meta;
    } else if (meta->placement.type() != first->placement.type() ||
               meta->placement.ranks() != first->placement.ranks()) {
      return RuntimeError("[{}] expects global tensors of one placement, got {} and {}", def.name,
                          first->placement.ToString(), meta->placement.ToString());
    }
  }
  return first;
}

Maybe<SbpSignatureList> Ways(const OpDef& def, const GlobalOperands& operands, const void* attrs) {
  InlineArray<const TensorMeta*, kInline> metas(operands.count);
  for (int i = 0; i < operands.count; ++i) {
    metas[i] = operands.tensors[i] == nullptr ? nullptr : &operands.tensors[i]->meta();
  }
  SbpSignatureList ways;
  JUST(def.sbp(InferContext{def.name, metas.data(), operands.count, attrs}, &ways));
  if (ways.empty()) { ways.emplace_back(); }  // all broadcast
  return ways;
}

}  // namespace

Maybe<void> MakeResultsGlobal(const OpDef& def, const TensorPtr* inputs, int num_inputs,
                              const void* attrs, const TensorPtr* outputs) {
  GlobalOperands operands{inputs, num_inputs};
  const GlobalMeta* where = JUST(CommonPlacement(def, operands));
  operands.where = where;
  const SbpSignatureList ways = JUST(Ways(def, operands, attrs));
  std::vector<size_t> chosen;
  for (size_t dim = 0; dim < where->sbps.size(); ++dim) {
    chosen.push_back(BestWay(ways, operands, dim));
  }
  for (int i = 0; i < def.num_outputs; ++i) {
    GlobalMeta result{where->placement, {}};
    for (const size_t way : chosen) {
      const std::vector<Sbp>& given = ways[way].outputs;
      const auto at = static_cast<size_t>(i);
      Sbp sbp = at < given.size() ? given[at] : Sbp::Broadcast();
      // A rule that is too general for a reduced dim.
      if (sbp.dim() >= outputs[i]->ndim()) { sbp = Sbp::Broadcast(); }
      result.sbps.push_back(sbp);
    }
    outputs[i]->set_global(std::make_shared<const GlobalMeta>(std::move(result)));
  }
  return Ok();
}

void MakeGlobalLike(const TensorPtr& result, const Tensor& like) {
  if (result->shape() == like.shape()) {
    result->set_global(like.global());
    return;
  }
  GlobalMeta meta = *like.global();
  meta.sbps.assign(meta.sbps.size(), Sbp::Broadcast());
  result->set_global(std::make_shared<const GlobalMeta>(std::move(meta)));
}

const GlobalMetaPtr& SourceGlobal() { return source_global; }
void SetSourceGlobal(GlobalMetaPtr global) { source_global = std::move(global); }

void MarkSource(const TensorPtr& result) {
  if (source_global == nullptr) { return; }
  GlobalMeta meta = *source_global;
  for (Sbp& sbp : meta.sbps) {
    if (sbp.dim() >= result->ndim()) { sbp = Sbp::Broadcast(); }
  }
  result->set_global(std::make_shared<const GlobalMeta>(std::move(meta)));
}

}  // namespace oneflow
