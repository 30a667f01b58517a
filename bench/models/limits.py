"""What a step of a case needs at least, from its shapes: products for limits.cc, and memory
traffic.

The traffic is that of all layers but convolutions and products, with everything fused that can be:
each reads what it needs and writes what it makes once. Statistics of a norm need a pass of their
own before the one that uses them. Divided by the machine's bandwidth it is the time that these
layers take at least, as far as no cache holds their data.
"""

from __future__ import annotations

from collections.abc import Iterator

from bench.models import resnet
from bench.models.cases import RESNETS, Case

BYTES = {"fp32": 4, "bf16": 2}


def spec(cases: list[Case]) -> str:
    """The text that limits.cc reads; a metric for each case, named like it."""
    return "".join(f"metric {case}\n{''.join(_lines(case))}" for case in cases)


def _lines(case: Case) -> list[str]:
    lines = _convolutions(case) if case.model in RESNETS else []
    return lines + [
        f"matmul {case.dtype} {batch} {m} {k} {n} {count}\n"
        for (batch, m, k, n), count in _products(case).items()
    ]


def convolutions(
    config: resnet.Config,
) -> Iterator[tuple[int, int, int, int, int]]:
    """Inputs, outputs, size of the input, kernel and stride of each convolution, in order.

    >>> from bench.models.resnet import RESNET50
    >>> len(list(convolutions(RESNET50))), next(convolutions(RESNET50))
    (53, (3, 64, 224, 7, 2))
    """
    kernel, stride = (3, 1) if config.small else (7, 2)
    yield config.channels, config.width, config.size, kernel, stride
    size = config.size if config.small else config.size // 4
    inputs = config.width
    for stage, count in enumerate(config.layers):
        width = config.width * 2**stage
        outputs = width * config.expansion
        for index in range(count):
            stride = 2 if stage > 0 and index == 0 else 1
            if config.bottleneck:
                yield inputs, width, size, 1, 1
                yield width, width, size, 3, stride
                yield width, outputs, size // stride, 1, 1
            else:
                yield inputs, outputs, size, 3, stride
                yield outputs, outputs, size // stride, 3, 1
            if stride != 1 or inputs != outputs:
                yield inputs, outputs, size, 1, stride
            inputs, size = outputs, size // stride


def _convolutions(case: Case) -> list[str]:
    counts: dict[tuple[int, int, int, int, int], int] = {}
    for shape in convolutions(case.pictures()):
        counts[shape] = counts.get(shape, 0) + 1
    lines = []
    for number, (shape, count) in enumerate(counts.items()):
        # Nobody asks for the gradient of the pictures.
        passes = "f" if not case.trains else "fw" if number == 0 else "fdw"
        sizes = " ".join(map(str, shape))
        lines.append(f"conv {case.dtype} {case.batch} {sizes} {count} {passes}\n")
    return lines


def _products(case: Case) -> dict[tuple[int, int, int, int], int]:
    """Batch, m, k, n of each product, and how often it occurs."""
    found: dict[tuple[int, int, int, int], int] = {}

    def product(batch: int, m: int, k: int, n: int, count: int) -> None:
        found[batch, m, k, n] = found.get((batch, m, k, n), 0) + count
        if case.trains:
            for back in ((batch, m, n, k), (batch, k, m, n)):
                found[back] = found.get(back, 0) + count

    if case.model in RESNETS:
        config = case.pictures()
        product(1, case.batch, config.width * 8 * config.expansion, config.classes, 1)
        return found
    c = case.text()
    rows, pairs = case.batch * case.sequence, case.batch * c.heads
    product(1, rows, c.width, c.width, 4 * c.layers + 1)
    product(1, rows, c.width, 4 * c.width, c.layers)
    product(1, rows, 4 * c.width, c.width, c.layers)
    product(pairs, case.sequence, c.width // c.heads, case.sequence, c.layers)
    product(pairs, case.sequence, case.sequence, c.width // c.heads, c.layers)
    product(1, rows, c.width, c.words, 1)
    product(1, case.batch, c.width, c.width, 1)
    product(1, case.batch, c.width, 2, 1)
    return found


def traffic(case: Case) -> int:
    """Bytes that the other layers of a step move at least."""
    return _pictures(case) if case.model in RESNETS else _text(case)


def _pictures(case: Case) -> int:
    """Batch norms with their relu and addition, the pooling at the entry, and SGD with momentum."""
    config, width = case.pictures(), BYTES[case.dtype]
    each = [
        case.batch * outputs * (size // stride) ** 2
        for _, outputs, size, _, stride in convolutions(config)
    ]
    if not case.trains:
        # Norms are folded into convolutions: each block adds, which reads what goes past.
        return width * (_past(case) + 2 * each[0])
    # Forward: read twice, write. Backward: read the gradient and the input twice, write.
    norms = (3 + 5) * sum(each)
    # Forward each block reads what goes past; backward it adds two gradients.
    adds = (1 + 3) * _past(case)
    pooling = 0 if config.small else 2 * (each[0] + each[0] // 4)
    return width * (norms + adds + pooling) + 5 * 4 * weights(case)


def _past(case: Case) -> int:
    """Elements of the results of all blocks of a network for pictures."""
    config = case.pictures()
    size = config.size if config.small else config.size // 4
    total = 0
    for stage, count in enumerate(config.layers):
        size = size // 2 if stage else size
        total += count * case.batch * config.width * 2**stage * config.expansion * size * size
    return total


def _text(case: Case) -> int:
    """Layer norms with dropout and addition, gelu, the losses, and AdamW.

    Attention needs nothing: its scores need not leave the caches.
    """
    c, width = case.text(), BYTES[case.dtype]
    one = case.batch * case.sequence * c.width
    scores = case.batch * case.sequence * c.words
    # Read the result and what goes past, write the sum's norm; a gelu of 4 widths.
    forward = c.layers * (2 * 3 * one + 2 * 4 * one) + 3 * one + scores
    if not case.trains:
        return width * forward
    # Read the gradient and the norm's input, write; a gelu reads two and writes one.
    backward = c.layers * (2 * 3 * one + 3 * 4 * one) + 3 * one + scores
    return width * (forward + backward) + 7 * 4 * weights(case)


def weights(case: Case) -> int:
    """Parameters of a model.

    >>> weights(Case("resnet50", 1)), weights(Case("bert-base", 1, 128))
    (25557032, 110106428)
    """
    if case.model in RESNETS:
        config = case.pictures()
        total = config.classes * (config.width * 8 * config.expansion + 1)
        for inputs, outputs, _, kernel, _ in convolutions(config):
            total += outputs * (inputs * kernel * kernel + 2)
        return total
    c = case.text()
    layer = 12 * c.width**2 + 13 * c.width
    embeddings = (c.words + c.places + 2 + 2) * c.width
    heads = 2 * (c.width + 1) * c.width + 2 * c.width + c.words + 2 * (c.width + 1)
    return c.layers * layer + embeddings + heads
