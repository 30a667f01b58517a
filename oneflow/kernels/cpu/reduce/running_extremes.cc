// The kernels cummax and cummin.
#include <algorithm>

#include "oneflow/device/cpu/parallel.h"
#include "oneflow/kernels/attrs_reduce.h"
#include "oneflow/kernels/cpu/cost.h"
#include "oneflow/kernels/cpu/dense_call.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {

namespace {

constexpr int64_t kGrainElements = 1 << 14;
constexpr int64_t kTile = 64;  // neighbouring vectors that are gone through together

// The last among equals counts; a NaN replaces every number, and only a NaN replaces it.
template <bool kMax, typename T>
bool Replaces(T x, T best) {
  // NOLINTNEXTLINE(misc-redundant-expression)
  return (kMax ? x >= best : x <= best) || x != x;
}

// `columns` vectors, `stride` between their elements.
template <bool kMax, typename T>
void Scan(const T* x, T* values, int64_t* indices, int64_t stride, int64_t n, int64_t columns) {
  T best[kTile];
  int64_t at[kTile];
  for (int64_t j = 0; j < columns; ++j) {
    best[j] = x[j];
    at[j] = 0;
  }
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      const bool replaces = Replaces<kMax>(x[i * stride + j], best[j]);
      best[j] = replaces ? x[i * stride + j] : best[j];
      at[j] = replaces ? i : at[j];
      values[i * stride + j] = best[j];
      indices[i * stride + j] = at[j];
    }
  }
}

template <bool kMax, typename T>
void RunOf(const KernelCall& call) {
  const ArrayView& input = call.inputs[0];
  const int64_t dim = call.GetAttrs<CumulativeAttrs>().dim;
  int64_t outer = 1, n = 1, inner = 1;
  for (int d = 0; d < input.ndim; ++d) {
    (d < dim ? outer : d == dim ? n : inner) *= input.shape[d];
  }
  if (outer * n * inner == 0) { return; }
  const int64_t tiles = (inner + kTile - 1) / kTile;
  const int64_t grain = std::max<int64_t>(1, kGrainElements / (n * std::min(inner, kTile)));
  ParallelFor(call.threads, outer * tiles, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t column = i % tiles * kTile;
      const int64_t at = i / tiles * n * inner + column;
      Scan<kMax>(input.Data<T>() + at, call.outputs[0].Data<T>() + at,
                 call.outputs[1].Data<int64_t>() + at, inner, n, std::min(kTile, inner - column));
    }
  });
}

template <bool kMax>
Maybe<void> RunDenseCall(const KernelCall& call) {
  switch (call.inputs[0].dtype) {
    case DataType::kBool:
    case DataType::kUInt8: RunOf<kMax, uint8_t>(call); break;
    case DataType::kInt8: RunOf<kMax, int8_t>(call); break;
    case DataType::kInt16: RunOf<kMax, int16_t>(call); break;
    case DataType::kInt32: RunOf<kMax, int32_t>(call); break;
    case DataType::kInt64: RunOf<kMax, int64_t>(call); break;
    case DataType::kFloat: RunOf<kMax, float>(call); break;
    default: RunOf<kMax, double>(call);
  }
  return Ok();
}

template <bool kMax>
Maybe<void> Run(const KernelCall& call) {
  return RunDense(call, &RunDenseCall<kMax>);
}

size_t Scratch(const KernelCall& call) { return DenseCall::ScratchBytes(call); }

double Cost(const KernelCall& call) {
  return 30.0 + ElementwiseCostNs(call) + 1.0 * static_cast<double>(call.outputs[0].Count());
}

}  // namespace

ONEFLOW_REGISTER_KERNEL(cummax, {"cummax.cpu.vector", &Run<true>, nullptr, &Cost, &Scratch});
ONEFLOW_REGISTER_KERNEL(cummin, {"cummin.cpu.vector", &Run<false>, nullptr, &Cost, &Scratch});

}  // namespace cpu
}  // namespace oneflow
