"""What the recorder costs: the verdicts on planted costs, the budget, and one real process."""

from __future__ import annotations

import argparse
import doctest
import random
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from bench.harness import launch
from bench.models import recorder, recorder_main

Json = dict[str, Any]


def lines(cost: float, count: int = 40, noise: float = 0.002, off: float = 0.0) -> list[Json]:
    """Two processes whose steps take `cost` longer with the recorder on."""
    draw, found = random.Random(4), []
    for _ in range(2):
        made = {}
        for kind, more in (("on", cost), ("off", 0.0), ("off again", off)):
            samples = [5.0 * (1.0 + more) * draw.lognormvariate(0.0, noise) for _ in range(count)]
            thread = [0.1 + 5.0 * more + draw.gauss(0.0, 1e-4) for _ in range(count)]
            made[kind] = {"samples": samples, "thread": thread, "bytes": 3 << 20}
        found.append(made)
    return found


def test_examples() -> None:
    assert doctest.testmod(recorder).failed == 0


@pytest.mark.parametrize(
    ("cost", "noise", "expected", "code"),
    [(0.0, 0.002, "holds", 0), (0.02, 0.002, "missed", 1), (0.005, 0.02, "undecided", 0)],
)
def test_a_cost_is_found(cost: float, noise: float, expected: str, code: int) -> None:
    """The second one is planted: four times what is promised."""
    found = recorder.summary(lines(cost, noise=noise))
    assert found["time"] == expected and found["memory"] == "holds"
    assert found["on / off"]["pairs"] == 80
    assert found["thread"]["value"] == pytest.approx(cost, abs=1e-4)
    assert recorder.status(found) == code


def test_too_much_memory_is_found() -> None:
    many = lines(0.0)
    many[1]["on"]["bytes"] = 17 << 20
    found = recorder.summary(many)
    assert found["memory"] == "missed" and recorder.status(found) == 1


def test_a_control_that_disagrees_says_so() -> None:
    assert recorder.summary(lines(0.0, off=0.02))["time"] == "host invalid"


def test_one_pair_decides_nothing() -> None:
    assert recorder.summary([lines(0.0, count=1)[0]])["time"] == "undecided"


class Machine:
    """Each process takes 100 s."""

    def __init__(self, fails_at: int = 99) -> None:
        self.now, self.started, self.fails_at = 0.0, 0, fails_at
        self.envs: list[Mapping[str, str]] = []

    def clock(self) -> float:
        return self.now

    def launch(
        self, command: Sequence[str], env: Mapping[str, str], timeout_s: float
    ) -> launch.Outcome:
        self.now, self.started = self.now + 100.0, self.started + 1
        self.envs.append(env)
        if self.started >= self.fails_at:
            return launch.Outcome(1.0, failure=launch.Failure(launch.SIGNAL, "died of SIGSEGV"))
        return launch.Outcome(1.0, lines(0.0)[0])


def collect(machine: Machine, *words: str) -> tuple[list[Json], str]:
    args: argparse.Namespace = recorder.make_parser().parse_args(words)
    return recorder.collect(args, lambda line: None, machine.launch, machine.clock)


def test_the_budget_bounds_the_run() -> None:
    machine = Machine()
    assert len(collect(machine, "--budget", "450")[0]) == 4 and machine.now <= 450.0
    assert {env["ONEFLOW_PYTHON_STACK_GETTER"] for env in machine.envs} == {"1"}
    assert len({env["ONEFLOW_BENCH_SEED"] for env in machine.envs}) == 4
    assert len(collect(Machine(), "--processes", "2")[0]) == 2
    # One process, however small the budget is.
    assert len(collect(Machine(), "--budget", "1")[0]) == 1


def test_a_failure_ends_the_run() -> None:
    assert "died of SIGSEGV" in collect(Machine(fails_at=2))[1]


def test_a_real_process(capsys: pytest.CaptureFixture[str]) -> None:
    recorder_main.main(["bert-tiny:b2:s16:fp32:train", "--seconds", "0", "--least", "3"])
    found = launch.read_metrics(capsys.readouterr().out)
    assert isinstance(found, dict) and set(found) == {"on", "off", "off again"}
    assert {len(line["samples"]) for line in found.values()} == {3}
    assert 0 < found["on"]["bytes"] < recorder.MOST_BYTES
    result = {
        "case": "x", "summary": recorder.summary([found]), "processes": 1, "vm": "auto",
        "threads": 1, "started": "now", "seconds": 1.0, "repeat": "again",
        "host": {"name": "here", "concerns": []},
    }  # fmt: skip
    assert "at most 16 MiB: holds" in recorder.render(result)


@pytest.mark.parametrize("case", ["vgg", "bert-tiny:b2:s16:fp32:inference"])
def test_bad_words(case: str) -> None:
    with pytest.raises(SystemExit) as ended:
        recorder.main(["--case", case])
    assert ended.value.code == 2
