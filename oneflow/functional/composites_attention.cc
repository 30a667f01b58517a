#include "oneflow/functional/composites_attention.h"

#include <cmath>
#include <limits>

#include "oneflow/autograd/grad_mode.h"
#include "oneflow/functional/autocast.h"
#include "oneflow/functional/generated/functional.h"
#include "oneflow/functional/recompute.h"

namespace oneflow::functional::composites {

namespace {

// Operands as (a, b, rows, cols).
struct Attention {
  TensorPtr q, k, v;
  TensorPtr mask;  // broadcasts to (a, b, rows of q, rows of k); bool or of q's dtype; or null
  TensorPtr kept;  // (a, b, rows of q, rows of k), bool: what dropout keeps; or null
  double dropout = 0.0;
  double scale = 1.0;
  bool is_causal = false;
};

Maybe<TensorPtr> Widened(const TensorPtr& t) {
  return t == nullptr || t->dtype() == DataType::kBool ? Maybe<TensorPtr>(t)
                                                       : cast(t, DataType::kFloat);
}

// What a bool mask hides is so small that its exponential is 0, and is then 0 for sure, also in a row
// that sees nothing.
Maybe<TensorPtr> Hidden(const TensorPtr& seen) {
  const TensorPtr shifted = JUST(scalar_add(seen, Scalar(-1.0), Scalar(1)));
  return scalar_mul(shifted, Scalar(seen->dtype() == DataType::kDouble ? 1e300 : 1e30));
}

Maybe<TensorPtr> PlainAttention(Attention x) {
  const DataType given = x.q->dtype();
  if (given == DataType::kBFloat16) {
    for (TensorPtr* t : {&x.q, &x.k, &x.v, &x.mask}) { *t = JUST(Widened(*t)); }
  }
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
  if (x.kept != nullptr) {
    const double factor = x.dropout < 1.0 ? 1.0 / (1.0 - x.dropout) : 0.0;
    const TensorPtr kept = JUST(cast(x.kept, dtype));
    weights = JUST(mul(weights, JUST(scalar_mul(kept, Scalar(factor)))));
  }
  const TensorPtr out = JUST(matmul_nd(weights, x.v));
  return dtype == given ? Maybe<TensorPtr>(out) : cast(out, given);
}

// Rows and columns as the kernel reads them, without a copy where they lie so.
Maybe<TensorPtr> WithDenseColumns(const TensorPtr& t) {
  const Dims& shape = t->shape();
  const Dims& strides = t->strides();
  const bool columns = shape[3] <= 1 || strides[3] == 1;
  const bool rows = shape[2] <= 1 || strides[2] >= shape[3];
  return columns && rows ? Maybe<TensorPtr>(t) : contiguous(t);
}

Maybe<TensorPtr> Dense(const TensorPtr& t) {
  return t == nullptr || t->contiguous() ? Maybe<TensorPtr>(t) : contiguous(t);
}

// Whether the heads lie side by side in the rows of (a, rows, b * cols), as a projection gives them.
bool HasRowsFirst(const TensorPtr& t) {
  return t->shape()[1] > 1 && t->shape()[2] > 1 && t->strides()[1] < t->strides()[2];
}

Maybe<TensorPtr> RunAttention(const Attention& x) {
  const bool mask_learns = x.mask != nullptr && x.mask->requires_grad() && GradModeEnabled();
  if (mask_learns) { return PlainAttention(x); }
  const TensorPtr q = JUST(WithDenseColumns(x.q)), k = JUST(WithDenseColumns(x.k)),
                  v = JUST(WithDenseColumns(x.v));
  const bool rows_first = HasRowsFirst(q);
  const TensorTuple out = JUST(fused_attention(q, k, v, x.mask, JUST(Dense(x.kept)), x.scale,
                                               x.dropout, x.is_causal, rows_first));
  return rows_first ? transpose(out[0], 1, 2) : Maybe<TensorPtr>(out[0]);
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

Dims WithLast(const Dims& lead, int64_t rows, int64_t cols) {
  Dims whole = lead;
  whole.PushBack(rows);
  whole.PushBack(cols);
  return whole;
}

// `t`, with `lead` before its last two dims, as (a, b, rows, cols).
Maybe<TensorPtr> AsFour(const TensorPtr& t, const Dims& lead) {
  const int64_t rows = t->shape()[t->ndim() - 2], cols = t->shape().back();
  const Dims whole = WithLast(lead, rows, cols);
  const TensorPtr full = t->shape() == whole ? t : JUST(expand(t, whole));
  if (lead.size() == 2) { return full; }
  if (lead.size() == 1) { return unsqueeze(full, 1); }
  int64_t count = 1;
  for (const int64_t size : lead) { count *= size; }
  return reshape(full, Dims{count, 1, rows, cols});
}

Maybe<TensorPtr> MaskAsFour(const TensorPtr& mask, const Dims& lead, int64_t rows, int64_t cols) {
  const Dims whole = WithLast(lead, rows, cols);
  const Maybe<Shape> joined = BroadcastShapes("scaled_dot_product_attention", mask->shape(), whole);
  if (!joined.ok() || joined.value() != whole) {
    return RuntimeError(
        "[scaled_dot_product_attention] expects a mask that broadcasts to {}, got {}", whole,
        mask->shape());
  }
  if (mask->ndim() <= 2 || lead.size() == 2) { return mask; }
  return AsFour(JUST(expand(mask, whole)), lead);
}

// Draws what dropout keeps, or takes it as given.
Maybe<TensorPtr> KeptOf(const Attention& x, const Dims& scores) {
  if (x.kept == nullptr) {
    return x.dropout > 0.0 ? dropout_kept(scores, x.dropout, x.q->device())
                           : Maybe<TensorPtr>(x.kept);
  }
  if (x.kept->dtype() != DataType::kBool || x.kept->shape() != scores) {
    return RuntimeError(
        "[scaled_dot_product_attention] expects kept to have a bool for each weight, {}, got {} {}",
        scores, DataTypeName(x.kept->dtype()), x.kept->shape());
  }
  return x.kept;
}

// All operands of one dtype, whatever the op is written in.
Maybe<void> Autocast(Attention* x) {
  if (!autocast::Enabled()) { return Ok(); }
  const TensorPtr operands[] = {x->q, x->k, x->v, x->mask};
  TensorTuple replaced;
  const autocast::CastFn to = [](const TensorPtr& t, DataType dtype) { return cast(t, dtype); };
  JUST(autocast::CastOperands("scaled_dot_product_attention", operands, 4, to, &replaced));
  if (replaced.empty()) { return Ok(); }
  x->q = replaced[0], x->k = replaced[1], x->v = replaced[2], x->mask = replaced[3];
  return Ok();
}

Maybe<TensorPtr> Attend(Attention x, std::optional<double> scale) {
  JUST(Autocast(&x));
  JUST(CheckOperands(x));
  x.scale = scale.value_or(1.0 / std::sqrt(static_cast<double>(x.q->shape().back())));
  const DataType dtype = x.q->dtype();
  const bool widens = dtype == DataType::kFloat16;
  if (widens) {
    for (TensorPtr* t : {&x.q, &x.k, &x.v, &x.mask}) { *t = JUST(Widened(*t)); }
  }
  const Dims lead = JUST(LeadingDims(x));
  const int64_t rows = x.q->shape()[x.q->ndim() - 2], keys = x.k->shape()[x.k->ndim() - 2];
  const Dims shape = WithLast(lead, rows, x.v->shape().back());
  x.kept = JUST(KeptOf(x, WithLast(lead, rows, keys)));
  if (x.kept != nullptr) { x.kept = JUST(AsFour(x.kept, lead)); }
  if (x.mask != nullptr) { x.mask = JUST(MaskAsFour(x.mask, lead, rows, keys)); }
  for (TensorPtr* t : {&x.q, &x.k, &x.v}) { *t = JUST(AsFour(*t, lead)); }
  const TensorPtr out = JUST(RunAttention(x));
  const TensorPtr shaped = out->shape() == shape ? out : JUST(reshape(out, shape));
  return widens ? cast(shaped, dtype) : Maybe<TensorPtr>(shaped);
}

}  // namespace

Maybe<TensorPtr> ScaledDotProductAttention(const TensorPtr& query, const TensorPtr& key,
                                           const TensorPtr& value, const TensorPtr& attn_mask,
                                           double dropout_p, bool is_causal,
                                           std::optional<double> scale) {
  return Attend({query, key, value, attn_mask, nullptr, dropout_p, 1.0, is_causal}, scale);
}

Maybe<TensorPtr> ScaledDotProductAttentionKept(const TensorPtr& query, const TensorPtr& key,
                                               const TensorPtr& value, const TensorPtr& kept,
                                               const TensorPtr& attn_mask, double dropout_p,
                                               bool is_causal, std::optional<double> scale) {
  return Attend({query, key, value, attn_mask, kept, dropout_p, 1.0, is_causal}, scale);
}

Maybe<TensorTuple> FusedAttentionGrad(const TensorPtr& dy, const TensorPtr& query,
                                      const TensorPtr& key, const TensorPtr& value,
                                      const TensorPtr& mask, const TensorPtr& kept,
                                      const TensorPtr& out, const TensorPtr& log_sum, double scale,
                                      double dropout, bool is_causal, bool rows_first) {
  if (!GradModeEnabled()) {
    TensorTuple grads =
        JUST(fused_attention_backward(JUST(Dense(dy)), query, key, value, mask, kept, out, log_sum,
                                      scale, dropout, is_causal, rows_first));
    if (rows_first) {
      for (TensorPtr& grad : grads) { grad = JUST(transpose(grad, 1, 2)); }
    }
    return grads;
  }
  const auto run = [&](const TensorTuple& at) -> Maybe<TensorTuple> {
    const TensorPtr y =
        JUST(PlainAttention({at[0], at[1], at[2], mask, kept, dropout, scale, is_causal}));
    return TensorTuple{rows_first ? JUST(transpose(y, 1, 2)) : y};
  };
  return RecomputedGradients(run, {query, key, value}, {dy});
}

}  // namespace oneflow::functional::composites
