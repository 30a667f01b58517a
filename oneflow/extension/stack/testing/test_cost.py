"""The benchmark runs, and says so when a promise is not kept or the machine is not fit."""

from __future__ import annotations

import cost
import stack_testing as st


def _times(ours: float, again: float, torch: float) -> dict[str, list[float]]:
    values = {"nothing": 20.0, "capture": ours, "capture again": again, "torch extract": torch}
    return {
        f"{depth} {frames} {way}": [value, value + 0.01, value - 0.01]
        for depth, frames in (("20", "same"), ("20", "five new"), ("3", "same"))
        for way, value in values.items()
        if (depth, way) != ("3", "torch extract")
    }


def test_it_measures_every_row() -> None:
    times = cost._measure(2, with_torch=False)
    assert set(times) == {"plain python"} | {
        f"{row} {way}"
        for row in ("20 same", "20 five new", "3 same")
        for way in ("nothing", "capture", "capture again")
    }
    assert all(len(values) == 2 and min(values) > 0 for values in times.values())
    assert st.stats()["enabled"]


def test_verdicts() -> None:
    on_off = {"20 same capture": [140.0] * 3, "3 same capture": [39.0] * 3}
    on_off["plain python"] = [0.1] * 3
    times = _times(ours=120, again=121, torch=160)
    verdicts = [promise.row().rsplit(" ", 1)[1] for promise in cost._promises(times, on_off)]
    assert verdicts == ["MISSED", "holds", "holds", "holds", "MISSED"]
    assert "HOST INVALID" not in cost._control(times)
    assert "HOST INVALID" in cost._control(_times(ours=120, again=140, torch=160))
