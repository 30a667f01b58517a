"""Batch normalisation, a sum and a rectifier as one op."""

from __future__ import annotations

from typing import Any

from oneflow import _oneflow_internal
from oneflow.nn.modules.batchnorm import _BatchNorm

_C = _oneflow_internal._C


class _FusedBatchNorm(_BatchNorm):
    """FusedBatchNorm1d to 3d, which differ in how many axes they take."""

    def forward(self, x: Any, addend: Any = None) -> Any:
        """Input, addend and result: Tensor (N, num_features, ...)."""
        self._check_input_dim(x)
        mean, variance, momentum, uses_batch = self._statistics()
        return _C.normalization_add_relu(
            x, addend, mean, variance, self.weight, self.bias, self.channel_axis, self.eps,
            momentum, uses_batch,
        )  # fmt: skip


class FusedBatchNorm1d(_FusedBatchNorm):
    """relu(batch_norm(x) + addend).

    Args, parameters and errors: as `BatchNorm1d`

    Shapes: input, addend and result (N, num_features) or (N, num_features, L)

    Example:
        >>> import oneflow as flow
        >>> norm = flow.nn.FusedBatchNorm1d(1, eps=0.0)
        >>> norm(flow.tensor([[1.0], [3.0]]), flow.tensor([[0.5], [0.5]])).detach()
        tensor([[0.0000],
                [1.5000]], dtype=oneflow.float32)
    """

    _ndims = (2, 3)


class FusedBatchNorm2d(_FusedBatchNorm):
    """relu(batch_norm(x) + addend).

    Args, parameters and errors: as `BatchNorm1d`

    Shapes: input, addend and result (N, num_features, H, W)

    Example:
        >>> import oneflow as flow
        >>> flow.nn.FusedBatchNorm2d(3)(flow.ones(2, 3, 4, 5)).shape
        oneflow.Size([2, 3, 4, 5])
    """

    _ndims = (4,)


class FusedBatchNorm3d(_FusedBatchNorm):
    """relu(batch_norm(x) + addend).

    Args, parameters and errors: as `BatchNorm1d`

    Shapes: input, addend and result (N, num_features, D, H, W)

    Example:
        >>> import oneflow as flow
        >>> flow.nn.FusedBatchNorm3d(3)(flow.ones(2, 3, 4, 5, 6)).shape
        oneflow.Size([2, 3, 4, 5, 6])
    """

    _ndims = (5,)
