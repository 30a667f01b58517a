#include "oneflow/kernels/cuda/strided_plan.h"

#include <utility>

namespace oneflow {
namespace cuda {

namespace {

void AddDim(const ArrayView* const* operands, int count, int dim, StridedPlan* plan) {
  const ArrayView& lead = *operands[0];
  plan->sizes[plan->ndim] = lead.shape[dim];
  for (int k = 0; k < count; ++k) {
    const int own = dim - (lead.ndim - operands[k]->ndim);
    const bool repeats = own < 0 || operands[k]->shape[own] == 1;
    plan->strides[k][plan->ndim] = repeats ? 0 : operands[k]->strides[own];
  }
  ++plan->ndim;
}

void CopyDim(int from, int to, int count, StridedPlan* plan) {
  plan->sizes[to] = plan->sizes[from];
  for (int k = 0; k < count; ++k) { plan->strides[k][to] = plan->strides[k][from]; }
}

void SortDims(int count, StridedPlan* plan) {
  for (int i = 1; i < plan->ndim; ++i) {
    for (int j = i; j > 0 && plan->strides[0][j] < plan->strides[0][j - 1]; --j) {
      std::swap(plan->sizes[j], plan->sizes[j - 1]);
      for (int k = 0; k < count; ++k) { std::swap(plan->strides[k][j], plan->strides[k][j - 1]); }
    }
  }
}

// Whether dimension `outer` goes on where `inner` ends, in all operands.
bool Continues(const StridedPlan& plan, int inner, int outer, int count) {
  for (int k = 0; k < count; ++k) {
    if (plan.strides[k][outer] != plan.strides[k][inner] * plan.sizes[inner]) { return false; }
  }
  return true;
}

void MergeDims(int count, StridedPlan* plan) {
  int last = 0;
  for (int d = 1; d < plan->ndim; ++d) {
    if (Continues(*plan, last, d, count)) {
      plan->sizes[last] *= plan->sizes[d];
    } else {
      CopyDim(d, ++last, count, plan);
    }
  }
  plan->ndim = plan->ndim == 0 ? 0 : last + 1;
}

}  // namespace

StridedPlan MakeStridedPlan(const ArrayView* const* operands, int count) {
  StridedPlan plan;
  const ArrayView& lead = *operands[0];
  for (int d = lead.ndim - 1; d >= 0; --d) {
    plan.total *= lead.shape[d];
    if (lead.shape[d] != 1) { AddDim(operands, count, d, &plan); }
  }
  SortDims(count, &plan);
  MergeDims(count, &plan);
  return plan;
}

}  // namespace cuda
}  // namespace oneflow
