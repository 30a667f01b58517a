"""The runner on fake programs and on a simulated launcher; exit statuses."""

from __future__ import annotations

import json
import os
import random
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from bench.harness import host, launch, render, runner
from bench.harness.plan import INFO, Plan, Program, Row, Versus, plan_from_json, standard_versus
from bench.harness.result import STATUS_NAMES, read_json
from bench.harness.runner import run_plan
from bench.harness.verdict import Policy

FAKE = str(Path(__file__).with_name("fake_program.py"))
QUICK = Policy(family_rate=0.05, looks=1, resamples=200)
Json = dict[str, Any]


def fake(*words: str) -> list[str]:
    """The command of a fake program."""
    return [sys.executable, "-S", FAKE, *words]


def plan(commands: Mapping[str, Sequence[str] | None], policy: Policy = QUICK, **more: Any) -> Plan:
    """A plan of one program with one row."""
    program = Program("p", commands, [Row("t", "the row")], **more)
    return Plan([program], standard_versus(list(commands)), policy)


def verdicts(result: Json) -> dict[str, str]:
    """The verdicts of the first row."""
    return {
        f"{c['candidate']} / {c['reference']}": c["verdict"]
        for c in result["rows"][0]["comparisons"]
    }


class Simulated:
    """A launcher that takes no time: each variant has a mean cost and a noise."""

    def __init__(self, means: Mapping[str, float], noise: float = 0.002) -> None:
        self.means, self.noise = means, noise
        self.random = random.Random(1)
        self.calls: list[str] = []
        self.paddings: list[int] = []

    def __call__(
        self, command: Sequence[str], env: Mapping[str, str], timeout_s: float
    ) -> launch.Outcome:
        name = command[0]
        self.calls.append(name)
        self.paddings.append(len(env["ONEFLOW_BENCH_PADDING"]))
        cost = self.means[name] * self.random.lognormvariate(0.0, self.noise)
        line = {"metric": "t", "unit": "s", "samples": [cost], "check": {"x": 1.0}}
        return launch.Outcome(cost, {"t": line})


def simulated(
    policy: Policy = QUICK, noise: float = 0.002, **means: float
) -> tuple[Json, Simulated]:
    """Runs a plan of variants, named with _ for a space, on a simulated launcher."""
    names = {name.replace("_", " "): mean for name, mean in means.items()}
    launcher = Simulated(names, noise)
    return run_plan(plan({n: [n] for n in names}, policy), launcher=launcher), launcher


def with_goals(control: float) -> Json:
    """A row of 1 s with a limit of 2 s, and a target for each of two references."""
    means = {"head": 1.0, "head again": control, "eager": 1.5, "pytorch": 1.5}
    rows = [Row("t", "the row", target=9.0, at_most=2.0)]
    versus = [
        *standard_versus(["head", "head again"]),
        Versus("head", "eager", INFO, target=1.2),
        Versus("head", "pytorch", INFO, target=2.0),
    ]
    goals = Plan([Program("p", {n: [n] for n in means}, rows)], versus, QUICK)
    return run_plan(plan_from_json(goals.to_json()), launcher=Simulated(means))


def test_each_reference_has_a_target_and_the_row_a_limit() -> None:
    result = with_goals(control=1.0)
    row = result["rows"][0]
    assert [c["target"] for c in row["comparisons"][1:]] == ["reached", "missed"]
    assert (row["at_most"], row["limit"]) == (2.0, "reached")
    words = "1.2x reached, 2x missed, at most 2.00 s reached"
    assert words in render.render(result)
    assert words.replace("_", " ") in render.render(result, "markdown")


def test_a_limit_is_unclear_on_a_disturbed_host() -> None:
    row = with_goals(control=1.3)["rows"][0]
    assert (row["limit"], row["comparisons"][1]["target"]) == ("unclear", "unclear")


def test_verdicts_from_end_to_end() -> None:
    result, _ = simulated(base=1.0, head=1.1, base_again=1.0, pytorch=2.0)
    assert verdicts(result) == {
        "head / base": "slower",
        "base again / base": "same",
        "head / pytorch": "faster",
    }
    assert result["status"] == "regression"
    gate = result["rows"][0]["comparisons"][0]
    assert gate["speed"] == pytest.approx(1.0 / 1.1, rel=0.005)
    assert gate["speed_low"] < gate["speed"] < gate["speed_high"]


@pytest.mark.parametrize(("head", "status"), [(1.0, "ok"), (0.9, "ok"), (1.1, "regression")])
def test_only_a_slower_head_is_a_regression(head: float, status: str) -> None:
    result, _ = simulated(base=1.0, head=head, base_again=1.0)
    assert result["status"] == status


def test_slower_than_pytorch_is_no_regression() -> None:
    result, _ = simulated(head=2.0, pytorch=1.0)
    assert (verdicts(result)["head / pytorch"], result["status"]) == ("slower", "ok")


