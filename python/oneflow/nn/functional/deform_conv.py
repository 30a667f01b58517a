"""Deformable convolution."""

from __future__ import annotations

from typing import Any

from oneflow import _oneflow_internal
from oneflow.framework import creation
from oneflow.nn.modules.utils import ntuple

_C = _oneflow_internal._C


def _offset_groups(input: Any, offset: Any, weight: Any, mask: Any) -> int:
    """How many groups of channels have shifts of their own; RuntimeError for wrong shapes."""
    named = [("input", input), ("offset", offset), ("weight", weight), ("mask", mask)]
    for name, tensor in named:
        if tensor is not None and tensor.ndim != 4:
            raise RuntimeError(
                f"[deform_conv2d] expects {name} with 4 dims, got shape {tuple(tensor.shape)}"
            )
    elements = weight.shape[2] * weight.shape[3]
    groups = offset.shape[1] // (2 * elements)
    if groups == 0 or offset.shape[1] % (2 * elements):
        raise RuntimeError(
            f"[deform_conv2d] expects offset with a multiple of {2 * elements} channels (two for "
            f"each element of the window), got shape {tuple(offset.shape)}"
        )
    return int(groups)


def deform_conv2d(
    input: Any,
    offset: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = (1, 1),
    padding: Any = (0, 0),
    dilation: Any = (1, 1),
    mask: Any = None,
) -> Any:
    """Convolution whose windows take their elements from places that are shifted.

    Args:
        input: Tensor (N, C, H, W)
        offset: Tensor (N, 2 * offset groups * kernel elements, H', W'), the shifts (y, x)
        weight: Tensor (out, C / groups, kernel height, width)
        bias: Tensor (out,) or None
        stride, padding, dilation: an int or two
        mask: Tensor (N, offset groups * kernel elements, H', W'), factors, or None for ones

    Returns:
        Tensor (N, out, H', W')

    Raises:
        RuntimeError: the shapes do not match.

    Example:
        >>> import oneflow as flow
        >>> x, weight = flow.ones(1, 1, 3, 3), flow.ones(1, 1, 2, 2)
        >>> flow.nn.functional.deform_conv2d(x, flow.zeros(1, 8, 2, 2), weight)
        tensor([[[[4., 4.],
                  [4., 4.]]]], dtype=oneflow.float32)

    Source: Zhu et al., "Deformable ConvNets v2", 2019.
    """
    offset_groups = _offset_groups(input, offset, weight, mask)
    groups = input.shape[1] // weight.shape[1]
    factors = mask
    if mask is None:
        factors = creation.zeros(input.shape[0], 0, dtype=input.dtype, device=input.device)
    step, pads, spread = (
        ntuple("deform_conv2d", name, value, 2)
        for name, value in (("stride", stride), ("padding", padding), ("dilation", dilation))
    )
    return _C.deform_conv2d(
        input, weight, offset, factors, bias, *step, *pads, *spread, groups, offset_groups,
        mask is not None,
    )  # fmt: skip
