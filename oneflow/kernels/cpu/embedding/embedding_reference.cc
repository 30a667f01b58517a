// Reference kernels of embeddings.
#include <algorithm>
#include <cmath>

#include "oneflow/kernels/attrs_norm.h"
#include "oneflow/kernels/cpu/reference_arrays.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {
namespace reference {

namespace {

size_t At(int64_t i) { return static_cast<size_t>(i); }

Maybe<void> CheckIndices(const char* op, const Wholes& indices, int64_t rows) {
  for (int64_t index : indices) {
    if (index < 0 || index >= rows) {
      return IndexError("[{}] expects an index in [0, {}), the rows of the table, got {}", op, rows,
                        index);
    }
  }
  return Ok();
}

// How often each row is looked up.
Reals Occurrences(const Wholes& indices, int64_t rows) {
  Reals counts(At(rows), 0.0);
  for (int64_t index : indices) { counts[At(index)] += 1.0; }
  return counts;
}

Maybe<void> RunLookup(const KernelCall& call) {
  const auto& attrs = call.GetAttrs<EmbeddingAttrs>();
  const ArrayView& table = call.inputs[0];
  const Wholes indices = WholesOf(call.inputs[1]);
  JUST(CheckIndices("embedding", indices, table.shape[0]));
  const Reals counts = Occurrences(indices, table.shape[0]);
  size_t next = 0;
  // The last dim goes along a row, the others tell which index.
  ForEachIndex(ShapeOf(call.outputs[0]), [&](const Dims& at) {
    const auto n = At(table.shape[1]);
    const int64_t row = indices[next++ / n];
    Value value = Load(table, OffsetOf(table, {row, at[at.size() - 1]}));
    if (attrs.adjoint && row == attrs.padding_idx) { value = Value::Float(0.0); }
    if (attrs.adjoint && attrs.scale_grad_by_freq) { value.d /= counts[At(row)]; }
    Store(call.outputs[0], OffsetOf(call.outputs[0], at), value);
  });
  return Ok();
}

Maybe<void> RunBackward(const KernelCall& call) {
  const auto& attrs = call.GetAttrs<EmbeddingBackwardAttrs>().kernel;
  const int64_t rows = call.outputs[0].shape[0], n = call.outputs[0].shape[1];
  const Reals dy = RealsOf(call.inputs[0]);
  const Wholes indices = WholesOf(call.inputs[1]);
  JUST(CheckIndices("embedding", indices, rows));
  const Reals counts = Occurrences(indices, rows);
  Reals dweight(At(rows * n), 0.0);
  for (size_t i = 0; i < indices.size(); ++i) {
    const int64_t row = indices[i];
    if (row == attrs.padding_idx) { continue; }
    const double divisor = attrs.scale_grad_by_freq ? counts[At(row)] : 1.0;
    for (int64_t j = 0; j < n; ++j) { dweight[At(row * n + j)] += dy[i * At(n) + At(j)] / divisor; }
  }
  Put(call.outputs[0], dweight);
  return Ok();
}

double NormOf(const Reals& row, double type) {
  double norm = 0.0;
  for (double x : row) {
    norm = std::isinf(type) ? std::max(norm, std::abs(x)) : norm + std::pow(std::abs(x), type);
  }
  return std::isinf(type) ? norm : std::pow(norm, 1.0 / type);
}

Maybe<void> RunRenorm(const KernelCall& call) {
  const auto& attrs = call.GetAttrs<EmbeddingRenormAttrs>();
  const int64_t rows = call.inputs[0].shape[0], n = call.inputs[0].shape[1];
  const Wholes indices = WholesOf(call.inputs[1]);
  JUST(CheckIndices("embedding_renorm_", indices, rows));
  const Reals counts = Occurrences(indices, rows);
  Reals table = RealsOf(call.inputs[0]);
  for (int64_t row = 0; row < rows; ++row) {
    if (counts[At(row)] == 0.0) { continue; }
    const auto begin = table.begin() + row * n;
    const double norm = NormOf(Reals(begin, begin + n), attrs.norm_type);
    if (norm <= attrs.max_norm) { continue; }
    std::for_each(begin, begin + n, [&](double& x) { x *= attrs.max_norm / (norm + 1e-7); });
  }
  Put(call.outputs[0], table);
  return Ok();
}

double Cost(const KernelCall& call) { return 200.0 * static_cast<double>(call.inputs[0].Count()); }

}  // namespace

ONEFLOW_REGISTER_KERNEL(embedding, {"embedding.cpu.reference", &RunLookup, nullptr, &Cost});
ONEFLOW_REGISTER_KERNEL(embedding_backward,
                        {"embedding_backward.cpu.reference", &RunBackward, nullptr, &Cost});
ONEFLOW_REGISTER_KERNEL(embedding_renorm,
                        {"embedding_renorm.cpu.reference", &RunRenorm, nullptr, &Cost});

}  // namespace reference
}  // namespace cpu
}  // namespace oneflow
