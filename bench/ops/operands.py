"""Operands of the case file: shapes and numbers, the same for every library."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

# (batch, channels, height, width), and the channels of filters, by elements.
_PICTURES = {
    1: (1, 1, 1, 1),
    256: (1, 4, 8, 8),
    16_384: (2, 8, 32, 32),
    262_144: (4, 64, 32, 32),
    4_194_304: (16, 64, 64, 64),
    16_777_216: (16, 256, 64, 64),
}
_HEADS = {256: (1, 1, 4, 64), 16_384: (1, 4, 64, 64), 262_144: (2, 8, 256, 64)}
_SEQUENCES = {256: (16, 1, 16), 16_384: (32, 8, 64), 262_144: (64, 16, 256)}


def shape(word: str, n: int) -> tuple[int, ...]:
    """The shape that a word of the case file stands for."""
    side = 2 ** (n.bit_length() // 2) if n > 1 else 1
    width = min(1024, max(1, n // 16))
    batch, channels, height, breadth = _PICTURES[n]
    k = math.isqrt(n)
    made: dict[str, tuple[int, ...]] = {
        "n": (n,),
        "square": (n // side, side),
        "square_back": (side, n // side),
        "square_wide": (n // max(2, side), max(2, side)) if n > 1 else (1, 2),
        "row": (side,),
        "column": (n // side,),
        "rows": (n // width, width),
        "width": (width,),
        "lines": (n // width,),
        "targets": (n // width,),
        "nchw": (batch, channels, height, breadth),
        "halved": (batch, channels, height // 2, breadth // 2),
        "channels": (channels,),
        "weight3": (channels, channels, 3, 3),
        "weight1": (channels, channels, 1, 1),
        "depthwise": (channels, 1, 3, 3),
        "k": (k,),
        "kk": (k, k),
        "batch": (16, max(1, k // 4), max(1, k // 4)),
        "heads": _HEADS.get(n, ()),
        "sequence": _SEQUENCES.get(n, ()),
    }
    return made[word]


def numbers(word: str, kind: str, n: int, rng: np.random.Generator) -> np.ndarray[Any, Any]:
    """The numbers of one operand."""
    size = shape(word, n)
    if word == "targets":
        return rng.integers(0, shape("width", n)[0], size)
    drawn: Any = {
        "positive": lambda: rng.uniform(0.1, 2.0, size),
        "unit": lambda: rng.uniform(0.0, 1.0, size),
        "ascending": lambda: np.sort(rng.uniform(-1.0, 1.0, size)),
        "int": lambda: rng.integers(0, 10, size),
        "index": lambda: rng.integers(0, size[0], size),
        "column": lambda: rng.integers(0, size[-1], size),
        "bool": lambda: rng.uniform(0.0, 1.0, size) < 0.5,
        "false": lambda: np.zeros(size, bool),
    }.get(kind, lambda: rng.uniform(-1.0, 1.0, size))()
    single = kind not in ("int", "index", "column", "bool", "false", "double")
    return np.asarray(drawn.astype(np.float32) if single else drawn)
