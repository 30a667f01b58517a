"""What bfloat16 may change in the first steps: a small multiple of what it changes in PyTorch.

Two correct programs differ in bfloat16 by their rounding, and where a gradient is a sum that
cancels, the difference is as long as the gradient. So they are not compared with each other, but
each with the same steps in float32: a record may be no farther from that than the largest of

1. MULTIPLE times as far as PyTorch's own record in bfloat16 is (of several settings the farthest).
   This is the measured size of the rounding of this model on these inputs, parameter by parameter.
2. For a moment: MULTIPLE times the typical rounding of PyTorch, in proportion to the parameter's
   accumulated length. A parameter of few elements has few roundings, which PyTorch's may miss by
   luck; its typical rounding is the median over all parameters of distance over accumulated length.
3. A floor of one rounding, u times the accumulated length, where u = 2^-8 is bfloat16's unit
   roundoff: 8 bits of significand, rounded to nearest.

The accumulated length. A bias' gradient sums rows, g = sum_i d_i; each d_i was rounded and is wrong
by up to u |d_i|, in its own direction: the error grows with u sqrt(sum_i |d_i|^2), however much the
d_i cancel in g itself. The weight of the same layer shows that length: each of its columns is
sum_i x_ij d_i, the same sum with x_ij for a factor, which has mean 0 and, after a norm, mean square
1. So each element of the bias accumulates as much as one of the weight has: the accumulated length
of a parameter is sqrt(its elements) times the largest root-mean-square element of the parameters
of its layer. Of a weight it is its own length.

A loss is a mean over n samples or words, each rounded in its own direction: its floor is
u |loss| / sqrt(n). The result of inference is one rounded number, n = 1. The floor of the length of
all moments together is u times that length.

What this cannot see: a fault that is smaller than MULTIPLE times the rounding. In text that is some
hundredths of a moment's length, so that a factor 2 in a single bias shows; behind the many batch
norms of ResNet-50 rounding alone is as long as some gradients, and the check in float32 must tell.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from bench.models import weights
from bench.models.cases import RESNETS, Case
from bench.models.first_steps import apart, odd_shape, total

UNIT = 2.0**-8
MULTIPLE = 3.0
Json = Mapping[str, Any]
Moments = Mapping[str, Sequence[float]]


@dataclass(frozen=True)
class Distances:
    """From a record to that in float32, or how far it may be; each for each step.

    Attributes:
        losses: of the losses.
        totals: of the lengths of all moments together.
        moments: of each parameter's moment.
    """

    losses: list[float]
    totals: list[float]
    moments: list[dict[str, float]]


def distances(got: Json, reference: Json) -> Distances:
    """How far a record is from the reference; both of the same parameters and steps."""
    pairs = list(zip(got["moments"], reference["moments"]))
    return Distances(
        [abs(a - b) for a, b in zip(got["losses"], reference["losses"])],
        [abs(total(a) - total(b)) for a, b in pairs],
        [{name: apart(a[name], numbers) for name, numbers in b.items()} for a, b in pairs],
    )


def accumulated(moments: Moments, sizes: Mapping[str, int]) -> dict[str, float]:
    """The accumulated length of each parameter of a step.

    >>> found = accumulated({"a.weight": [6.0], "a.bias": [0.1], "b": [2.0]},
    ...                     {"a.weight": 12, "a.bias": 3, "b": 5})
    >>> {name: round(length, 6) for name, length in found.items()}
    {'a.weight': 6.0, 'a.bias': 3.0, 'b': 2.0}
    """
    each: dict[str, float] = {}
    for name, numbers in moments.items():
        layer = name.rpartition(".")[0]
        each[layer] = max(each.get(layer, 0.0), numbers[0] / math.sqrt(sizes[name]))
    return {name: each[name.rpartition(".")[0]] * math.sqrt(sizes[name]) for name in moments}


def terms(case: Case) -> int:
    """Over how many samples or words a loss is the mean.

    >>> terms(Case("resnet50", 4)), terms(Case("bert-base", 2, 128))
    (4, 36)
    """
    if not case.trains:
        return 1
    return case.batch if case.model in RESNETS else weights.asked(case)


def limits(case: Case, reference: Json, peers: Sequence[Json]) -> Distances:
    """How far a record may be from the reference.

    Args:
        case: what was run.
        reference: the record in float32.
        peers: records in bfloat16 that are known to be right, one at least.
    """
    known = [distances(peer, reference) for peer in peers]
    one = UNIT / math.sqrt(terms(case))
    losses = [
        max(MULTIPLE * max(k.losses[step] for k in known), one * abs(loss))
        for step, loss in enumerate(reference["losses"])
    ]
    totals, moments = [], []
    for step, found in enumerate(reference["moments"]):
        farthest = max(k.totals[step] for k in known)
        totals.append(max(MULTIPLE * farthest, UNIT * total(found)))
        moments.append(_moment_limits(found, reference["sizes"], [k.moments[step] for k in known]))
    return Distances(losses, totals, moments)


def _moment_limits(
    found: Moments, sizes: Mapping[str, int], known: Sequence[Mapping[str, float]]
) -> dict[str, float]:
    lengths = accumulated(found, sizes)
    farthest = {name: max(k[name] for k in known) for name in found}
    usual = median([farthest[name] / length for name, length in lengths.items() if length] or [0.0])
    return {
        name: max(MULTIPLE * farthest[name], max(MULTIPLE * usual, UNIT) * lengths[name])
        for name in found
    }


def differences(got: Json, reference: Json, allowed: Distances) -> list[str]:
    """What is farther from float32 than is allowed, in words; empty when nothing is.

    Args:
        got: a record in bfloat16.
        reference: that in float32.
        allowed: what `limits` gives.
    """
    found, comparable = odd_shape(got, reference)
    if not comparable:
        return found
    have = distances(got, reference)
    for step, (far, most) in enumerate(zip(have.losses, allowed.losses), 1):
        if not far <= most:
            a, b = got["losses"][step - 1], reference["losses"][step - 1]
            found.append(f"loss of step {step}: {a:.7g}, in float32 {b:.7g}; allowed {most:.2g}")
    for step, (far, most) in enumerate(zip(have.totals, allowed.totals), 1):
        if not far <= most:
            text = f"{far:.2g} longer or shorter than in float32; allowed {most:.2g}"
            found.append(f"gradients to step {step}: {text}")
    for step, (fars, mosts) in enumerate(zip(have.moments, allowed.moments), 1):
        for name, far in fars.items():
            if not far <= mosts[name]:
                text = f"{name} is {far:.2g} from float32; allowed {mosts[name]:.2g}"
                found.append(f"gradients to step {step}: {text}")
    return found


def shares(got: Json, reference: Json, allowed: Distances) -> dict[str, float]:
    """The largest distance of a loss, of all moments and of a single one, as shares of what is
    allowed.
    """
    have = distances(got, reference)
    moments = [
        far / most[name]
        for fars, most in zip(have.moments, allowed.moments)
        for name, far in fars.items()
        if most[name]
    ]
    return {
        "loss": max(a / b for a, b in zip(have.losses, allowed.losses)),
        "total": max((a / b for a, b in zip(have.totals, allowed.totals)), default=0.0),
        "moment": max(moments, default=0.0),
    }
