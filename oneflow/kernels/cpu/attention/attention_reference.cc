// Reference kernels of fused_attention: query by query, with all its weights at once.
//
// Forward: q, k, v, mask or none, kept or none -> out, the logarithm of each query's sum (+inf where it
// sees nothing). Backward: dout, q, k, v, mask or none, kept or none, out, that logarithm -> dq, dk, dv.
#include <algorithm>
#include <cmath>

#include "oneflow/kernels/attrs_linalg.h"
#include "oneflow/kernels/cpu/reference_arrays.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {
namespace reference {

namespace {

size_t At(int64_t i) { return static_cast<size_t>(i); }

// Rows of width `n` of one head of an operand (a, b, rows, n), or (a, rows, b, n).
struct Head {
  const ArrayView& view;
  int64_t i0, i1;
  bool rows_first = false;

  int64_t Offset(int64_t row, int64_t col) const {
    return rows_first ? OffsetOf(view, {i0, row, i1, col}) : OffsetOf(view, {i0, i1, row, col});
  }
  double operator()(int64_t row, int64_t col) const {
    return Load(view, Offset(row, col)).AsDouble();
  }
};

// The gradient of one operand, in double until all queries have added theirs.
class Sum {
 public:
  explicit Sum(const ArrayView& view) : view_(view), values_(At(view.Count()), 0.0) {}
  void Add(const Dims& head, int64_t row, int64_t col, bool rows_first, double value) {
    const int64_t i1 = rows_first ? row : head[1], i2 = rows_first ? head[1] : row;
    const int64_t* n = view_.shape;
    values_[At(((head[0] * n[1] + i1) * n[2] + i2) * n[3] + col)] += value;
  }
  ~Sum() { Put(view_, values_); }

 private:
  const ArrayView& view_;
  Reals values_;
};

// What the weight of a key is multiplied by.
double KeptFactor(const KernelCall& call, int kept_at, const Dims& head, int64_t query,
                  int64_t key) {
  const ArrayView& kept = call.inputs[kept_at];
  const double dropout = call.GetAttrs<AttentionAttrs>().dropout;
  if (!kept.given) { return 1.0; }
  if (Load(kept, OffsetOf(kept, {head[0], head[1], query, key})).i == 0 || dropout == 1.0) {
    return 0.0;
  }
  return 1.0 / (1.0 - dropout);
}

// Scores of one query: -inf for a key that it does not see.
Reals ScoresOf(const KernelCall& call, int first, int mask_at, const Dims& head, int64_t query) {
  const auto& attrs = call.GetAttrs<AttentionAttrs>();
  const Head q{call.inputs[first], head[0], head[1]}, k{call.inputs[first + 1], head[0], head[1]};
  const ArrayView& mask = call.inputs[mask_at];
  Reals scores;
  for (int64_t key = 0; key < k.view.shape[2]; ++key) {
    double score = 0.0;
    for (int64_t d = 0; d < q.view.shape[3]; ++d) { score += q(query, d) * k(key, d); }
    score *= attrs.scale;
    if (mask.given) {
      const Value m = Load(mask, OffsetOf(mask, {head[0], head[1], query, key}));
      const double hidden = m.i != 0 ? 0.0 : -HUGE_VAL;
      score += mask.dtype == DataType::kBool ? hidden : m.d;
    }
    scores.push_back(attrs.is_causal && key > query ? -HUGE_VAL : score);
  }
  return scores;
}

double LogSumOf(const Reals& scores) {
  double max = -HUGE_VAL;
  for (double score : scores) { max = std::max(max, score); }
  if (max == -HUGE_VAL) { return HUGE_VAL; }
  double sum = 0.0;
  for (double score : scores) { sum += std::exp(score - max); }
  return max + std::log(sum);
}

// body(head, query) for each query of each head.
template <typename Body>
void ForEachQuery(const ArrayView& q, const Body& body) {
  ForEachIndex({q.shape[0], q.shape[1], q.shape[2]}, [&](const Dims& at) { body(at, at[2]); });
}

Maybe<void> RunForward(const KernelCall& call) {
  ForEachQuery(call.inputs[0], [&](const Dims& head, int64_t query) {
    const Head v{call.inputs[2], head[0], head[1]};
    const ArrayView& out = call.outputs[0];
    const Reals scores = ScoresOf(call, 0, 3, head, query);
    const double log_sum = LogSumOf(scores);
    for (int64_t d = 0; d < out.shape[3]; ++d) {
      double sum = 0.0;
      for (size_t i = 0; i < scores.size(); ++i) {
        const auto key = static_cast<int64_t>(i);
        sum += std::exp(scores[i] - log_sum) * KeptFactor(call, 4, head, query, key) * v(key, d);
      }
      const Head to{out, head[0], head[1], call.GetAttrs<AttentionAttrs>().rows_first};
      Store(out, to.Offset(query, d), Value::Float(sum));
    }
    Store(call.outputs[1], OffsetOf(call.outputs[1], head), Value::Float(log_sum));
  });
  return Ok();
}

// One query's part in the gradients.
void AddQuery(const KernelCall& call, const Dims& head, int64_t query, Sum* dq, Sum* dk, Sum* dv) {
  const auto& attrs = call.GetAttrs<AttentionAttrs>();
  const bool rows_first = attrs.rows_first;
  const Head dout{call.inputs[0], head[0], head[1], rows_first};
  const Head q{call.inputs[1], head[0], head[1]}, k{call.inputs[2], head[0], head[1]};
  const Head v{call.inputs[3], head[0], head[1]};
  const Reals scores = ScoresOf(call, 1, 4, head, query);
  const double log_sum = LogSumOf(scores);
  Reals weights, dweights;
  double mean = 0.0;  // of the gradients of the weights, by weight
  for (size_t i = 0; i < scores.size(); ++i) {
    const auto key = static_cast<int64_t>(i);
    const double kept = KeptFactor(call, 5, head, query, key);
    weights.push_back(std::exp(scores[i] - log_sum));
    dweights.push_back(0.0);
    for (int64_t d = 0; d < v.view.shape[3]; ++d) {
      dweights[i] += kept * dout(query, d) * v(key, d);
      dv->Add(head, key, d, rows_first, weights[i] * kept * dout(query, d));
    }
    mean += weights[i] * dweights[i];
  }
  for (size_t i = 0; i < scores.size(); ++i) {
    const auto key = static_cast<int64_t>(i);
    const double dscore = weights[i] * (dweights[i] - mean) * attrs.scale;
    for (int64_t d = 0; d < q.view.shape[3]; ++d) {
      dq->Add(head, query, d, rows_first, dscore * k(key, d));
      dk->Add(head, key, d, rows_first, dscore * q(query, d));
    }
  }
}

Maybe<void> RunBackward(const KernelCall& call) {
  Sum dq(call.outputs[0]), dk(call.outputs[1]), dv(call.outputs[2]);
  ForEachQuery(call.inputs[1], [&](const Dims& head, int64_t query) {
    AddQuery(call, head, query, &dq, &dk, &dv);
  });
  return Ok();
}

double Cost(const KernelCall& call) {
  return 1000.0 * static_cast<double>(call.inputs[0].Count() * call.inputs[2].shape[2]);
}

}  // namespace

ONEFLOW_REGISTER_KERNEL(fused_attention,
                        {"fused_attention.cpu.reference", &RunForward, nullptr, &Cost});
ONEFLOW_REGISTER_KERNEL(fused_attention_backward,
                        {"fused_attention_backward.cpu.reference", &RunBackward, nullptr, &Cost});

}  // namespace reference
}  // namespace cpu
}  // namespace oneflow
