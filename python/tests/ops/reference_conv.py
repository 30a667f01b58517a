"""Convolution and columns, summed as the formulas say: for the `numpy` column of the op table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from tests.ops.place import at

Ints = int | Sequence[int]


def _list(value: Ints, count: int) -> list[int]:
    """One number for each spatial dimension."""
    if isinstance(value, int):
        return [value] * count
    return list(value) * count if len(value) == 1 else list(value)


def _padding(padding: Ints | str, kernel: Sequence[int], dilation: Sequence[int]) -> list[Any]:
    """(before, after) for each spatial dimension."""
    if padding == "valid":
        return [(0, 0)] * len(kernel)
    if padding == "same":
        total = [d * (k - 1) for k, d in zip(kernel, dilation)]
        return [(t // 2, t - t // 2) for t in total]
    assert not isinstance(padding, str)
    return [(p, p) for p in _list(padding, len(kernel))]


def _window(position: Sequence[int], out: Sequence[int], stride: Sequence[int],
            dilation: Sequence[int]) -> tuple[slice, ...]:  # fmt: skip
    """Where the element of all windows at one position of the kernel lies."""
    return tuple(
        slice(p * d, p * d + (o - 1) * s + 1, s)
        for p, o, s, d in zip(position, out, stride, dilation)
    )


def convolve(
    x: np.ndarray,
    weight: np.ndarray,
    bias: np.ndarray | None,
    stride: Ints,
    padding: Ints | str,
    dilation: Ints,
    groups: int,
    channel_pos: str,
) -> np.ndarray:
    """The convolution of one to three dimensions."""
    if channel_pos == "channels_last":
        plain = convolve(np.moveaxis(x, -1, -weight.ndim + 1), np.moveaxis(weight, -1, 1), bias,
                         stride, padding, dilation, groups, "channels_first")  # fmt: skip
        return np.moveaxis(plain, -weight.ndim + 1, -1)
    spatial = weight.ndim - 2
    if x.ndim == spatial + 1:
        return convolve(x[None], weight, bias, stride, padding, dilation, groups, channel_pos)[0]
    kernel = weight.shape[2:]
    steps, holes = _list(stride, spatial), _list(dilation, spatial)
    padded = np.pad(x, [(0, 0), (0, 0), *_padding(padding, kernel, holes)])
    out = [
        (n - h * (k - 1) - 1) // s + 1 for n, k, s, h in zip(padded.shape[2:], kernel, steps, holes)
    ]
    per_group = weight.shape[0] // groups
    result = np.zeros((x.shape[0], weight.shape[0], *out))
    for group in range(groups):
        channels = slice(group * weight.shape[1], (group + 1) * weight.shape[1])
        outputs = slice(group * per_group, (group + 1) * per_group)
        for position in np.ndindex(*kernel):
            where = (slice(None), channels, *_window(position, out, steps, holes))
            factor = weight[at(outputs, slice(None), *position)]
            result[:, outputs] += np.einsum("nc...,oc->no...", padded[where], factor)
    if bias is not None:
        result += bias.reshape(-1, *[1] * spatial)
    return result


def deconvolve(
    x: np.ndarray,
    weight: np.ndarray,
    bias: np.ndarray | None,
    stride: Ints,
    padding: Ints,
    output_padding: Ints,
    groups: int,
    dilation: Ints,
    data_format: str,
) -> np.ndarray:
    """The transposed convolution: each input element adds a scaled kernel to the result."""
    if data_format == "channels_last":
        plain = deconvolve(np.moveaxis(x, -1, -weight.ndim + 1), np.moveaxis(weight, -1, 1), bias,
                           stride, padding, output_padding, groups, dilation,
                           "channels_first")  # fmt: skip
        return np.moveaxis(plain, -weight.ndim + 1, -1)
    spatial = weight.ndim - 2
    if x.ndim == spatial + 1:
        return deconvolve(x[None], weight, bias, stride, padding, output_padding, groups, dilation,
                          data_format)[0]  # fmt: skip
    kernel = weight.shape[2:]
    steps, holes = _list(stride, spatial), _list(dilation, spatial)
    pads, extra = _list(padding, spatial), _list(output_padding, spatial)
    full = [
        (n - 1) * s + h * (k - 1) + 1 + e
        for n, k, s, h, e in zip(x.shape[2:], kernel, steps, holes, extra)
    ]
    out = weight.shape[1]
    result = np.zeros((x.shape[0], out * groups, *full))
    per_group = x.shape[1] // groups
    for group in range(groups):
        channels = slice(group * per_group, (group + 1) * per_group)
        outputs = slice(group * out, (group + 1) * out)
        for position in np.ndindex(*kernel):
            where = (slice(None), outputs, *_window(position, x.shape[2:], steps, holes))
            factor = weight[at(channels, slice(None), *position)]
            result[where] += np.einsum("nc...,co->no...", x[:, channels], factor)
    cut = tuple(slice(p, n - p) for p, n in zip(pads, full))
    result = result[at(slice(None), slice(None), *cut)]
    if bias is not None:
        result = result + bias.reshape(-1, *[1] * spatial)
    return result


def unfold(
    x: np.ndarray, kernel_size: Ints, dilation: Ints, padding: Ints, stride: Ints
) -> np.ndarray:
    """Windows of images as columns."""
    if x.ndim == 3:
        return unfold(x[None], kernel_size, dilation, padding, stride)[0]
    kernel, holes, steps = _list(kernel_size, 2), _list(dilation, 2), _list(stride, 2)
    padded = np.pad(x, [(0, 0), (0, 0), *_padding(padding, kernel, holes)])
    out = [
        (n - h * (k - 1) - 1) // s + 1 for n, k, s, h in zip(padded.shape[2:], kernel, steps, holes)
    ]
    parts = [
        padded[at(slice(None), slice(None), *_window(position, out, steps, holes))]
        for position in np.ndindex(*kernel)
    ]
    stacked = np.stack(parts, 2)
    return stacked.reshape(x.shape[0], x.shape[1] * len(parts), out[0] * out[1])


def fold(
    x: np.ndarray,
    output_size: Ints,
    kernel_size: Ints,
    dilation: Ints,
    padding: Ints,
    stride: Ints,
) -> np.ndarray:
    """Columns added up into images."""
    if x.ndim == 2:
        return fold(x[None], output_size, kernel_size, dilation, padding, stride)[0]
    kernel, holes, steps = _list(kernel_size, 2), _list(dilation, 2), _list(stride, 2)
    pads, size = _list(padding, 2), _list(output_size, 2)
    full = [n + 2 * p for n, p in zip(size, pads)]
    out = [(n - h * (k - 1) - 1) // s + 1 for n, k, s, h in zip(full, kernel, steps, holes)]
    pixels = kernel[0] * kernel[1]
    parts = x.reshape(x.shape[0], x.shape[1] // pixels, pixels, *out)
    result = np.zeros((*parts.shape[:2], *full))
    for i, position in enumerate(np.ndindex(*kernel)):
        result[at(slice(None), slice(None), *_window(position, out, steps, holes))] += parts[
            :, :, i
        ]
    return result[:, :, pads[0] : full[0] - pads[0], pads[1] : full[1] - pads[1]]


NAMES: dict[str, Any] = {
    "convolve": convolve,
    "deconvolve": deconvolve,
    "unfold": unfold,
    "fold": fold,
}
