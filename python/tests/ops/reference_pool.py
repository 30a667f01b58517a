"""Pooling, window by window: for the `numpy` column of the op table."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from tests.ops.place import at

Ints = int | Sequence[int]
Window = list[range]  # the elements of one window, for each spatial dimension


def _list(value: Ints, count: int) -> list[int]:
    """One number for each spatial dimension."""
    if isinstance(value, int):
        return [value] * count
    return list(value) * count if len(value) == 1 else list(value)


def _size(n: int, reach: int, stride: int, padding: int, ceil_mode: bool) -> int:
    """How many windows there are; the last one begins before the padding behind the data ends."""
    span = n + 2 * padding - reach
    count = (-(-span // stride) if ceil_mode else span // stride) + 1
    if ceil_mode and (count - 1) * stride >= n + padding:
        count -= 1
    return count


def _fixed(
    x: np.ndarray, kernel: list[int], stride: list[int], padding: list[int], dilation: list[int],
    ceil_mode: bool,
) -> tuple[list[int], Iterator[tuple[tuple[int, ...], Window]]]:  # fmt: skip
    """The sizes of the result, and for each of its positions the window, padding included."""
    sizes = x.shape[2:]
    reach = [d * (k - 1) + 1 for k, d in zip(kernel, dilation)]
    out = [_size(n, r, s, p, ceil_mode) for n, r, s, p in zip(sizes, reach, stride, padding)]

    def windows() -> Iterator[tuple[tuple[int, ...], Window]]:
        for position in np.ndindex(*out):
            starts = [o * s - p for o, s, p in zip(position, stride, padding)]
            yield position, [range(b, b + r, d) for b, r, d in zip(starts, reach, dilation)]

    return out, windows()


def _adaptive(
    x: np.ndarray, out: list[int]
) -> tuple[list[int], Iterator[tuple[tuple[int, ...], Window]]]:
    sizes = x.shape[2:]

    def windows() -> Iterator[tuple[tuple[int, ...], Window]]:
        for position in np.ndindex(*out):
            yield (
                position,
                [range(o * n // s, -(-(o + 1) * n // s)) for o, n, s in zip(position, sizes, out)],
            )

    return out, windows()


def _inside(x: np.ndarray, window: Window) -> list[tuple[int, ...]]:
    """The elements of a window that are no padding."""
    kept = [[i for i in r if 0 <= i < n] for r, n in zip(window, x.shape[2:])]
    return list(itertools.product(*kept))


def _maximum(x: np.ndarray, out: list[int], windows: Any) -> tuple[np.ndarray, np.ndarray]:
    values = np.zeros((*x.shape[:2], *out))
    indices = np.zeros((*x.shape[:2], *out), np.int64)
    for position, window in windows:
        elements = _inside(x, window)
        flat = [int(np.ravel_multi_index(e, x.shape[2:])) for e in elements]
        picked = np.stack([x[at(slice(None), slice(None), *e)] for e in elements], -1)
        where = (slice(None), slice(None), *position)
        last = picked.shape[-1] - 1 - np.argmax(np.isnan(picked)[..., ::-1], -1)
        best = np.where(np.isnan(picked).any(-1), last, np.argmax(np.nan_to_num(
            picked, nan=-np.inf, posinf=np.inf, neginf=-np.inf), -1))  # fmt: skip
        values[where] = np.take_along_axis(picked, best[..., None], -1)[..., 0]
        indices[where] = np.array(flat)[best]
    return values, indices


def max_pool(
    x: np.ndarray,
    kernel_size: Ints,
    stride: Ints | None,
    padding: Ints,
    dilation: Ints,
    ceil_mode: bool,
    data_format: str,
) -> tuple[np.ndarray, np.ndarray]:
    """Maxima and their indices. Only the number of spatial dims is read off `kernel_size`."""
    spatial = _spatial(x, kernel_size)
    if data_format == "channels_last":
        first = np.moveaxis(x, -1, -spatial - 1)
        both = max_pool(first, kernel_size, stride, padding, dilation, ceil_mode, "channels_first")
        return np.moveaxis(both[0], -spatial - 1, -1), np.moveaxis(both[1], -spatial - 1, -1)
    if x.ndim == spatial + 1:
        both = max_pool(x[None], kernel_size, stride, padding, dilation, ceil_mode, data_format)
        return both[0][0], both[1][0]
    kernel = _list(kernel_size, spatial)
    steps = kernel if stride is None else _list(stride, spatial)
    out, windows = _fixed(x, kernel, steps, _list(padding, spatial), _list(dilation, spatial),
                          ceil_mode)  # fmt: skip
    return _maximum(x, out, windows)


def avg_pool(
    x: np.ndarray,
    kernel_size: Ints,
    stride: Ints | None,
    padding: Ints,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int,
    data_format: str,
) -> np.ndarray:
    """Averages."""
    spatial = _spatial(x, kernel_size)
    rest = (kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
    if data_format == "channels_last":
        averages = avg_pool(np.moveaxis(x, -1, -spatial - 1), *rest, "channels_first")
        return np.moveaxis(averages, -spatial - 1, -1)
    if x.ndim == spatial + 1:
        return avg_pool(x[None], *rest, data_format)[0]
    kernel, pads = _list(kernel_size, spatial), _list(padding, spatial)
    steps = kernel if stride is None else _list(stride, spatial)
    out, windows = _fixed(x, kernel, steps, pads, [1] * spatial, ceil_mode)
    result = np.zeros((*x.shape[:2], *out))
    for position, window in windows:
        elements = _inside(x, window)
        ends = [n + p for n, p in zip(x.shape[2:], pads)]
        padded = np.prod([min(r.stop, end) - r.start for r, end in zip(window, ends)])
        count = divisor_override or (padded if count_include_pad else len(elements))
        total = sum(x[at(slice(None), slice(None), *e)] for e in elements)
        result[at(slice(None), slice(None), *position)] = total / count
    return result


def _spatial(x: np.ndarray, kernel_size: Ints) -> int:
    """How many spatial dims there are: as many as the window has sizes, else those of a batch.
    Samples give lists where that would leave a doubt."""
    if isinstance(kernel_size, (list, tuple)):
        return len(kernel_size)
    return {3: 1, 4: 2, 5: 3}[x.ndim]


def adaptive_avg_pool(x: np.ndarray, output_size: Ints) -> np.ndarray:
    """Averages down to a size."""
    spatial = _spatial(x, output_size)
    if x.ndim == spatial + 1:
        return adaptive_avg_pool(x[None], output_size)[0]
    out, windows = _adaptive(x, _list(output_size, spatial))
    result = np.zeros((*x.shape[:2], *out))
    for position, window in windows:
        elements = _inside(x, window)
        total = sum(x[at(slice(None), slice(None), *e)] for e in elements)
        result[at(slice(None), slice(None), *position)] = total / len(elements)
    return result


def adaptive_max_pool(x: np.ndarray, output_size: Ints) -> tuple[np.ndarray, np.ndarray]:
    """Maxima down to a size, and their indices."""
    spatial = _spatial(x, output_size)
    if x.ndim == spatial + 1:
        values, indices = adaptive_max_pool(x[None], output_size)
        return values[0], indices[0]
    return _maximum(x, *_adaptive(x, _list(output_size, spatial)))


def max_unpool(
    x: np.ndarray,
    indices: np.ndarray,
    kernel_size: Ints,
    stride: Ints | None,
    padding: Ints,
    output_size: Sequence[int] | None,
) -> np.ndarray:
    """Values put at their indices among zeros."""
    spatial = _spatial(x, kernel_size)
    if x.ndim == spatial + 1:
        return max_unpool(x[None], indices[None], kernel_size, stride, padding, output_size)[0]
    kernel, pads = _list(kernel_size, spatial), _list(padding, spatial)
    steps = kernel if stride is None else _list(stride, spatial)
    if output_size is None:
        size = [(n - 1) * s + k - 2 * p for n, s, k, p in zip(x.shape[2:], steps, kernel, pads)]
    else:
        size = list(output_size)[-spatial:]
    result = np.zeros((*x.shape[:2], int(np.prod(size))))
    for plane in np.ndindex(*x.shape[:2]):
        result[plane][indices[plane].ravel()] = x[plane].ravel()
    return result.reshape(*x.shape[:2], *size)


NAMES: dict[str, Any] = {
    "max_pool": max_pool,
    "avg_pool": avg_pool,
    "adaptive_avg_pool": adaptive_avg_pool,
    "adaptive_max_pool": adaptive_max_pool,
    "max_unpool": max_unpool,
}
