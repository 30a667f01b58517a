"""The testers' table: columns, verdicts, files, failed builds. Processes are faked."""

from __future__ import annotations

import csv
import doctest
import json
import random
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from bench import commits
from bench.harness import launch
from bench.models import rounds, speed, testers, testers_table
from bench.models.cases import Case
from ci.perf_bot import builds

Json = dict[str, Any]
CASES = [Case("resnet50", 16), Case("bert-tiny", 2, 16)]


class Machine:
    """Every process: its time by the folder on its search path, with some noise."""

    def __init__(self, seconds: Mapping[str, float], crash: str = "", wrong: str = "") -> None:
        self.seconds, self.crash, self.wrong = seconds, crash, wrong
        self.random = random.Random(3)
        self.now = 0.0

    def clock(self) -> float:
        return self.now

    def run(self, variant: rounds.Variant, words: Sequence[str], threads: int) -> list[Json]:
        """first_steps_main.py."""
        self.now += 1.0
        if "--peak" in words:
            return [{"case": w, "peak": 3 << 20, "seconds": 1.0} for w in words if ":" in w]
        scale = 1.1 if variant.path[0] == self.wrong else 1.0
        record = {"flops": 7, "losses": [2.0 * scale] * 3, "moments": [{"w": [1.0, 0.0, 0.0]}] * 3}
        return [{"case": words[0], "record": record}]

    def launch(
        self, command: Sequence[str], env: Mapping[str, str], timeout_s: float
    ) -> launch.Outcome:
        """step_main.py."""
        side = env["PYTHONPATH"].split(":")[0]
        self.now += 10.0
        if side == self.crash:
            return launch.Outcome(1.0, failure=launch.Failure(launch.SIGNAL, "died of SIGSEGV"))
        took = self.seconds[side] * self.random.uniform(0.999, 1.001)
        line: Json = {"unit": "s", "samples": [took], "check": {"first": 1.0}}
        if command[2] == "oneflow":
            line["peak_allocator_bytes"] = 5 << 20
        return launch.Outcome(1.0, {w: {"metric": w, **line} for w in command[4:] if ":" in w})


def sides(torch: bool = False) -> list[testers.Side]:
    """Two commits and the first again."""
    head = testers.Side("head", "check_xx@2a23745", "python", "oneflow", ("head",), "a subject")
    base = testers.Side("base", "master@a3841f5", "python", "oneflow", ("base",))
    again = testers.Side("base again", base.label, "python", "oneflow", ("base",))
    extra = [testers.Side("pytorch", "PyTorch 9.9", "python", "torch", ("torch",))] if torch else []
    return [head, base, again, *extra]


def measure(machine: Machine, *words: str, some: Sequence[testers.Side] | None = None) -> Json:
    args = testers.make_parser().parse_args(["check_xx", *words])
    columns = sides() if some is None else some
    return testers.measure(
        args, CASES, columns, lambda line: None, machine.launch, machine.run, machine.clock
    )


def test_examples() -> None:
    assert doctest.testmod(testers_table).failed == doctest.testmod(commits).failed == 0


def test_the_table() -> None:
    machine = Machine({"head": 1.25, "base": 1.25, "torch": 2.5})
    result = measure(machine, "--rounds", "10", "--budget", "1e6", some=sides(torch=True))
    lines = testers_table.render(result).splitlines()
    assert lines[0] == (
        "Case | check_xx@2a23745 | master@a3841f5 | PyTorch 9.9 | "
        "speed check_xx@2a23745 / master@a3841f5 | speed check_xx@2a23745 / PyTorch 9.9"
    )
    cells = lines[1].split(" | ")
    assert cells[0] == "ResNet50_DCcpu_FP32_mb16_gb16_acc1_1n1g"
    assert cells[1].startswith("12.8") and cells[1].endswith(" / 5 MiB")
    assert cells[3].startswith("6.4") and cells[3].endswith(" / 3 MiB")
    assert cells[4].endswith("same") and cells[5].endswith("faster")
    assert "_eager_" in lines[2] and "samples/s / 5 MiB" in lines[3]
    assert result["status"] == 0 and len(result["rows"]) == 4
    assert any(line.startswith("control ResNet50") for line in lines)
    assert lines[-1] == "verdict: nothing slower (4 same)"


@pytest.mark.parametrize(("head", "verdict", "status"), [(1.3, "slower", 1), (1.2, "faster", 0)])
def test_a_difference_is_found(head: float, verdict: str, status: int) -> None:
    result = measure(Machine({"head": head, "base": 1.25}), "--rounds", "10", "--budget", "1e6")
    assert {row["speed"]["head / base"]["verdict"] for row in result["rows"]} == {verdict}
    assert result["status"] == status
    last = testers_table.render(result).splitlines()[-1]
    assert last.startswith(f"verdict: {'slower: ResNet50' if status else 'nothing slower (4 f'}")


def test_few_rounds_are_inconclusive() -> None:
    result = measure(Machine({"head": 1.3, "base": 1.25}), "--rounds", "3")
    assert {row["speed"]["head / base"]["verdict"] for row in result["rows"]} == {"inconclusive"}
    text = testers_table.render(result)
    assert result["status"] == 0 and "inconclusive" in text
    assert "3 rounds of at least" in text and "(4 inconclusive)" in text
    one = testers_table.render(measure(Machine({"head": 1.3, "base": 1.25}), "--rounds", "1"))
    assert "over 1 round;" in one and "x inconclusive" in one and "?" not in one


