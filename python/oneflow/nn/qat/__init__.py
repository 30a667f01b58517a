"""Layers for quantization-aware training."""

from oneflow.nn.qat.conv import QatConv1d, QatConv2d, QatConv3d

__all__ = ["QatConv1d", "QatConv2d", "QatConv3d"]
