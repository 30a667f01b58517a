"""How costs grow: fits of known polynomials, planted growth, the command. Processes are faked."""

from __future__ import annotations

import argparse
import doctest
import json
import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from bench.harness import launch, torch_env
from bench.models import growth, growth_fit, growth_page
from bench.models.cases import Case, parse

Json = dict[str, Any]
Cost = Callable[[Case], float]
TORCH = torch_env.TorchPython("/usr/bin/torch-python", "9.9", "as given")
NO_TORCH = torch_env.TorchPython(None, "", "not asked for")


def test_examples() -> None:
    assert doctest.testmod(growth_fit).failed == 0


@pytest.mark.parametrize("terms", [(0.2, 0.03), (0.0, 1.5), (3.0, 0.0), (0.1, 0.02, 4e-5)])
def test_a_polynomial_is_found_again(terms: tuple[float, ...]) -> None:
    sizes = [1.0, 3.0, 16.0, 100.0, 512.0]
    costs = [growth_fit.Fit(terms, 0.0).at(x) for x in sizes]
    found = growth_fit.fit(sizes, costs, len(terms) - 1)
    assert found.terms == pytest.approx(terms, rel=1e-6, abs=1e-12) and found.error < 1e-9
    assert sum(found.shares(512.0)) == pytest.approx(1.0)
    assert growth_fit.state(found, len(sizes)) == growth_fit.HOLDS


def test_no_term_is_negative() -> None:
    found = growth_fit.fit([1.0, 2.0, 4.0, 8.0], [1.0, 1.7, 3.0, 5.0], 2)
    assert min(found.terms) >= 0.0


@pytest.mark.parametrize(
    ("cost", "degree"),
    [(lambda x: 0.1 + 0.01 * x**2, 1), (lambda x: x + 0.15 * x**2, 1), (lambda x: x**3, 2)],
)
def test_faster_growth_is_found(cost: Callable[[float], float], degree: int) -> None:
    """Planted: a power more than was promised."""
    sizes = [1.0, 2.0, 4.0, 8.0, 16.0]
    found = growth_fit.fit(sizes, [cost(x) for x in sizes], degree)
    assert growth_fit.state(found, len(sizes)) == growth_fit.BROKEN
    last = growth_fit.exponent(sizes, [cost(x) for x in sizes])
    assert last is not None and last > degree + 0.3


def test_noise_is_no_growth() -> None:
    draw = random.Random(1)
    for _ in range(50):
        sizes = [1.0, 2.0, 4.0, 8.0, 16.0]
        costs = [(0.3 + 0.2 * x) * draw.lognormvariate(0.0, 0.02) for x in sizes]
        assert growth_fit.state(growth_fit.fit(sizes, costs, 1), 5) == growth_fit.HOLDS


@pytest.mark.parametrize(
    ("sizes", "costs"), [([], []), ([1.0], [0.0]), ([0.0, 1.0], [1.0, 1.0]), ([1.0], [1.0, 2.0])]
)
def test_no_fit_of_what_is_no_cost(sizes: list[float], costs: list[float]) -> None:
    with pytest.raises(ValueError, match=r"\[fit\]"):
        growth_fit.fit(sizes, costs, 1)


class Machine:
    """Every process: a step's time by its case, with some noise."""

    def __init__(self, cost: Cost, crash: str = "") -> None:
        self.cost, self.crash = cost, crash
        self.random, self.now = random.Random(2), 0.0

    def clock(self) -> float:
        return self.now

    def launch(
        self, command: Sequence[str], env: Mapping[str, str], timeout_s: float
    ) -> launch.Outcome:
        """step_main.py."""
        if command[2] == self.crash:
            return launch.Outcome(1.0, failure=launch.Failure(launch.SIGNAL, "died of SIGSEGV"))
        metrics = {}
        for word in [w for w in command[4:] if ":" in w]:
            took = self.cost(parse(word)) * self.random.uniform(0.99, 1.01)
            self.now += 3.0 * took
            check = {"first": 1.0, "second": 0.9}
            metrics[word] = {"metric": word, "unit": "s", "samples": [took], "check": check}
        return launch.Outcome(1.0, metrics)


def as_promised(case: Case) -> float:
    """Layers times a line and a square of the sequence, times the batch, and what is always."""
    return 1e-4 + case.batch * (case.depth or 12) * (1e-5 * case.sequence + 2e-8 * case.sequence**2)


def arguments(*words: str) -> argparse.Namespace:
    return growth.make_parser().parse_args(words)


