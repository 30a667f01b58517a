#include "oneflow/functional/composites_attention.h"

#include <cmath>
#include <limits>

#include "oneflow/autograd/grad_mode.h"
#include "oneflow/functional/generated/functional.h"
#include "oneflow/functional/recompute.h"

namespace oneflow::functional::composites {

namespace {

// Operands as (a, b, rows, cols).
struct Attention {
  TensorPtr q, k, v;
  TensorPtr mask;  // broadcasts to (a, b, rows of q, rows of k); bool or of q's dtype; or null
  double dropout = 0.0;
  double scale = 1.0;
  bool is_causal = false;
};

// What a bool mask hides is so small that its exponential is 0, and is then 0 for sure, also in a row
// that sees nothing.
Maybe<TensorPtr> Hidden(const TensorPtr& seen) {
  const TensorPtr shifted = JUST(scalar_add(seen, Scalar(-1.0), Scalar(1)));
  return scalar_mul(shifted, Scalar(seen->dtype() == DataType::kDouble ? 1e300 : 1e30));
}

Maybe<TensorPtr> PlainAttention(const Attention& x) {
  const DataType dtype = x.q->dtype();
  const TensorPtr product = JUST(matmul_nd(x.q, JUST(transpose(x.k, -2, -1))));
  TensorPtr scores = JUST(scalar_mul(product, Scalar(x.scale)));
  TensorPtr seen;
  if (x.mask != nullptr && x.mask->dtype() == DataType::kBool) {
    seen = JUST(cast(x.mask, dtype));
    scores = JUST(add(scores, JUST(Hidden(seen)), Scalar(1)));
  } else if (x.mask != nullptr) {
    scores = JUST(add(scores, x.mask, Scalar(1)));
  }
  if (x.is_causal) {
    const Dims shape{x.q->shape()[2], x.k->shape()[2]};
    const double hidden = -std::numeric_limits<double>::infinity();
    const TensorPtr future = JUST(triu(JUST(full(shape, Scalar(hidden), dtype, x.q->device())), 1));
    scores = JUST(add(scores, future, Scalar(1)));
  }
  TensorPtr weights = JUST(exp(JUST(log_softmax(scores, -1))));
  if (seen != nullptr) { weights = JUST(mul(weights, seen)); }
  if (x.dropout > 0.0) {
    const TensorPtr kept = JUST(bernoulli_p(weights, 1.0 - x.dropout));
    const double factor = x.dropout < 1.0 ? 1.0 / (1.0 - x.dropout) : 0.0;
    weights = JUST(mul(weights, JUST(scalar_mul(kept, Scalar(factor)))));
  }
  return matmul_nd(weights, x.v);
}

// Rows and columns as the kernel reads them, without a copy where they lie so.
Maybe<TensorPtr> WithDenseColumns(const TensorPtr& t) {
  const Dims& shape = t->shape();
  const Dims& strides = t->strides();
  const bool columns = shape[3] <= 1 || strides[3] == 1;
  const bool rows = shape[2] <= 1 || strides[2] >= shape[3];
  return columns && rows ? Maybe<TensorPtr>(t) : contiguous(t);
}

Maybe<TensorPtr> RunAttention(const Attention& x) {
  const bool mask_learns = x.mask != nullptr && x.mask->requires_grad() && GradModeEnabled();
  if (x.dropout > 0.0 || mask_learns) { return PlainAttention(x); }
  const TensorPtr q = JUST(WithDenseColumns(x.q)), k = JUST(WithDenseColumns(x.k)),
                  v = JUST(WithDenseColumns(x.v));
  return JUST(fused_attention(q, k, v, x.mask, x.scale, x.is_causal))[0];
}

// ---- the user's operands as those above ---------------------------------------------------------

// The dims before the last two, which broadcast.
Maybe<Dims> LeadingDims(const Attention& x) {
  Dims out;
  for (const TensorPtr& t : {x.q, x.k, x.v}) {
    const Dims own(t->shape().data(), t->ndim() - 2);
    const Maybe<Shape> joined = BroadcastShapes("scaled_dot_product_attention", out, own);
    if (!joined.ok()) {
      return RuntimeError("[scaled_dot_product_attention] expects leading dims that broadcast, got "
                          "query {}, key {} and value {}",
                          x.q->shape(), x.k->shape(), x.v->shape());
    }
    out = joined.value();
  }
  return out;
}

Maybe<void> CheckOperands(const Attention& x) {
  const char* op = "scaled_dot_product_attention";
  for (const TensorPtr& t : {x.q, x.k, x.v}) {
    if (t->ndim() < 2 || !IsFloating(t->dtype()) || t->dtype() != x.q->dtype()) {
      return RuntimeError("[{}] expects operands of one floating dtype and at least 2 dims, got "
                          "query {} {}, key {} {}, value {} {}",
                          op, DataTypeName(x.q->dtype()), x.q->shape(), DataTypeName(x.k->dtype()),
                          x.k->shape(), DataTypeName(x.v->dtype()), x.v->shape());
    }
  }
  const Dims &q = x.q->shape(), &k = x.k->shape(), &v = x.v->shape();
  if (q.back() != k.back() || k[k.size() - 2] != v[v.size() - 2]) {
    return RuntimeError(
        "[{}] expects query (..., l, e), key (..., s, e) and value (..., s, f), got "
        "{}, {} and {}",
        op, q, k, v);
  }
  if (x.mask != nullptr && x.is_causal) {
    return RuntimeError("[{}] expects attn_mask or is_causal, got both", op);
  }
  if (x.mask != nullptr && x.mask->dtype() != DataType::kBool && x.mask->dtype() != x.q->dtype()) {
    return RuntimeError("[{}] expects a mask of dtype bool or query's, {}, got {}", op,
                        DataTypeName(x.q->dtype()), DataTypeName(x.mask->dtype()));
  }
  if (x.dropout < 0.0 || x.dropout > 1.0) {
    return ValueError("[{}] expects dropout_p in [0, 1], got {}", op, x.dropout);
  }
  return Ok();
}

// `t`, with `lead` before its last two dims, as (a, b, rows, cols).
Maybe<TensorPtr> AsFour(const TensorPtr& t, const Dims& lead) {
  const int64_t rows = t->shape()[t->ndim() - 2], cols = t->shape().back();
  Dims whole = lead;
  whole.PushBack(rows);
  whole.PushBack(cols);
  const TensorPtr full = t->shape() == whole ? t : JUST(expand(t, whole));
  if (lead.size() == 2) { return full; }
  if (lead.size() == 1) { return unsqueeze(full, 1); }
  int64_t count = 1;
  for (const int64_t size : lead) { count *= size; }
  return reshape(full, Dims{count, 1, rows, cols});
}

Maybe<TensorPtr> MaskAsFour(const TensorPtr& mask, const Dims& lead, int64_t rows, int64_t cols) {
  Dims whole = lead;
  whole.PushBack(rows);
  whole.PushBack(cols);
  const Maybe<Shape> joined = BroadcastShapes("scaled_dot_product_attention", mask->shape(), whole);
  if (!joined.ok() || joined.value() != whole) {
    return RuntimeError(
        "[scaled_dot_product_attention] expects a mask that broadcasts to {}, got {}", whole,
        mask->shape());
  }
  if (mask->ndim() <= 2 || lead.size() == 2) { return mask; }
  return AsFour(JUST(expand(mask, whole)), lead);
}

Maybe<TensorPtr> Widened(const TensorPtr& t) {
  return t == nullptr || t->dtype() == DataType::kBool ? Maybe<TensorPtr>(t)
                                                       : cast(t, DataType::kFloat);
}

}  // namespace

Maybe<TensorPtr> ScaledDotProductAttention(const TensorPtr& query, const TensorPtr& key,
                                           const TensorPtr& value, const TensorPtr& attn_mask,
                                           double dropout_p, bool is_causal,
                                           std::optional<double> scale) {
  Attention x{query, key, value, attn_mask, dropout_p, 1.0, is_causal};
  JUST(CheckOperands(x));
  x.scale = scale.value_or(1.0 / std::sqrt(static_cast<double>(query->shape().back())));
  const DataType dtype = query->dtype();
  const bool narrow_floats = dtype == DataType::kFloat16 || dtype == DataType::kBFloat16;
  if (narrow_floats) {
    for (TensorPtr* t : {&x.q, &x.k, &x.v, &x.mask}) { *t = JUST(Widened(*t)); }
  }
  const Dims lead = JUST(LeadingDims(x));
  const int64_t rows = query->shape()[query->ndim() - 2], keys = key->shape()[key->ndim() - 2];
  if (x.mask != nullptr) { x.mask = JUST(MaskAsFour(x.mask, lead, rows, keys)); }
  for (TensorPtr* t : {&x.q, &x.k, &x.v}) { *t = JUST(AsFour(*t, lead)); }
  const TensorPtr out = JUST(RunAttention(x));
  Dims shape = lead;
  shape.PushBack(rows);
  shape.PushBack(value->shape().back());
  const TensorPtr shaped = out->shape() == shape ? out : JUST(reshape(out, shape));
  return narrow_floats ? cast(shaped, dtype) : Maybe<TensorPtr>(shaped);
}

Maybe<TensorTuple> FusedAttentionGrad(const TensorPtr& dy, const TensorPtr& query,
                                      const TensorPtr& key, const TensorPtr& value,
                                      const TensorPtr& mask, const TensorPtr& out,
                                      const TensorPtr& log_sum, double scale, bool is_causal) {
  if (!GradModeEnabled()) {
    const TensorPtr dense = dy->contiguous() ? dy : JUST(contiguous(dy));
    return fused_attention_backward(dense, query, key, value, mask, out, log_sum, scale, is_causal);
  }
  const auto run = [&](const TensorTuple& at) -> Maybe<TensorTuple> {
    return TensorTuple{JUST(PlainAttention({at[0], at[1], at[2], mask, 0.0, scale, is_causal}))};
  };
  return RecomputedGradients(run, {query, key, value}, {dy});
}

}  // namespace oneflow::functional::composites
