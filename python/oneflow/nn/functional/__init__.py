"""What the modules compute, as functions."""

from __future__ import annotations

from typing import Any

from oneflow.nn.functional import _linear as functional_pad
from oneflow.nn.functional import _ops
from oneflow.nn.functional import deform_conv as functional_deform_conv
from oneflow.nn.functional import normalization as functional_batch_norm
from oneflow.nn.functional import pooling as functional_maxpool
from oneflow.nn.functional._linear import flatten, linear, pad
from oneflow.nn.functional.activation import log_softmax, relu, relu6, softmax
from oneflow.nn.functional.ctc import ctc_loss
from oneflow.nn.functional.deform_conv import deform_conv2d
from oneflow.nn.functional.loss import cross_entropy, nll_loss, sparse_softmax_cross_entropy
from oneflow.nn.functional.normalization import batch_norm, group_norm, layer_norm
from oneflow.nn.functional.pooling import (
    adaptive_max_pool1d,
    adaptive_max_pool2d,
    adaptive_max_pool3d,
    max_pool1d,
    max_pool2d,
    max_pool3d,
)
from oneflow.nn.functional.sparse import embedding
from oneflow.nn.functional.vision import (
    affine_grid,
    grid_sample,
    interpolate,
    interpolate_like,
)


def __getattr__(name: str) -> Any:
    """The functions that are ops of the table."""
    value = _ops.op(name)
    if name == "upsample":
        from oneflow.nn.modules.upsampling import Upsample as value  # noqa: I001
    if value is None:
        raise AttributeError(f"module 'oneflow.nn.functional' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_ops.OPS, "upsample"})