def measure(machine: Machine, *words: str, torch: torch_env.TorchPython = TORCH) -> Json:
    args = arguments("--case", "bert-base", *words)
    return growth.measure(
        args, growth.choose(args), torch, lambda line: None, machine.launch, machine.clock
    )


def test_what_grows_as_promised() -> None:
    result = measure(Machine(as_promised), "--rounds", "3")
    assert [(row["axis"], row["variant"]) for row in result["rows"]] == [
        (axis, v) for axis in growth.AXES for v in ("graph", "eager", "PyTorch")
    ]
    assert {row["state"] for row in result["rows"]} == {"holds"}
    assert {row["rounds"] for row in result["rows"]} == {3}
    square = next(row for row in result["rows"] if row["axis"] == "sequence")
    assert square["degree"] == 2 and square["shares"][2] == pytest.approx(0.5, abs=0.1)
    # Fifteen sizes, of which some belong to two axes.
    assert set(result["controls"]) == {c for row in result["rows"] for c in row["cases"]}
    assert growth.status(result) == 0


def test_a_step_that_grows_with_the_square_of_the_batch_is_found() -> None:
    """Planted."""
    result = measure(Machine(lambda c: as_promised(c) * c.batch), "--axis", "batch", torch=NO_TORCH)
    assert {row["state"] for row in result["rows"]} == {"grows otherwise"}
    assert growth.status(result) == 1
    # On a host where a size is not as fast as itself, that says nothing.
    (one,) = growth.choose(arguments("--case", "bert-base", "--axis", "batch"))
    doubted = growth.make_rows(one, result["rounds"], ["graph"], {str(one.cases[1]): 1.2})
    assert [row["state"] for row in doubted] == ["host invalid"]
    assert growth.status(result | {"rows": doubted}) == 0
    # PyTorch's growth is information.
    theirs = [row | {"variant": "PyTorch"} for row in result["rows"]]
    assert growth.status(result | {"rows": theirs}) == 0


def test_the_budget_bounds_the_run() -> None:
    machine = Machine(as_promised)
    result = measure(machine, "--budget", "30")
    assert 20.0 <= machine.now <= 30.0 and result["rows"][0]["rounds"] >= 3


def test_failures() -> None:
    crashed = measure(Machine(as_promised, crash="torch"), "--rounds", "1")
    assert growth.status(crashed) == 4
    assert {row["variant"] for row in crashed["rows"]} == {"graph", "eager"}
    assert "died of SIGSEGV" in growth_page.render(crashed)
    broken = measure(Machine(as_promised, crash="oneflow"), "--rounds", "1")
    assert growth.status(broken) == 5
    assert growth.status(broken | {"failures": [], "rows": []}) == 3


def test_report_and_picture(tmp_path: Path) -> None:
    result = json.loads(json.dumps(measure(Machine(as_promised), "--rounds", "2")))
    text = growth_page.render(result)
    assert "sequence, bert-base" in text and "to the square: holds" in text and " x² " in text
    lines = growth_page.render(result, "markdown").splitlines()
    assert lines[1].startswith("| ---") and lines[2].startswith("| batch, bert-base | graph | 1, 2")
    growth_page.draw(result, tmp_path / "a.svg")
    growth_page.draw(result, tmp_path / "b.svg")
    drawn = (tmp_path / "a.svg").read_bytes()
    assert drawn == (tmp_path / "b.svg").read_bytes() and b"</svg>" in drawn


def test_series() -> None:
    usual = growth.choose(arguments())
    assert {(s.model, s.axis) for s in usual} == {
        ("resnet50", "batch"), ("resnet50", "depth"), ("bert-base", "batch"),
        ("bert-base", "depth"), ("bert-base", "sequence"),
    }  # fmt: skip
    (one,) = growth.choose(
        arguments("--case", "bert-large", "--axis", "sequence", "--sizes", "8,16", "--dtype=bf16")
    )
    assert [str(c) for c in one.cases] == [f"bert-large:b2:s{n}:l4:bf16:train" for n in (8, 16)]


@pytest.mark.parametrize(
    "words",
    [("--sizes", "1,2"), ("--axis", "batch", "--sizes", "0,1"), ("--axis=batch", "--sizes=1,1"),
     ("--axis", "batch", "--sizes", "x"), ("--axis", "sequence", "--case", "resnet50"),
     ("--axis", "sequence", "--case", "bert-base", "--sizes", "513"), ("--axis", "width"),
     ("--case", "vgg"), ("--axis=depth", "--sizes=201", "--case=bert-base")],
)  # fmt: skip
def test_bad_words(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        growth.main([*words, "--torch-python", "none"])
    assert ended.value.code == 2 and "growth" in capsys.readouterr().err
