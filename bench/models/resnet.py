"""Residual networks, for any library with PyTorch's API: `make(library, config)`.

Parameters have torchvision's and flowvision's names, so that their state dicts load. The stride of
a bottleneck is in its 3 x 3 convolution, as both libraries have it.

Source: He et al., "Deep residual learning for image recognition", CVPR 2016.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Config:
    """The shape of a network.

    Attributes:
        layers: blocks in each of the four stages.
        bottleneck: blocks of three convolutions that widen by 4, else of two.
        width: channels of the first stage.
        classes: length of the result.
        channels, size: of the pictures, which are square.
        small: a 3 x 3 convolution and no pooling at the entry, for pictures of few pixels.
    """

    layers: tuple[int, int, int, int]
    bottleneck: bool
    width: int = 64
    classes: int = 1000
    channels: int = 3
    size: int = 224
    small: bool = False

    @property
    def expansion(self) -> int:
        """How much wider a block's result is than its inside."""
        return 4 if self.bottleneck else 1


RESNET50 = Config((3, 4, 6, 3), bottleneck=True)
# The same kinds of layers, small enough for a test of seconds.
TINY = Config((1, 2, 1, 1), bottleneck=True, width=8, classes=10, size=64)


def make(library: Any, config: Config) -> Any:
    """The network with the library's own fresh weights.

    Args:
        library: the module `oneflow` or `torch`.
        config: its shape.

    Returns:
        A module: pictures (n, channels, size, size) in, scores (n, classes) out.
    """
    nn = library.nn
    block = _bottleneck(nn) if config.bottleneck else _basic(nn)

    class ResNet(nn.Module):  # type: ignore[name-defined]
        """Entry, four stages, mean over places, and a linear layer."""

        def __init__(self) -> None:
            super().__init__()
            kernel, stride = (3, 1) if config.small else (7, 2)
            self.conv1 = nn.Conv2d(
                config.channels, config.width, kernel, stride, kernel // 2, bias=False
            )
            self.bn1 = nn.BatchNorm2d(config.width)
            self.relu = nn.ReLU(inplace=True)
            self.maxpool = nn.Identity() if config.small else nn.MaxPool2d(3, 2, 1)
            self.inputs = config.width
            for stage, count in enumerate(config.layers):
                setattr(self, f"layer{stage + 1}", self._stage(stage, count))
            self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
            self.fc = nn.Linear(self.inputs, config.classes)

        def _stage(self, stage: int, count: int) -> Any:
            width, blocks = config.width * 2**stage, []
            for index in range(count):
                stride = 2 if stage > 0 and index == 0 else 1
                blocks.append(block(self.inputs, width, stride, config.expansion))
                self.inputs = width * config.expansion
            return nn.Sequential(*blocks)

        def forward(self, x: Any) -> Any:
            x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
            x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
            return self.fc(library.flatten(self.avgpool(x), 1))

    return ResNet()


def _past(nn: Any, inputs: int, outputs: int, stride: int) -> Any:
    """The way past a block where it changes the shape; None where it does not."""
    if stride == 1 and inputs == outputs:
        return None
    return nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))


def _bottleneck(nn: Any) -> Any:
    class Bottleneck(nn.Module):
        """Narrow by 1 x 1, convolve by 3 x 3, widen by 1 x 1; add the input."""

        def __init__(self, inputs: int, width: int, stride: int, expansion: int) -> None:
            super().__init__()
            outputs = width * expansion
            self.conv1 = nn.Conv2d(inputs, width, 1, bias=False)
            self.bn1 = nn.BatchNorm2d(width)
            self.conv2 = nn.Conv2d(width, width, 3, stride, 1, bias=False)
            self.bn2 = nn.BatchNorm2d(width)
            self.conv3 = nn.Conv2d(width, outputs, 1, bias=False)
            self.bn3 = nn.BatchNorm2d(outputs)
            self.relu = nn.ReLU(inplace=True)
            self.downsample = _past(nn, inputs, outputs, stride)

        def forward(self, x: Any) -> Any:
            y = self.relu(self.bn1(self.conv1(x)))
            y = self.relu(self.bn2(self.conv2(y)))
            y = self.bn3(self.conv3(y))
            y += x if self.downsample is None else self.downsample(x)
            return self.relu(y)

    return Bottleneck


def _basic(nn: Any) -> Any:
    class BasicBlock(nn.Module):
        """Two 3 x 3 convolutions; add the input."""

        def __init__(self, inputs: int, width: int, stride: int, expansion: int) -> None:
            super().__init__()
            outputs = width * expansion
            self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
            self.bn1 = nn.BatchNorm2d(outputs)
            self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
            self.bn2 = nn.BatchNorm2d(outputs)
            self.relu = nn.ReLU(inplace=True)
            self.downsample = _past(nn, inputs, outputs, stride)

        def forward(self, x: Any) -> Any:
            y = self.relu(self.bn1(self.conv1(x)))
            y = self.bn2(self.conv2(y))
            y += x if self.downsample is None else self.downsample(x)
            return self.relu(y)

    return BasicBlock
