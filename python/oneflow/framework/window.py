"""Windows of signals."""

from __future__ import annotations

from typing import Any

import numpy as np

from oneflow import _oneflow_internal
from oneflow.framework.creation import placed, sizes_of
from oneflow.framework.dtype import is_floating_point


def _cosines(
    caller: str, length: int, periodic: bool, weights: tuple[float, ...]
) -> np.ndarray[Any, Any]:
    (count,) = sizes_of(caller, (length,))
    if count < 0:
        raise RuntimeError(f"[{caller}] expects a length of at least 0, got {count}")
    if count <= 1:
        return np.ones(count)
    turns = np.arange(count) / (count if periodic else count - 1)
    return sum(w * np.cos(2 * np.pi * k * turns) for k, w in enumerate(weights)) + np.zeros(count)


def _window(
    caller: str, values: np.ndarray[Any, Any], dtype: Any, device: Any, rest: tuple[Any, ...]
) -> Any:
    dtype = _oneflow_internal.get_default_dtype() if dtype is None else dtype
    if not is_floating_point(dtype):
        raise RuntimeError(f"[{caller}] expects a floating dtype, got {dtype}")
    return placed(_oneflow_internal.tensor(values, dtype=dtype, device=device), *rest)


def hann_window(
    window_length: int,
    periodic: bool = True,
    *,
    device: Any = None,
    dtype: Any = None,
    requires_grad: bool = False,
    placement: Any = None,
    sbp: Any = None,
) -> Any:
    """Hann's window: (1 - cos(2 pi n / N)) / 2.

    Args:
        window_length: number of elements
        periodic: N is window_length, as a Fourier transform wants it; else one less, so that the
            window is symmetric

    Returns:
        Tensor (window_length,), of the default dtype unless `dtype` says otherwise

    Raises:
        RuntimeError: the length is negative, or `dtype` is no floating-point dtype.

    Example:
        >>> import oneflow as flow
        >>> flow.hann_window(4)
        tensor([0.0000, 0.5000, 1.0000, 0.5000], dtype=oneflow.float32)
    """
    values = _cosines("hann_window", window_length, periodic, (0.5, -0.5))
    return _window("hann_window", values, dtype, device, (requires_grad, placement, sbp))


def hamming_window(
    window_length: int,
    periodic: bool = True,
    alpha: float = 0.54,
    beta: float = 0.46,
    *,
    device: Any = None,
    dtype: Any = None,
    requires_grad: bool = False,
) -> Any:
    """Hamming's window: alpha - beta cos(2 pi n / N); see `hann_window`.

    Example:
        >>> import oneflow as flow
        >>> flow.hamming_window(2)
        tensor([0.0800, 1.0000], dtype=oneflow.float32)
    """
    values = _cosines("hamming_window", window_length, periodic, (alpha, -beta))
    return _window("hamming_window", values, dtype, device, (requires_grad, None, None))


def blackman_window(
    window_length: int,
    periodic: bool = True,
    *,
    device: Any = None,
    dtype: Any = None,
    requires_grad: bool = False,
) -> Any:
    """Blackman's window: 0.42 - 0.5 cos(2 pi n / N) + 0.08 cos(4 pi n / N); see `hann_window`.

    Example:
        >>> import oneflow as flow
        >>> flow.blackman_window(4)[2].item()
        1.0
    """
    values = _cosines("blackman_window", window_length, periodic, (0.42, -0.5, 0.08))
    return _window("blackman_window", values, dtype, device, (requires_grad, None, None))
