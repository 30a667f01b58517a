"""A record: everything that a run of the bot collected, from which its result follows. Pure.

The record (`rounds.json`) holds every sample; the result (`result.json`) what a comment needs. The
same record gives the same result, so a decision can be made again, elsewhere or later, by
`tools/bazel run //ci/perf_bot -- judge rounds.json`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from bench.harness.sequential import Schedule, minimum_pairs
from bench.harness.verdict import Policy
from ci.perf_bot import decide, guard
from ci.perf_bot.cases import Case, case_from_json
from ci.perf_bot.schema import SCHEMA, check_result

Json = dict[str, Any]

RECORD_SCHEMA = "oneflow-perf-rounds/1"
# A comment shows a few errors; a process that fails in each round is one of them.
_MOST_ERRORS = 100
_MOST_DETAIL = 3500


def evidence_of(record: Mapping[str, Any]) -> decide.Evidence:
    """What the decision stands on.

    Raises:
        ValueError: the record's policy is out of range.
        KeyError, TypeError: it is no record.
    """
    schedule = record["schedule"]
    return decide.Evidence(
        cases=[case_from_json(value) for value in record["cases"]],
        rounds=record["rounds"],
        failures=record["failures"],
        policy=Policy(**record["policy"]),
        schedule=Schedule(tuple(schedule["pairs"]), tuple(schedule["weights"])),
        usable=record["host"]["usable"],
        tolerances=record["tolerances"],
    )


def check_record(value: Any) -> Json:
    """A record from a JSON value.

    Raises:
        ValueError: it is none.
    """
    found = value.get("schema") if isinstance(value, dict) else None
    if found != RECORD_SCHEMA:
        raise ValueError(f"expects a record of schema {RECORD_SCHEMA!r}, got {found!r}")
    try:
        result_of(value)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"is no whole record: {error!r}") from None
    return dict(value)


def result_of(record: Mapping[str, Any]) -> Json:
    """The result that follows from a record.

    Raises:
        ValueError: something in the record is out of the result's range.
    """
    evidence = evidence_of(record)
    rows = decide.make_rows(evidence, record["repeats"]) if evidence.cases else []
    programs = {case.program for case in evidence.cases}
    shares = guard.shares(evidence.rounds, programs)
    complaint = guard.complaint(shares, evidence.usable)
    errors = _errors(record, evidence.cases, complaint)
    result = {
        "schema": SCHEMA,
        "status": decide.status_of(rows, errors, complaint is not None),
        "base": record["base"],
        "head": record["head"],
        "started": record["started"],
        "seconds": record["seconds"],
        "seed": evidence.policy.seed,
        "host": _host(record["host"], evidence.rounds, shares, complaint),
        "policy": _policy(evidence),
        "budget": record["budget"],
        "pytorch": record["pytorch"],
        "repository": record["repository"],
        "rows": rows,
        "errors": errors,
        "repeat": record["repeat"],
    }
    check_result(result)
    return result


def _policy(evidence: decide.Evidence) -> Json:
    policy, comparisons = evidence.policy, evidence.comparisons
    weight = evidence.schedule.weights[0]
    return {
        "family_rate": policy.family_rate,
        "control_rate": policy.control_rate,
        "confidence": policy.confidence,
        "comparisons": comparisons,
        "minimum_pairs": minimum_pairs(policy.family_rate, comparisons, weight),
        "pairs": list(evidence.schedule.pairs),
        "weights": list(evidence.schedule.weights),
    }


def _host(
    host: Mapping[str, Any],
    rounds: Sequence[Json],
    shares: guard.Shares,
    complaint: str | None,
) -> Json:
    """The machine: what it is, how it was before, during and after."""
    clocks = [item["mhz"] for item in rounds if item["mhz"]]
    loads = [item["load"] for item in rounds if item["load"] is not None]
    during = {
        "load": max(loads, default=None),
        "mhz": round(sum(clocks) / len(clocks), 1) if clocks else None,
        **asdict(shares),
    }
    return {**host, "during": during, "invalid": complaint is not None}


def _errors(record: Mapping[str, Any], cases: Sequence[Case], complaint: str | None) -> list[Json]:
    """All errors: those noted, then each process's failure, then the host's."""
    found = list(record["errors"])
    for failure in record["failures"]:
        names = [case.name for case in cases if case.program == failure["program"]]
        alone = len(names) == 1
        prefix = "" if alone else f"{failure['program']}: "
        found.append(
            {
                "stage": "run",
                "side": failure["variant"],
                "case": names[0] if alone else None,
                "round": failure["round"],
                "kind": failure["kind"],
                "detail": (prefix + failure["detail"])[:_MOST_DETAIL],
            }
        )
    if complaint is not None:
        found.append(error("host", "busy", complaint))
    return found[:_MOST_ERRORS]


def error(
    stage: str, kind: str, detail: str, side: str | None = None, case: str | None = None
) -> Json:
    """An error of a result.

    >>> error("budget", "dropped", "x")["stage"]
    'budget'
    """
    return {
        "stage": stage,
        "side": side,
        "case": case,
        "round": None,
        "kind": kind,
        "detail": detail[:_MOST_DETAIL],
    }
