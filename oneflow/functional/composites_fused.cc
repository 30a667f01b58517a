#include "oneflow/functional/composites_fused.h"

#include <cmath>

#include "oneflow/functional/composites.h"
#include "oneflow/functional/generated/functional.h"

namespace oneflow::functional::composites {

namespace {

Maybe<TensorPtr> Plus(const TensorPtr& a, const TensorPtr& b) { return add(a, b, Scalar(1)); }

Maybe<void> CheckProbability(const char* op, double p) {
  if (p >= 0.0 && p <= 1.0) { return Ok(); }
  return ValueError("[{}] expects a probability p in [0, 1], got {}", op, p);
}

// Each element is dropped with probability p; the others grow by 1 / (1 - p).
Maybe<TensorPtr> Dropped(const char* op, const TensorPtr& x, double p, bool training,
                         const GeneratorPtr& generator) {
  JUST(CheckProbability(op, p));
  if (!training || p == 0.0) { return x; }
  const TensorPtr kept = JUST(bernoulli_p(x, 1.0 - p, std::nullopt, generator));
  return mul(x, JUST(scalar_mul(kept, Scalar(p < 1.0 ? 1.0 / (1.0 - p) : 0.0))));
}

// scale * x where the mask is true, fill_value where it is not.
Maybe<TensorPtr> Masked(const TensorPtr& x, const TensorPtr& mask, double fill_value,
                        double scale) {
  const TensorPtr seen = JUST(cast(mask, x->dtype()));
  const TensorPtr scaled = JUST(scalar_mul(JUST(mul(x, seen)), Scalar(scale)));
  const TensorPtr hidden = JUST(scalar_add(JUST(neg(seen)), Scalar(1.0), Scalar(1)));
  return Plus(scaled, JUST(scalar_mul(hidden, Scalar(fill_value))));
}

}  // namespace

Maybe<TensorPtr> FusedScaleTril(const TensorPtr& x, int64_t diagonal, Scalar fill_value,
                                Scalar scale) {
  const TensorPtr lower = JUST(scalar_mul(JUST(tril(x, diagonal)), scale));
  if (fill_value.To<double>() == 0.0) { return lower; }
  const TensorPtr filled = JUST(full(x->shape(), fill_value, lower->dtype(), x->device()));
  return Plus(lower, JUST(triu(filled, diagonal + 1)));
}

Maybe<TensorPtr> FusedScaleMaskSoftmax(const TensorPtr& x, const TensorPtr& mask, double fill_value,
                                       double scale) {
  return softmax(JUST(Masked(x, mask, fill_value, scale)), -1);
}

Maybe<TensorTuple> FusedScaleMaskSoftmaxDropout(const TensorPtr& x, const TensorPtr& mask,
                                                double fill_value, double scale, double p,
                                                bool training, const GeneratorPtr& generator) {
  const TensorPtr weights = JUST(FusedScaleMaskSoftmax(x, mask, fill_value, scale));
  const char* op = "fused_scale_mask_softmax_dropout";
  return TensorTuple{JUST(Dropped(op, weights, p, training, generator)), weights};
}

Maybe<TensorTuple> FusedBiasAddScaleMaskSoftmaxDropout(const TensorPtr& x, const TensorPtr& bias,
                                                       const TensorPtr& mask, double fill_value,
                                                       double scale, double p, bool training,
                                                       const GeneratorPtr& generator) {
  return FusedScaleMaskSoftmaxDropout(JUST(Plus(x, bias)), mask, fill_value, scale, p, training,
                                      generator);
}

Maybe<TensorTuple> FusedScaleTrilSoftmaxMaskScale(const TensorPtr& a, double p, int64_t diagonal,
                                                  double tril_scale_value, double tril_fill_value,
                                                  const GeneratorPtr& generator) {
  const TensorPtr scores =
      JUST(FusedScaleTril(a, diagonal, Scalar(tril_fill_value), Scalar(tril_scale_value)));
  const TensorPtr weights = JUST(softmax(scores, -1));
  const char* op = "fused_scale_tril_softmax_mask_scale";
  return TensorTuple{JUST(Dropped(op, weights, p, true, generator)), weights};
}

Maybe<TensorPtr> FusedBiasAddDropout(const TensorPtr& a, const TensorPtr& b, double p, int64_t axis,
                                     const GeneratorPtr& generator) {
  return Dropped("fused_bias_add_dropout", JUST(bias_add(a, b, axis)), p, true, generator);
}

Maybe<TensorPtr> FusedMatmulBiasAddReluDropout(const TensorPtr& x, const TensorTuple& weights,
                                               const TensorTuple& biases,
                                               bool skip_final_activation,
                                               const std::vector<double>& dropout_rate_list,
                                               const GeneratorPtr& generator) {
  const char* op = "fused_matmul_bias_add_relu_dropout";
  if (weights.empty() || weights.size() != biases.size() ||
      weights.size() != dropout_rate_list.size()) {
    return RuntimeError(
        "[{}] expects a bias and a probability for each weight, at least one, got {} "
        "weights, {} biases, {} probabilities",
        op, weights.size(), biases.size(), dropout_rate_list.size());
  }
  TensorPtr out = x;
  for (size_t i = 0; i < weights.size(); ++i) {
    out = JUST(linear(out, weights[i], biases[i]));
    if (i + 1 < weights.size() || !skip_final_activation) { out = JUST(relu(out)); }
    out = JUST(Dropped(op, out, dropout_rate_list[i], true, generator));
  }
  return out;
}

Maybe<TensorPtr> FusedFastGeluMul(const TensorPtr& x, const TensorPtr& multiplier) {
  // 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))
  const TensorPtr cube = JUST(mul(JUST(square(x)), x));
  const TensorPtr inner = JUST(Plus(x, JUST(scalar_mul(cube, Scalar(0.044715)))));
  const TensorPtr bent = JUST(tanh(JUST(scalar_mul(inner, Scalar(0.7978845608028654)))));
  const TensorPtr gate =
      JUST(scalar_add(JUST(scalar_mul(bent, Scalar(0.5))), Scalar(0.5), Scalar(1)));
  return mul(JUST(mul(x, gate)), multiplier);
}

Maybe<TensorPtr> FusedBiasAddGelu(const TensorPtr& a, const TensorPtr& b, int64_t axis) {
  return gelu(JUST(bias_add(a, b, axis)));
}

namespace {

Maybe<TensorPtr> Gated(const TensorPtr& hidden, const TensorPtr& gate,
                       const std::string& activation) {
  if (activation == "none") { return mul(hidden, gate); }
  if (activation == "sigmoid") { return mul(hidden, JUST(sigmoid(gate))); }
  if (activation == "relu") { return mul(hidden, JUST(relu(gate))); }
  if (activation == "gelu") { return mul(hidden, JUST(gelu(gate))); }
  if (activation == "fast_gelu") { return mul(hidden, JUST(fast_gelu(gate))); }
  if (activation == "silu") { return mul(hidden, JUST(silu(gate))); }
  return ValueError("[fused_glu] expects none, sigmoid, relu, gelu, fast_gelu or silu, got {}",
                    activation);
}

}  // namespace

Maybe<TensorPtr> FusedGlu(const TensorPtr& x, const TensorPtr& w, const TensorPtr& b,
                          const TensorPtr& v, const TensorPtr& c, const std::string& activation) {
  const TensorPtr hidden = JUST(linear(x, w, b));
  if (v != nullptr) { return Gated(hidden, JUST(linear(x, v, c)), activation); }
  const int64_t width = hidden->shape().back();
  if (width % 2 != 0) {
    return RuntimeError(
        "[fused_glu] expects a weight of twice as many rows as there are results, got "
        "{}",
        w->shape());
  }
  const TensorPtr first = JUST(narrow(hidden, -1, 0, width / 2));
  return Gated(first, JUST(narrow(hidden, -1, width / 2, width / 2)), activation);
}

Maybe<TensorPtr> FusedWeightedSum(const TensorTuple& in, const std::vector<double>& weights,
                                  double alpha) {
  if (in.empty() || in.size() != weights.size()) {
    return RuntimeError(
        "[fused_weighted_sum] expects a weight for each tensor, at least one, got {} "
        "tensors and {} weights",
        in.size(), weights.size());
  }
  TensorPtr out = JUST(scalar_mul(in[0], Scalar(weights[0] * alpha)));
  for (size_t i = 1; i < in.size(); ++i) {
    if (in[i]->shape() != in[0]->shape()) {
      return RuntimeError("[fused_weighted_sum] expects tensors of one shape, got {} and {}",
                          in[0]->shape(), in[i]->shape());
    }
    out = JUST(add(out, in[i], Scalar(weights[i] * alpha)));
  }
  return out;
}

Maybe<TensorTuple> FusedSelfAttention(const TensorPtr& hidden_states, int64_t head_size,
                                      double alpha) {
  const Dims& shape = hidden_states->shape();
  if (shape.size() != 3 || head_size < 1 || shape[2] % (3 * head_size) != 0) {
    return RuntimeError(
        "[fused_self_attention] expects hidden states (steps, batch, heads * 3 * {}), "
        "got {}",
        head_size, shape);
  }
  const Dims split{shape[0], shape[1], shape[2] / (3 * head_size), 3 * head_size};
  const TensorPtr heads = JUST(permute(JUST(reshape(hidden_states, split)), Dims{1, 2, 0, 3}));
  const TensorPtr q = JUST(narrow(heads, 3, 0, head_size));
  const TensorPtr k = JUST(narrow(heads, 3, head_size, head_size));
  const TensorPtr v = JUST(narrow(heads, 3, 2 * head_size, head_size));
  const TensorPtr scores = JUST(matmul(q, JUST(transpose(k, 2, 3)), false, false, alpha));
  return TensorTuple{scores, v};
}

namespace {

// (batch, steps, hidden), of which [start, end) counts, as (batch, heads, steps, size).
Maybe<TensorPtr> AsHeads(const char* name, const TensorPtr& x, int64_t heads, int64_t start,
                         int64_t end) {
  const int64_t hidden = x->ndim() == 3 ? x->shape()[2] : -1;
  const int64_t last = end < 0 ? end + hidden + 1 : end;
  if (x->ndim() != 3 || heads < 1 || start < 0 || last < start || last > hidden ||
      (last - start) % heads != 0) {
    return RuntimeError("[fused_multi_head_attention_inference] expects {} (batch, steps, heads * "
                        "size), got {} for {} heads and entries {} to {}",
                        name, x->shape(), heads, start, end);
  }
  const TensorPtr part = JUST(narrow(x, 2, start, last - start));
  const Dims split{x->shape()[0], x->shape()[1], heads, (last - start) / heads};
  return transpose(JUST(reshape(part, split)), 1, 2);
}

}  // namespace

Maybe<TensorPtr> FusedMultiHeadAttentionInference(
    const TensorPtr& query, const TensorPtr& key, const TensorPtr& value, int64_t num_heads,
    bool causal, int64_t query_hidden_slice_start, int64_t query_hidden_slice_end,
    int64_t key_hidden_slice_start, int64_t key_hidden_slice_end, int64_t value_hidden_slice_start,
    int64_t value_hidden_slice_end) {
  const TensorPtr q =
      JUST(AsHeads("query", query, num_heads, query_hidden_slice_start, query_hidden_slice_end));
  const TensorPtr k =
      JUST(AsHeads("key", key, num_heads, key_hidden_slice_start, key_hidden_slice_end));
  const TensorPtr v =
      JUST(AsHeads("value", value, num_heads, value_hidden_slice_start, value_hidden_slice_end));
  const TensorPtr out =
      JUST(scaled_dot_product_attention(q, k, v, nullptr, 0.0, causal, std::nullopt));
  const Dims joined{out->shape()[0], out->shape()[2], num_heads * out->shape()[3]};
  return reshape(JUST(transpose(out, 1, 2)), joined);
}

Maybe<TensorPtr> FusedCrossFeatureInteraction(const TensorPtr& x, const TensorPtr& weight,
                                              const TensorPtr& x_0, const TensorPtr& bias,
                                              const std::string& interaction_mode) {
  if (interaction_mode == "vector") {
    const TensorPtr scaled = JUST(mul(JUST(linear(x, weight, nullptr)), x_0));
    return Plus(JUST(Plus(scaled, bias)), x);
  }
  if (interaction_mode == "matrix") {
    return Plus(JUST(mul(JUST(linear(x, weight, bias)), x_0)), x);
  }
  return ValueError("[fused_cross_feature_interaction] expects vector or matrix, got {}",
                    interaction_mode);
}

namespace {

// Where the pairs (i, j), j < i (or j <= i), lie in a flattened n x n matrix.
Maybe<TensorPtr> PairPlaces(int64_t n, bool with_itself) {
  const int64_t count = n * (n - 1) / 2 + (with_itself ? n : 0);
  const TensorPtr places =
      JUST(AllocateHostTensor("fused_dot_feature_interaction", Shape{count}, DataType::kInt64));
  auto* place = reinterpret_cast<int64_t*>(places->data());
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < i + (with_itself ? 1 : 0); ++j) { *place++ = i * n + j; }
  }
  return places;
}

