// The kernels of embeddings. Indices are checked before anything is written.
//
// embedding_lookup: weight (rows, n), indices -> (..., n).
// embedding_backward: dy (..., n), indices -> dweight (rows, n): rows are added up in the order of
// the indices, by the thread that owns the row.
// embedding_renorm: weight, indices -> weight, in place.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "oneflow/device/cpu/parallel.h"
#include "oneflow/kernels/attrs_norm.h"
#include "oneflow/kernels/cpu/cost.h"
#include "oneflow/kernels/cpu/dense_kernel.h"
#include "oneflow/kernels/cpu/loss/class_targets.h"

namespace oneflow {
namespace cpu {

namespace {

Maybe<void> CheckIndices(const char* op, const ArrayView& indices, int64_t rows) {
  const int64_t* data = indices.Data<int64_t>();
  const int64_t count = indices.Count();
  uint64_t bad = 0;  // its top bit
  const auto last = static_cast<uint64_t>(rows) - 1;
  for (int64_t i = 0; i < count; ++i) {
    const auto index = static_cast<uint64_t>(data[i]);
    bad |= index | (last - index);
  }
  if (bad >> 63 == 0) { return Ok(); }
  for (int64_t i = 0; i < count; ++i) {
    if (data[i] < 0 || data[i] >= rows) {
      return IndexError("[{}] expects an index in [0, {}), the rows of the table, got {} at index "
                        "{}",
                        op, rows, data[i], PositionText(indices, i));
    }
  }
  return Ok();
}

int64_t Grain(int64_t n) { return std::max<int64_t>(1, 16384 / std::max<int64_t>(1, n)); }

// ---- lookup of any dtype ------------------------------------------------------------------------

const char* AcceptCopies(const KernelCall& call) {
  if (call.GetAttrs<EmbeddingAttrs>().adjoint) { return "not a mere copy"; }
  if (!call.inputs[0].contiguous || !call.inputs[1].contiguous) { return "operands not dense"; }
  return call.inputs[1].dtype == DataType::kInt64 ? nullptr : "indices are not int64";
}

Maybe<void> RunCopies(const KernelCall& call) {
  const ArrayView& weight = call.inputs[0];
  JUST(CheckIndices("embedding", call.inputs[1], weight.shape[0]));
  const int64_t bytes = weight.shape[1] * static_cast<int64_t>(SizeOf(weight.dtype));
  const int64_t* indices = call.inputs[1].Data<int64_t>();
  const char* from = weight.Data<char>();
  char* to = call.outputs[0].Data<char>();
  if (bytes == 0) { return Ok(); }
  ParallelFor(call.threads, call.inputs[1].Count(), Grain(weight.shape[1]),
              [&](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; ++i) {
                  std::memcpy(to + i * bytes, from + indices[i] * bytes,
                              static_cast<size_t>(bytes));
                }
              });
  return Ok();
}

// ---- lookup and gradient of floats --------------------------------------------------------------

// How often each row occurs.
void Count(const ArrayView& indices, int64_t rows, int64_t* counts) {
  std::memset(counts, 0, static_cast<size_t>(rows) * sizeof(int64_t));
  const int64_t* data = indices.Data<int64_t>();
  const int64_t count = indices.Count();
  for (int64_t i = 0; i < count; ++i) { ++counts[data[i]]; }
}

template <typename T>
void Lookup(const KernelCall& call, const EmbeddingAttrs& attrs, const int64_t* counts) {
  const int64_t n = call.inputs[0].shape[1];
  const int64_t* indices = call.inputs[1].Data<int64_t>();
  const T* weight = call.inputs[0].Data<T>();
  T* out = call.outputs[0].Data<T>();
  ParallelFor(call.threads, call.inputs[1].Count(), Grain(n), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const T* from = weight + indices[i] * n;
      T* to = out + i * n;
      const bool zero = attrs.adjoint && indices[i] == attrs.padding_idx;
      const T divisor = counts == nullptr ? T{1} : static_cast<T>(counts[indices[i]]);
      for (int64_t j = 0; j < n; ++j) { to[j] = zero ? T{0} : from[j] / divisor; }
    }
  });
}

