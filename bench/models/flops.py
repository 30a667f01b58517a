"""Floating-point operations of a step: what products and convolutions of the mathematics take.

A multiplication and an addition are two operations. Counted on both sides from what was dispatched:
ours from the text of a traced graph, which lists every op before any pass; PyTorch's by its own
FlopCounterMode. Attention counts as its two products forward and four backward, whether scores are
kept or computed anew. Elementwise work is not counted.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

Shape = tuple[int, ...]

# %7 = linear(%1, %2, none) : float32 (2, 4) cpu:0  # line
_NODE = re.compile(r"\s*(%\d+(?:, %\d+)*)? ?(=|<-) (\w+)\((.*?)\) : (.*)")
_GIVEN = re.compile(r"\s*(%\d+) = (?:input|captured|constant) '.*?' : (.*)")
_META = re.compile(r"\w+ \(([\d, ]*)\) \w+")
# Ops whose names speak of products. One that is neither counted below nor passed over is an error.
_SUSPECT = re.compile(
    r"conv|matmul|linear|attention|(?:^|_)(?:b?mm|mv|dot|lstm|gru|rnn|baddbmm|addmm|einsum)(?:_|$)"
)
_NO_PRODUCTS = frozenset({"upsample_linear_1d", "upsample_bilinear_2d"})


def _convolution(operands: list[Shape], outputs: list[Shape]) -> int:
    weight = operands[1]
    return 2 * math.prod(outputs[0]) * math.prod(weight[1:])


def _convolution_input_grad(operands: list[Shape], outputs: list[Shape]) -> int:
    grad, weight = operands[:2]
    return 2 * math.prod(grad) * math.prod(weight[1:])


def _convolution_weight_grad(operands: list[Shape], outputs: list[Shape]) -> int:
    return 2 * math.prod(operands[0]) * math.prod(outputs[0][1:])


def _product(operands: list[Shape], outputs: list[Shape]) -> int:
    return 2 * math.prod(outputs[0]) * operands[0][-1]


def _transposed_product(operands: list[Shape], outputs: list[Shape]) -> int:
    """A weight's gradient, dy (..., m) and x (..., n) to (m, n)."""
    return 2 * math.prod(operands[0]) * outputs[0][-1]


def _attention(operands: list[Shape], outputs: list[Shape]) -> int:
    """Of query, key, value, mask; or backward, of the gradient, those, and what forward left."""
    backward = len(outputs) == 3
    query, key, value = operands[1:4] if backward else operands[:3]
    once = 2 * math.prod(query[:-1]) * key[-2] * (query[-1] + value[-1])
    return 2 * once if backward else once


COUNTS: dict[str, Callable[[list[Shape], list[Shape]], int]] = {
    "convolution": _convolution,
    "convolution_input_grad": _convolution_input_grad,
    "convolution_weight_grad": _convolution_weight_grad,
    # What a pass makes of them: activations in blocks of 16 channels, as many elements.
    "blocked_convolution": _convolution,
    "blocked_convolution_input_grad": _convolution_input_grad,
    "blocked_convolution_weight_grad": _convolution_weight_grad,
    "linear": _product,
    "matmul": _product,
    "linear_weight_grad": _transposed_product,
    "scaled_dot_product_attention": _attention,
}


def of_graph(text: str) -> int:
    """Operations of a traced graph.

    Args:
        text: of `graph._graph_proto`: the trace before passes.

    Raises:
        ValueError: an op that computes products is not known here, or a line cannot be read.

    >>> of_graph("graph 'G_0':\\n  %0 = input 'x' : float32 (2, 3) cpu:0\\n"
    ...          "  %1 = captured 'w' : float32 (4, 3) cpu:0\\n"
    ...          "  %2 = linear(%0, %1, none) : float32 (2, 4) cpu:0\\n  return %2\\n")
    48
    """
    shapes: dict[str, Shape] = {}
    total = 0
    for line in text.splitlines()[1:]:
        if (given := _GIVEN.match(line)) is not None:
            shapes[given[1]] = _shapes(given[2])[0]
        elif (node := _NODE.match(line)) is not None:
            total += _count(node, shapes)
        elif line.strip() and not line.startswith("  return"):
            raise ValueError(f"[of_graph] cannot read the line {line!r}")
    return total


def _count(node: re.Match[str], shapes: dict[str, Shape]) -> int:
    name, outputs = node[3], _shapes(node[5])
    for value, shape in zip((node[1] or "").split(", "), outputs):
        shapes.setdefault(value, shape)
    if name not in COUNTS:
        if _SUSPECT.search(name) and name not in _NO_PRODUCTS:
            raise ValueError(f"[of_graph] does not know how many operations {name} takes")
        return 0
    operands = [shapes.get(value, ()) for value in node[4].split(", ")]
    return COUNTS[name](operands, outputs)


def _shapes(text: str) -> list[Shape]:
    """The shapes in a list of metas, without what follows it."""
    metas = text.split("  #")[0].split("; ")
    found = [_META.match(meta) for meta in metas]
    if None in found:
        raise ValueError(f"[of_graph] cannot read the shapes in {text!r}")
    return [tuple(int(n) for n in m[1].split(",") if n.strip()) for m in found if m is not None]


def of_torch(step: Callable[[], Any]) -> int:
    """Operations of a step of PyTorch.

    Attention runs as products of matrices meanwhile: the counter has no figure for the fused one.

    Args:
        step: called once.
    """
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.utils.flop_counter import FlopCounterMode

    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        step()
    del torch
    return int(counter.get_total_flops())