def test_a_control_that_disagrees_is_infrastructure() -> None:
    result, _ = simulated(base=1.0, head=1.1, base_again=1.1)
    assert verdicts(result)["head / base"] == "host invalid"
    assert result["status"] == "infrastructure"


def test_a_rate_is_better_when_higher() -> None:
    program = Program("p", {"base": ["base"], "head": ["head"]}, [Row("t", "r", better="higher")])
    made = Plan([program], standard_versus(["base", "head"]), QUICK)
    result = run_plan(made, launcher=Simulated({"base": 1.0, "head": 1.1}))
    assert verdicts(result) == {"head / base": "faster"}


def test_more_pairs_while_inconclusive_and_no_more() -> None:
    policy = Policy(family_rate=0.05, looks=3, resamples=200)
    clear, _ = simulated(policy, base=1.0, head=1.2)
    noisy, _ = simulated(policy, noise=0.2, base=1.0, head=1.001)
    schedule = policy.schedule(1).pairs
    assert len(clear["rounds"]) == schedule[0]
    assert len(noisy["rounds"]) == schedule[2]
    assert verdicts(noisy) == {"head / base": "inconclusive"}


def test_only_undecided_programs_go_on() -> None:
    commands = {"base": ["base"], "head": ["head"]}
    noisy = {"base": ["loud base"], "head": ["loud head"]}
    programs = [Program(n, c, [Row("t", n)]) for n, c in (("a", commands), ("b", noisy))]
    policy = Policy(family_rate=0.05, looks=2, resamples=200)

    class Mixed(Simulated):
        def __call__(self, command: Sequence[str], *rest: Any) -> launch.Outcome:
            self.noise = 0.3 if "loud" in command[0] else 0.001
            return super().__call__(command, *rest)

    launcher = Mixed({"base": 1.0, "head": 1.2, "loud base": 1.0, "loud head": 1.0})
    result = run_plan(Plan(programs, standard_versus(list(commands)), policy), launcher=launcher)
    rounds = Counter(r["program"] for r in result["rounds"])
    assert (rounds["a"], rounds["b"]) == policy.schedule(2).pairs


def test_rounds_interleave_in_random_order_and_follow_the_seed() -> None:
    _, first = simulated(base=1.0, head=1.2, base_again=1.0)
    _, again = simulated(base=1.0, head=1.2, base_again=1.0)
    reseeded = Policy(family_rate=0.05, looks=1, seed=7)
    _, other = simulated(reseeded, base=1.0, head=1.2, base_again=1.0)
    assert first.calls == again.calls != other.calls
    rounds = [tuple(first.calls[i : i + 3]) for i in range(0, len(first.calls), 3)]
    assert all(sorted(r) == ["base", "base again", "head"] for r in rounds)
    assert len(set(rounds)) > 1
    assert len(set(first.paddings)) > len(first.paddings) // 2


def test_the_same_rounds_give_the_same_rows() -> None:
    first, _ = simulated(base=1.0, head=1.02)
    again, _ = simulated(base=1.0, head=1.02)
    assert first["rows"] == again["rows"]


def test_a_missing_variant_is_not_available() -> None:
    made = plan({"head": ["head"], "pytorch": None})
    result = run_plan(made, launcher=Simulated({"head": 1.0}))
    assert verdicts(result) == {"head / pytorch": "n/a"}
    assert result["status"] == "ok"
    assert result["rows"][0]["variants"]["head"]["processes"] > 0


@pytest.mark.parametrize(
    ("mode", "kind"),
    [
        ("crash", launch.SIGNAL),
        ("exit", launch.EXIT),
        ("silent", launch.NO_OUTPUT),
        ("garbled", launch.BAD_OUTPUT),
        ("unit", launch.BAD_OUTPUT),
        ("other", launch.NO_OUTPUT),
        ("wrong", launch.WRONG_ANSWER),
        ("nan", launch.BAD_OUTPUT),
        ("hang", launch.TIMEOUT),
    ],
)
def test_a_head_that_fails_is_broken(mode: str, kind: str) -> None:
    timeout_s = 0.5 if mode == "hang" else 30.0
    commands = {"base": fake("good", "1"), "head": fake(mode)}
    result = run_plan(plan(commands, Policy(max_pairs=1, looks=1), timeout_s=timeout_s))
    assert [(f["variant"], f["kind"]) for f in result["failures"]] == [("head", kind)]
    assert verdicts(result) == {"head / base": "failed"}
    assert result["status"] == "broken"


def test_a_base_that_fails_is_infrastructure() -> None:
    result = run_plan(plan({"base": fake("exit"), "head": fake("good", "1")}))
    assert (verdicts(result)["head / base"], result["status"]) == ("failed", "infrastructure")


