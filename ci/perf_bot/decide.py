"""The decision: from a record of rounds to the rows, verdicts and status of a result. Pure.

The family is every comparison of head against base in the comment: the time, memory and first step
of every row. Their error rate is one, at most `family_rate` for a comment: pairs of processes, the
exact signed-rank test of their log ratios, each look paid for, Holm's correction over the family.
The controls (base again against base) are a family of their own. PyTorch is outside of both: it is
information, and no verdict depends on it.

In this order, a comparison is *failed* (a side of it crashed), *host invalid* (its control
disagrees with itself, or others used the machine), or what :mod:`bench.harness.verdict` says.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from bench.harness.sequential import Schedule
from bench.harness.verdict import Comparison, Policy, apply_controls, compare, judge
from ci.perf_bot import budget, extract, guard
from ci.perf_bot.cases import TOLERANCES, Case
from ci.perf_bot.schema import (
    BASE,
    BASE_AGAIN,
    FAILED,
    HEAD,
    HOST_INVALID,
    INCONCLUSIVE,
    NOT_AVAILABLE,
    PYTORCH,
    SLOWER,
    TIME,
    UNITS,
    VARIANTS,
)

Json = dict[str, Any]

GATE, CONTROL, INFO = "gate", "control", "pytorch"
SIDES = {GATE: (HEAD, BASE), CONTROL: (BASE_AGAIN, BASE), INFO: (HEAD, PYTORCH)}
POLICY = Policy(family_rate=0.002, control_rate=0.01, looks=3, growth=2.0, resamples=1000)
# Spread of normal data over its interquartile range.
_SIGMA_OF_IQR = 1.0 / 1.3489795


@dataclass(frozen=True)
class Evidence:
    """What a decision stands on.

    Attributes:
        cases: what was measured.
        rounds, failures: as the harness collected them.
        policy: rates and looks.
        schedule: the looks.
        usable: cores that measured processes could use.
        tolerances: relative difference that nobody minds, for each figure.
    """

    cases: Sequence[Case]
    rounds: Sequence[Json]
    failures: Sequence[Json]
    policy: Policy
    schedule: Schedule
    usable: int
    tolerances: Mapping[str, float] = field(default_factory=lambda: TOLERANCES)

    @property
    def comparisons(self) -> int:
        """The size of the family: what was planned, whether it delivered or not."""
        return family_size(self.cases)

    def costs(self, case: Case, figure: str, variant: str) -> extract.Costs:
        """The costs of one variant."""
        return extract.costs(self.rounds, case.program, case.metric, figure, variant)

    def failed(self, case: Case) -> set[str]:
        """The variants that failed in any round."""
        return {f["variant"] for f in self.failures if f["program"] == case.program}


def family_size(cases: Sequence[Case]) -> int:
    """How many comparisons share the family-wise rate."""
    return sum(len(case.figures) for case in cases)


def judge_role(evidence: Evidence, role: str) -> dict[str, Comparison]:
    """The comparisons of a role that have pairs, judged, by `case:figure`; no controls applied."""
    policy = evidence.policy
    rate = policy.control_rate if role == CONTROL else policy.family_rate
    found: dict[str, Comparison] = {}
    limits: dict[str, float] = {}
    for case in evidence.cases:
        for figure in case.figures:
            candidate, reference = (evidence.costs(case, figure, v) for v in SIDES[role])
            values = extract.pairs(candidate, reference)
            if values:
                name = f"{case.name}:{figure}"
                seed = (policy.seed, zlib.crc32(f"{name}:{role}".encode()))
                found[name] = compare(values, policy, evidence.schedule, seed)
                limits[name] = math.log1p(evidence.tolerances[figure])
    return judge(found, rate, limits, planned=evidence.comparisons)


@dataclass(frozen=True)
class Decision:
    """All comparisons by role and `case:figure`, and the cases whose host was too busy."""

    judged: Mapping[str, Mapping[str, Comparison]]
    busy: Mapping[str, str]


def decide(evidence: Evidence) -> Decision:
    """Judges everything; controls and the guard applied."""
    judged = {role: judge_role(evidence, role) for role in SIDES}
    busy = {}
    for case in evidence.cases:
        found = guard.shares(evidence.rounds, [case.program])
        if (complaint := guard.complaint(found, evidence.usable)) is not None:
            busy[case.name] = complaint
    for role in (GATE, INFO):
        rows = apply_controls(judged[role], judged[CONTROL])
        judged[role] = {
            name: replace(c, verdict=HOST_INVALID) if name.rpartition(":")[0] in busy else c
            for name, c in rows.items()
        }
    return Decision(judged, busy)


def undecided(evidence: Evidence) -> set[str]:
    """The programs that more pairs could still help: head against base is open somewhere."""
    gates = decide(evidence).judged[GATE]
    found = set()
    for case in evidence.cases:
        if not {HEAD, BASE} & evidence.failed(case):
            for figure in case.figures:
                comparison = gates.get(f"{case.name}:{figure}")
                # A figure that no process delivers is not waited for.
                if comparison is not None and comparison.verdict == INCONCLUSIVE:
                    found.add(case.program)
    return found


def make_rows(evidence: Evidence, repeat: Mapping[str, str]) -> list[Json]:
    """The rows of the result.

    Args:
        evidence: of the run.
        repeat: for each case the command that repeats it.
    """
    decision = decide(evidence)
    return [
        {
            "case": case.name,
            "title": case.title,
            "model": case.model,
            "items": case.items,
            "item": case.item,
            "input_shape": list(case.input_shape),
            "backward": case.backward,
            "processes": case.processes,
            "repeat": repeat[case.name],
            "figures": {f: _figure(evidence, decision, case, f) for f in case.figures},
        }
        for case in evidence.cases
    ]


def _figure(evidence: Evidence, decision: Decision, case: Case, figure: str) -> Json:
    costs = {v: evidence.costs(case, figure, v) for v in VARIANTS}
    return {
        "unit": UNITS[figure],
        "tolerance": evidence.tolerances[figure],
        "variants": {v: extract.summary(found) for v, found in costs.items()},
        GATE: _comparison(evidence, decision, case, figure, GATE),
        CONTROL: _comparison(evidence, decision, case, figure, CONTROL),
        INFO: _comparison(evidence, decision, case, figure, INFO) if costs[PYTORCH] else None,
        "resolvable": _resolvable(evidence, decision, f"{case.name}:{figure}"),
    }


def _comparison(evidence: Evidence, decision: Decision, case: Case, figure: str, role: str) -> Json:
    found = decision.judged[role].get(f"{case.name}:{figure}")
    lost = set(SIDES[role]) & evidence.failed(case)
    if found is None:
        # A figure that a program does not deliver is no fault of the commit.
        verdict = FAILED if lost else NOT_AVAILABLE if _delivers(evidence, case) else INCONCLUSIVE
        empty = dict.fromkeys(("ratio", "ratio_low", "ratio_high", "spread", "p", "adjusted_p"))
        return {"verdict": verdict, "pairs": 0, "looks": 0, **empty}
    bounded = math.isfinite(found.interval.low + found.interval.high)
    return {
        "verdict": FAILED if lost else found.verdict,
        "pairs": found.pairs,
        "looks": found.looks,
        "ratio": _ratio(found.estimate),
        "ratio_low": _ratio(found.interval.low) if bounded else None,
        "ratio_high": _ratio(found.interval.high) if bounded else None,
        "spread": min(1e3, found.spread * _SIGMA_OF_IQR),
        "p": found.p,
        "adjusted_p": found.adjusted,
    }


def _delivers(evidence: Evidence, case: Case) -> bool:
    """Whether any round of the case's program was run."""
    return any(item["program"] == case.program for item in evidence.rounds)


