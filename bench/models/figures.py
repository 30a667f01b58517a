"""From rounds to the rows of the report. Pure: the same rounds give the same rows.

A speed is the reference's time over the candidate's in the same round, above 1 is faster; a row
shows the Hodges-Lehmann estimate over rounds. With at least 6 rounds the interval is the
bootstrap's at 95 %; with fewer it is the range of the rounds, which says more than a made-up
confidence would.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from bench.harness.estimate import bootstrap_interval, hodges_lehmann
from bench.models import limits
from bench.models.cases import Case
from bench.models.rounds import ALONE

Json = dict[str, Any]

# A control that is off by more than this, and by more than its own interval, makes a row invalid.
CONTROL_TOLERANCE = 0.02
BOOTSTRAP_FROM = 6
MET, MISSED, OPEN, INVALID = "met", "missed", "undecided", "host invalid"

# PyTorch's setting that is no eager one.
COMPILED = "PyTorch compiled"

# The project's targets (two cores): speed against PyTorch's fastest eager setting, against the
# compiled one, and time over the time of the convolutions alone, by mode.
_SPEEDS: dict[tuple[str, str, str], dict[str, float]] = {
    ("resnet50", "fp32", "train"): {"graph": 1.10, "eager": 0.95},
    ("resnet50", "bf16", "train"): {"graph": 1.15, "eager": 1.0},
    ("resnet50", "fp32", "inference"): {"graph": 1.3, "eager": 1.1},
    ("bert-base", "fp32", "train"): {"graph": 1.2, "eager": 1.1},
    ("bert-large", "fp32", "train"): {"graph": 1.2, "eager": 1.1},
    ("bert-base", "bf16", "train"): {"graph": 1.25, "eager": 1.1},
    ("bert-large", "bf16", "train"): {"graph": 1.25, "eager": 1.1},
}
_COMPILED: dict[tuple[str, str, str], dict[str, float]] = {
    ("resnet50", "fp32", "inference"): {"graph": 1.0},
}
_ALONE = {16: 1.25, 8: 1.3, 4: 1.35, 2: 1.4, 1: 1.45}
_ALONE_EAGER = 1.5
_MEMORY = {"graph": 0.9, "eager": 1.0}


def target_speed(case: Case, mode: str, compiled: bool = False) -> float | None:
    """What a mode should reach against PyTorch; None where nothing was promised.

    >>> target_speed(Case("resnet50", 1, phase="inference"), "graph", compiled=True)
    1.0
    """
    targets = _COMPILED if compiled else _SPEEDS
    return targets.get((case.model, case.dtype, case.phase), {}).get(mode)


def eager_reference(references: Sequence[str]) -> str:
    """The reference that targets of speed and memory mean: the first that is no compiled one; of
    those alone the first; "" without any.

    >>> eager_reference([COMPILED, "PyTorch fast", "PyTorch"])
    'PyTorch fast'
    """
    eager = [name for name in references if name != COMPILED]
    return next(iter([*eager, *references]), "")


def target_alone(case: Case, mode: str) -> float | None:
    """How many times the convolutions' own time a step may take; None where nothing was promised.

    >>> target_alone(Case("resnet50", 4), "graph")
    1.35
    """
    if (case.model, case.dtype, case.phase) != ("resnet50", "fp32", "train"):
        return None
    return _ALONE_EAGER if mode == "eager" else _ALONE.get(case.batch)


def target_memory(case: Case, mode: str) -> float | None:
    """Peak bytes over PyTorch's; None below batch 4 of pictures, for inference and toys."""
    promised = (case.model, case.dtype, case.phase) in _SPEEDS and case.trains
    if not promised or (case.model == "resnet50" and case.batch < 4):
        return None
    return _MEMORY.get(mode)


def times(rounds: Sequence[Json], metric: str, variant: str) -> dict[int, float]:
    """Seconds of a metric by round: the median of the process's samples."""
    found = {}
    for item in rounds:
        line = item["runs"].get(variant, {}).get("metrics", {}).get(metric)
        if line is not None:
            found[item["round"]] = median(line["samples"])
    return found


def ratio(over: Mapping[int, float], under: Mapping[int, float]) -> Json | None:
    """The ratio of two figures over the rounds that have both; None if there is no such round.

    >>> ratio({0: 3.0, 1: 3.0}, {0: 2.0, 1: 2.0})
    {'value': 1.5, 'low': 1.5, 'high': 1.5, 'rounds': 2}
    """
    logs = [math.log(over[i] / under[i]) for i in sorted(over.keys() & under.keys())]
    if not logs:
        return None
    low, high = min(logs), max(logs)
    if len(logs) >= BOOTSTRAP_FROM:
        found = bootstrap_interval(logs, 0.95)
        low, high = found.low, found.high
    value = [round(math.exp(x), 4) for x in (hodges_lehmann(logs), low, high)]
    return {"value": value[0], "low": value[1], "high": value[2], "rounds": len(logs)}


