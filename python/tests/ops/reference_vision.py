"""Resampling, grids, regions and boxes, point by point: for the `numpy` column of the op table."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from tests.ops.place import at

Tap = tuple[int, float]  # an element and its weight


def _cubic(distance: float) -> float:
    """Keys' kernel with a = -0.75."""
    a, x = -0.75, abs(distance)
    if x <= 1:
        return (a + 2) * x**3 - (a + 3) * x**2 + 1
    return a * x**3 - 5 * a * x**2 + 8 * a * x - 4 * a if x < 2 else 0.0


def _taps(o: int, n: int, out: int, scale: float, mode: str, align_corners: bool) -> list[Tap]:
    """What element `o` of a resampled line is made of."""
    if mode == "nearest":
        ratio = 1 / scale if scale else n / out
        return [(min(int(math.floor(np.float32(o) * np.float32(ratio))), n - 1), 1.0)]
    if align_corners:
        at = o * (n - 1) / (out - 1) if out > 1 else 0.0
    else:
        at = (o + 0.5) * (1 / scale if scale else n / out) - 0.5
    if mode == "linear":
        at = min(max(at, 0.0), n - 1.0)
        first = int(at)
        return [(first, 1 - (at - first)), (min(first + 1, n - 1), at - first)]
    first = math.floor(at)
    return [(min(max(i, 0), n - 1), _cubic(at - i)) for i in range(first - 1, first + 3)]


def resample(
    x: np.ndarray,
    scales: Sequence[float],
    output_size: int | Sequence[int] | None,
    mode: str,
    align_corners: bool,
    data_format: str,
) -> np.ndarray:
    """Interpolation of each spatial dimension in turn."""
    if data_format == "channels_last":
        first = resample(np.moveaxis(x, -1, 1), scales, output_size, mode, align_corners,
                         "channels_first")  # fmt: skip
        return np.moveaxis(first, 1, -1)
    spatial = x.ndim - 2
    if output_size is None:
        sizes = [int(math.floor(n * s)) for n, s in zip(x.shape[2:], scales)]
        used = list(scales)
    else:
        sizes = [output_size] * spatial if isinstance(output_size, int) else list(output_size)
        used = [0.0] * spatial
    for d, (out, scale) in enumerate(zip(sizes, used)):
        lines = np.moveaxis(x, d + 2, -1)
        made = np.zeros((*lines.shape[:-1], out))
        for o in range(out):
            for i, weight in _taps(o, lines.shape[-1], out, scale, mode, align_corners):
                made[..., o] += weight * lines[..., i]
        x = np.moveaxis(made, -1, d + 2)
    return x


def _reflect(at: float, n: int, align_corners: bool) -> float:
    """Mirrored into the image, and no further out than its outermost elements."""
    low, high = (0.0, n - 1.0) if align_corners else (-0.5, n - 0.5)
    if low == high:
        return 0.0
    while at < low or at > high:
        at = 2 * low - at if at < low else 2 * high - at
    return at


def _padded(at: float, n: int, padding_mode: str, align_corners: bool) -> float:
    if padding_mode == "reflection":
        at = _reflect(at, n, align_corners)
    return at if padding_mode == "zeros" else min(max(at, 0.0), n - 1.0)


def _grid_taps(
    at: float, n: int, mode: str, padding_mode: str, align_corners: bool
) -> list[tuple[float, float]]:
    at = (at + 1) / 2 * (n - 1) if align_corners else ((at + 1) * n - 1) / 2
    if mode == "bicubic":
        first = math.floor(at)
        return [
            (_padded(float(i), n, padding_mode, align_corners), _cubic(at - i))
            for i in range(first - 1, first + 3)
        ]
    at = _padded(at, n, padding_mode, align_corners)
    if mode == "nearest":
        return [(float(np.round(at)), 1.0)]
    first = math.floor(at)
    return [(first, first + 1 - at), (first + 1, at - first)]


