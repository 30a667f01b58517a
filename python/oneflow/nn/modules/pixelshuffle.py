"""Pixel shuffle."""

from __future__ import annotations

from typing import Any

from oneflow import _oneflow_internal
from oneflow.nn.modules.module import Module
from oneflow.nn.modules.utils import check_count

_C = _oneflow_internal._C


class PixelShuffle(Module):
    """Turns channels into a finer picture: (N, C * h * w, H, W) into (N, C, H * h, W * w).

    Args:
        upscale_factor: h and w
        h_upscale_factor, w_upscale_factor: instead: each by itself

    Shapes: input (N, C * h * w, H, W), result (N, C, H * h, W * w)

    Raises:
        ValueError: both or none are given, or one is below 1.
        RuntimeError: the input's channels are no multiple of h * w.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.PixelShuffle(2)(flow.arange(4).reshape(1, 4, 1, 1))
        tensor([[[[0, 1],
                  [2, 3]]]], dtype=oneflow.int64)

    Source: Shi et al., "Efficient sub-pixel convolutional neural network", 2016.
    """

    def __init__(
        self,
        upscale_factor: int | None = None,
        h_upscale_factor: int | None = None,
        w_upscale_factor: int | None = None,
    ) -> None:
        super().__init__()
        both = (h_upscale_factor, w_upscale_factor)
        if upscale_factor is not None:
            if both != (None, None):
                raise ValueError(
                    "[PixelShuffle] expects upscale_factor alone, got h_upscale_factor or "
                    "w_upscale_factor beside it"
                )
            both = (upscale_factor, upscale_factor)
        check_count("PixelShuffle", "h_upscale_factor", both[0])
        check_count("PixelShuffle", "w_upscale_factor", both[1])
        self.h_upscale_factor, self.w_upscale_factor = both

    def forward(self, input: Any) -> Any:
        """Input: Tensor (N, C * h * w, H, W); result: Tensor (N, C, H * h, W * w)."""
        return _C.pixel_shuffle(input, self.h_upscale_factor, self.w_upscale_factor)

    def extra_repr(self) -> str:
        """The settings."""
        return f"w_upscale_factor={self.w_upscale_factor}, h_upscale_factor={self.h_upscale_factor}"


PixelShufflev2 = PixelShuffle