def test_the_budget_bounds_the_rounds() -> None:
    machine = Machine({"head": 1.25, "base": 1.25})
    result = measure(machine, "--budget", "500")
    assert machine.now <= 500.0 and result["policy"]["pairs"] == 4


def test_a_crash_is_no_regression() -> None:
    result = measure(Machine({"base": 1.25}, crash="head"), "--rounds", "2")
    assert result["status"] == 5
    text = testers_table.render(result)
    assert "n/a | 12.8" in text and "died of SIGSEGV" in text


def test_sides_that_compute_something_else_are_not_timed() -> None:
    with pytest.raises(testers.CheckError, match="check_xx@2a23745"):
        measure(Machine({"head": 1.25, "base": 1.25}, wrong="base"))


def test_one_side_alone() -> None:
    machine = Machine({"head": 2.0})
    result = measure(machine, "--rounds", "1", some=sides()[:1])
    first, second = testers_table.render(result).splitlines()[:2]
    assert first == "Case | check_xx@2a23745" and "5 MiB" in second
    assert result["status"] == 0 and result["compared"] == []
    crashed = measure(Machine({}, crash="head"), "--rounds", "1", some=sides()[:1])
    assert crashed["status"] == 5


def test_files(tmp_path: Path) -> None:
    result = measure(Machine({"head": 1.25, "base": 1.3}), "--rounds", "10", "--budget", "1e6")
    names = [tmp_path / "x" / name for name in ("t.json", "t.csv", "t.svg")]
    words = [
        w for flag, path in zip(("--json", "--csv", "--plot"), names) for w in (flag, str(path))
    ]
    testers.write_files(testers.make_parser().parse_args(words), result)
    assert json.loads(names[0].read_text())["schema"] == testers.SCHEMA
    table = list(csv.DictReader(names[1].open()))
    assert len(table) == 8 and table[0]["verdict"] == "faster" and table[1]["verdict"] == ""
    assert float(table[0]["samples_per_second"]) == pytest.approx(12.8, rel=0.01)
    assert float(table[0]["peak_mib"]) == 5.0
    assert b"</svg>" in names[2].read_bytes()


@pytest.fixture(name="checkout")
def fixture_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with two commits and a branch, in which the command is called."""
    top = tmp_path / "checkout"
    top.mkdir()
    for words in (
        ["init", "-q", "-b", "master"],
        ["commit", "-q", "--allow-empty", "-m", "first"],
        ["branch", "check_xx"],
        ["commit", "-q", "--allow-empty", "-m", "second"],
    ):
        identity = ["-c", "user.name=t", "-c", "user.email=t@example.com"]
        subprocess.run(["git", "-C", str(top), *identity, *words], check=True)
    monkeypatch.setenv("BUILD_WORKSPACE_DIRECTORY", str(top))
    return top


def parsed(tmp_path: Path, *words: str) -> Any:
    work = ["--work", str(tmp_path / "work"), "--torch-python", "none"]
    return testers.make_parser().parse_args([*words, *work])


def test_commits_become_columns(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = []

    def build(self: builds.Builder, side: str, commit: str, log: Path) -> builds.Build:
        built.append((side, commit))
        return builds.Build(tmp_path / commit, 1.0)

    monkeypatch.setattr(builds.Builder, "build", build)
    found = testers.make_sides(parsed(tmp_path, "check_xx"), lambda line: None)
    assert [side.name for side in found] == ["head", "base", "base again"]
    assert found[0].label.startswith("check_xx@") and found[1].label.startswith("master@")
    assert found[0].label[9:] == built[0][1][:7] != built[1][1][:7]
    assert found[1].path == found[2].path and found[0].about == "first"


def test_a_commit_that_does_not_build(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any
) -> None:
    def build(self: builds.Builder, side: str, commit: str, log: Path) -> builds.Build:
        raise builds.BuildError("build failed", "ended with status 1: broken.cc:7: error")

    monkeypatch.setattr(builds.Builder, "build", build)
    words = ["check_xx", "--work", str(tmp_path / "w"), "--torch-python", "none"]
    assert testers.main(words) == testers.BUILD_FAILED == 6
    said = capfd.readouterr().err
    assert "check_xx@" in said and "does not build" in said and "broken.cc:7: error" in said


def test_this_checkout(checkout: Path, tmp_path: Path) -> None:
    (side,) = testers.make_sides(parsed(tmp_path), lambda line: None)
    assert side.label.startswith("master@") and side.name == "head"
    (checkout / "new").write_text("")
    subprocess.run(["git", "-C", str(checkout), "add", "new"], check=True)
    assert testers.own_label(builds.Repository(checkout)).endswith(" with changes")
    assert testers.own_label(builds.Repository(tmp_path)) == "this folder"


@pytest.mark.parametrize(
    "words",
    [["no_such_branch"], ["--compare", "torch"], ["--case", "vgg"], ["--plot", "x.gif"],
     ["--mode", "lazy"], ["--dtype", "fp8"]],
)  # fmt: skip
def test_bad_words(words: list[str], checkout: Path, tmp_path: Path) -> None:
    more = ["--work", str(tmp_path / "w"), "--torch-python", "none"]
    with pytest.raises(SystemExit) as ended:
        testers.main([*words, *more])
    assert ended.value.code == 2


def test_usual_cases() -> None:
    args = testers.make_parser().parse_args([])
    assert [str(c) for c in speed.choose_cases(args, testers.USUAL)] == list(testers.USUAL)
