"""Function: an op of one's own, with a derivative of one's own."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from oneflow import _oneflow_internal
from oneflow._oneflow_internal import AutogradFunctionBase, FunctionCtx
from oneflow.autograd.autograd_mode import no_grad

__all__ = ["AutogradFunctionBase", "Function", "FunctionCtx", "once_differentiable"]

Tensor = _oneflow_internal.Tensor


class Function(AutogradFunctionBase):
    """An op whose forward and backward are Python functions.

    A subclass defines both, as static methods; `apply` runs it.

    forward(ctx, *args) gets what apply was given, tensors or not, records nothing, and returns one
    value or a tuple. What backward needs it hands to `ctx`: tensors by `ctx.save_for_backward`,
    anything else as attributes.

    backward(ctx, *grads) gets a gradient for each output of forward, and returns one for each
    argument of forward: a Tensor of the argument's shape and dtype, or None. Where it is made of
    ops that have derivatives, the function has a second derivative.

    A subclass may define setup_context(ctx, inputs, output); forward is then called without ctx.

    Attributes of ctx:
        saved_tensors: tuple of what save_for_backward was given; in backward
        needs_input_grad: tuple of bools, for each argument whether its gradient can be asked for
        mark_dirty(*tensors): arguments that forward changed in place, and returns
        mark_non_differentiable(*tensors): outputs without gradient
        set_materialize_grads(bool): False to get None, not zeros, for a gradient that is missing

    Raises:
        RuntimeError, TypeError: backward returns another number of gradients, or one of another
            shape, dtype or device than its argument; a saved tensor was changed in place, or freed.

    Thread safety: backward runs on the thread that called `Tensor.backward`.

    Example:
        >>> import oneflow as flow
        >>> class Square(flow.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         ctx.save_for_backward(x)
        ...         return x * x
        ...     @staticmethod
        ...     def backward(ctx, dy):
        ...         (x,) = ctx.saved_tensors
        ...         return dy * x * 2
        >>> x = flow.tensor([3.0], requires_grad=True)
        >>> Square.apply(x).backward()
        >>> x.grad
        tensor([6.], dtype=oneflow.float32)
    """

    setup_context: Any = None

    def __call__(self, *args: Any) -> Any:
        """`apply`: OneFlow's programs also call an instance."""
        return type(self).apply(*args)

    @staticmethod
    def forward(*args: Any) -> Any:
        """Computes the result; every subclass defines it.

        Raises:
            NotImplementedError: the subclass does not.
        """
        raise NotImplementedError("[Function] expects a subclass that defines forward")

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """Computes the gradients of the arguments; a subclass that is differentiated defines it.

        Raises:
            NotImplementedError: the subclass does not.
        """
        raise NotImplementedError("[Function] expects a subclass that defines backward")


class _Once(Function):
    """Passes tensors through; their derivative is refused."""

    @staticmethod
    def forward(ctx: Any, name: str, count: int, *tensors: Any) -> Any:
        ctx.name = name
        return tuple(tensor.clone() for tensor in tensors[:count])

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        raise RuntimeError(
            f"[{ctx.name}] expects to be differentiated once: it is marked once_differentiable"
        )


def once_differentiable(backward: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator for the backward of a Function that is not made of differentiable ops.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.autograd.function import once_differentiable
        >>> class Double(flow.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         return x * 2
        ...     @staticmethod
        ...     @once_differentiable
        ...     def backward(ctx, dy):
        ...         return flow.from_numpy(dy.numpy() * 2)
        >>> x = flow.tensor([3.0], requires_grad=True)
        >>> Double.apply(x).backward()
        >>> x.grad
        tensor([2.], dtype=oneflow.float32)
    """

    @functools.wraps(backward)
    def wrapper(ctx: Any, *grads: Any) -> Any:
        recorded = _oneflow_internal.is_grad_enabled()
        with no_grad():
            result = backward(ctx, *[g.detach() if isinstance(g, Tensor) else g for g in grads])
        sources = [g for g in grads if isinstance(g, Tensor) and g.requires_grad]
        if not recorded or not sources:
            return result
        several = isinstance(result, (tuple, list))
        results = list(result) if several else [result]
        places = [i for i, value in enumerate(results) if isinstance(value, Tensor)]
        made = [results[i] for i in places]
        name = backward.__qualname__.rpartition(".")[0] or backward.__qualname__
        for place, value in zip(places, _Once.apply(name, len(made), *made, *sources)):
            results[place] = value
        return tuple(results) if several else results[0]

    return wrapper
