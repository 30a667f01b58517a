"""A result as a measurement writes it, small, for tests."""

from __future__ import annotations

import json
from typing import Any

from ci.perf_bot.schema import SAME, SCHEMA, SLOWER, check_result

Json = dict[str, Any]
BASE = "b" * 40
STAMP = "2027-01-15T08:00:00Z"
REPEAT = "tools/bazel run //ci/perf_bot -- measure --base master --head HEAD --case resnet50_b16"


def result(head: str = "a" * 40, slower: bool = False, status: str = "") -> Json:
    """One row, whose time is the same or slower; `status` follows from that unless it is given."""
    made = {
        "schema": SCHEMA,
        "status": status or ("regression" if slower else "ok"),
        "base": _commit(BASE, "master"),
        "head": _commit(head, "HEAD"),
        "started": STAMP,
        "seconds": 600.0,
        "seed": 1,
        "host": _host(),
        "policy": {
            "family_rate": 0.002, "control_rate": 0.01, "confidence": 0.95, "comparisons": 3,
            "minimum_pairs": 12, "pairs": [12, 24], "weights": [0.5, 0.5],
        },
        "budget": {
            "minutes": 20.0, "used_minutes": 9.0, "needed_minutes": 9.0,
            "round_seconds": {"resnet50_b16": 12.0},
        },
        "pytorch": "2.13.0",
        "repository": None,
        "rows": [_row(slower)],
        "errors": [],
        "repeat": REPEAT,
    }  # fmt: skip
    check_result(made)
    return made


def text(value: Json) -> bytes:
    """Its JSON."""
    return json.dumps(value).encode()


def _commit(commit: str, ref: str) -> Json:
    return {
        "commit": commit, "ref": ref, "subject": "vm: keep the random test's long ops queued",
        "time": STAMP, "built": True, "seconds": 300.0,
    }  # fmt: skip


def _host() -> Json:
    moment = {"load": 0.1, "mhz": 2800.0, "steal": 0.0, "foreign": 0.0}
    return {
        "model": "a processor", "cores": 2, "usable": 2, "memory_bytes": 1 << 34, "kernel": "6.1",
        "python": "3.11.7", "device": "CPU", "threads": 2, "before": moment, "during": moment,
        "after": moment, "concerns": [], "invalid": False,
    }  # fmt: skip


def _row(slower: bool) -> Json:
    variants = {
        "base": _summary(0.100), "head": _summary(0.110 if slower else 0.100),
        "base again": _summary(0.100), "pytorch": _summary(0.120),
    }  # fmt: skip
    time = {
        "unit": "s", "tolerance": 0.02, "variants": variants,
        "gate": _comparison(SLOWER if slower else SAME, 1.1 if slower else 1.0),
        "control": _comparison(SAME, 1.0), "pytorch": _comparison("faster", 0.9),
        "resolvable": 0.015,
    }  # fmt: skip
    return {
        "case": "resnet50_b16", "title": "ResNet-50, 16", "model": "resnet50", "items": 16,
        "item": "images", "input_shape": [16, 3, 224, 224], "backward": True, "processes": 1,
        "repeat": REPEAT, "figures": {"time": time},
    }  # fmt: skip


def _summary(median: float) -> Json:
    return {
        "processes": 12, "median": median, "low": median * 0.99, "high": median * 1.01,
        "total": 12 * median,
    }  # fmt: skip


def _comparison(verdict: str, ratio: float) -> Json:
    return {
        "verdict": verdict, "pairs": 12, "looks": 1, "ratio": ratio, "ratio_low": ratio * 0.99,
        "ratio_high": ratio * 1.01, "spread": 0.01, "p": 0.0005, "adjusted_p": 0.001,
    }  # fmt: skip
