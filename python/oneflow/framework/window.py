"""Windows of signals, and the Fourier transform of short pieces of one."""

from __future__ import annotations

from typing import Any

import numpy as np

from oneflow import _oneflow_internal
from oneflow.framework.creation import placed, sizes_of

_C = _oneflow_internal._C


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


def _window(values: np.ndarray[Any, Any], dtype: Any, device: Any, rest: tuple[Any, ...]) -> Any:
    dtype = _oneflow_internal.get_default_dtype() if dtype is None else dtype
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
        RuntimeError: the length is negative.

    Example:
        >>> import oneflow as flow
        >>> flow.hann_window(4)
        tensor([0.0000, 0.5000, 1.0000, 0.5000], dtype=oneflow.float32)
    """
    values = _cosines("hann_window", window_length, periodic, (0.5, -0.5))
    return _window(values, dtype, device, (requires_grad, placement, sbp))


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
    return _window(values, dtype, device, (requires_grad, None, None))


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
    return _window(values, dtype, device, (requires_grad, None, None))


def stft(
    input: Any,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Any = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool = True,
    return_complex: bool = False,
) -> Any:
    """The Fourier transforms of overlapping pieces of a signal.

    Args:
        input: tensor (length,) or (batch, length), of a floating dtype
        n_fft: length of a piece
        hop_length: from one piece to the next; default n_fft // 4
        win_length: length of the window; default n_fft
        window: tensor (win_length,); default ones
        center: whether piece t is centered at t * hop_length; the signal is padded for that
        pad_mode: how; see `nn.functional.pad`
        normalized: whether to divide by the root of n_fft
        onesided: whether to leave out the frequencies that mirror others
        return_complex: must be False, there are no complex tensors

    Returns:
        Tensor (..., frequencies, pieces, 2): real and imaginary parts

    Raises:
        RuntimeError: lengths that do not fit each other.
        NotImplementedError: `return_complex`.

    Example:
        >>> import oneflow as flow
        >>> flow.stft(flow.ones(8), 4, center=False)[0, :, 0].tolist()
        [4.0, 4.0, 4.0, 4.0, 4.0]
    """
    hop = n_fft // 4 if hop_length is None else hop_length
    length = n_fft if win_length is None else win_length
    if return_complex:
        raise NotImplementedError("[stft] expects return_complex=False: no tensor is complex")
    if input.ndim not in (1, 2) or not input.is_floating_point():
        raise RuntimeError(f"[stft] expects a floating tensor of 1 or 2 dims, got {input.dtype} "
                           f"{tuple(input.shape)}")  # fmt: skip
    if not 0 < length <= n_fft or hop < 1:
        raise RuntimeError(f"[stft] expects 0 < win_length <= n_fft and hop_length > 0, got "
                           f"{length}, {n_fft}, {hop}")  # fmt: skip
    if window is not None and tuple(window.shape) != (length,):
        raise RuntimeError(f"[stft] expects a window of ({length},), got {tuple(window.shape)}")
    signal = input.unsqueeze(0) if input.ndim == 1 else input
    if center:
        signal = _C.pad(signal, [n_fft // 2, n_fft // 2], pad_mode)
    if signal.shape[-1] < n_fft:
        raise RuntimeError(f"[stft] expects at least {n_fft} elements, got {signal.shape[-1]}")
    pieces = signal.unfold(-1, n_fft, hop)
    out = _C.matmul(pieces, _basis(n_fft, length, window, normalized, onesided, input))
    out = out.reshape(out.shape[0], out.shape[1], 2, -1).permute(0, 3, 1, 2)
    return out.squeeze(0) if input.ndim == 1 else out


def _basis(
    n_fft: int, length: int, window: Any, normalized: bool, onesided: bool, like: Any
) -> Any:
    """(n_fft, 2 * frequencies): cosines, then negative sines, with the window as a factor."""
    frequencies = n_fft // 2 + 1 if onesided else n_fft
    angles = 2 * np.pi * (np.outer(np.arange(n_fft), np.arange(frequencies)) % n_fft) / n_fft
    table = np.concatenate([np.cos(angles), -np.sin(angles)], axis=1)
    if normalized:
        table /= np.sqrt(n_fft)
    left = (n_fft - length) // 2
    if window is None:
        ones = np.zeros((n_fft, 1))
        ones[left : left + length] = 1
        return _oneflow_internal.tensor(table * ones, dtype=like.dtype, device=like.device)
    weights = _C.pad(window.to(like.dtype), [left, n_fft - length - left])
    return _oneflow_internal.tensor(table, dtype=like.dtype) * weights.unsqueeze(1)
