"""Weights and inputs out of NumPy, from one seed: the same for every library.

Each parameter has a generator of its own, seeded by its name, so that neither the order of
parameters nor the presence of others matters.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from bench.models import bert
from bench.models.cases import BERTS, RESNETS, Case

Array = npt.NDArray[Any]
SEED = 7
# One position in seven is asked for, near BERT's 15 %.
ASKED = 7


def rng_of(name: str, seed: int = SEED) -> np.random.Generator:
    """The generator of a name.

    >>> int(rng_of("a").integers(100)) == int(rng_of("a").integers(100))
    True
    """
    return np.random.default_rng((seed, zlib.crc32(name.encode())))


def parameter(name: str, shape: tuple[int, ...], seed: int = SEED) -> Array:
    """The initial value of a parameter.

    Convolutions: normal, 2 / (outputs x kernel) its variance; matrices: normal, 0.02; scales of
    norms: near 1, and near 0.2 where a residual block ends, so that errors of rounding do not grow
    from block to block; shifts: near 0. Scales and shifts are not exactly so, that a parameter
    which is ignored or mistaken for another shows.

    Args:
        name: ends with `.weight` or `.bias`.
        shape: of the parameter.
        seed: of all parameters.

    Returns:
        float32.
    """
    rng = rng_of(name, seed)
    values = rng.standard_normal(shape, dtype=np.float32)
    if len(shape) == 4:
        return values * np.float32((2.0 / (shape[0] * shape[2] * shape[3])) ** 0.5)
    if len(shape) == 2:
        return values * np.float32(0.02)
    middle = 0.2 if name.endswith("bn3.weight") else float(name.endswith("weight"))
    return values * np.float32(0.02) + np.float32(middle)


def fill(library: Any, named: Iterable[tuple[str, Any]], seed: int = SEED) -> None:
    """Gives parameters their initial values.

    Args:
        library: the module `oneflow` or `torch`.
        named: what `named_parameters()` gives.
        seed: of all parameters.
    """
    with library.no_grad():
        for name, tensor in named:
            tensor.copy_(library.from_numpy(parameter(name, tuple(tensor.shape), seed)))


def asked(case: Case) -> int:
    """How many words of a batch of text are asked for."""
    return max(1, case.batch * case.sequence // ASKED)


def inputs(case: Case, number: int = 0, seed: int = SEED) -> list[Array]:
    """What a model reads, by the case and the number of the batch.

    Returns:
        Pictures: (n, channels, size, size) float32 and classes (n,) int64. Text: words, kinds and
        labels (n, length), follows (n,), int64.
    """
    rng = rng_of(f"{case.model}/{case.batch}/{case.sequence}/{number}", seed)
    if case.model in RESNETS:
        shape = RESNETS[case.model]
        pictures = rng.standard_normal(
            (case.batch, shape.channels, shape.size, shape.size), dtype=np.float32
        )
        return [pictures, rng.integers(0, shape.classes, case.batch)]
    words = rng.integers(0, BERTS[case.model].words, (case.batch, case.sequence))
    labels = np.full_like(words, bert.IGNORED)
    places = rng.permutation(words.size)[: asked(case)]
    labels.ravel()[places] = words.ravel()[places]
    kinds = np.zeros_like(words)
    kinds[:, case.sequence // 2 :] = 1
    return [words, kinds, labels, rng.integers(0, 2, case.batch)]
