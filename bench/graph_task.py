"""What the graphs' benchmark trains: the digits task, and weights of a convolutional network."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bench import digits_reference as reference

Array = npt.NDArray[Any]

# Of the network in examples/digits: name in its state_dict, shape; a bias has its weight's length.
WEIGHTS = {"0": (32, 1, 3, 3), "2": (64, 32, 3, 3), "7": (128, 1024), "10": (10, 128)}
_PREFIX = "convolutions."


@dataclass(frozen=True)
class Task:
    """What is trained on, the same for every variant.

    Attributes:
        digits: batches, and the perceptron's weights.
        convolutions: a state_dict of float32 arrays.
    """

    digits: reference.Task
    convolutions: dict[str, Array]

    def save(self, path: Path) -> None:
        """Writes the task for the measured processes; :func:`load` reads it."""
        arrays: dict[str, Any] = self.digits.arrays()
        arrays |= {_PREFIX + name: array for name, array in self.convolutions.items()}
        np.savez(path, **arrays)


def load(path: Path) -> Task:
    """Reads what :meth:`Task.save` wrote; nothing in the file is executed."""
    digits = reference.load(path)
    with np.load(path, allow_pickle=False) as data:
        names = [name for name in data.files if name.startswith(_PREFIX)]
        return Task(digits, {name[len(_PREFIX) :]: data[name] for name in names})


def make_convolutions(seed: int = 1) -> dict[str, Array]:
    """Weights as the layers draw theirs: uniform, bounded by one over the root of what comes in.

    >>> make_convolutions()["0.weight"].shape
    (32, 1, 3, 3)
    """
    rng = np.random.default_rng(seed)
    state = {}
    for name, shape in WEIGHTS.items():
        bound = 1.0 / np.sqrt(np.prod(shape[1:]))
        for part, size in (("weight", shape), ("bias", shape[:1])):
            state[f"{name}.{part}"] = rng.uniform(-bound, bound, size).astype(np.float32)
    return state