def test_an_expected_answer_catches_variants_that_agree_on_a_wrong_one() -> None:
    commands = {"base": fake("wrong"), "head": fake("wrong")}
    agreeing = run_plan(plan(commands))
    assert agreeing["failures"] == []
    caught = run_plan(plan(commands, expected={"t": {"sum": 6.0}}))
    assert {f["variant"] for f in caught["failures"]} == {"base", "head"}
    assert {f["kind"] for f in caught["failures"]} == {launch.WRONG_ANSWER}


def test_what_no_comparison_needs_is_not_run() -> None:
    counts: Counter[str] = Counter()

    class Broken(Simulated):
        def __call__(self, command: Sequence[str], *rest: Any) -> launch.Outcome:
            counts[command[0]] += 1
            if command[0] == "head":
                return launch.Outcome(0.1, failure=launch.Failure(launch.EXIT, "exit status 1"))
            return super().__call__(command, *rest)

    made = plan({"base": ["base"], "head": ["head"], "base again": ["base again"]})
    run_plan(made, launcher=Broken({"base": 1.0, "base again": 1.0}))
    assert counts == {"base": 1, "head": 1, "base again": 1}


def test_rounds_can_be_run_one_by_one() -> None:
    """Chosen rounds of chosen programs; they are the ones that a whole run would have run."""
    made = plan({"base": ["base"], "head": ["head"]})
    whole, single = Simulated({"base": 1.0, "head": 1.2}), Simulated({"base": 1.0, "head": 1.2})
    run_plan(made, launcher=whole)
    collector = runner.Collector(made, single)
    collector.run_rounds([0, 1], ["another"])
    assert collector.rounds == []
    collector.run_rounds([0], ["p"])
    collector.run_rounds([1], ["p"])
    assert [item["round"] for item in collector.rounds] == [0, 1]
    assert single.calls == whole.calls[:4]


def test_nothing_measured_is_its_own_status() -> None:
    result = run_plan(plan({"head": None, "pytorch": None}))
    assert result["status"] == "nothing measured"


def test_an_interrupt_keeps_what_was_collected() -> None:
    class Impatient(Simulated):
        def __call__(self, *args: Any) -> launch.Outcome:
            if len(self.calls) == 4:
                raise KeyboardInterrupt
            return super().__call__(*args)

    made = plan({"base": ["base"], "head": ["head"]})
    result = run_plan(made, launcher=Impatient({"base": 1.0, "head": 1.0}))
    assert (len(result["rounds"]), result["interrupted"]) == (2, True)
    assert result["status"] == "infrastructure"


def test_a_process_gets_the_plans_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    made = plan({"head": fake("env")}, env={"*": {"BENCH_A": "1"}, "head": {"BENCH_A": "2"}})
    result = run_plan(made)
    env = result["rounds"][0]["runs"]["head"]["metrics"]["t"]["check"]["env"]
    assert env["BENCH_A"] == "2"
    assert "PYTHONPATH" not in env
    assert env["ONEFLOW_BENCH_SEED"] == "20/0"


def write_plan(folder: Path, commands: Mapping[str, Sequence[str]]) -> str:
    """A plan as a file."""
    path = folder / "plan.json"
    path.write_text(json.dumps(plan(commands).to_json()), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("base", "head", "status"),
    [
        (["good", "1"], ["good", "1.0001"], 0),
        (["good", "1"], ["good", "1.5"], 1),
        (["exit"], ["good", "1"], 4),
        (["good", "1"], ["exit"], 5),
    ],
)
def test_the_command_line_tells_statuses_apart(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    base: list[str],
    head: list[str],
    status: int,
) -> None:
    path = write_plan(tmp_path, {"base": fake(*base), "head": fake(*head)})
    out = tmp_path / "deep" / "result.json"
    assert runner.main([path, "--out", str(out), "--quiet"]) == status
    assert "the row" in capsys.readouterr().out
    assert read_json(out)["status"] == STATUS_NAMES[status]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"programs": 3}', '{"surprise": 1}', "\x00"])
def test_a_plan_that_is_none_is_a_usage_error(tmp_path: Path, text: str) -> None:
    path = tmp_path / "plan.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SystemExit) as ended:
        runner.main([str(path)])
    assert ended.value.code == 2


def test_a_strict_host_guard_measures_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_plan(tmp_path, {"head": fake("good", "1")})
    busy = host.snapshot() | {"load": 1000.0}
    monkeypatch.setattr(host, "snapshot", lambda: busy)
    assert runner.main([path, "--strict-host"]) == 4


def test_cores_are_chosen_by_flag(tmp_path: Path) -> None:
    path = write_plan(tmp_path, {"head": fake("good", "1")})
    usable = os.sched_getaffinity(0)
    try:
        out = tmp_path / "r.json"
        assert runner.main([path, "--quiet", "--cpus", str(min(usable)), "--out", str(out)]) == 0
        assert read_json(out)["host"]["before"]["cpus"] == [min(usable)]
    finally:
        os.sched_setaffinity(0, usable)
