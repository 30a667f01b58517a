"""`out=`: a tensor of the caller's that a result is written into."""

from __future__ import annotations

from typing import Any

from oneflow import _oneflow_internal

Tensor = _oneflow_internal.Tensor


def check_out(op: str, out: Any, shape: tuple[int, ...], dtype: Any) -> None:
    """TypeError or RuntimeError unless `out` is a tensor of that shape and dtype.

    A leaf that requires grad is refused while grad mode is on: it would lose its place as one.
    """
    if not isinstance(out, Tensor):
        raise TypeError(f"[{op}] expects out to be a Tensor, got {type(out).__name__}")
    if tuple(out.shape) != tuple(shape):
        raise RuntimeError(f"[{op}] expects out of shape {tuple(shape)}, got {tuple(out.shape)}")
    if out.dtype != dtype:
        raise RuntimeError(f"[{op}] expects out of dtype {dtype}, got {out.dtype}")
    if out.requires_grad and out.is_leaf and _oneflow_internal.is_grad_enabled():
        raise RuntimeError(
            f"[{op}] expects out without a gradient of its own, got a leaf that requires grad "
            f"(shape {tuple(out.shape)})"
        )


def written(op: str, result: Any, out: Any) -> Any:
    """`out` with the values, and the history, of `result`; `result` itself where `out` is None."""
    if out is None:
        return result
    check_out(op, out, tuple(result.shape), result.dtype)
    return out.copy_(result)
