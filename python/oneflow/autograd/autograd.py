"""Gradients on demand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from oneflow import _oneflow_internal

Tensor = _oneflow_internal.Tensor


def _tensors(caller: str, what: str, value: Any) -> list[Any]:
    """`value` as a list of tensors; TypeError or ValueError in the name of `caller`."""
    if not isinstance(value, Iterable):
        raise TypeError(f"[{caller}] expects tensors as {what}, got {type(value).__name__}")
    items = [value] if isinstance(value, Tensor) else list(value)
    if not items:
        raise ValueError(f"[{caller}] expects at least one tensor as {what}, got none")
    for item in items:
        if not isinstance(item, Tensor):
            raise TypeError(f"[{caller}] expects tensors as {what}, got {type(item).__name__}")
    return items


def _gradients(caller: str, outputs: list[Any], value: Any) -> list[Any]:
    """The gradient of each output: given, or None for that of a scalar."""
    if value is None:
        return [None] * len(outputs)
    grads = [value] if isinstance(value, Tensor) else list(value)
    if len(grads) != len(outputs):
        raise ValueError(
            f"[{caller}] expects one gradient for each of {len(outputs)} outputs, got {len(grads)}"
        )
    for grad in grads:
        if grad is not None and not isinstance(grad, Tensor):
            raise TypeError(f"[{caller}] expects gradients as tensors, got {type(grad).__name__}")
    return grads


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
) -> None:
    """Adds the gradient of the sum of `tensors` to the `grad` of each leaf that they depend on.

    Args:
        tensors: a Tensor or a sequence
        grad_tensors: for each the gradient to start from, of its shape; default 1 for scalars
        retain_graph: whether to keep what a second backward needs; default `create_graph`
        create_graph: whether the gradients are themselves recorded

    After an error each leaf has the whole gradient of this call added, or nothing of it. What ran
    was freed (without `retain_graph`): compute the result anew before another backward.

    Raises:
        RuntimeError: a tensor requires no gradient, is no scalar and has no gradient to start from,
            or what it needs was freed by an earlier backward. An error of an op names the line of
            its forward op (`stack`) and the line that called backward (`backward_stack`).
        whatever a hook, or the backward of a Function, raises.
        TypeError, ValueError: the arguments are no tensors, or do not match.

    Example:
        >>> import oneflow as flow
        >>> x = flow.tensor([1.0, 2.0], requires_grad=True)
        >>> flow.autograd.backward((x * x).sum())
        >>> x.grad
        tensor([2., 4.], dtype=oneflow.float32)
    """
    outputs = _tensors("backward", "tensors", tensors)
    grads = _gradients("backward", outputs, grad_tensors)
    keep = create_graph if retain_graph is None else retain_graph
    _oneflow_internal.autograd_backward(outputs, grads, keep, create_graph)


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool = False,
) -> Sequence[Any]:
    """The gradient of the sum of `outputs` by each of `inputs`; no tensor's `grad` changes.

    Args:
        outputs: a Tensor or a sequence
        inputs: a Tensor or a sequence
        grad_outputs: for each output the gradient to start from; default 1 for scalars
        retain_graph: whether to keep what a second backward needs; default `create_graph`
        create_graph: whether the gradients are themselves recorded
        allow_unused: whether to give None for an input that no output depends on

    Returns:
        a tuple of one Tensor of the shape of each input

    Raises:
        RuntimeError: as `backward`; or an input is unused and `allow_unused` is False.

    Example:
        >>> import oneflow as flow
        >>> x = flow.tensor([3.0], requires_grad=True)
        >>> flow.autograd.grad((x * x).sum(), x)
        (tensor([6.], dtype=oneflow.float32),)
    """
    ends = _tensors("grad", "outputs", outputs)
    starts = _tensors("grad", "inputs", inputs)
    grads = _gradients("grad", ends, grad_outputs)
    keep = create_graph if retain_graph is None else retain_graph
    return tuple(
        _oneflow_internal.autograd_grad(ends, starts, grads, keep, create_graph, allow_unused)
    )
