"""Whether two results of a benchmark are the same answer. Speed must not buy a wrong result."""

from __future__ import annotations

import math
from typing import Any


def difference(got: Any, want: Any, rtol: float, atol: float, where: str = "check") -> str | None:
    """The first place where two JSON values differ, or None.

    Numbers may differ by ``atol + rtol * |want|``; everything else must be equal. NaN differs
    from everything, itself too: a benchmark whose result is NaN has computed nothing.

    >>> difference({"loss": [1.0, 2.0]}, {"loss": [1.0, 2.1]}, 1e-3, 0.0)
    'check.loss[1]: expects 2.1, got 2.0'
    """
    if _is_number(got) and _is_number(want):
        close = got == want or abs(got - want) <= atol + rtol * abs(want) < math.inf
        return None if close else f"{where}: expects {want!r}, got {got!r}"
    if isinstance(got, dict) and isinstance(want, dict):
        if got.keys() != want.keys():
            return f"{where}: expects the keys {sorted(want)}, got {sorted(got)}"
        items = [(f"{where}.{key}", got[key], want[key]) for key in sorted(want)]
    elif isinstance(got, list) and isinstance(want, list):
        if len(got) != len(want):
            return f"{where}: expects {len(want)} values, got {len(got)}"
        items = [(f"{where}[{i}]", g, w) for i, (g, w) in enumerate(zip(got, want))]
    else:
        same = type(got) is type(want) and got == want
        return None if same else f"{where}: expects {want!r}, got {got!r}"
    found = (difference(g, w, rtol, atol, place) for place, g, w in items)
    return next((f for f in found if f is not None), None)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
