"""Simulated hosts with known truth, for the tests of the statistics.

Each function returns log ratios of process pairs, one row for each simulated experiment.
"""

from __future__ import annotations

import numpy as np

from bench.harness.estimate import Floats

Rng = np.random.Generator


def normal_pairs(rng: Rng, experiments: int, pairs: int, shift: float = 0.0) -> Floats:
    """A well-behaved host."""
    return rng.normal(shift, 0.01, (experiments, pairs))


def heavy_pairs(rng: Rng, experiments: int, pairs: int, shift: float = 0.0) -> Floats:
    """A host that now and then is ten times as noisy (Student's t with 2 degrees of freedom)."""
    return shift + 0.01 * rng.standard_t(2, (experiments, pairs))


def skewed_pairs(rng: Rng, experiments: int, pairs: int, shift: float = 0.0) -> Floats:
    """Processes that can only be delayed, never hurried: each has an exponential delay."""
    delays = rng.exponential(0.01, (2, experiments, pairs))
    return np.asarray(shift + delays[0] - delays[1])


def drifting_pairs(rng: Rng, experiments: int, pairs: int, shift: float = 0.0) -> Floats:
    """A host whose speed wanders, and jumps by a tenth; rounds interleaved in random order."""
    mood = _moods(rng, experiments, 2 * pairs).reshape(experiments, pairs, 2)
    first = rng.integers(0, 2, (experiments, pairs))[..., None]
    candidate = np.take_along_axis(mood, first, 2)[..., 0] + shift
    return np.asarray(candidate - np.take_along_axis(mood, 1 - first, 2)[..., 0])


def drifting_blocks(rng: Rng, experiments: int, pairs: int) -> Floats:
    """The same host measured as one should not: all of one variant, then all of the other."""
    mood = _moods(rng, experiments, 2 * pairs)
    return np.asarray(mood[:, pairs:] - mood[:, :pairs])


def _moods(rng: Rng, experiments: int, processes: int) -> Floats:
    wander = np.cumsum(rng.normal(0.0, 0.003, (experiments, processes)), axis=1)
    jumps = np.cumsum(rng.random((experiments, processes)) < 0.03, axis=1) * 0.1
    return np.asarray(wander + jumps + rng.normal(0.0, 0.005, (experiments, processes)))


def steps_of_processes(rng: Rng, experiments: int, pairs: int, steps: int) -> Floats:
    """Log ratios of single steps, shape (experiments, pairs, steps): a process has its own luck."""
    luck = rng.normal(0.0, 0.01, (experiments, pairs, 1))
    return luck + rng.normal(0.0, 0.005, (experiments, pairs, steps))