def grid_sample(
    x: np.ndarray, grid: np.ndarray, mode: str, padding_mode: str, align_corners: bool
) -> np.ndarray:
    """Samples at the points of a grid."""
    sizes = x.shape[2:]
    result = np.zeros((*x.shape[:2], *grid.shape[1:-1]))
    for n in range(x.shape[0]):
        for position in np.ndindex(*grid.shape[1:-1]):
            point = grid[at(n, *position)][::-1]  # z, y, x
            axes = [
                _grid_taps(float(p), size, mode, padding_mode, align_corners)
                for p, size in zip(point, sizes)
            ]
            for taps in itertools.product(*axes):
                element = [int(i) for i, _ in taps]
                if all(0 <= i < size for i, size in zip(element, sizes)):
                    weight = math.prod(w for _, w in taps)
                    result[at(n, slice(None), *position)] += (
                        weight * x[at(n, slice(None), *element)]
                    )
    return result


def affine_grid(theta: np.ndarray, size: Sequence[int], align_corners: bool) -> np.ndarray:
    """Transformed coordinates of the elements of images."""

    def positions(n: int) -> np.ndarray:
        if align_corners:
            return np.linspace(-1, 1, n) if n > 1 else np.zeros(1)
        return (2 * np.arange(n) + 1) / n - 1

    axes = np.meshgrid(*[positions(n) for n in size[2:]], indexing="ij")[::-1]
    points = np.stack([*axes, np.ones_like(axes[0])], -1)
    return np.einsum("nij,...j->n...i", theta, points)


