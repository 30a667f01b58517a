"""The first three steps of a case without dropout: what must be the same before anything is timed.

`record` runs them and says what came out; `differences` compares two records. A record is plain
JSON:

    flops      of a step; None where the setting cannot be counted
    losses     of the steps, before each update
    moments    for each step and parameter, of the optimizer's running mean of gradients: its
    length, and its
               products with two vectors of random signs, so that a permutation or a sign shows, too
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bench.models import flops, weights
from bench.models.cases import RESNETS, Case
from bench.models.task import Task

STEPS = 3
Json = dict[str, Any]


@dataclass(frozen=True)
class Tolerance:
    """How far two records may differ.

    Attributes:
        loss: of a loss, relative.
        total: of the length of all moments together, relative.
        moment: of one parameter's moment, relative to its length; None compares no single ones.
        floor: share of the longest moment below which one counts as nothing: some gradients are 0
            but for rounding (a key's bias moves every score of a row alike).
    """

    loss: float
    total: float
    moment: float | None
    floor: float = 1e-5


def tolerance(case: Case) -> Tolerance:
    """What is asked of a case.

    Rounding makes the differences. Batch norms amplify it, and with bfloat16's 8 bits so much that
    PyTorch's own settings differ by more than the length of a small gradient: there the sums count.
    """
    if case.dtype == "bf16":
        pictures, text = Tolerance(2e-3, 1e-2, None), Tolerance(1e-3, 5e-3, 5e-2, 1e-3)
    else:
        pictures, text = Tolerance(5e-5, 1e-3, 0.25), Tolerance(1e-5, 1e-4, 2e-3)
        if case.model == "resnet-tiny":
            pictures = Tolerance(1e-5, 1e-5, 1e-3)
    return pictures if case.model in RESNETS else text


def record(library: Any, setting: str, case: Case, count: bool = True) -> Json:
    """Runs the first steps.

    Args:
        library: the module `oneflow` or `torch`.
        setting: as for Task.
        case: what to train; inference has no steps to compare but its result, which is the `loss`
            then.
        count: whether to count operations, which costs PyTorch another step.

    Returns:
        The record.
    """
    task = Task(library, case, setting, dropout=False)
    losses, moments = [], []
    for _ in range(STEPS if case.trains else 1):
        losses.append(task.step())
        if case.trains:
            moments.append({name: _summary(name, m) for name, m in task.moments().items()})
    return {
        "flops": _operations(library, setting, case, task) if count else None,
        "losses": losses,
        "moments": moments,
    }


def _operations(library: Any, setting: str, case: Case, task: Task) -> int | None:
    if library.__name__ == "torch":
        return flops.of_torch(task.step) if setting != "compile" else None
    text = task.graph_text() if setting == "graph" else ""
    return flops.of_graph(text) if text else None


def _summary(name: str, moment: Any) -> list[float]:
    flat = moment.astype(np.float64).ravel()
    rng = weights.rng_of(name, seed=1)
    signs = [rng.integers(0, 2, flat.size, dtype=np.int8) for _ in range(2)]
    return [
        float(np.linalg.norm(flat)),
        *(float(2.0 * flat[s == 1].sum() - flat.sum()) for s in signs),
    ]


def differences(got: Mapping[str, Any], want: Mapping[str, Any], allowed: Tolerance) -> list[str]:
    """What differs by more than is allowed, in words; empty when nothing does.

    Args:
        got, want: records. Operations are compared where both have a count.
        allowed: how far apart they may be.
    """
    found = []
    if None not in (got["flops"], want["flops"]) and got["flops"] != want["flops"]:
        found.append(f"operations of a step: {got['flops']:,} and {want['flops']:,}")
    if len(got["losses"]) != len(want["losses"]) or len(got["moments"]) != len(want["moments"]):
        return [*found, f"steps: {len(got['losses'])} and {len(want['losses'])}"]
    for step, (a, b) in enumerate(zip(got["losses"], want["losses"])):
        if not abs(a - b) <= allowed.loss * abs(b):
            found.append(f"loss of step {step + 1}: {a:.7g} and {b:.7g}")
    for step, (a, b) in enumerate(zip(got["moments"], want["moments"])):
        found += _moment_differences(step + 1, a, b, allowed)
    return found


def _moment_differences(
    step: int,
    got: Mapping[str, list[float]],
    want: Mapping[str, list[float]],
    allowed: Tolerance,
) -> list[str]:
    if got.keys() != want.keys():
        odd = sorted(got.keys() ^ want.keys())
        return [f"parameters: {odd[0]} and {len(odd) - 1} more are on one side only"]
    a, b = total(got), total(want)
    found = []
    if not abs(a - b) <= allowed.total * b:
        found.append(f"gradients to step {step}: {a:.5g} and {b:.5g} long")
    for name, apart in distances(got, want, allowed.floor).items():
        if allowed.moment is not None and not apart <= allowed.moment:
            found.append(f"gradients to step {step}: {name} differs by {apart:.2g} of its length")
    return found


def total(moments: Mapping[str, list[float]]) -> float:
    """The length of all moments of a step together."""
    return math.sqrt(sum(numbers[0] ** 2 for numbers in moments.values()))


def distances(
    got: Mapping[str, list[float]], want: Mapping[str, list[float]], floor: float
) -> dict[str, float]:
    """How far each moment of a step is from what is wanted, relative to its length."""
    longest = max(numbers[0] for numbers in want.values())
    return {
        name: max(abs(a - b) for a, b in zip(got[name], numbers)) / max(numbers[0], floor * longest)
        for name, numbers in want.items()
    }


def worst(got: Mapping[str, Any], want: Mapping[str, Any], floor: float = 1e-5) -> dict[str, float]:
    """The largest relative difference of a loss, of all moments of a step, and of a single one."""
    pairs = list(zip(got["moments"], want["moments"]))
    return {
        "loss": max(abs(a - b) / abs(b) for a, b in zip(got["losses"], want["losses"])),
        "total": max((abs(total(a) - total(b)) / total(b) for a, b in pairs), default=0.0),
        "moment": max((max(distances(a, b, floor).values()) for a, b in pairs), default=0.0),
    }