def _ratio(log_ratio: float) -> float:
    return min(1e9, max(1e-9, math.exp(min(20.0, max(-20.0, log_ratio)))))


def _resolvable(evidence: Evidence, decision: Decision, name: str) -> float | None:
    """The relative difference that the pairs at hand find with a power of 95 %."""
    found = decision.judged[GATE].get(name)
    if found is None or found.looks == 0:
        return None
    kept = evidence.schedule.pairs[: found.looks]
    looks = Schedule(kept, evidence.schedule.weights[: found.looks])
    sigma = found.spread * _SIGMA_OF_IQR
    reach = budget.resolvable(sigma, looks, evidence.policy.family_rate, evidence.comparisons)
    return min(1e3, math.expm1(min(6.0, reach)))


def status_of(rows: Sequence[Json], errors: Sequence[Json], invalid: bool) -> str:
    """The status of a result: the first that applies, of what its user must act on first.

    Args:
        rows: of the result.
        errors: of the result.
        invalid: whether the machine was too busy as a whole.

    >>> status_of([], [], False)
    'nothing measured'
    """
    gates = [figure[GATE]["verdict"] for row in rows for figure in row["figures"].values()]
    times = [row["figures"][TIME] for row in rows]
    blamed = {(e["stage"], e["side"]) for e in errors}
    kinds = {e["kind"] for e in errors}
    if ("build", HEAD) in blamed:
        return "build failed"
    if ("run", HEAD) in blamed:
        return "broken"
    if SLOWER in gates:
        return "regression"
    if kinds & {"interrupted"} or any(
        stage in ("build", "setup") or (stage == "run" and side in (BASE, BASE_AGAIN))
        for stage, side in blamed
    ):
        return "infrastructure"
    if not any(summary for time in times for summary in time["variants"].values()):
        return "nothing measured"
    if invalid or HOST_INVALID in [time[GATE]["verdict"] for time in times]:
        return "host invalid"
    if all(time[GATE]["verdict"] == INCONCLUSIVE for time in times):
        return "inconclusive"
    return "ok"