bool Scales(const EmbeddingAttrs& attrs) { return attrs.adjoint && attrs.scale_grad_by_freq; }

Maybe<void> RunLookup(const KernelCall& call) {
  const auto& attrs = call.GetAttrs<EmbeddingAttrs>();
  const int64_t rows = call.inputs[0].shape[0];
  JUST(CheckIndices("embedding", call.inputs[1], rows));
  int64_t* counts = Scales(attrs) ? static_cast<int64_t*>(call.scratch) : nullptr;
  if (counts != nullptr) { Count(call.inputs[1], rows, counts); }
  if (call.inputs[0].dtype == DataType::kDouble) {
    Lookup<double>(call, attrs, counts);
  } else {
    Lookup<float>(call, attrs, counts);
  }
  return Ok();
}

size_t LookupScratch(const KernelCall& call) {
  if (!Scales(call.GetAttrs<EmbeddingAttrs>())) { return 0; }
  return static_cast<size_t>(call.inputs[0].shape[0]) * sizeof(int64_t);
}

constexpr int64_t kParts = 16;  // ranges of rows, each of which one thread fills

template <typename T>
void Scatter(const KernelCall& call, const EmbeddingAttrs& attrs, const int64_t* counts) {
  const int64_t rows = call.outputs[0].shape[0];
  const int64_t n = call.outputs[0].shape[1];
  const int64_t* indices = call.inputs[1].Data<int64_t>();
  const int64_t count = call.inputs[1].Count();
  const T* dy = call.inputs[0].Data<T>();
  T* dw = call.outputs[0].Data<T>();
  const int64_t parts = call.threads > 1 ? kParts : 1;
  const int64_t per_part = (rows + parts - 1) / parts;
  ParallelFor(call.threads, rows, std::max<int64_t>(1, per_part), [&](int64_t begin, int64_t end) {
    std::memset(dw + begin * n, 0, static_cast<size_t>((end - begin) * n) * sizeof(T));
    for (int64_t i = 0; i < count; ++i) {
      const int64_t row = indices[i];
      if (row < begin || row >= end || row == attrs.padding_idx) { continue; }
      const T* from = dy + i * n;
      T* to = dw + row * n;
      for (int64_t j = 0; j < n; ++j) { to[j] += from[j]; }
    }
    if (counts == nullptr) { return; }
    for (int64_t row = begin; row < end; ++row) {
      const T divisor = static_cast<T>(std::max<int64_t>(1, counts[row]));
      for (int64_t j = 0; j < n; ++j) { dw[row * n + j] /= divisor; }
    }
  });
}

Maybe<void> RunBackward(const KernelCall& call) {
  const auto& attrs = call.GetAttrs<EmbeddingBackwardAttrs>().kernel;
  const int64_t rows = call.outputs[0].shape[0];
  JUST(CheckIndices("embedding", call.inputs[1], rows));
  int64_t* counts = attrs.scale_grad_by_freq ? static_cast<int64_t*>(call.scratch) : nullptr;
  if (counts != nullptr) { Count(call.inputs[1], rows, counts); }
  if (call.outputs[0].Count() == 0) { return Ok(); }
  if (call.inputs[0].dtype == DataType::kDouble) {
    Scatter<double>(call, attrs, counts);
  } else {
    Scatter<float>(call, attrs, counts);
  }
  return Ok();
}

size_t BackwardScratch(const KernelCall& call) {
  if (!call.GetAttrs<EmbeddingBackwardAttrs>().kernel.scale_grad_by_freq) { return 0; }
  return static_cast<size_t>(call.outputs[0].shape[0]) * sizeof(int64_t);
}

