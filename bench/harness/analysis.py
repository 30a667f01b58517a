"""From what the processes delivered to the rows of the report. Pure, and deterministic.

The same plan and rounds give the same rows, so a result can be judged again, elsewhere or later.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from bench.harness.estimate import log_ratios, spread
from bench.harness.plan import CONTROL, GATE, INFO, Plan, Program, Row, Versus
from bench.harness.sequential import Schedule
from bench.harness.verdict import (
    FAILED,
    FASTER,
    HOST_INVALID,
    INCONCLUSIVE,
    NOT_AVAILABLE,
    SLOWER,
    Comparison,
    apply_controls,
    compare,
    judge,
)

Json = dict[str, Any]
Key = tuple[str, str, str, str]

# Optional figures of a metric's line, summarised over processes.
EXTRAS = ("first", "import_s", "peak_allocator_bytes", "rss_beyond_import_bytes")


def make_plan_schedule(plan: Plan) -> Schedule:
    """The looks of a plan: its largest family decides how many pairs the first one needs."""
    rows = max(len(plan.family(GATE)), len(plan.family(INFO)), 1)
    return plan.policy.schedule(rows)


def costs(rounds: Sequence[Json], program: str, row: Row, variant: str) -> dict[int, float]:
    """The cost of one variant by round: the median of a process's samples; less is better."""
    found: dict[int, float] = {}
    for item in rounds:
        run = item["runs"].get(variant, {})
        if item["program"] == program and row.metric in run.get("metrics", {}):
            middle = median(run["metrics"][row.metric]["samples"])
            found[item["round"]] = middle if row.better == "lower" else 1.0 / middle
    return found


def paired(candidate: Mapping[int, float], reference: Mapping[int, float]) -> list[float]:
    """Log ratios of the rounds in which both delivered, in the order of collection."""
    both = sorted(candidate.keys() & reference.keys())
    if not both:
        return []
    ratios = log_ratios([candidate[i] for i in both], [reference[i] for i in both])
    return [float(x) for x in ratios]


def compare_all(plan: Plan, rounds: Sequence[Json]) -> dict[Key, Comparison]:
    """Every comparison that has pairs, judged, controls applied."""
    schedule = make_plan_schedule(plan)
    judged: dict[Key, Comparison] = {}
    for role, rate in (
        (CONTROL, plan.policy.control_rate),
        (GATE, plan.policy.family_rate),
        (INFO, plan.policy.family_rate),
    ):
        family = plan.family(role)
        found: dict[str, Comparison] = {}
        keys: dict[str, Key] = {}
        for program, row, versus in family:
            key = (program.name, row.metric, versus.candidate, versus.reference)
            name = "\n".join(key)
            values = paired(
                costs(rounds, program.name, row, versus.candidate),
                costs(rounds, program.name, row, versus.reference),
            )
            if values:
                seed = (plan.policy.seed, zlib.crc32(name.encode()))
                found[name] = compare(values, plan.policy, schedule, seed)
                keys[name] = key
        done = judge(found, rate, plan.policy.log_tolerance, planned=len(family))
        judged |= {keys[name]: item for name, item in done.items()}
    return _with_controls(plan, judged)


def _with_controls(plan: Plan, judged: Mapping[Key, Comparison]) -> dict[Key, Comparison]:
    """A control speaks for the row that it belongs to, whichever variants are compared there."""
    roles = {(v.candidate, v.reference): v.role for v in plan.versus}
    result = dict(judged)
    for key, control in judged.items():
        if roles[key[2:]] == CONTROL:
            rows = {
                "\n".join(k): c
                for k, c in result.items()
                if k[:2] == key[:2] and roles[k[2:]] != CONTROL
            }
            for name, row in apply_controls(rows, dict.fromkeys(rows, control)).items():
                program, metric, candidate, reference = name.split("\n")
                result[(program, metric, candidate, reference)] = row
    return result


def undecided(plan: Plan, rounds: Sequence[Json], failures: Sequence[Json]) -> set[str]:
    """The programs that another look could still help."""
    judged = compare_all(plan, rounds)
    failed = {(f["program"], f["variant"]) for f in failures}
    found: set[str] = set()
    for role in (GATE, INFO):
        for program, row, versus in plan.family(role):
            key = (program.name, row.metric, versus.candidate, versus.reference)
            lost = {(program.name, v) for v in key[2:]} & failed
            verdict = judged[key].verdict if key in judged else INCONCLUSIVE
            if not lost and verdict == INCONCLUSIVE:
                found.add(program.name)
    return found


