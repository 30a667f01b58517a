"""Interpolation, sampling at given places, and convolution at places of their own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from oneflow import _oneflow_internal

_C = _oneflow_internal._C

# For each mode the number of spatial axes it is for, and whether it takes align_corners.
_MODES = {
    "nearest": ((1, 2, 3), False),
    "area": ((1, 2, 3), False),
    "linear": ((1,), True),
    "bilinear": ((2,), True),
    "bicubic": ((2,), True),
    "trilinear": ((3,), True),
}
_SCALES = {
    1: ("scale_factor",),
    2: ("height_scale", "width_scale"),
    3: ("depth_scale", "height_scale", "width_scale"),
}


def interpolate(
    input: Any,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
) -> Any:
    """Enlarges or shrinks the spatial axes.

    Args:
        input: Tensor (N, C, L), (N, C, H, W) or (N, C, D, H, W)
        size: the result's lengths: an int, or one for each axis
        scale_factor: instead: by what they grow, a number or one for each axis
        mode: "nearest", "area" (means), "linear" (one axis), "bilinear", "bicubic" (two),
            "trilinear" (three)
        align_corners: whether the outermost elements keep their place; default None, for False
        recompute_scale_factor: whether to use the lengths' ratio in place of `scale_factor`

    Returns:
        Tensor (N, C, ...)

    Raises:
        ValueError: both or none of `size` and `scale_factor` are given, or their number is not that
            of the axes, or the mode is unknown or takes no align_corners.
        NotImplementedError: the mode is for another number of axes.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.functional.interpolate(flow.tensor([[[1.0, 2.0]]]), scale_factor=2.0)
        tensor([[[1., 1., 2., 2.]]], dtype=oneflow.float32)
    """
    axes = input.ndim - 2
    _check_mode(mode, axes, align_corners)
    sizes, scales = _lengths(input, size, scale_factor)
    if recompute_scale_factor and size is not None:
        raise ValueError("[interpolate] expects recompute_scale_factor with scale_factor only")
    if sizes is None and (recompute_scale_factor or mode == "area"):
        sizes = [math.floor(n * scale) for n, scale in zip(input.shape[2:], scales)]
        scales = [now / before for now, before in zip(sizes, input.shape[2:])]
    if mode == "area":
        return getattr(_C, f"adaptive_avg_pool{axes}d")(input, sizes)
    arguments: dict[str, Any] = dict(zip(_SCALES[axes], scales))
    if _MODES[mode][1]:
        arguments["align_corners"] = bool(align_corners)
    return getattr(_C, f"upsample_{mode}_{axes}d")(input, **arguments, output_size=sizes)


def _check_mode(mode: str, axes: int, align_corners: bool | None) -> None:
    if mode not in _MODES:
        raise ValueError(f"[interpolate] expects mode {', '.join(_MODES)}, got {mode!r}")
    allowed, aligns = _MODES[mode]
    if align_corners is not None and not aligns:
        raise ValueError(f"[interpolate] expects no align_corners for mode {mode}, got one")
    if axes not in allowed:
        wanted = " or ".join(str(n + 2) for n in allowed)
        raise NotImplementedError(
            f"[interpolate] expects an input of {wanted} axes for mode {mode}, got {axes + 2}"
        )


def _lengths(input: Any, size: Any, scale_factor: Any) -> tuple[Any, list[float]]:
    """(the result's lengths, or None; what they are in proportion to the input's)."""
    axes = input.ndim - 2
    if (size is None) == (scale_factor is None):
        raise ValueError("[interpolate] expects either size or scale_factor")
    given = scale_factor if size is None else size
    each = list(given) if isinstance(given, Sequence) else [given] * axes
    if len(each) != axes:
        raise ValueError(
            f"[interpolate] expects {axes} numbers for an input of shape {tuple(input.shape)}, "
            f"got {len(each)}"
        )
    if size is None:
        return None, [float(scale) for scale in each]
    return each, [now / max(before, 1) for now, before in zip(each, input.shape[2:])]


def interpolate_like(
    input: Any, like: Any, mode: str = "nearest", align_corners: bool | None = None
) -> Any:
    """`interpolate` to the spatial lengths of another tensor.

    Args:
        input: Tensor (N, C, ...)
        like: Tensor with as many axes
        mode, align_corners: see `interpolate`

    Returns:
        Tensor (N, C, ...)

    Example:
        >>> import oneflow as flow
        >>> x, y = flow.ones(1, 1, 2, 2), flow.ones(1, 3, 4, 6)
        >>> flow.nn.functional.interpolate_like(x, y).shape
        oneflow.Size([1, 1, 4, 6])
    """
    return interpolate(input, tuple(like.shape[2:]), None, mode, align_corners)


def affine_grid(theta: Any, size: Any, align_corners: bool = False) -> Any:
    """Where each element of the result comes from under affine maps, for `grid_sample`.

    Args:
        theta: Tensor (N, 2, 3) or (N, 3, 4), the maps
        size: of the result: (N, C, H, W) or (N, C, D, H, W)
        align_corners: whether -1 and 1 are the centres of the outermost elements; default False

    Returns:
        Tensor (N, H, W, 2) or (N, D, H, W, 3) of places, from -1 to 1

    Raises:
        RuntimeError, ValueError: the shapes do not match.

    Example:
        >>> import oneflow as flow
        >>> theta = flow.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
        >>> flow.nn.functional.affine_grid(theta, (1, 1, 1, 2), True)
        tensor([[[[-1.,  0.],
                  [ 1.,  0.]]]], dtype=oneflow.float32)

    Source: Jaderberg et al., "Spatial transformer networks", 2015.
    """
    return _C.affine_grid(theta, size=tuple(size), align_corners=align_corners)


def grid_sample(
    input: Any,
    grid: Any,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool = False,
) -> Any:
    """Elements at given places, interpolated.

    Args:
        input: Tensor (N, C, H, W) or (N, C, D, H, W)
        grid: Tensor (N, H', W', 2) or (N, D', H', W', 3) of places (x, y, ...), from -1 to 1
        mode: "bilinear", "nearest" or "bicubic"
        padding_mode: what is outside: "zeros", "border" or "reflection"
        align_corners: whether -1 and 1 are the centres of the outermost elements; default False

    Returns:
        Tensor (N, C, H', W') or (N, C, D', H', W')

    Raises:
        RuntimeError, ValueError: the shapes do not match, or a mode is unknown.

    Example:
        >>> import oneflow as flow
        >>> x, grid = flow.tensor([[[[1.0, 2.0]]]]), flow.tensor([[[[0.0, 0.0]]]])
        >>> flow.nn.functional.grid_sample(x, grid)
        tensor([[[[1.5000]]]], dtype=oneflow.float32)

    Source: Jaderberg et al., "Spatial transformer networks", 2015.
    """
    return _C.grid_sample(
        input,
        grid,
        interpolation_mode=mode,
        padding_mode=padding_mode,
        align_corners=align_corners,
    )
