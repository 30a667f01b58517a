"""Batch normalisation."""

from __future__ import annotations

from typing import Any

from oneflow import _oneflow_internal
from oneflow.autograd.autograd_mode import no_grad
from oneflow.framework import creation
from oneflow.nn.modules.module import Module
from oneflow.nn.modules.utils import check_count
from oneflow.nn.parameter import Parameter

_C = _oneflow_internal._C


class _NormBase(Module):
    """What normalisations by channel share: their settings, parameters and running statistics."""

    _version = 2
    _ndims: tuple[int, ...] = ()  # how many axes an input may have

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-05,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
    ) -> None:
        super().__init__()
        check_count(type(self).__name__, "num_features", num_features, least=0)
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        for name in ("weight", "bias"):
            value = Parameter(creation.empty(num_features)) if affine else None
            self.register_parameter(name, value)
        for name, buffer in (
            ("running_mean", creation.zeros(num_features)),
            ("running_var", creation.ones(num_features)),
            ("num_batches_tracked", creation.zeros((), dtype=_oneflow_internal.int64)),
        ):
            self.register_buffer(name, buffer if track_running_stats else None)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Sets the running statistics to mean 0 and variance 1."""
        if self.track_running_stats:
            with no_grad():
                self.running_mean.zero_()
                self.running_var.fill_(1)
                self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Sets the running statistics to mean 0 and variance 1, weights to 1 and biases to 0."""
        self.reset_running_stats()
        if self.affine:
            with no_grad():
                self.weight.fill_(1)
                self.bias.zero_()

    def _check_input_dim(self, input: Any) -> None:
        if input.ndim not in self._ndims:
            wanted = " or ".join(str(n) for n in self._ndims)
            raise ValueError(
                f"[{type(self).__name__}] expects an input of {wanted} axes, "
                f"got shape {tuple(input.shape)}"
            )

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: dict[str, Any], *rest: Any
    ) -> None:
        key = prefix + "num_batches_tracked"
        if self.track_running_stats and key not in state_dict:
            # States of the first version, and of OneFlow's fused ones, do not count batches.
            state_dict[key] = creation.zeros((), dtype=_oneflow_internal.int64)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)

    def extra_repr(self) -> str:
        """The settings."""
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, "
            f"affine={self.affine}, track_running_stats={self.track_running_stats}"
        )


class _BatchNorm(_NormBase):
    """BatchNorm1d to 3d, which differ in how many axes they take."""

    channel_axis = 1

    def _statistics(self) -> tuple[Any, Any, float, bool]:
        """(running mean, running variance, momentum, whether to use the batch's) of one call."""
        own = self._buffers
        mean, variance = own["running_mean"], own["running_var"]
        momentum = self.momentum
        if self.training and mean is not None:
            own["num_batches_tracked"].add_(1)
            if momentum is None:
                momentum = 1.0 / own["num_batches_tracked"].item()
        uses_batch = self.training or mean is None
        return mean, variance, 0.0 if momentum is None else momentum, uses_batch

    def forward(self, x: Any) -> Any:
        """Input and result: Tensor (N, num_features, ...)."""
        self._check_input_dim(x)
        mean, variance, momentum, uses_batch = self._statistics()
        try:
            return _C.normalization(
                x, mean, variance, self.weight, self.bias, self.channel_axis, self.eps, momentum,
                uses_batch,
            )  # fmt: skip
        except RuntimeError:
            self._check_channels(x)
            raise

    def _check_channels(self, x: Any) -> None:
        """The op only knows of weights; who made the module thinks of channels."""
        if x.ndim > self.channel_axis and x.shape[self.channel_axis] != self.num_features:
            raise RuntimeError(
                f"[{type(self).__name__}] expects {self.num_features} channels on axis "
                f"{self.channel_axis}, got an input of shape {tuple(x.shape)}"
            ) from None


class BatchNorm1d(_BatchNorm):
    """(x - mean) / sqrt(variance + eps) * weight + bias, with mean and variance of each channel.

    In training they are those of the batch, and running ones move towards them (with the unbiased
    variance) by `momentum`; in evaluation the running ones are used.

    Args:
        num_features: how many channels
        eps: default 1e-5
        momentum: weight of a batch in the running statistics, or None for their plain average
        affine: whether there are weight and bias; default True
        track_running_stats: whether there are running statistics; default True

    Parameters and buffers:
        weight, bias: (num_features,), at first 1 and 0, or None
        running_mean, running_var: (num_features,), at first 0 and 1, or None

    Shapes: input and result (N, num_features) or (N, num_features, L)

    Raises:
        ValueError: the input has other axes.
        RuntimeError: it has other channels.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.BatchNorm1d(1, eps=0.0)(flow.tensor([[1.0], [3.0]])).detach()
        tensor([[-1.],
                [ 1.]], dtype=oneflow.float32)

    Source: Ioffe and Szegedy, "Batch normalization", 2015.
    """

    _ndims = (2, 3)


class BatchNorm2d(_BatchNorm):
    """`BatchNorm1d` for inputs with two spatial axes.

    Args and errors: as `BatchNorm1d`

    Shapes: input and result (N, num_features, H, W)

    Example:
        >>> import oneflow as flow
        >>> flow.nn.BatchNorm2d(3)(flow.ones(2, 3, 4, 5)).shape
        oneflow.Size([2, 3, 4, 5])
    """

    _ndims = (4,)


class BatchNorm3d(_BatchNorm):
    """`BatchNorm1d` for inputs with three spatial axes.

    Args and errors: as `BatchNorm1d`

    Shapes: input and result (N, num_features, D, H, W)

    Example:
        >>> import oneflow as flow
        >>> flow.nn.BatchNorm3d(3)(flow.ones(2, 3, 4, 5, 6)).shape
        oneflow.Size([2, 3, 4, 5, 6])
    """

    _ndims = (5,)


class SyncBatchNorm(_BatchNorm):
    """Batch normalisation by the statistics of all ranks; with one rank, that of this one.

    Args and errors: as `BatchNorm1d`

    Shapes: input and result (N, num_features, ...)

    Example:
        >>> import oneflow as flow
        >>> flow.nn.SyncBatchNorm(3)(flow.ones(2, 3, 4)).shape
        oneflow.Size([2, 3, 4])
    """

    def _check_input_dim(self, input: Any) -> None:
        if input.ndim < 2:
            raise ValueError(
                "[SyncBatchNorm] expects an input of at least 2 axes, "
                f"got shape {tuple(input.shape)}"
            )

    @classmethod
    def convert_sync_batchnorm(cls, module: Any) -> Any:
        """The module with every batch normalisation in it replaced; it shares all tensors.

        Example:
            >>> import oneflow as flow
            >>> net = flow.nn.Sequential(flow.nn.BatchNorm2d(3))
            >>> type(flow.nn.SyncBatchNorm.convert_sync_batchnorm(net)[0]).__name__
            'SyncBatchNorm'
        """
        converted = module
        if isinstance(module, _BatchNorm):
            converted = SyncBatchNorm(
                module.num_features,
                module.eps,
                module.momentum,
                module.affine,
                module.track_running_stats,
            )
            converted._parameters.update(module._parameters)
            converted._buffers.update(module._buffers)
            converted.train(module.training)
        for name, child in module.named_children():
            converted.add_module(name, cls.convert_sync_batchnorm(child))
        return converted