// Half of (sum of the features)^2 - sum of their squares, added up: the sum over all pairs.
Maybe<TensorPtr> PooledPairs(const TensorPtr& all) {
  const TensorPtr squared_sum = JUST(square(JUST(sum(all, Dims{1}, false))));
  const TensorPtr sum_squared = JUST(sum(JUST(square(all)), Dims{1}, false));
  const TensorPtr pairs = JUST(sub(squared_sum, sum_squared, Scalar(1)));
  return scalar_mul(JUST(sum(pairs, Dims{1}, true)), Scalar(0.5));
}

}  // namespace

Maybe<TensorPtr> FusedDotFeatureInteraction(const TensorTuple& features,
                                            const TensorPtr& output_concat, bool self_interaction,
                                            int64_t output_padding, const std::string& pooling) {
  const char* op = "fused_dot_feature_interaction";
  if (features.empty()) { return RuntimeError("[{}] expects features, got none", op); }
  TensorTuple parts;
  for (const TensorPtr& feature : features) {
    if (feature->ndim() != 2 && feature->ndim() != 3) {
      return RuntimeError("[{}] expects features (batch, n, size) or (batch, size), got {}", op,
                          feature->shape());
    }
    parts.push_back(feature->ndim() == 3 ? feature : JUST(unsqueeze(feature, 1)));
  }
  const TensorPtr all = parts.size() == 1 ? parts[0] : JUST(cat(parts, 1));
  if (pooling == "sum") { return PooledPairs(all); }
  if (pooling != "none" || output_padding < 0) {
    return ValueError("[{}] expects pooling sum or none and padding of at least 0, got {} and {}",
                      op, pooling, output_padding);
  }
  const int64_t batch = all->shape()[0], n = all->shape()[1];
  const TensorPtr products = JUST(matmul_nd(all, JUST(transpose(all, 1, 2))));
  const TensorPtr flat = JUST(reshape(products, Dims{batch, n * n}));
  const TensorPtr pairs = JUST(index_select(flat, 1, JUST(PairPlaces(n, self_interaction))));
  TensorTuple columns;
  if (output_concat != nullptr) { columns.push_back(output_concat); }
  columns.push_back(pairs);
  if (output_padding > 0) {
    columns.push_back(JUST(zeros(Dims{batch, output_padding}, all->dtype(), all->device())));
  }
  return columns.size() == 1 ? Maybe<TensorPtr>(columns[0]) : cat(columns, 1);
}

}  // namespace oneflow::functional::composites