def make_rows(plan: Plan, rounds: Sequence[Json], failures: Sequence[Json]) -> list[Json]:
    """The rows of the report as JSON values."""
    judged = compare_all(plan, rounds)
    return [
        {
            "program": program.name,
            "metric": row.metric,
            "title": row.title,
            "unit": row.unit,
            "better": row.better,
            "target": row.target,
            **_limit(plan, rounds, program, row, judged),
            "variants": {v: _summary(rounds, program.name, row, v) for v in program.commands},
            "comparisons": [
                _comparison_json(program, row, versus, judged, failures) for versus in plan.versus
            ],
        }
        for program in plan.programs
        for row in program.rows
    ]


def _limit(
    plan: Plan,
    rounds: Sequence[Json],
    program: Program,
    row: Row,
    judged: Mapping[Key, Comparison],
) -> Json:
    """The row's limit, and whether its first variant keeps to it; nothing without one."""
    if row.at_most is None:
        return {}
    summary = _summary(rounds, program.name, row, next(iter(program.commands)))
    state = NOT_AVAILABLE
    if summary is not None:
        kept = [summary["low"] <= row.at_most, summary["high"] <= row.at_most]
        state = "reached" if all(kept) else "unclear" if any(kept) else "missed"
    controls = [
        judged.get((program.name, row.metric, v.candidate, v.reference))
        for v in plan.versus
        if v.role == CONTROL
    ]
    disturbed = any(c is not None and c.verdict in (SLOWER, FASTER) for c in controls)
    return {"at_most": row.at_most, "limit": "unclear" if disturbed else state}


def _summary(rounds: Sequence[Json], program: str, row: Row, variant: str) -> Json | None:
    """Medians over the processes of one variant; None when it delivered nothing."""
    lines = [
        item["runs"][variant]["metrics"][row.metric]
        for item in rounds
        if item["program"] == program
        and row.metric in item["runs"].get(variant, {}).get("metrics", {})
    ]
    if not lines:
        return None
    over = spread([median(line["samples"]) for line in lines])
    extras = {
        name: median(line[name] for line in lines)
        for name in EXTRAS
        if all(name in line for line in lines)
    }
    return {
        "processes": len(lines),
        "median": over.median,
        "low": over.low,
        "high": over.high,
        **extras,
    }


def _comparison_json(
    program: Program,
    row: Row,
    versus: Versus,
    judged: Mapping[Key, Comparison],
    failures: Sequence[Json],
) -> Json:
    key = (program.name, row.metric, versus.candidate, versus.reference)
    out: Json = {
        "candidate": versus.candidate,
        "reference": versus.reference,
        "role": versus.role,
    }
    missing = [v for v in key[2:] if program.commands.get(v) is None]
    lost = [f for f in failures if f["program"] == program.name and f["variant"] in key[2:]]
    if key in judged:
        out |= _figures(judged[key])
    if missing:
        return out | {"verdict": NOT_AVAILABLE, "note": f"no {missing[0]}"}
    if lost:
        return out | {"verdict": FAILED, "note": f"{lost[0]['variant']}: {lost[0]['kind']}"}
    if key not in judged:
        return out | {"verdict": INCONCLUSIVE, "note": "no pair"}
    target = row.target if versus.target is None else versus.target
    if target is not None and versus.role == INFO:
        out |= {"wanted": target, "target": _target(judged[key], target)}
    return out


def _figures(c: Comparison) -> Json:
    """Speeds, that is the reference's cost over the candidate's: above 1 is faster.

    One pair has no interval; its ends are None.
    """
    bounded = math.isfinite(c.interval.low + c.interval.high)
    return {
        "pairs": c.pairs,
        "looks": c.looks,
        "speed": math.exp(-c.estimate),
        "speed_low": math.exp(-c.interval.high) if bounded else None,
        "speed_high": math.exp(-c.interval.low) if bounded else None,
        "log_ratio": c.estimate,
        "log_ratio_iqr": c.spread,
        "p": c.p,
        "spent_p": c.spent,
        "adjusted_p": c.adjusted,
        "verdict": c.verdict,
    }


def _target(c: Comparison, target: float) -> str:
    """Whether the speed's whole interval lies at or above the target, or below it."""
    if c.verdict == HOST_INVALID or not math.isfinite(c.interval.low + c.interval.high):
        return "unclear"
    if -c.interval.high >= math.log(target):
        return "reached"
    return "missed" if -c.interval.low < math.log(target) else "unclear"
