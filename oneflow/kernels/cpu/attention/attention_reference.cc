// Reference kernels of fused_attention: query by query, with all its weights at once.
//
// Forward: q, k, v, mask or none -> out, the logarithm of each query's sum (+inf where it sees nothing).
// Backward: dout, q, k, v, mask or none, out, that logarithm -> dq, dk, dv.
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

// Rows of width `n` of one head of an operand (a, b, rows, n).
struct Head {
  const ArrayView& view;
  int64_t i0, i1;

  double operator()(int64_t row, int64_t col) const {
    return Load(view, OffsetOf(view, {i0, i1, row, col})).AsDouble();
  }
  void Add(int64_t row, int64_t col, double value) const {
    const int64_t at = OffsetOf(view, {i0, i1, row, col});
    Store(view, at, Value::Float(Load(view, at).d + value));
  }
};

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
      for (size_t key = 0; key < scores.size(); ++key) {
        sum += std::exp(scores[key] - log_sum) * v(static_cast<int64_t>(key), d);
      }
      Store(out, OffsetOf(out, {head[0], head[1], query, d}), Value::Float(sum));
    }
    Store(call.outputs[1], OffsetOf(call.outputs[1], head), Value::Float(log_sum));
  });
  return Ok();
}

Maybe<void> RunBackward(const KernelCall& call) {
  const double scale = call.GetAttrs<AttentionAttrs>().scale;
  for (int i = 0; i < 3; ++i) { Put(call.outputs[i], Reals(At(call.outputs[i].Count()), 0.0)); }
  ForEachQuery(call.inputs[1], [&](const Dims& head, int64_t query) {
    const auto operand = [&](const ArrayView& view) { return Head{view, head[0], head[1]}; };
    const Head dout = operand(call.inputs[0]), q = operand(call.inputs[1]);
    const Head k = operand(call.inputs[2]), v = operand(call.inputs[3]);
    const Head dq = operand(call.outputs[0]), dk = operand(call.outputs[1]);
    const Head dv = operand(call.outputs[2]);
    const Reals scores = ScoresOf(call, 1, 4, head, query);
    const double log_sum = LogSumOf(scores);
    Reals weights, dweights;
    double mean = 0.0;  // of the gradients of the weights, by weight
    for (size_t i = 0; i < scores.size(); ++i) {
      const auto key = static_cast<int64_t>(i);
      weights.push_back(std::exp(scores[i] - log_sum));
      dweights.push_back(0.0);
      for (int64_t d = 0; d < v.view.shape[3]; ++d) {
        dweights[i] += dout(query, d) * v(key, d);
        dv.Add(key, d, weights[i] * dout(query, d));
      }
      mean += weights[i] * dweights[i];
    }
    for (size_t i = 0; i < scores.size(); ++i) {
      const auto key = static_cast<int64_t>(i);
      const double dscore = weights[i] * (dweights[i] - mean) * scale;
      for (int64_t d = 0; d < q.view.shape[3]; ++d) {
        dq.Add(query, d, dscore * k(key, d));
        dk.Add(key, d, dscore * q(query, d));
      }
    }
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
