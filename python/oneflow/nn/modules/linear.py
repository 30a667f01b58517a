"""Linear and Identity."""

from __future__ import annotations

import math
from typing import Any

from oneflow import _oneflow_internal
from oneflow.framework import creation
from oneflow.nn import init
from oneflow.nn.modules.module import Module
from oneflow.nn.parameter import Parameter

_linear = _oneflow_internal._C.linear


class Identity(Module):
    """Gives its input back; further arguments are ignored.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.Identity()(flow.ones(1))
        tensor([1.], dtype=oneflow.float32)
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Any) -> Any:
        """Input and result: Tensor of any shape."""
        return input


class Linear(Module):
    """y = x W^T + b.

    Args:
        in_features: the length of the input's last axis
        out_features: the length of the result's last axis
        bias: whether to add b; default True
        device, dtype: of the parameters; default CPU, float32

    Parameters:
        weight: (out_features, in_features), at first uniform in +-1 / sqrt(in_features)
        bias: (out_features,), likewise, or None

    Shapes: input (..., in_features), result (..., out_features)

    Raises:
        ValueError: a number of features is negative.
        TypeError: it is not an int.
        RuntimeError, ValueError: the input's last axis has another length.

    Example:
        >>> import oneflow as flow
        >>> layer = flow.nn.Linear(3, 2)
        >>> layer(flow.ones(4, 3)).shape
        oneflow.Size([4, 2])
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        in_features, out_features = creation.sizes_of("Linear", (in_features, out_features))
        if in_features < 0 or out_features < 0:
            raise ValueError(
                f"[Linear] expects features of at least 0, got {in_features} and {out_features}"
            )
        self.in_features = in_features
        self.out_features = out_features
        self.weight = Parameter(
            creation.empty(out_features, in_features, device=device, dtype=dtype)
        )
        shift = creation.empty(out_features, device=device, dtype=dtype) if bias else None
        self.register_parameter("bias", None if shift is None else Parameter(shift))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws the parameters anew."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(self.in_features) if self.in_features > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Any) -> Any:
        """Input: Tensor (..., in_features); result: Tensor (..., out_features)."""
        # The dict's entries directly: `self.weight` would first miss in the instance and the class.
        own = self._parameters
        try:
            return _linear(input, own["weight"], own["bias"])
        except KeyError:
            return _linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        """The settings."""
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )
