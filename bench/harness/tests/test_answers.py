"""Comparison of results."""

from __future__ import annotations

import math
from typing import Any

import pytest

from bench.harness.answers import difference


@pytest.mark.parametrize(
    ("got", "want"),
    [
        (1.0, 1.00001),
        (1, 1.0),
        (0.0, 1e-7),
        ("a", "a"),
        (None, None),
        (True, True),
        ([1.0, {"a": [2.0]}], [1.0, {"a": [2.0]}]),
        (10**400, 10**400),
    ],
)
def test_equal_answers(got: Any, want: Any) -> None:
    assert difference(got, want, 1e-4, 1e-6) is None


@pytest.mark.parametrize(
    ("got", "want", "place"),
    [
        (1.0, 1.001, "check:"),
        (math.nan, math.nan, "check:"),
        (math.inf, 1.0, "check:"),
        (1.0, math.inf, "check:"),
        (1, True, "check:"),
        ("1", 1, "check:"),
        (None, 1, "check:"),
        ({"a": 1}, {"b": 1}, "check:"),
        ({"a": [1, 2]}, {"a": [1, 3]}, "check.a[1]:"),
        ([1], [1, 2], "check:"),
        ({"a": {"b": 0.1}}, {"a": {"b": 0.2}}, "check.a.b:"),
    ],
)
def test_different_answers(got: Any, want: Any, place: str) -> None:
    found = difference(got, want, 1e-4, 1e-6)
    assert found is not None and found.startswith(place)