// ---- renormalisation ----------------------------------------------------------------------------

template <typename T>
double Norm(const T* row, int64_t n, double type) {
  double sum = 0.0, max = 0.0;
  for (int64_t j = 0; j < n; ++j) {
    const double a = std::abs(static_cast<double>(row[j]));
    max = std::max(max, a);
    sum += type == 2.0 ? a * a : type == 1.0 ? a : std::pow(a, type);
  }
  if (std::isinf(type)) { return max; }
  return type == 2.0 ? std::sqrt(sum) : type == 1.0 ? sum : std::pow(sum, 1.0 / type);
}

template <typename T>
void Renorm(const KernelCall& call) {
  const auto& attrs = call.GetAttrs<EmbeddingRenormAttrs>();
  const ArrayView& weight = call.outputs[0];
  const int64_t n = weight.shape[1];
  const int64_t* indices = call.inputs[1].Data<int64_t>();
  const int64_t count = call.inputs[1].Count();
  T* data = weight.Data<T>();
  const auto bytes = static_cast<size_t>(weight.Count()) * sizeof(T);
  if (bytes > 0 && call.inputs[0].data != weight.data) {
    std::memcpy(weight.data, call.inputs[0].data, bytes);
  }
  auto* seen = static_cast<uint8_t*>(call.scratch);
  std::memset(seen, 0, static_cast<size_t>(weight.shape[0]));
  for (int64_t i = 0; i < count; ++i) {
    if (seen[indices[i]] != 0) { continue; }
    seen[indices[i]] = 1;
    T* row = data + indices[i] * n;
    const double norm = Norm(row, n, attrs.norm_type);
    if (norm <= attrs.max_norm) { continue; }
    const T scale = static_cast<T>(attrs.max_norm / (norm + 1e-7));
    for (int64_t j = 0; j < n; ++j) { row[j] *= scale; }
  }
}

Maybe<void> RunRenorm(const KernelCall& call) {
  JUST(CheckIndices("embedding_renorm_", call.inputs[1], call.inputs[0].shape[0]));
  if (call.inputs[0].dtype == DataType::kDouble) {
    Renorm<double>(call);
  } else {
    Renorm<float>(call);
  }
  return Ok();
}

size_t RenormScratch(const KernelCall& call) {
  return static_cast<size_t>(std::max<int64_t>(1, call.inputs[0].shape[0]));
}

// The table is touched only where indices say.
double LookupCost(const KernelCall& call) {
  const double indices = static_cast<double>(call.inputs[1].Count());
  return 20.0 + 3.0 * indices + MemoryCostNs(2.0 * BytesOf(call.outputs[0]));
}
double RenormCost(const KernelCall& call) {
  return 20.0 + static_cast<double>(call.inputs[1].Count() * call.inputs[0].shape[1]);
}

const char* AcceptFloats(const KernelCall& call) {
  return IsFloating(call.inputs[0].dtype) ? nullptr : "table is not floating";
}

constexpr DenseKernel kLookup = {&RunLookup, &LookupCost, &LookupScratch, &AcceptFloats};
constexpr DenseKernel kBackward = {&RunBackward, &ElementwiseCostNs, &BackwardScratch};
constexpr DenseKernel kRenorm = {&RunRenorm, &RenormCost, &RenormScratch};

}  // namespace

ONEFLOW_REGISTER_KERNEL(embedding_copies,
                        {"embedding.cpu.copies", &RunCopies, &AcceptCopies, &LookupCost});
ONEFLOW_REGISTER_DENSE_KERNEL(embedding_lookup, "embedding.cpu.floats", kLookup);
ONEFLOW_REGISTER_DENSE_KERNEL(embedding_backward, "embedding_backward.cpu.vector", kBackward);
ONEFLOW_REGISTER_DENSE_KERNEL(embedding_renorm, "embedding_renorm.cpu.vector", kRenorm);

}  // namespace cpu
}  // namespace oneflow
