"""The first three steps of a case without dropout: what must be the same before anything is timed.

`record` runs them and says what came out; `differences` compares two records in float32, and
rounding.py does in bfloat16. A record is plain JSON:

    flops      of a step; None where the setting cannot be counted
    losses     of the steps, before each update; of inference the length of the scores
    sizes      elements of each parameter
    moments    for each step and parameter, of the optimizer's running mean of gradients: its length
               and its sketch, SKETCH numbers; of inference of `scores`, the result

A sketch gives each element a random sign, and adds up those whose places are equal modulo SKETCH.
The squared length of the difference of two sketches is, on average over the signs, that of the
moments themselves, within 50 % (one standard deviation); with up to SKETCH elements it is exact. So
a sign, a factor and a permutation show, at the cost of a few numbers for each parameter.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bench.models import flops, weights
from bench.models.cases import RESNETS, Case
from bench.models.task import Task

STEPS = 3
SKETCH = 8
Json = dict[str, Any]


@dataclass(frozen=True)
class Tolerance:
    """How far two records may differ.

    Attributes:
        loss: of a loss, relative.
        total: of the length of all moments together, relative.
        moment: of one parameter's moment, relative to its length.
        floor: share of the longest moment below which one counts as nothing: some gradients are 0
            but for rounding (a key's bias moves every score of a row alike).
    """

    loss: float
    total: float
    moment: float
    floor: float = 1e-5


def tolerance(case: Case) -> Tolerance:
    """What is asked of a case in float32: rounding differs, and batch norms amplify it."""
    if not case.trains:
        once = 5e-5 if case.model in RESNETS else 1e-5
        return Tolerance(once, once, once)
    if case.model == "resnet-tiny":
        return Tolerance(1e-5, 1e-5, 1e-3)
    return Tolerance(5e-5, 1e-3, 0.25) if case.model in RESNETS else Tolerance(1e-5, 1e-4, 2e-3)


def record(library: Any, setting: str, case: Case, count: bool = True) -> Json:
    """Runs the first steps.

    Args:
        library: the module `oneflow` or `torch`.
        setting: as for Task.
        case: what to train; inference has no steps to compare but its result.
        count: whether to count operations, which costs PyTorch another step.

    Returns:
        The record.
    """
    task = Task(library, case, setting, dropout=False)
    losses, moments = [], []
    sizes: dict[str, int] = {}
    for _ in range(STEPS if case.trains else 1):
        if case.trains:
            losses.append(task.step())
        found = task.moments() if case.trains else {"scores": task.scores().numpy()}
        sizes = {name: int(m.size) for name, m in found.items()}
        moments.append({name: _summary(name, m) for name, m in found.items()})
    if not case.trains:
        losses = [moments[0]["scores"][0]]
    return {
        "flops": _operations(library, setting, case, task) if count else None,
        "losses": losses,
        "sizes": sizes,
        "moments": moments,
    }


def _operations(library: Any, setting: str, case: Case, task: Task) -> int | None:
    if library.__name__ == "torch":
        return flops.of_torch(task.step) if setting != "compile" else None
    text = task.graph_text() if setting == "graph" else ""
    return flops.of_graph(text) if text else None


def _summary(name: str, moment: Any) -> list[float]:
    """Length and sketch."""
    flat = moment.astype(np.float64).ravel()
    signs = weights.rng_of(name, seed=1).integers(0, 2, flat.size, dtype=np.int8)
    signed = np.zeros(-(-flat.size // SKETCH) * SKETCH)
    signed[: flat.size] = np.where(signs == 1, flat, -flat)
    return [float(np.linalg.norm(flat)), *signed.reshape(-1, SKETCH).sum(axis=0).tolist()]


def differences(got: Mapping[str, Any], want: Mapping[str, Any], allowed: Tolerance) -> list[str]:
    """What differs by more than is allowed, in words; empty when nothing does.

    Args:
        got, want: records. Operations are compared where both have a count.
        allowed: how far apart they may be.
    """
    found, comparable = odd_shape(got, want)
    if not comparable:
        return found
    for step, (a, b) in enumerate(zip(got["losses"], want["losses"])):
        if not abs(a - b) <= allowed.loss * abs(b):
            found.append(f"loss of step {step + 1}: {a:.7g} and {b:.7g}")
    for step, (a, b) in enumerate(zip(got["moments"], want["moments"])):
        found += _moment_differences(step + 1, a, b, allowed)
    return found


def odd_shape(got: Mapping[str, Any], want: Mapping[str, Any]) -> tuple[list[str], bool]:
    """Where records differ in what they are of, and whether their numbers can be compared."""
    found = []
    if None not in (got["flops"], want["flops"]) and got["flops"] != want["flops"]:
        found.append(f"operations of a step: {got['flops']:,} and {want['flops']:,}")
    counts = [[len(x["losses"]), len(x["moments"])] for x in (got, want)]
    if counts[0] != counts[1]:
        return [*found, f"steps: {counts[0][0]} and {counts[1][0]}"], False
    for a, b in zip(got["moments"], want["moments"]):
        if a.keys() != b.keys():
            odd = sorted(a.keys() ^ b.keys())
            text = f"parameters: {odd[0]} and {len(odd) - 1} more are on one side only"
            return [*found, text], False
    return found, True


def _moment_differences(
    step: int,
    got: Mapping[str, list[float]],
    want: Mapping[str, list[float]],
    allowed: Tolerance,
) -> list[str]:
    a, b = total(got), total(want)
    found = []
    if not abs(a - b) <= allowed.total * b:
        found.append(f"gradients to step {step}: {a:.5g} and {b:.5g} long")
    for name, share in distances(got, want, allowed.floor).items():
        if not share <= allowed.moment:
            found.append(f"gradients to step {step}: {name} differs by {share:.2g} of its length")
    return found


def total(moments: Mapping[str, list[float]]) -> float:
    """The length of all moments of a step together."""
    return math.sqrt(sum(numbers[0] ** 2 for numbers in moments.values()))


def apart(a: Sequence[float], b: Sequence[float]) -> float:
    """The length of the difference of two moments, by their sketches."""
    return math.dist(a[1:], b[1:])


def distances(
    got: Mapping[str, list[float]], want: Mapping[str, list[float]], floor: float
) -> dict[str, float]:
    """How far each moment of a step is from what is wanted, relative to its length."""
    longest = max(numbers[0] for numbers in want.values())
    return {
        name: apart(got[name], numbers) / max(numbers[0], floor * longest)
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
