"""Several linear layers with rectifiers as one op."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from oneflow import _oneflow_internal
from oneflow.framework import creation
from oneflow.nn import init
from oneflow.nn.modules.module import Module
from oneflow.nn.modules.utils import check_count
from oneflow.nn.parameter import Parameter

_C = _oneflow_internal._C


class FusedMLP(Module):
    """Linear layers, each followed by relu, in one op.

    Args:
        in_features: length of the input's last axis
        hidden_features: lengths between the layers
        out_features: length of the result's last axis
        hidden_dropout_rate: dropout after the hidden layers; default 0
        out_dropout_rate: dropout after the last; default 0
        skip_final_activation: whether the last layer has no relu; default False

    Parameters:
        weight_0, bias_0, weight_1 ...: as those of `Linear`

    Shapes: input (..., in_features), result (..., out_features)

    Raises:
        ValueError: a number of features is below 1, or a rate not from 0 to below 1.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.FusedMLP(3, [5, 4], 2)(flow.ones(6, 3)).shape
        oneflow.Size([6, 2])
    """

    def __init__(
        self,
        in_features: int,
        hidden_features: Sequence[int],
        out_features: int,
        hidden_dropout_rate: float = 0.0,
        out_dropout_rate: float = 0.0,
        skip_final_activation: bool = False,
    ) -> None:
        super().__init__()
        sizes = [in_features, *hidden_features, out_features]
        for size in sizes:
            check_count("FusedMLP", "features", size)
        for rate in (hidden_dropout_rate, out_dropout_rate):
            if not 0 <= rate < 1:
                raise ValueError(f"[FusedMLP] expects a rate from 0 to below 1, got {rate}")
        self.in_features = in_features
        self.hidden_features = list(hidden_features)
        self.out_features = out_features
        self.skip_final_activation = skip_final_activation
        self.hidden_layer_num = len(self.hidden_features)
        self.dropout_rate_list = [hidden_dropout_rate] * self.hidden_layer_num + [out_dropout_rate]
        for i, (before, after) in enumerate(zip(sizes, sizes[1:])):
            self.register_parameter(f"weight_{i}", Parameter(creation.empty(after, before)))
            self.register_parameter(f"bias_{i}", Parameter(creation.empty(after)))
        self.reset_parameters()

    def weight(self, i: int) -> Any:
        """The weight of layer i."""
        return getattr(self, f"weight_{i}")

    def bias(self, i: int) -> Any:
        """The bias of layer i."""
        return getattr(self, f"bias_{i}")

    def weights(self) -> list[Any]:
        """The weights of all layers."""
        return [self.weight(i) for i in range(self.hidden_layer_num + 1)]

    def biases(self) -> list[Any]:
        """The biases of all layers."""
        return [self.bias(i) for i in range(self.hidden_layer_num + 1)]

    def reset_parameters(self) -> None:
        """Draws the parameters anew."""
        for weight, bias in zip(self.weights(), self.biases()):
            init.kaiming_uniform_(weight, a=math.sqrt(5))
            bound = 1 / math.sqrt(weight.shape[1])
            init.uniform_(bias, -bound, bound)

    def forward(self, x: Any) -> Any:
        """Input: Tensor (..., in_features); result: Tensor (..., out_features)."""
        if not self.training or not any(self.dropout_rate_list):
            return _C.fused_mlp(x, self.weights(), self.biases(), self.skip_final_activation)
        last = self.hidden_layer_num
        for i, rate in enumerate(self.dropout_rate_list):
            x = _C.linear(x, self.weight(i), self.bias(i))
            if i < last or not self.skip_final_activation:
                x = _C.relu(x)
            x = _C.dropout(x, rate, True) if rate else x
        return x

    def extra_repr(self) -> str:
        """The settings."""
        return (
            f"in_features={self.in_features}, hidden_features={self.hidden_features}, "
            f"out_features={self.out_features}, "
            f"skip_final_activation={self.skip_final_activation}"
        )
