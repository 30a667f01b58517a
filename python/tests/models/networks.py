"""Four networks, for any library with PyTorch's API: `network(library, name)`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def lenet(library: Any) -> Any:
    """LeNet-5 for pictures of 28 x 28. Source: LeCun et al., Proceedings of the IEEE, 1998."""
    nn = library.nn
    return nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2),
        nn.Tanh(),
        nn.AvgPool2d(2),
        nn.Conv2d(6, 16, 5),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(400, 120),
        nn.Sigmoid(),
        nn.Linear(120, 84),
        nn.ReLU(),
        nn.Linear(84, 10),
    )


def resnet18(library: Any) -> Any:
    """ResNet-18. Source: He et al., "Deep residual learning for image recognition", CVPR 2016."""
    nn = library.nn

    class Block(nn.Module):  # type: ignore[name-defined]
        """Two convolutions, and the way past them."""

        def __init__(self, inputs: int, outputs: int, stride: int) -> None:
            super().__init__()
            self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
            self.bn1 = nn.BatchNorm2d(outputs)
            self.relu = nn.ReLU()
            self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
            self.bn2 = nn.BatchNorm2d(outputs)
            self.past = None
            if stride != 1 or inputs != outputs:
                self.past = nn.Sequential(
                    nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)
                )

        def forward(self, x: Any) -> Any:
            out = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
            return self.relu(out + (x if self.past is None else self.past(x)))

    layers = [
        nn.Conv2d(3, 64, 7, 2, 3, bias=False),
        nn.BatchNorm2d(64),
        nn.ReLU(),
        nn.MaxPool2d(3, 2, 1),
    ]
    inputs = 64
    for outputs, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        layers += [Block(inputs, outputs, stride), Block(outputs, outputs, 1)]
        inputs = outputs
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10))


def transformer(library: Any) -> Any:
    """Token and place embeddings, an encoder block, and a head over all places.

    Source: Vaswani et al., "Attention is all you need", NeurIPS 2017; the norms come first.
    """
    nn, width, heads, length, words = library.nn, 32, 4, 12, 50

    class Network(nn.Module):  # type: ignore[name-defined]
        """The block between its embeddings and its head."""

        def __init__(self) -> None:
            super().__init__()
            self.tokens = nn.Embedding(words, width)
            self.places = nn.Parameter(library.zeros(length, width))
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
            self.gelu = nn.GELU()
            self.head = nn.Linear(width, words)

        def attention(self, x: Any) -> Any:
            """Softmax of scores, in plain ops."""
            batch = x.shape[0]
            parts = self.qkv(x).reshape(batch, length, 3, heads, width // heads)
            q, k, v = (parts[:, :, i].transpose(1, 2) for i in range(3))
            scores = library.matmul(q, k.transpose(-2, -1)) * (width // heads) ** -0.5
            mixed = library.matmul(library.softmax(scores, -1), v)
            return self.out(mixed.transpose(1, 2).reshape(batch, length, width))

        def forward(self, x: Any) -> Any:
            hidden = self.tokens(x) + self.places
            hidden = hidden + self.attention(self.norm1(hidden))
            hidden = hidden + self.down(self.gelu(self.up(self.norm2(hidden))))
            return self.head(hidden).reshape(-1, words)

    return Network()


def lstm(library: Any) -> Any:
    """Two layers both ways, and a head on the last place."""
    nn = library.nn

    class Network(nn.Module):  # type: ignore[name-defined]
        """The recurrent part and its head."""

        def __init__(self) -> None:
            super().__init__()
            self.lstm = nn.LSTM(8, 16, num_layers=2, bidirectional=True, batch_first=True)
            self.head = nn.Linear(32, 5)

        def forward(self, x: Any) -> Any:
            out, _ = self.lstm(x)
            return self.head(out[:, -1])

    return Network()


NETWORKS: dict[str, Callable[[Any], Any]] = {
    "lenet": lenet,
    "resnet18": resnet18,
    "transformer": transformer,
    "lstm": lstm,
}