def control_agrees(control: Json | None) -> bool | None:
    """Whether a program was as fast as itself; None where it was not measured twice."""
    if control is None:
        return None
    outside = control["low"] > 1.0 or control["high"] < 1.0
    return not (outside and abs(control["value"] - 1.0) > CONTROL_TOLERANCE)


def state(found: Json | None, target: float | None, *, below: bool, valid: bool | None) -> str:
    """Whether a target is met by the whole interval of a ratio.

    Args:
        found: a ratio.
        target: to compare with; None gives "".
        below: whether the ratio should be at most the target, else at least.
        valid: what the control says.
    """
    if target is None or found is None:
        return ""
    if valid is False:
        return INVALID
    low, high = (found["low"], found["high"]) if not below else (-found["high"], -found["low"])
    want = target if not below else -target
    return MET if low >= want else MISSED if high < want else OPEN


def make_row(
    case: Case,
    rounds: Sequence[Json],
    modes: Sequence[str],
    references: Sequence[str],
    peaks: Mapping[str, Mapping[str, int]],
) -> Json:
    """A row of the report.

    Args:
        case: whose.
        rounds: the harness's.
        modes: variants of ours; one called `MODE again` is its control.
        references: variants of PyTorch, faster ones first.
        peaks: bytes, by variant and case.

    Returns:
        JSON values: `seconds` and `mib` by variant; `alone` (seconds) and `traffic` (seconds) the
        limits; for each mode `speed` by reference, `over_alone`, `memory`, each with its target's
        state.
    """
    metric = str(case)
    variants = [*modes, *references]
    by_variant = {v: times(rounds, metric, v) for v in variants}
    alone, bandwidth = times(rounds, metric, ALONE), times(rounds, "bandwidth", ALONE)
    mib = {v: _mib(case, rounds, v, peaks) for v in variants}
    row: Json = {
        "case": metric,
        "title": case.title(),
        "seconds": {v: median(t.values()) if t else None for v, t in by_variant.items()},
        "mib": mib,
        "alone": median(alone.values()) if alone else None,
        "traffic": None,
        "modes": {},
    }
    if bandwidth:
        row["traffic"] = limits.traffic(case) / (median(bandwidth.values()) * 1e9)
        row["bandwidth"] = median(bandwidth.values())
    for mode in modes:
        control = ratio(times(rounds, metric, f"{mode} again"), by_variant[mode])
        row["modes"][mode] = _mode(case, mode, by_variant, references, alone, mib, control)
    return row


def _mode(
    case: Case,
    mode: str,
    by_variant: Mapping[str, Mapping[int, float]],
    references: Sequence[str],
    alone: Mapping[int, float],
    mib: Mapping[str, float | None],
    control: Json | None,
) -> Json:
    valid = control_agrees(control)
    out: Json = {"control": control, "valid": valid, "speed": {}}
    anchor = eager_reference(references)
    for name in references:
        found = ratio(by_variant[name], by_variant[mode])
        target = None
        if name in (anchor, COMPILED):
            target = target_speed(case, mode, name == COMPILED)
        reached = state(found, target, below=False, valid=valid)
        out["speed"][name] = {"ratio": found, "target": target, "state": reached}
    found, most = ratio(by_variant[mode], alone), target_alone(case, mode)
    reached = state(found, most, below=True, valid=valid)
    out["over_alone"] = {"ratio": found, "target": most, "state": reached}
    ours, theirs = mib[mode], mib.get(anchor)
    share = round(ours / theirs, 4) if ours and theirs else None
    most = target_memory(case, mode)
    reached = ""
    if share is not None and most is not None:
        reached = MET if share <= most else MISSED
    out["memory"] = {"ratio": share, "target": most, "state": reached}
    return out


def _mib(
    case: Case, rounds: Sequence[Json], variant: str, peaks: Mapping[str, Mapping[str, int]]
) -> float | None:
    """Peak MiB: of the timed processes, or what was found before them."""
    lines = [
        item["runs"][variant]["metrics"][str(case)]
        for item in rounds
        if str(case) in item["runs"].get(variant, {}).get("metrics", {})
    ]
    held = [line["peak_allocator_bytes"] for line in lines if "peak_allocator_bytes" in line]
    if not held and str(case) in peaks.get(variant, {}):
        held = [peaks[variant][str(case)]]
    return median(held) / 2**20 if held else None
