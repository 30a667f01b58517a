// The kernels in_top_k and roc_auc_score.
#include <algorithm>
#include <cmath>

#include "oneflow/device/cpu/parallel.h"
#include "oneflow/kernels/attrs_reduce.h"
#include "oneflow/kernels/cpu/dense_call.h"
#include "oneflow/kernels/cpu/sort/radix_sort.h"
#include "oneflow/kernels/cpu/sort/sort_keys.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {

namespace {

// ---- in_top_k -----------------------------------------------------------------------------------

// A class is among the best k if fewer than k have a greater prediction; NaN and infinity are none.
template <typename T, typename Index>
void InTopk(const KernelCall& call, int64_t k) {
  const ArrayView& predictions = call.inputs[1];
  const int64_t classes = predictions.shape[1];
  const auto* targets = call.inputs[0].Data<Index>();
  const auto* x = predictions.Data<T>();
  auto* out = call.outputs[0].Data<uint8_t>();
  const int64_t grain = std::max<int64_t>(1, 16384 / std::max<int64_t>(classes, 1));
  ParallelFor(call.threads, predictions.shape[0], grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const T* row = x + i * classes;
      const auto target = static_cast<int64_t>(targets[i]);
      bool possible = target >= 0 && target < classes && std::isfinite(row[target]);
      int64_t greater = 0;
      for (int64_t j = 0; possible && j < classes; ++j) {
        possible = std::isfinite(row[j]);
        greater += row[j] > row[target] ? 1 : 0;
      }
      out[i] = possible && greater < k ? 1 : 0;
    }
  });
}

Maybe<void> InTopkDense(const KernelCall& call) {
  const int64_t k = call.GetAttrs<InTopkAttrs>().k;
  const bool wide = call.inputs[0].dtype == DataType::kInt64;
  if (call.inputs[1].dtype == DataType::kDouble) {
    wide ? InTopk<double, int64_t>(call, k) : InTopk<double, int32_t>(call, k);
  } else {
    wide ? InTopk<float, int64_t>(call, k) : InTopk<float, int32_t>(call, k);
  }
  return Ok();
}

Maybe<void> RunInTopk(const KernelCall& call) { return RunDense(call, &InTopkDense); }

const char* AcceptInTopk(const KernelCall& call) {
  return call.outputs[0].contiguous ? nullptr : "output is not dense";
}

double InTopkCost(const KernelCall& call) {
  return 50.0 + 1.0 * static_cast<double>(call.inputs[1].Count());
}

// ---- roc_auc_score ------------------------------------------------------------------------------

// How often a positive example has a greater prediction than a negative one; a tie counts one half.
// Counted by ranks, as Mann and Whitney do.
double Auc(const float* label, const Keyed32* sorted, int64_t n) {
  double positives = 0.0;
  double ranks = 0.0;
  for (int64_t i = 0; i < n;) {
    int64_t end = i;
    double here = 0.0;
    for (; end < n && sorted[end].key() == sorted[i].key(); ++end) {
      here += label[sorted[end].index()] != 0.0f ? 1.0 : 0.0;
    }
    ranks += here * (static_cast<double>(i + end + 1) / 2.0);  // the mean of ranks i + 1 .. end
    positives += here;
    i = end;
  }
  const double negatives = static_cast<double>(n) - positives;
  return (ranks - positives * (positives + 1.0) / 2.0) / (positives * negatives);
}

Maybe<void> AucDense(const KernelCall& call) {
  const int64_t n = call.inputs[0].Count();
  const auto* prediction = call.inputs[1].Data<uint32_t>();
  auto* room = static_cast<Keyed32*>(call.scratch);
  for (int64_t i = 0; i < n; ++i) { room[i] = Keyed32::Of(FloatSortKeys::Of(prediction[i]), i); }
  const Keyed32* sorted = SortKeyed(room, room + n, n, 1);
  call.outputs[0].Data<float>()[0] =
      static_cast<float>(Auc(call.inputs[0].Data<float>(), sorted, n));
  return Ok();
}

Maybe<void> RunAuc(const KernelCall& call) { return RunDense(call, &AucDense); }

size_t AucScratch(const KernelCall& call) {
  return DenseCall::ScratchBytes(call) +
         2 * static_cast<size_t>(call.inputs[0].Count()) * sizeof(Keyed32);
}

const char* AcceptAuc(const KernelCall& call) {
  const bool floats = call.inputs[0].dtype == DataType::kFloat &&
                      call.inputs[1].dtype == DataType::kFloat &&
                      call.outputs[0].dtype == DataType::kFloat;
  return floats ? nullptr : "dtypes other than float32";
}

double AucCost(const KernelCall& call) {
  return 50.0 + 15.0 * static_cast<double>(call.inputs[0].Count());
}

size_t InTopkScratch(const KernelCall& call) { return DenseCall::ScratchBytes(call); }

}  // namespace

ONEFLOW_REGISTER_KERNEL(in_top_k, {"in_top_k.cpu.vector", &RunInTopk, &AcceptInTopk, &InTopkCost,
                                   &InTopkScratch});
ONEFLOW_REGISTER_KERNEL(roc_auc_score,
                        {"roc_auc_score.cpu.radix", &RunAuc, &AcceptAuc, &AucCost, &AucScratch});

}  // namespace cpu
}  // namespace oneflow