def pixel_shuffle(x: np.ndarray, h: int, w: int) -> np.ndarray:
    """Channels spread over blocks of pixels."""
    *lead, channels, height, width = x.shape
    out = np.zeros((*lead, channels // (h * w), height * h, width * w), x.dtype)
    for i, j in np.ndindex(h, w):
        out[..., i::h, j::w] = x[..., i * w + j :: h * w, :, :]
    return out


def pixel_unshuffle(x: np.ndarray, h: int, w: int) -> np.ndarray:
    """Blocks of pixels gathered into channels."""
    *lead, channels, height, width = x.shape
    out = np.zeros((*lead, channels * h * w, height // h, width // w), x.dtype)
    for i, j in np.ndindex(h, w):
        out[..., i * w + j :: h * w, :, :] = x[..., i::h, j::w]
    return out


def _border_value(plane: np.ndarray, y: float, x: float) -> np.ndarray:
    """Bilinear in (C, H, W); up to one element outside the border counts, further away nothing."""
    height, width = plane.shape[1:]
    if y < -1 or y > height or x < -1 or x > width:
        return np.zeros(plane.shape[0])
    y, x = min(max(y, 0.0), height - 1.0), min(max(x, 0.0), width - 1.0)
    top, left = int(y), int(x)
    below, right = min(top + 1, height - 1), min(left + 1, width - 1)
    fy, fx = y - top, x - left
    upper = plane[:, top, left] * (1 - fx) + plane[:, top, right] * fx
    lower = plane[:, below, left] * (1 - fx) + plane[:, below, right] * fx
    return upper * (1 - fy) + lower * fy


def roi_align(
    x: np.ndarray,
    rois: np.ndarray,
    spatial_scale: float,
    pooled_h: int,
    pooled_w: int,
    sampling_ratio: int,
    aligned: bool,
) -> np.ndarray:
    """Averages of samples in the bins of regions."""
    result = np.zeros((rois.shape[0], x.shape[1], pooled_h, pooled_w))
    for k, roi in enumerate(rois):
        x1, y1, x2, y2 = roi[1:] * spatial_scale - (0.5 if aligned else 0.0)
        width, height = x2 - x1, y2 - y1
        if not aligned:
            width, height = max(width, 1.0), max(height, 1.0)
        bin_w, bin_h = width / pooled_w, height / pooled_h
        across = sampling_ratio if sampling_ratio > 0 else max(1, math.ceil(bin_w))
        down = sampling_ratio if sampling_ratio > 0 else max(1, math.ceil(bin_h))
        for i, j in np.ndindex(pooled_h, pooled_w):
            values = [
                _border_value(
                    x[int(roi[0])],
                    y1 + (i + (a + 0.5) / down) * bin_h,
                    x1 + (j + (b + 0.5) / across) * bin_w,
                )
                for a, b in np.ndindex(down, across)
            ]
            result[k, :, i, j] = np.mean(values, 0)
    return result


def nms(boxes: np.ndarray, iou_threshold: float, keep_n: int) -> np.ndarray:
    """Marks of the boxes that are kept, the best first."""
    keep = np.ones(len(boxes), np.int8)
    kept: list[np.ndarray] = []
    for i, box in enumerate(boxes):
        for better in kept:
            low, high = np.maximum(box[:2], better[:2]), np.minimum(box[2:], better[2:])
            both = np.prod(np.maximum(high - low, 0))
            areas = np.prod(box[2:] - box[:2]) + np.prod(better[2:] - better[:2])
            if both / (areas - both) > iou_threshold:
                keep[i] = 0
        if keep_n >= 0 and len(kept) >= keep_n:
            keep[i] = 0
        if keep[i]:
            kept.append(box)
    return keep


def nms_by_score(boxes: np.ndarray, scores: np.ndarray, iou_threshold: float) -> np.ndarray:
    """Indices of the boxes that are kept, the best first."""
    order = np.argsort(-scores, kind="stable")
    return order[nms(boxes[order], iou_threshold, -1) != 0]


def _zero_padded_value(plane: np.ndarray, y: float, x: float) -> np.ndarray:
    """Bilinear in (C, H, W), with zeros outside."""
    top, left = math.floor(y), math.floor(x)
    total = np.zeros(plane.shape[0])
    for i, j in itertools.product((top, top + 1), (left, left + 1)):
        if 0 <= i < plane.shape[1] and 0 <= j < plane.shape[2]:
            total += plane[:, i, j] * (1 - abs(y - i)) * (1 - abs(x - j))
    return total


def deform_conv2d(
    x: np.ndarray,
    weight: np.ndarray,
    offset: np.ndarray,
    mask: np.ndarray | None,
    bias: np.ndarray | None,
    stride: tuple[int, int],
    padding: tuple[int, int],
    dilation: tuple[int, int],
    groups: int,
    offset_groups: int,
) -> np.ndarray:
    """Convolution with windows whose elements are moved."""
    out_channels, per_group, kh, kw = weight.shape
    per_offset = x.shape[1] // offset_groups
    result = np.zeros((x.shape[0], out_channels, *offset.shape[2:]))
    for n, p, q in np.ndindex(x.shape[0], *offset.shape[2:]):
        window = np.zeros((x.shape[1], kh, kw))
        for g, i, j in np.ndindex(offset_groups, kh, kw):
            k = (g * kh + i) * kw + j
            y = p * stride[0] - padding[0] + i * dilation[0] + offset[n, 2 * k, p, q]
            z = q * stride[1] - padding[1] + j * dilation[1] + offset[n, 2 * k + 1, p, q]
            channels = slice(g * per_offset, (g + 1) * per_offset)
            factor = 1.0 if mask is None else mask[n, k, p, q]
            window[channels, i, j] = _zero_padded_value(x[n, channels], y, z) * factor
        for o in range(out_channels):
            group = o // (out_channels // groups)
            part = window[group * per_group : (group + 1) * per_group]
            result[n, o, p, q] = np.sum(part * weight[o])
    return result if bias is None else result + bias.reshape(-1, 1, 1)


NAMES: dict[str, Any] = {
    "resample": resample,
    "grid_sample": grid_sample,
    "affine_grid": affine_grid,
    "pixel_shuffle": pixel_shuffle,
    "pixel_unshuffle": pixel_unshuffle,
    "roi_align": roi_align,
    "nms": nms,
    "nms_by_score": nms_by_score,
    "deform_conv2d": deform_conv2d,
}
