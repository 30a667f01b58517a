"""Instance normalisation."""

from __future__ import annotations

from typing import Any

from oneflow import _oneflow_internal
from oneflow.nn.modules.batchnorm import _NormBase

_C = _oneflow_internal._C


class _InstanceNorm(_NormBase):
    """InstanceNorm1d to 3d, which differ in how many axes they take."""

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-05,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats)

    def forward(self, x: Any) -> Any:
        """Input and result: Tensor (N, num_features, ...)."""
        self._check_input_dim(x)
        return _C.instance_norm(x, weight=self.weight, bias=self.bias, eps=self.eps)


class InstanceNorm1d(_InstanceNorm):
    """(x - mean) / sqrt(variance + eps) * weight + bias, by each channel of each sample.

    Args:
        num_features: how many channels
        eps: default 1e-5
        momentum, track_running_stats: as in OneFlow, running statistics are kept in the state but
            neither moved nor used
        affine: whether there are weight and bias; default False

    Parameters:
        weight, bias: (num_features,), at first 1 and 0, or None

    Shapes: input and result (N, num_features, L)

    Raises:
        ValueError: the input has other axes.
        RuntimeError: it has other channels.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.InstanceNorm1d(1, eps=0.0)(flow.tensor([[[1.0, 3.0]]]))
        tensor([[[-1.,  1.]]], dtype=oneflow.float32)

    Source: Ulyanov et al., "Instance normalization", 2016.
    """

    _ndims = (3,)


class InstanceNorm2d(_InstanceNorm):
    """`InstanceNorm1d` for inputs with two spatial axes.

    Args and errors: as `InstanceNorm1d`

    Shapes: input and result (N, num_features, H, W)

    Example:
        >>> import oneflow as flow
        >>> flow.nn.InstanceNorm2d(3)(flow.ones(2, 3, 4, 5)).shape
        oneflow.Size([2, 3, 4, 5])
    """

    _ndims = (4,)


class InstanceNorm3d(_InstanceNorm):
    """`InstanceNorm1d` for inputs with three spatial axes.

    Args and errors: as `InstanceNorm1d`

    Shapes: input and result (N, num_features, D, H, W)

    Example:
        >>> import oneflow as flow
        >>> flow.nn.InstanceNorm3d(3)(flow.ones(2, 3, 4, 5, 6)).shape
        oneflow.Size([2, 3, 4, 5, 6])
    """

    _ndims = (5,)
