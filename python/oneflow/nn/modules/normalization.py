"""Normalisation of each sample by itself: of groups of channels, or of the last axes."""

from __future__ import annotations

import warnings
from typing import Any

from oneflow import _oneflow_internal
from oneflow.autograd.autograd_mode import no_grad
from oneflow.framework import creation
from oneflow.nn.modules.module import Module
from oneflow.nn.modules.utils import check_count
from oneflow.nn.parameter import Parameter

_C = _oneflow_internal._C


class GroupNorm(Module):
    """(x - mean) / sqrt(variance + eps) * weight + bias, with statistics of each group of channels.

    Args:
        num_groups: into how many groups the channels are split
        num_channels: how many channels
        eps: default 1e-5
        affine: whether there are weight and bias; default True
        device, dtype: of the parameters

    Parameters:
        weight, bias: (num_channels,), at first 1 and 0, or None

    Shapes: input and result (N, num_channels, ...), of at least 3 axes

    Raises:
        ValueError: a number is below 1.
        RuntimeError: the input has other channels, or the groups do not divide them.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.GroupNorm(1, 2, eps=0.0)(flow.tensor([[[1.0], [3.0]]])).detach()
        tensor([[[-1.],
                 [ 1.]]], dtype=oneflow.float32)

    Source: Wu and He, "Group normalization", 2018.
    """

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-05,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        check_count("GroupNorm", "num_groups", num_groups)
        check_count("GroupNorm", "num_channels", num_channels)
        if num_channels % num_groups:
            raise ValueError(
                f"[GroupNorm] expects channels that {num_groups} groups divide, got {num_channels}"
            )
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        for name in ("weight", "bias"):
            value = creation.empty(num_channels, device=device, dtype=dtype) if affine else None
            self.register_parameter(name, None if value is None else Parameter(value))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Sets weights to 1 and biases to 0."""
        if self.affine:
            with no_grad():
                self.weight.fill_(1)
                self.bias.zero_()

    def forward(self, input: Any) -> Any:
        """Input and result: Tensor (N, num_channels, ...)."""
        if input.ndim < 3 or input.shape[1] != self.num_channels:
            raise RuntimeError(
                f"[GroupNorm] expects an input (N, {self.num_channels}, ...) of at least 3 axes, "
                f"got shape {tuple(input.shape)}"
            )
        return _C.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """The settings."""
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}"


def _sizes(caller: str, shape: Any) -> tuple[int, ...]:
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    for size in sizes:
        check_count(caller, "normalized_shape", size, least=0)
    return sizes


class LayerNorm(Module):
    """(x - mean) / sqrt(variance + eps) * weight + bias, with statistics over the last axes.

    Args:
        normalized_shape: the lengths of these axes; an int for the last one only
        eps: default 1e-5
        elementwise_affine: whether there are weight and bias; default True
        device, dtype: of the parameters

    Parameters:
        weight, bias: of `normalized_shape`, at first 1 and 0, or None

    Shapes: input and result (..., *normalized_shape)

    Raises:
        ValueError: a length is negative.
        RuntimeError: the input's last axes have others.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.LayerNorm(2, eps=0.0)(flow.tensor([[1.0, 3.0]])).detach()
        tensor([[-1.,  1.]], dtype=oneflow.float32)

    Source: Ba et al., "Layer normalization", 2016.
    """

    def __init__(
        self,
        normalized_shape: Any,
        eps: float = 1e-05,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _sizes("LayerNorm", normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        for name in ("weight", "bias"):
            value = None
            if elementwise_affine:
                value = creation.empty(*self.normalized_shape, device=device, dtype=dtype)
            self.register_parameter(name, None if value is None else Parameter(value))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Sets weights to 1 and biases to 0."""
        if self.elementwise_affine:
            with no_grad():
                self.weight.fill_(1)
                self.bias.zero_()

    def forward(self, x: Any) -> Any:
        """Input and result: Tensor (..., *normalized_shape)."""
        own = self._parameters
        return _C.layer_norm(x, self.normalized_shape, own["weight"], own["bias"], self.eps)

    def extra_repr(self) -> str:
        """The settings."""
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
        )


class RMSNorm(Module):
    """x / sqrt(mean of x * x + eps) * weight, with the mean over the last axes.

    Args:
        normalized_shape: the lengths of these axes; an int for the last one only
        eps: default 1e-5
        elementwise_affine: whether there is a weight; default True
        device, dtype: of the weight

    Parameters:
        weight: of `normalized_shape`, at first 1, or None

    Shapes: input and result (..., *normalized_shape)

    Raises:
        ValueError: a length is negative.
        RuntimeError: the input's last axes have others.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.RMSNorm(2, eps=0.0)(flow.tensor([[3.0, 3.0]])).detach()
        tensor([[1., 1.]], dtype=oneflow.float32)

    Source: Zhang and Sennrich, "Root mean square layer normalization", 2019.
    """

    def __init__(
        self,
        normalized_shape: Any,
        eps: float = 1e-05,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _sizes("RMSNorm", normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        weight = None
        if elementwise_affine:
            weight = Parameter(creation.ones(*self.normalized_shape, device=device, dtype=dtype))
        self.register_parameter("weight", weight)

    def forward(self, x: Any) -> Any:
        """Input and result: Tensor (..., *normalized_shape)."""
        return _C.rms_norm(x, self.weight, self.normalized_shape, self.eps)

    def extra_repr(self) -> str:
        """The settings."""
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
        )


class RMSLayerNorm(Module):
    """The old form of `RMSNorm`, over the last axis.

    Args:
        hidden_size: its length
        eps: default 1e-6

    Parameters:
        weight: (hidden_size,), at first 1

    Shapes: input and result (..., hidden_size)

    Example:
        >>> import oneflow as flow
        >>> flow.nn.RMSLayerNorm(2, eps=0.0)(flow.tensor([[3.0, 3.0]])).detach()
        tensor([[1., 1.]], dtype=oneflow.float32)
    """

    def __init__(self, hidden_size: int, eps: float = 1e-06) -> None:
        warnings.warn("[RMSLayerNorm] nn.RMSNorm is its new form", stacklevel=2)
        super().__init__()
        self.weight = Parameter(creation.ones(hidden_size))
        self.variance_epsilon = eps

    def forward(self, hidden_states: Any) -> Any:
        """Input and result: Tensor (..., hidden_size)."""
        return _C.rms_layer_norm(hidden_states, self.weight, self.variance_epsilon)
