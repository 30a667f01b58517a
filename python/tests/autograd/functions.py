"""Functions with derivatives of their own, for the suites of this folder."""

from __future__ import annotations

from typing import Any

import oneflow as flow
from oneflow.autograd.function import Function, once_differentiable

__all__ = [
    "Doubled",
    "Function",
    "Identity",
    "InNumpy",
    "SavesOutput",
    "ScaledProduct",
    "Square",
    "WithSetup",
]


class Square(Function):
    """x * x, whose backward is made of differentiable ops."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, dy: Any) -> Any:
        (x,) = ctx.saved_tensors
        return dy * x * 2


class SavesOutput(Function):
    """x * x * x by way of its own result: y' = 3 * y / x."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        y = x * x * x
        ctx.save_for_backward(x, None, y)
        return y

    @staticmethod
    def backward(ctx: Any, dy: Any) -> Any:
        x, nothing, y = ctx.saved_tensors
        assert nothing is None
        return dy * 3 * y / x


class ScaledProduct(Function):
    """(x * y * k, x - y); k is no tensor."""

    @staticmethod
    def forward(ctx: Any, x: Any, k: float, y: Any) -> Any:
        ctx.save_for_backward(x, y)
        ctx.k = k
        return x * y * k, x - y

    @staticmethod
    def backward(ctx: Any, d_product: Any, d_difference: Any) -> Any:
        x, y = ctx.saved_tensors
        dx = d_product * y * ctx.k + d_difference if ctx.needs_input_grad[0] else None
        dy = d_product * x * ctx.k - d_difference if ctx.needs_input_grad[2] else None
        return dx, None, dy


class WithSetup(Function):
    """x * k in PyTorch 2's style."""

    @staticmethod
    def forward(x: Any, k: float) -> Any:
        return x * k

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.k = inputs[1]
        ctx.shape = output.shape

    @staticmethod
    def backward(ctx: Any, dy: Any) -> Any:
        assert dy.shape == ctx.shape
        return dy * ctx.k, None


class Doubled(Function):
    """Doubles its argument in place."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        x.mul_(2)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx: Any, dy: Any) -> Any:
        return dy * 2


class InNumpy(Function):
    """tanh, computed by NumPy in both directions."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        import numpy as np

        y = flow.tensor(np.tanh(x.detach().numpy()))
        ctx.save_for_backward(y)
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: Any) -> Any:
        (y,) = ctx.saved_tensors
        return flow.tensor(dy.numpy() * (1 - y.numpy() ** 2))


class Identity(Function):
    """Returns its argument itself."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x

    @staticmethod
    def backward(ctx: Any, dy: Any) -> Any:
        return dy
