"""Linear maps and changes of shape."""

from __future__ import annotations

from typing import Any

from oneflow import _oneflow_internal

_C = _oneflow_internal._C


def linear(input: Any, weight: Any, bias: Any = None) -> Any:
    """x W^T + b.

    Args:
        input: Tensor (..., in)
        weight: Tensor (out, in)
        bias: Tensor (out,) or None

    Returns:
        Tensor (..., out)

    Raises:
        ValueError, RuntimeError: the shapes do not match.
        TypeError: the dtypes differ.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.functional.linear(flow.ones(1, 2), flow.ones(3, 2))
        tensor([[2., 2., 2.]], dtype=oneflow.float32)
    """
    return _C.linear(input, weight, bias)


def flatten(input: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
    """Joins neighbouring axes into one.

    Args:
        input: Tensor
        start_dim: the first axis to join
        end_dim: the last one

    Returns:
        Tensor (..., product of the joined axes, ...); it shares memory where that is possible

    Raises:
        IndexError: there is no such axis.
        RuntimeError: `start_dim` comes after `end_dim`.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.functional.flatten(flow.zeros(2, 3, 4), 1).shape
        oneflow.Size([2, 12])
    """
    return _C.flatten(input, start_dim, end_dim)


def pad(input: Any, pad: Any, mode: str = "constant", value: float = 0.0) -> Any:
    """Lengthens the last axes at both ends.

    Args:
        input: Tensor
        pad: (left, right) for the last axis, then (top, bottom) for the one before it, and so on
        mode: "constant", "reflect" or "replicate"
        value: for "constant"; default 0

    Returns:
        Tensor

    Raises:
        ValueError: `pad` has an odd number of entries, or a value comes with another mode.
        RuntimeError, NotImplementedError: what the op refuses.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.functional.pad(flow.ones(1, 2), (1, 0), value=5.0)
        tensor([[5., 1., 1.]], dtype=oneflow.float32)
    """
    sizes = tuple(pad)
    if len(sizes) % 2:
        raise ValueError(f"[pad] expects an even number of sizes, got {sizes}")
    if mode != "constant" and value != 0:
        raise ValueError(f"[pad] expects no value for mode {mode!r}, got {value}")
    return _C.pad(input, sizes, mode, value)
