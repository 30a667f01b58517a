// The attribute structs of norms, softmax, losses, dropout and embeddings; see attrs.h.
//
// Thread safety: plain values.
#ifndef ONEFLOW_KERNELS_ATTRS_NORM_H_
#define ONEFLOW_KERNELS_ATTRS_NORM_H_

#include <cstdint>
#include <type_traits>

#include "oneflow/core/generator.h"
#include "oneflow/kernels/attr_types.h"

namespace oneflow {

// layer_norm and its backward: dims [begin_axis, ndim) of x are normalised together. Without
// `center` nothing is subtracted (RMS norm).
struct LayerNormAttrs {
  int64_t begin_axis = 0;
  double epsilon = 0.0;
  bool center = true;
};

// batch_norm, its kin and its backward: one mean and variance for each index of dim `axis`.
// Without `training` they were given, and do not depend on x.
struct BatchNormAttrs {
  int64_t axis = 1;
  double epsilon = 0.0;
  bool training = true;
};

// fused_batch_norm and its backward: batch norm over dim 1 with its own statistics; then an operand is added, if one
// is given, and with `relu` what is negative becomes 0. `blocked`: arrays are (N, C / 16, H, W, 16).
struct FusedBatchNormAttrs {
  double epsilon = 0.0;
  bool relu = false;
  bool blocked = false;
};

// running = (1 - momentum) * running + momentum * batch's; the variance times `correction` first.
struct UpdateStatsAttrs {
  double momentum = 0.0;
  double correction = 1.0;
};

// group_norm and its backward: channels are dim 1.
struct GroupNormAttrs {
  int64_t groups = 1;
  double epsilon = 0.0;
};

// dropout: x, [addend] -> y, mask. Each run of `inner` elements is kept with probability 1 - p, and
// then multiplied by 1 / (1 - p). Run i takes word i % 4 of block offset + i / 4.
struct DropoutAttrs {
  double p = 0.5;
  int64_t inner = 1;
  RandomSlot slot;
};

// dropout_kept: -> a mask of that shape, as dropout draws it.
struct DropoutKeptOpAttrs {
  DropoutAttrs kernel;
  IntList shape;
};

// dropout_backward: dy, mask -> dx.
struct DropoutBackwardAttrs {
  double p = 0.5;
  int64_t inner = 1;
};

enum class LossKind : int64_t {
  kSquare,        // (x - t)^2
  kAbsolute,      // |x - t|
  kSmooth,        // d^2 / (2 beta) where d = |x - t| < beta, else d - beta / 2
  kHuber,         // d^2 / 2 where d < beta, else beta (d - beta / 2)
  kBinary,        // -(t log x + (1 - t) log(1 - x)), logarithms not below -100
  kLogits,        // kBinary of the sigmoid of x; with weights of the positive answers
  kDivergence,    // t (log t - x); 0 where t <= 0
  kLogDivergence  // exp(t) (t - x)
};

// pointwise_loss: inputs x, t, [weight], [weight of positives].
struct PointwiseLossAttrs {
  int64_t kind = 0;  // a LossKind
  Reduction reduction = Reduction::kMean;
  double beta = 1.0;
};

// pointwise_loss_backward: dy, x, t, [weight], [weight of positives] -> the gradient of x, or of t.
struct PointwiseLossBackwardAttrs {
  PointwiseLossAttrs loss;
  bool by_target = false;
};

// softmax_loss (cross entropy with class indices): classes are dim `class_dim` of x.
struct SoftmaxLossAttrs {
  int64_t class_dim = 1;
  int64_t ignore_index = -100;
  Reduction reduction = Reduction::kMean;
  double label_smoothing = 0.0;
  bool wide_loss = false;  // the loss of 16-bit logits in float32
};

struct CtcLossAttrs {
  int64_t max_target_length = 0;
  int64_t blank = 0;
  bool zero_infinity = false;
};

struct CtcGreedyDecoderAttrs {
  bool merge_repeated = true;
};

// embedding_lookup: rows of a table. `adjoint`: what embedding_backward is to it: a row that is
// `padding_idx` (-1: none) gives zeros, and where `scale_grad_by_freq` says so, a row is divided by
// how often it occurs.
struct EmbeddingAttrs {
  int64_t padding_idx = -1;
  bool scale_grad_by_freq = false;
  bool adjoint = false;
};

// embedding_backward: `shape` is that of the table.
struct EmbeddingBackwardAttrs {
  EmbeddingAttrs kernel;
  IntList shape;
};

struct EmbeddingRenormAttrs {
  double max_norm = 0.0;
  double norm_type = 2.0;
};

static_assert(std::is_trivially_copyable_v<LayerNormAttrs> &&
                  std::is_trivially_copyable_v<BatchNormAttrs> &&
                  std::is_trivially_copyable_v<DropoutAttrs> &&
                  std::is_trivially_copyable_v<DropoutKeptOpAttrs> &&
                  std::is_trivially_copyable_v<PointwiseLossBackwardAttrs> &&
                  std::is_trivially_copyable_v<SoftmaxLossAttrs> &&
                  std::is_trivially_copyable_v<EmbeddingBackwardAttrs>,
              "an instruction copies attributes by memcpy");

}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_ATTRS_NORM_H_
