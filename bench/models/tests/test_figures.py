"""Rounds to rows, targets and the report: known answers, and a planted slow program."""

from __future__ import annotations

import doctest
from pathlib import Path
from typing import Any

import pytest

from bench.models import figures, page, picture, rounds
from bench.models.cases import Case

Json = dict[str, Any]
CASE = Case("resnet50", 16)
TIMES = {"graph": 1.0, "graph again": 1.0, "eager": 1.2, "Torch": 1.5, "alone": 0.9}


def line(seconds: float, **more: object) -> Json:
    """A metric's line."""
    return {"unit": "s", "samples": [seconds], "check": {"first": 1.0}, **more}


def make_rounds(times: dict[str, float], count: int = 4, drift: float = 1.3) -> list[Json]:
    """Rounds on a host that becomes slower from round to round, which ratios must not show."""
    found = []
    for number in range(count):
        speed = drift**number
        runs: Json = {
            name: {"metrics": {str(CASE): line(seconds * speed, peak_allocator_bytes=900 << 20)}}
            for name, seconds in times.items()
            if name not in ("alone", "Torch")
        }
        runs["Torch"] = {"metrics": {str(CASE): line(times["Torch"] * speed)}}
        found.append({"program": "resnet50 fp32 train", "round": number, "runs": runs})
        alone = {str(CASE): line(times["alone"] * speed), "bandwidth": line(10.0)}
        found.append({"program": "alone", "round": number, "runs": {"alone": {"metrics": alone}}})
    return found


def make_row(times: dict[str, float], **options: Any) -> Json:
    """The row of such rounds."""
    peaks = {"Torch": {str(CASE): 1000 << 20}}
    return figures.make_row(
        CASE, make_rounds(times, **options), ["graph", "eager"], ["Torch"], peaks
    )


def test_examples() -> None:
    assert doctest.testmod(figures).failed == 0 and doctest.testmod(rounds).failed == 0


def test_a_row() -> None:
    row = make_row(TIMES)
    graph, eager = row["modes"]["graph"], row["modes"]["eager"]
    assert graph["speed"]["Torch"]["ratio"]["value"] == pytest.approx(1.5)
    assert eager["speed"]["Torch"]["ratio"]["value"] == pytest.approx(1.25)
    assert graph["speed"]["Torch"]["state"] == eager["speed"]["Torch"]["state"] == figures.MET
    assert graph["over_alone"] == {
        "ratio": {"value": 1.1111, "low": 1.1111, "high": 1.1111, "rounds": 4},
        "target": 1.25,
        "state": figures.MET,
    }
    assert graph["memory"] == {"ratio": 0.9, "target": 0.9, "state": figures.MET}
    assert row["bandwidth"] == 10.0 and 0.5 < row["traffic"] < 1.0
    assert graph["valid"] and eager["valid"] is None


def test_a_slow_program_misses() -> None:
    row = make_row({**TIMES, "graph": 1.45, "graph again": 1.45})
    graph = row["modes"]["graph"]
    assert graph["speed"]["Torch"]["state"] == graph["over_alone"]["state"] == figures.MISSED


def test_an_interval_around_a_target_is_undecided() -> None:
    found = {"value": 1.1, "low": 1.05, "high": 1.15, "rounds": 4}
    assert figures.state(found, 1.1, below=False, valid=True) == figures.OPEN
    assert figures.state(found, 1.04, below=False, valid=None) == figures.MET
    assert figures.state(found, 1.16, below=True, valid=True) == figures.MET
    assert figures.state(found, 1.0, below=True, valid=True) == figures.MISSED
    assert figures.state(None, 1.0, below=True, valid=True) == ""


def test_a_control_that_disagrees_makes_the_host_invalid() -> None:
    graph = make_row({**TIMES, "graph again": 1.1})["modes"]["graph"]
    assert graph["valid"] is False and graph["speed"]["Torch"]["state"] == figures.INVALID
    assert graph["over_alone"]["state"] == figures.INVALID
    assert make_row({**TIMES, "graph again": 1.015})["modes"]["graph"]["valid"]


def test_enough_rounds_give_a_bootstrap_interval() -> None:
    values = {i: 1.0 + 0.01 * (i % 3) for i in range(12)}
    found = figures.ratio(values, dict.fromkeys(values, 1.0))
    assert found is not None and 1.0 < found["low"] < found["value"] < found["high"] < 1.02
    few = figures.ratio({i: values[i] for i in range(3)}, dict.fromkeys(range(3), 1.0))
    assert few is not None and (few["low"], few["high"]) == (1.0, 1.02)


def test_what_is_missing_stays_empty() -> None:
    row = make_row({name: t for name, t in TIMES.items() if name != "eager"})
    assert row["seconds"]["eager"] is None and row["mib"]["eager"] is None
    assert row["modes"]["eager"]["speed"]["Torch"]["ratio"] is None
    empty = figures.make_row(CASE, [], ["graph"], [], {})
    assert empty["alone"] is None and empty["modes"]["graph"]["speed"] == {}


def make_result(rows: list[Json]) -> Json:
    """What speed.py hands to the report."""
    return {
        "rows": rows,
        "modes": ["graph", "eager"],
        "references": ["Torch"],
        "checked": {
            str(CASE): {
                "flops": 388785242112,
                "against": "Torch",
                "kind": "largest differences",
                "variants": {"graph": {"loss": 1e-6, "total": 1e-6, "moment": 1e-3}},
            }
        },
        "labels": {"Torch": "eager"},
        "failures": [
            {"program": "p", "variant": "eager", "round": 0, "kind": "exit", "detail": "status 1"}
        ],
        "host": {"name": "Z80", "concerns": ["load average 3.00 on 2 cores before the run"]},
        "started": "2026-12-01T00:00:00Z",
        "seconds": 12.0,
        "repeat": "tools/bazel run //bench:speed",
    }


def test_the_report_says_everything() -> None:
    text = page.render(make_result([make_row(TIMES)]))
    for words in (
        "ResNet-50, batch 16, fp32",
        "1.50x [1.50, 1.50] (1.1: met)",
        "1.11x [1.11, 1.11] (1.25: met)",
        "0.90 (0.9: met)",
        "388,785,242,112 operations a step on both sides",
        "against Torch, largest differences: graph 1.0e-06, 1.0e-03",
        "graph against itself 1.000x, agrees",
        "failed: p, eager: exit: status 1",
        "4 rounds",
        "host concern: load",
        "repeat: tools/bazel run //bench:speed",
    ):
        assert words in text
    assert "DISAGREES" in page.render(make_result([make_row({**TIMES, "graph again": 1.1})]))
    markdown = page.render(make_result([make_row(TIMES)]), "markdown")
    assert markdown.startswith("| a step of | graph | eager | Torch |") and "\n* speed:" in markdown


def test_the_picture(tmp_path: Path) -> None:
    result = make_result([make_row(TIMES), make_row({"graph": 1.0, "Torch": 2.0, "alone": 1.0})])
    for name in ("a.svg", "b.svg", "c.png"):
        picture.draw(result, tmp_path / name)
    first = (tmp_path / "a.svg").read_bytes()
    assert first == (tmp_path / "b.svg").read_bytes() and b"</svg>" in first
    assert (tmp_path / "c.png").stat().st_size > 5000
