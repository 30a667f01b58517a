"""The calibration: resumed, reported, its intervals against scipy's, and one real comparison."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from scipy import stats

from ci.perf_bot import calibrate, calibration
from ci.perf_bot.calibrate import KINDS, Kind
from ci.perf_bot.schema import FIGURES

Json = dict[str, Any]
BY_NAME = {kind.name: kind for kind in KINDS}


def line(kind: str, index: int, verdict: str = "same", foreign: float = 0.01) -> Json:
    """A line of the file."""
    return {
        "kind": kind,
        "index": index,
        "verdicts": {"time": verdict, "memory": "same", "first": "inconclusive"},
        "controls": dict.fromkeys(FIGURES, "same"),
        "ratio": BY_NAME[kind].factor,
        "tolerance": 0.01,
        "looks": [14, 28, 56],
        "pairs": 14,
        "spread": dict.fromkeys(FIGURES, 0.005),
        "noise": [0.005 * math.sin(7.0 * index + k) for k in range(14)],
        "foreign": foreign,
        "busy": foreign > 0.05,
        "load": 0.1,
        "seconds": 3.0,
        "failures": 0,
    }


@pytest.mark.parametrize("total", [1, 7, 50, 200])
def test_intervals_of_shares_are_scipys(total: int) -> None:
    for count in {0, 1, total // 3, total - 1, total}:
        expected = stats.binomtest(count, total).proportion_ci(0.95, method="exact")
        found = calibration.share_interval(count, total)
        assert found == pytest.approx((expected.low, expected.high), abs=1e-9)
        tail = stats.binom.sf(count - 1, total, 0.3)
        assert calibration.at_least(count, total, 0.3) == pytest.approx(tail, rel=1e-9)


def test_what_was_compared_is_not_compared_again() -> None:
    done = [line("itself", i) for i in range(190)]
    left = calibrate.todo(done, load=False, seed=7)
    assert len(left) == sum(k.count for k in KINDS if not k.load) - 190
    assert sorted(i for kind, i in left if kind.name == "itself") == list(range(190, 200))
    assert left == [item for item in calibrate.todo([], False, 7) if item in left]
    assert {kind.load for kind, _ in calibrate.todo([], True, 7)} == {True}
    assert {k.name for k, _ in calibrate.todo([], False, 7, ["3 % slower"])} == {"3 % slower"}
    # The kinds are mixed, so that a drift of the machine is in all of them.
    assert len({kind.name for kind, _ in left[:30]}) == 4


def test_what_was_disturbed_is_compared_again_and_counted_apart() -> None:
    done = [line("itself", i) for i in range(10)]
    done += [line("itself", 10, "host invalid", 0.3), line("itself, under load", 0, foreign=0.5)]
    left = {(kind.name, i) for kind, i in calibrate.todo(done, False, 7)}
    assert ("itself", 9) not in left and ("itself", 10) in left
    assert (KINDS[4], 0) not in calibrate.todo(done, True, 7)
    text = calibration.report(done, BY_NAME)
    assert "| itself | 10 | 0 | 0 | 10 |" in text
    assert "during 1 further comparisons, which were made again: 1 of them" in text


def test_a_run_goes_on_where_the_last_one_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[tuple[str, int]] = []

    def compare_once(kind: Kind, index: int, tolerance: float, attempt: int) -> Json:
        if len(made) % 4 == 3:
            made.append(("", 0))
            raise KeyboardInterrupt
        made.append((kind.name, index))
        return line(kind.name, index)

    monkeypatch.setattr(calibrate, "compare_once", compare_once)
    monkeypatch.setattr("ci.perf_bot.guard.wait_until_quiet", lambda *_: None)
    monkeypatch.setattr(calibrate, "KINDS", (Kind("itself", 1.0, False, 5),))
    assert calibrate.main(["--out", str(tmp_path)]) == 4
    assert len(calibration.read(tmp_path / calibrate.NAME)) == 3
    # The last line was cut off when the machine went down.
    with open(tmp_path / calibrate.NAME, "a", encoding="utf-8") as file:
        file.write('{"kind": "its')
    assert len(calibration.read(tmp_path / calibrate.NAME)) == 3
    assert calibrate.main(["--out", str(tmp_path)]) == 0
    lines = calibration.read(tmp_path / calibrate.NAME)
    assert sorted(item["index"] for item in lines) == list(range(5))
    # Comparisons under another rule are no part of the same calibration.
    assert calibrate.main(["--out", str(tmp_path), "--tolerance", "0.02"]) == 2
    assert calibrate.main(["--out", str(tmp_path), "--cpus", "zero"]) == 2


def test_the_report_counts_and_compares_with_the_promise(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calibration, "DRAWS", 40)
    lines = [line("itself", i, "slower" if i == 3 else "same") for i in range(20)]
    lines += [line("6 % slower", i, "slower") for i in range(10)]
    lines += [line("itself, under load", i, "host invalid", 0.5) for i in range(5)]
    (tmp_path / calibrate.NAME).write_text("".join(json.dumps(x) + "\n" for x in lines))
    assert calibrate.main(["--out", str(tmp_path), "--report"]) == 0
    text = capsys.readouterr().out
    assert "| itself | 20 | 1 | 0 | 19 | 0 | 0 | 1 | 20 | 14 | 1.0 % |" in text
    assert "| itself, under load | 5 | 0 | 0 | 0 | 0 | 5 | 0 | 5 | 14 | 50.0 % |" in text
    assert "| 6 % slower | 10 of 10 (100%) | 69% to 100% | 100.0% |" in text
    assert "420 pairs" in text


def test_a_file_that_is_none_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / calibrate.NAME).write_text("nonsense\n{}\n")
    assert calibrate.main(["--out", str(tmp_path), "--report"]) == 2
    assert "comparisons.jsonl:1" in capsys.readouterr().err


def test_a_real_comparison_of_a_head_four_times_as_slow() -> None:
    """On whatever machine this is: slower, or the machine is busy; never the same."""
    kind = Kind("four", 4.0, False, 1)
    found = calibrate.compare_once(kind, 1, 0.01)
    assert (found["kind"], found["index"], found["failures"]) == ("four", 1, 0)
    # Beside others, a step may wait for its core longer than it runs.
    assert 1.5 < found["ratio"] < 11.0
    assert found["verdicts"]["time"] in ("slower", "host invalid")
    assert len(found["noise"]) >= 14
    json.dumps(found, allow_nan=False)


def test_the_burner_burns_and_ends() -> None:
    with calibrate.burner(False):
        pass
    with pytest.raises(KeyboardInterrupt), calibrate.burner(True):
        raise KeyboardInterrupt
