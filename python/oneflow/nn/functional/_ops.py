"""Which functions are ops of the table, under what names."""

from __future__ import annotations

from typing import Any

from oneflow import _oneflow_internal

_C = _oneflow_internal._C

_SAME = (
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "avg_pool1d",
    "avg_pool2d", "avg_pool3d", "celu", "conv1d", "conv2d", "conv3d", "cosine_similarity",
    "ctc_greedy_decoder", "dropout", "dropout1d", "dropout2d", "dropout3d", "elu", "fold", "glu",
    "gumbel_softmax", "hardshrink", "hardsigmoid", "hardswish", "hardtanh", "l1_loss",
    "leaky_relu", "logsigmoid", "max_unpool1d", "max_unpool2d", "max_unpool3d", "mish",
    "mse_loss", "normalize", "one_hot", "pairwise_distance", "prelu", "quick_gelu",
    "scaled_dot_product_attention", "selu",
    "sigmoid", "silu", "smooth_l1_loss", "softplus", "softshrink", "softsign", "square_relu",
    "tanh", "threshold", "triplet_margin_loss", "unfold",
)  # fmt: skip

# Public name: the op's. Their documentation is that of the ops.
OPS = {
    **{name: name for name in _SAME},
    "binary_cross_entropy": "binary_cross_entropy_loss",
    "binary_cross_entropy_with_logits": "binary_cross_entropy_with_logits_loss",
    "conv_transpose1d": "deconv1d",
    "conv_transpose2d": "deconv2d",
    "conv_transpose3d": "deconv3d",
    "gelu": "gelu_with_approximate",
    "kl_div": "kl_div_loss",
}


def op(name: str) -> Any:
    """The op behind a public name, or None."""
    return getattr(_C, OPS[name], None) if name in OPS else None
