"""Clipping of gradients, between backward and an optimizer's step."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from oneflow import _oneflow_internal
from oneflow.autograd.autograd_mode import no_grad
from oneflow.framework.creation import zeros

_C = _oneflow_internal._C
Tensor = _oneflow_internal.Tensor


def _gradients(caller: str, parameters: Any) -> list[Any]:
    given = [parameters] if isinstance(parameters, Tensor) else parameters
    if not isinstance(given, Iterable):
        raise TypeError(f"[{caller}] expects tensors, got {type(parameters).__name__}")
    gradients = []
    for parameter in given:
        if not isinstance(parameter, Tensor):
            raise TypeError(f"[{caller}] expects tensors, got {type(parameter).__name__}")
        if parameter.grad is not None:
            gradients.append(parameter.grad.detach())
    return gradients


def _number(caller: str, name: str, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise TypeError(f"[{caller}] expects a number as {name}, got {value!r}") from None


def clip_grad_norm_(
    parameters: Any,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    fused: bool = False,
) -> Any:
    """Scales gradients down, all by one factor, if their norm together is above a bound.

    Gradients become g * min(1, max_norm / (norm + 1e-6)), in place.

    Args:
        parameters: an iterable of tensors, or one
        max_norm: the bound
        norm_type: the order p of the norm sum(|g| ** p) ** (1 / p): a number, inf or "inf"
        error_if_nonfinite: whether to look at the norm, which waits for it; default False
        fused: accepted for programs written for OneFlow; one op measures in any case, one scales

    Returns:
        the norm, a scalar Tensor

    Raises:
        TypeError: `parameters` holds something that is no Tensor, or a setting is no number.
        RuntimeError: the norm is infinite or NaN, and `error_if_nonfinite`; nothing changed then.

    Example:
        >>> import oneflow as flow
        >>> w = flow.nn.Parameter(flow.ones(2))
        >>> (w * flow.tensor([3.0, 4.0])).sum().backward()
        >>> flow.nn.utils.clip_grad_norm_([w], max_norm=1.0)
        tensor(5., dtype=oneflow.float32)
        >>> w.grad
        tensor([0.6000, 0.8000], dtype=oneflow.float32)
    """
    gradients = _gradients("clip_grad_norm_", parameters)
    bound = _number("clip_grad_norm_", "max_norm", max_norm)
    order = _number("clip_grad_norm_", "norm_type", norm_type)
    with no_grad():
        if not gradients:
            return zeros(())
        norm = _C.multi_tensor_norm(gradients, order)
        if error_if_nonfinite and not math.isfinite(norm.item()):
            raise RuntimeError(
                f"[clip_grad_norm_] expects gradients with a finite norm of order {norm_type}, "
                f"got {norm.item()}"
            )
        _C.multi_tensor_clip_(gradients, [norm], bound)
    return norm


def clip_grad_value_(parameters: Any, clip_value: float) -> None:
    """Keeps every element of the gradients between -clip_value and clip_value, in place.

    Args:
        parameters: an iterable of tensors, or one
        clip_value: the bound

    Raises:
        TypeError: `parameters` holds something that is no Tensor, or a setting is no number.

    Example:
        >>> import oneflow as flow
        >>> w = flow.nn.Parameter(flow.ones(2))
        >>> (w * flow.tensor([-3.0, 0.5])).sum().backward()
        >>> flow.nn.utils.clip_grad_value_([w], 1.0)
        >>> w.grad
        tensor([-1.0000,  0.5000], dtype=oneflow.float32)
    """
    gradients = _gradients("clip_grad_value_", parameters)
    bound = _number("clip_grad_value_", "clip_value", clip_value)
    if gradients:
        with no_grad():
            _C.multi_tensor_clamp_(gradients, -bound, bound)
