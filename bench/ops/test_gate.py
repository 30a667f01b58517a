"""The gate finds an op that got slower, forgives one slow look, and says what failed."""

from __future__ import annotations

import doctest
import random
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from bench import commits
from bench.harness import launch
from bench.ops import cases_main, gate

Json = dict[str, Any]
SIDES = {
    gate.BASE: gate.Side("master@1", "python", ("base",)),
    gate.HEAD: gate.Side("this checkout", "python", ("head",)),
}
ADD = "add / 1 element"


class Machine:
    """Every process: 1 us for each case with 2 % of noise, but for what is planted.

    Args:
        slower: factor of cases at the head.
        once: factor in the head's first two processes only.
        fails: the side whose processes end with an error.
    """

    def __init__(
        self,
        slower: Mapping[str, float] | None = None,
        once: Mapping[str, float] | None = None,
        fails: str = "",
    ) -> None:
        self.slower, self.once, self.fails = slower or {}, once or {}, fails
        self.random, self.heads, self.asked = random.Random(1), 0, [""]

    def launch(
        self, command: Sequence[str], env: Mapping[str, str], timeout_s: float
    ) -> launch.Outcome:
        """cases_main.py."""
        side = env["PYTHONPATH"]
        assert command[0] == "python" and command[1].endswith("ops/cases_main.py")
        self.asked = list(command[4:])
        if side == self.fails:
            return launch.Outcome(1.0, failure=launch.Failure(launch.EXIT, "status 1"))
        self.heads += side == "head"
        metrics = {}
        for name in command[4:]:
            took = 1e-6 * self.random.uniform(0.98, 1.02)
            if side == "head":
                took *= self.slower.get(name, 1.0)
                took *= self.once.get(name, 1.0) if self.heads <= 2 else 1.0
            metrics[name] = {"metric": name, "unit": "s", "samples": [took], "check": {"n": 1}}
        return launch.Outcome(1.0, metrics)


def measured(machine: Machine, *words: str) -> Json:
    args = gate.make_parser().parse_args(["master", "--family", "arithmetic", *words])
    return gate.measure(args, SIDES, lambda line: None, machine.launch)


def test_examples() -> None:
    assert doctest.testmod(gate).failed == 0


def test_nothing_slower() -> None:
    result = measured(Machine())
    assert result["suspects"] == {} and gate.status(result) == 0
    text = gate.page(result)
    assert "no op slower: " in text and "| arithmetic | 1 element |" in text
    assert "geometric mean" in text and "master@1's time over this checkout's" in text


@pytest.mark.parametrize("factor", [1.15, 2.0])
def test_a_slower_op_is_found(factor: float) -> None:
    machine = Machine({ADD: factor})
    result = measured(machine)
    assert result["suspects"] == {"arithmetic": [ADD]} and gate.status(result) == 1
    assert machine.asked == [ADD]  # the second look is at the suspect alone
    assert gate.slower_of(result) == [f"arithmetic: {ADD}"]
    assert f"slower: 1 of 75 cases: arithmetic: {ADD}" in gate.page(result)


def test_several_are_found_in_all_families() -> None:
    words = {"exp / 1 element": 1.3, "topk 10 / 64 kB": 1.2}
    args = gate.make_parser().parse_args(["master", "--family", "math", "--family", "sort"])
    machine = Machine(words)
    result = gate.measure(args, SIDES, lambda line: None, machine.launch)
    assert set(gate.slower_of(result)) == {"math: exp / 1 element", "sort: topk 10 / 64 kB"}


def test_one_slow_look_is_forgiven() -> None:
    result = measured(Machine(once={ADD: 1.5}))
    assert result["suspects"] == {"arithmetic": [ADD]} and gate.status(result) == 0
    text = gate.page(result)
    assert "Looked slower, and measured again" in text and "no op slower" in text


def test_a_faster_op_is_no_suspect() -> None:
    result = measured(Machine({ADD: 0.5}))
    assert result["suspects"] == {} and gate.status(result) == 0


@pytest.mark.parametrize(("side", "status"), [("head", 5), ("base", 4)])
def test_a_side_that_fails(side: str, status: int) -> None:
    result = measured(Machine(fails=side))
    assert gate.status(result) == status
    text = gate.page(result)
    assert "failed: arithmetic" in text and "no op slower" not in text


def test_what_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setenv("BUILD_WORKSPACE_DIRECTORY", str(tmp_path))
    for words in ([], ["a", "--base-python", "p"], ["no_such_commit", "--work", str(tmp_path)]):
        with pytest.raises(SystemExit) as ended:
            gate.main(words)
        assert ended.value.code == 2


def test_a_commit_that_does_not_build(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    def build(*args: Any) -> Any:
        raise commits.BuildFailed("master@1 does not build: error")

    monkeypatch.setattr(commits, "build", build)
    assert gate.main(["master"]) == gate.BUILD_FAILED
    assert "does not build" in capsys.readouterr().err


def test_the_measured_process_takes_names_and_sizes() -> None:
    every = cases_main.chosen("arithmetic", set())
    assert len(every) == 144
    one = cases_main.chosen("arithmetic", {ADD})
    assert [(case.name, size) for case, size in one] == [("add", "1 element")]
    assert {size for _, size in cases_main.chosen("arithmetic", {"1 kB"})} == {"1 kB"}
