"""The case file is sound, every case runs on OneFlow, and the summary counts right."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import oneflow as flow
from bench.ops import cases_main, sizes
from bench.ops.cases import FAMILIES, SIZES, Case, metric
from bench.ops.operands import numbers, shape

CASES = [(family, case) for family, members in FAMILIES.items() for case in members]


def name_of(value: Any) -> str:
    """How a case is called in the report."""
    return value.name if isinstance(value, Case) else str(value)


def test_names_are_unique() -> None:
    for family, members in FAMILIES.items():
        names = [case.name for case in members]
        assert len(set(names)) == len(names), family
        assert all(" / " not in name for name in names)
        assert all(case.weight > 0 and case.sizes for case in members)


@pytest.mark.parametrize(("family", "case"), CASES, ids=name_of)
def test_every_case_runs(family: str, case: Case) -> None:
    """At its two smallest sizes; the values are PyTorch's where it is measured beside it."""
    for size in case.sizes[:2]:
        names = cases_main.names_of(flow, case, SIZES[size])
        value = eval(case.statement, names)
        check = cases_main.check_of(value, names, family == "random")
        assert all(n >= 0 for n in check["shape"])
        assert math.isfinite(check.get("mean", 0.0))


def test_operands_are_the_same_each_time() -> None:
    first, second = (numbers("n", "float", 256, np.random.default_rng(256)) for _ in range(2))
    assert (first == second).all()
    assert first.nbytes == 1024
    for word in ("n", "square", "rows", "nchw"):
        for n in SIZES.values():
            assert math.prod(shape(word, n)) == n, (word, n)


def result_of(speeds: dict[str, float]) -> dict[str, Any]:
    """A result with these speeds."""
    rows = [
        {"program": "math", "metric": name, "comparisons": [
            {"reference": "pytorch", "speed": speed}, {"reference": "head", "speed": 1.0}]}
        for name, speed in speeds.items()
    ]  # fmt: skip
    return {"rows": rows}


def test_the_summary_takes_pytorchs_faster_form() -> None:
    exp, sin = (next(c for c in FAMILIES["math"] if c.name == n) for n in ("exp", "sin"))
    result = result_of(
        {metric(exp, "1 MB"): 4.0, metric(exp, "1 MB") + " / out": 0.5, metric(sin, "1 MB"): 2.0}
    )
    assert sizes.speeds(result) == {("math", "1 MB"): {"exp": 0.5, "sin": 2.0}}
    assert "| math | 1 MB | 2 | 1.00 | exp 0.50 | exp 0.50 |" in sizes.summary(result)
