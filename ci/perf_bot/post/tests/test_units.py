"""The mark, patience, the verdict."""

from __future__ import annotations

from pathlib import Path

import pytest

from ci.perf_bot.post import marker, memory
from ci.perf_bot.post.api import ApiError, Comment, Limited, Refused, Unsure
from ci.perf_bot.post.marker import PREFIX, UNKNOWN, State
from ci.perf_bot.post.memory import Memory, default_file
from ci.perf_bot.post.patience import LONGEST, MOST_TRIES, Patience
from ci.perf_bot.post.testing import sample
from ci.perf_bot.post.testing.fake_clock import FakeClock
from ci.perf_bot.post.verdict import short, verdict_of
from ci.perf_bot.schema import STATUSES

STATE = State(17, 2, "a" * 40, True)


def test_what_was_posted_is_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a" / "memory.json"
    here, there = Memory(file, "bot https://x/o/r"), Memory(file, "bot https://x/o/s")
    assert here.recall(7) is None
    here.keep(7, 1001, STATE)
    there.keep(7, 2002, UNKNOWN)
    assert Memory(file, "bot https://x/o/r").recall(7) == (1001, STATE)
    assert there.recall(7) is None and here.recall(8) is None
    here.forget(7)
    assert here.recall(7) is None
    monkeypatch.setattr(memory, "MOST", 2)
    for pull in (1, 2, 3):
        here.keep(pull, pull, STATE)
    assert [here.recall(pull) is None for pull in (1, 2, 3)] == [True, False, False]


@pytest.mark.parametrize(
    "text",
    ["", "[]", '{"here#7": 1}', '{"here#7": ["1", "x"]}', '{"here#7": [1, "x"]}', "[" * 9999],
)
def test_a_memory_that_cannot_be_read_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "m").write_text(text)
    found = Memory(tmp_path / "m", "here")
    assert found.recall(7) is None
    found.keep(7, 1, STATE)
    assert found.recall(7) == (1, STATE)


def test_where_nothing_can_be_kept_nothing_is(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for nowhere in (Memory(), Memory(tmp_path / "file" / "m", "here")):
        nowhere.keep(7, 1, STATE)
        nowhere.forget(7)
        assert nowhere.recall(7) is None
    assert default_file({}) is None
    assert default_file({"XDG_CACHE_HOME": "/c", "HOME": "/h"}) == Path(
        "/c/oneflow-perf/comments.json"
    )


def test_the_mark_is_read_back() -> None:
    assert marker.read(STATE.line() + "\nmore") == STATE
    assert marker.read(STATE.line() + "\r\nmore") == STATE


@pytest.mark.parametrize(
    "body",
    [
        "",
        "x " + STATE.line(),
        PREFIX,
        PREFIX + "{} -->",
        PREFIX + "[1] -->",
        PREFIX + '{"run":"1","attempt":1,"commit":"","label":true} -->',
        PREFIX + '{"run":true,"attempt":1,"commit":"","label":true} -->',
        PREFIX + '{"run":1,"attempt":1,"commit":"","label":true,"more":1} -->',
        PREFIX + '{"run":1,\n"attempt":1,"commit":"","label":true} -->',
        STATE.line().replace("17", "9" * 400),
    ],
)
def test_what_is_no_mark_is_unknown(body: str) -> None:
    assert marker.read(body) == UNKNOWN


def test_ours_needs_the_author_and_the_mark() -> None:
    mark = STATE.line()
    mine, older = Comment(5, "bot", mark), Comment(3, "bot", mark + "\nx")
    others = [Comment(1, "eve", mark), Comment(2, "bot", "> " + mark), Comment(4, "", mark)]
    assert marker.ours([mine, *others, older], "bot") == [older, mine]


@pytest.mark.parametrize(
    ("one", "other", "newer"),
    [
        ((2, 1), (1, 9), True),
        ((1, 2), (1, 1), True),
        ((1, 1), (1, 1), False),
        ((5, 1), (0, 1), False),
    ],
)
def test_which_run_is_newer(one: tuple[int, int], other: tuple[int, int], newer: bool) -> None:
    assert State(*one, "", False).is_newer_than(State(*other, "", False)) == newer


def waits_of(error: ApiError, seconds: float = LONGEST) -> list[float]:
    """How patience waits for a call that always fails alike, before it gives up."""
    clock = FakeClock()

    def fail() -> None:
        raise error

    with pytest.raises(type(error)):
        Patience(clock, seconds).call(fail)
    return clock.slept


@pytest.mark.parametrize(
    ("error", "waits"),
    [
        (Refused("x"), []),
        (Unsure("x"), [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0]),
        (Limited("x", None), [60.0, 120.0, 240.0, 480.0, 960.0]),
        (Limited("x", 900.0), [900.0, 900.0, 900.0, 900.0]),
        (Limited("x", 3600.0), [3600.0]),
        (Limited("x", 3701.0), []),
        (Limited("x", 0.0), [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0]),
        (Unsure("x", 30.0), [30.0, 30.0, 30.0, 30.0, 30.0, 32.0, 64.0]),
    ],
)
def test_patience_waits_and_ends(error: ApiError, waits: list[float]) -> None:
    assert waits_of(error) == waits
    assert len(waits) < MOST_TRIES


def test_patience_is_one_for_all_calls() -> None:
    clock = FakeClock()
    patience = Patience(clock, 100.0)
    patience.wait(Limited("x", 60.0), 0)
    with pytest.raises(Limited):
        patience.wait(Limited("x", 60.0), 0)
    assert clock.slept == [60.0]


@pytest.mark.parametrize("status", STATUSES)
def test_each_status_has_a_verdict(status: str) -> None:
    found = verdict_of(sample.result(slower=status == "regression", status=status))
    assert found.regressed == {"regression": True, "ok": False}.get(status)
    assert found.state in ("error", "failure", "success") and 0 < len(found.description) <= 140
    assert (found.state == "success") == (status in ("ok", "inconclusive"))


def test_a_row_that_is_slower_counts_whatever_else_is_wrong() -> None:
    found = verdict_of(sample.result(slower=True, status="broken"))
    assert (found.regressed, found.state) == (True, "failure")


def test_a_result_that_contradicts_itself_is_a_regression() -> None:
    found = verdict_of(sample.result(slower=True, status="inconclusive"))
    assert (found.regressed, found.state) == (True, "failure")
    assert found.description == "slower, or more memory: resnet50_b16 time"


def test_a_description_is_one_short_line() -> None:
    assert short("a\nb") == "a b"
    assert len(short("x" * 200)) == 140 and short("x" * 200).endswith("…")
