"""Enlarging and shrinking by interpolation, and by taking from the channels."""

from __future__ import annotations

from typing import Any

from oneflow import _oneflow_internal
from oneflow.nn import functional
from oneflow.nn.modules.module import Module

_C = _oneflow_internal._C


class Upsample(Module):
    """`functional.interpolate` with fixed settings.

    Args:
        size: the lengths of the result's spatial axes: an int, or one for each
        scale_factor: instead: by what they grow
        mode: "nearest", "linear", "bilinear", "bicubic", "trilinear" or "area"
        align_corners: whether the outermost elements keep their place; default None, for False

    Shapes: input and result (N, C, ...)

    Raises:
        ValueError: both or none of `size` and `scale_factor` are given.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.Upsample(scale_factor=2.0)(flow.tensor([[[[1.0, 2.0]]]]))
        tensor([[[[1., 1., 2., 2.],
                  [1., 1., 2., 2.]]]], dtype=oneflow.float32)
    """

    def __init__(
        self,
        size: Any = None,
        scale_factor: Any = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
    ) -> None:
        super().__init__()
        self.size = size
        self.scale_factor = scale_factor
        self.mode = mode
        self.align_corners = align_corners

    def forward(self, x: Any) -> Any:
        """Input and result: Tensor (N, C, ...)."""
        return functional.interpolate(
            x,
            size=self.size,
            scale_factor=self.scale_factor,
            mode=self.mode,
            align_corners=self.align_corners,
        )

    def extra_repr(self) -> str:
        """The settings."""
        if self.scale_factor is not None:
            return f"scale_factor={self.scale_factor}, mode={self.mode}"
        return f"size={self.size}, mode={self.mode}"


class UpsamplingNearest2d(Upsample):
    """Enlarges the last two axes by repeating elements.

    Args:
        size: the result's lengths: an int or two
        scale_factor: instead: by what they grow

    Shapes: input and result (N, C, H, W)

    Example:
        >>> import oneflow as flow
        >>> flow.nn.UpsamplingNearest2d(scale_factor=2.0)(flow.ones(1, 1, 2, 3)).shape
        oneflow.Size([1, 1, 4, 6])
    """

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """Enlarges the last two axes by straight lines between elements; corners keep their place.

    Args:
        size: the result's lengths: an int or two
        scale_factor: instead: by what they grow

    Shapes: input and result (N, C, H, W)

    Example:
        >>> import oneflow as flow
        >>> flow.nn.UpsamplingBilinear2d((1, 3))(flow.tensor([[[[1.0, 2.0]]]]))
        tensor([[[[1.0000, 1.5000, 2.0000]]]], dtype=oneflow.float32)
    """

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)
