"""The command: which cases and variants it takes, what it refuses, and how it uses its time."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from bench.harness import launch, torch_env
from bench.models import before, rounds, speed
from bench.models.before import Before, CheckError
from bench.models.cases import Case, parse

Json = dict[str, Any]
TORCH = torch_env.TorchPython("/usr/bin/torch-python", "9.9", "as given")
NO_TORCH = torch_env.TorchPython(None, "", "not asked for")


def arguments(*words: str) -> argparse.Namespace:
    """The command line."""
    return speed.make_parser().parse_args(words)


def chosen(*words: str) -> list[str]:
    return [str(case) for case in speed.choose_cases(arguments(*words), ("resnet50", "bert-base"))]


def test_cases() -> None:
    assert chosen() == [
        *(f"resnet50:b{n}:fp32:train" for n in (16, 8, 4, 2, 1)),
        "bert-base:b8:s128:fp32:train",
    ]
    assert chosen("--case", "bert-large", "--batch", "2", "--dtype", "bf16") == [
        "bert-large:b2:s512:bf16:train"
    ]
    assert chosen("--case", "resnet50:b3:fp32:inference") == ["resnet50:b3:fp32:inference"]
    both = chosen("--case", "resnet50", "--batch", "4", "--phase", "train", "--phase", "inference")
    assert both == ["resnet50:b4:fp32:train", "resnet50:b4:fp32:inference"]


@pytest.mark.parametrize("words", [("--case", "vgg"), ("--case", "resnet50:b0:fp32:train"),
                                   ("--case", "resnet50", "--batch", "0")])  # fmt: skip
def test_no_cases(words: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match=r"\[case\]"):
        chosen(*words)
    with pytest.raises(SystemExit):
        speed.main(["--torch-python", "none", *words])


def record(scale: float = 1.0, flops: int | None = 100) -> Json:
    """A record of first steps."""
    moments = [{"w": [scale, 0.6 * scale, -0.8 * scale]}] * 3
    losses = [2.0 * scale, 1.0 * scale, 0.5 * scale]
    return {"flops": flops, "losses": losses, "sizes": {"w": 2}, "moments": moments}


class Machine:
    """Stands for every process: times by setting, records, peaks, and a clock that they move."""

    def __init__(self, seconds: Mapping[str, float], wrong: str = "") -> None:
        self.seconds, self.wrong = seconds, wrong
        self.now = 0.0
        self.started: list[str] = []

    def clock(self) -> float:
        return self.now

    def run(self, variant: rounds.Variant, words: Sequence[str], threads: int) -> list[Json]:
        """first_steps_main.py."""
        self.now += 1.0
        if "--peak" in words:
            took = self.seconds[variant.setting]
            return [{"case": w, "peak": 1 << 20, "seconds": took} for w in words if ":" in w]
        scale = 1.5 if variant.name == self.wrong else 1.0
        return [{"case": words[0], "record": record(scale)}]

    def launch(
        self, command: Sequence[str], env: Mapping[str, str], timeout_s: float
    ) -> launch.Outcome:
        """step_main.py and limits."""
        if command[0].endswith("limits"):
            took, cases = 0.5, [str(c) for c in self.cases]
        else:
            took, cases = self.seconds[command[3]], [w for w in command[4:] if ":" in w]
        self.started.append(" ".join(command[2:4]))
        self.now += 10.0 * took
        line = {"unit": "s", "samples": [took], "check": {"first": 1.0}}
        metrics = {case: {"metric": case, **line} for case in cases}
        if command[0].endswith("limits"):
            metrics["bandwidth"] = {"metric": "bandwidth", **line, "unit": "GB/s", "samples": [9.0]}
        return launch.Outcome(1.0, metrics)

    cases: Sequence[Case] = ()


TIMES = {"graph": 1.0, "eager": 2.0, "fast": 3.0}


def measure(machine: Machine, *words: str, torch: Any = TORCH) -> Json:
    args = arguments("--case", "resnet50:b4:fp32:train", "--case", "bert-tiny", *words)
    cases = speed.choose_cases(args, ())
    machine.cases = cases
    return speed.measure(
        args, cases, torch, lambda line: None, machine.launch, machine.run, machine.clock
    )


def test_a_run() -> None:
    machine = Machine({**TIMES, "eager": 2.0})
    result = measure(machine, "--rounds", "2")
    assert result["references"] == [speed.FASTEST] and len(result["rows"]) == 2
    row = result["rows"][0]
    # PyTorch's eager takes as long as ours here, and is its faster setting.
    assert row["modes"]["graph"]["speed"][speed.FASTEST]["ratio"]["value"] == 2.0
    assert "foreach" in result["labels"][speed.FASTEST]
    assert row["mib"][speed.FASTEST] == 1.0
    assert speed.status(result) == 0
    # Graph, again, eager and PyTorch's one setting, twice, for both programs.
    assert len([s for s in machine.started if s.startswith(("oneflow", "torch"))]) == 16


def test_the_faster_setting_is_the_reference() -> None:
    result = measure(Machine({**TIMES, "fast": 1.5}), "--rounds", "1")
    assert "channels_last" in result["labels"][speed.FASTEST]


def test_all_settings() -> None:
    result = measure(Machine({**TIMES, "fast": 1.5}), "--rounds", "1", "--all-settings")
    assert result["references"] == ["PyTorch fast", "PyTorch"]


def test_the_compiled_setting_stands_beside_the_fastest() -> None:
    machine = Machine({**TIMES, "compile": 2.5})
    args = arguments("--case", "resnet50:b1:fp32:inference", "--compiled", "--rounds", "1")
    machine.cases = cases = speed.choose_cases(args, ())
    result = speed.measure(
        args, cases, TORCH, lambda line: None, machine.launch, machine.run, machine.clock
    )
    assert result["references"] == [speed.FASTEST, speed.COMPILED]
    assert "frozen" in result["labels"][speed.COMPILED]
    against = result["rows"][0]["modes"]["graph"]["speed"]
    assert (against[speed.FASTEST]["target"], against[speed.COMPILED]["target"]) == (1.3, 1.0)
    assert against[speed.COMPILED]["state"] == "met"
    assert result["rows"][0]["modes"]["eager"]["speed"][speed.COMPILED]["target"] is None
    both = measure(Machine({**TIMES, "compile": 0.5}), "--rounds=1", "--compiled", "--all-settings")
    assert both["references"] == [speed.COMPILED, "PyTorch", "PyTorch fast"]
    # A target of training is against the fastest eager one, wherever it stands.
    against = both["rows"][0]["modes"]["graph"]["speed"]
    assert [against[n]["target"] for n in both["references"]] == [None, 1.1, None]


def test_without_pytorch_it_compares_its_own() -> None:
    result = measure(Machine(TIMES), "--rounds", "1", torch=NO_TORCH)
    assert result["references"] == [] and result["rows"][0]["seconds"]["graph"] == 1.0
    assert result["labels"]["pytorch"] == "n/a (not asked for)"


def test_the_budget_bounds_the_run() -> None:
    machine = Machine(TIMES)
    result = measure(machine, "--budget", "300")
    count = len({r["round"] for r in result["rounds"]})
    assert machine.now <= 300.0 and count >= 2
    # At least one round is run, whatever the budget.
    short = measure(Machine(TIMES), "--budget", "1")
    assert len({r["round"] for r in short["rounds"]}) == 1


def test_a_wrong_variant_is_not_timed() -> None:
    machine = Machine(TIMES, wrong="graph")
    with pytest.raises(CheckError, match="graph does not compute what PyTorch does: loss"):
        measure(machine)
    assert machine.started == []


class Rounding(Machine):
    """Records in bfloat16 that are off by so much, in float32 by nothing."""

    def __init__(self, off: Mapping[str, float]) -> None:
        super().__init__({**TIMES})
        self.off = off
        self.asked: list[str] = []

    def run(self, variant: rounds.Variant, words: Sequence[str], threads: int) -> list[Json]:
        self.asked.append(f"{variant.library} {variant.setting} {words[0]}")
        found = super().run(variant, words, threads)
        off = self.off.get(variant.setting, 0.0) if "bf16" in words[0] else 0.0
        if "--peak" not in words:
            found[0]["record"] = record(1.0 + off)
        return found


def test_bfloat16_is_judged_by_its_distance_to_float32() -> None:
    # PyTorch's settings are as far from each other as from float32: that alone is no fault.
    off = {"eager": 0.05, "fast": -0.05, "graph": 0.12}
    case = "bert-tiny:b2:s16:bf16:train"
    machine = Rounding(off)
    args = arguments("--case", case, "--mode", "graph", "--rounds", "1")
    machine.cases = cases = speed.choose_cases(args, ())
    quiet: Any = lambda line: None  # noqa: E731
    result = speed.measure(args, cases, TORCH, quiet, machine.launch, machine.run, machine.clock)
    assert "torch eager bert-tiny:b2:s16:fp32:train" in machine.asked
    checked = result["checked"][case]
    assert checked["against"] == "PyTorch in float32" and "shares" in checked["kind"]
    assert checked["variants"]["graph"]["loss"] == pytest.approx(0.8)
    machine = Rounding({**off, "graph": 0.2})
    machine.cases = cases
    with pytest.raises(CheckError, match="graph does not compute what PyTorch in float32 does"):
        speed.measure(args, cases, TORCH, quiet, machine.launch, machine.run, machine.clock)
    assert machine.started == []


def test_without_pytorch_ours_are_judged_by_each_other() -> None:
    plain, near, far = record(), record(1.05), record(1.4)
    case = Case("bert-tiny", 2, 16, "bf16")
    found = before.compare_rounded({"graph": near, "eager": near}, case, plain, "eager", [])
    assert set(found["variants"]) == {"graph", "eager"}
    with pytest.raises(CheckError, match="graph does not"):
        before.compare_rounded({"graph": far, "eager": near}, case, plain, "eager", [])
    alone = before.compare_rounded({"graph": far}, case, plain, "eager", [])
    assert alone["variants"] == {}


def test_operations_that_differ_are_an_error() -> None:
    records = {"PyTorch": record(), "graph": record(flops=101)}
    with pytest.raises(CheckError, match="operations of a step: 101 and 100"):
        before.compare(records, Case("bert-tiny", 2, 16))
    records["graph"] = record(flops=None)
    assert before.compare(records, Case("bert-tiny", 2, 16))["flops"] == 100


def test_check_cases_are_small() -> None:
    cases = [Case("resnet50", n) for n in (16, 8, 1)] + [Case("bert-base", 8, 128)]
    assert [str(case) for case in before.check_cases(cases)] == [
        "resnet50:b4:fp32:train",
        "bert-base:b2:s128:fp32:train",
    ]
    assert before.check_cases([Case("resnet50", 1)])[0].batch == 2


def test_a_program_that_fails_says_why() -> None:
    variant = rounds.Variant("x", "/bin/sh", "oneflow", "graph")
    with pytest.raises(CheckError, match="x: exit status"):
        before.run_first_steps(variant, ["resnet-tiny:b1:fp32:train"], 1)
    with pytest.raises(CheckError, match="x: "):
        before.run_first_steps(rounds.Variant("x", "/none", "oneflow", "graph"), [], 1)


def test_statuses() -> None:
    rows = [{"seconds": {"graph": 1.0}}]
    result: Json = {"modes": ["graph"], "rows": rows, "failures": []}
    assert speed.status(result) == 0
    assert speed.status({**result, "failures": [{"variant": "graph again"}]}) == 5
    assert speed.status({**result, "failures": [{"variant": "PyTorch fast"}]}) == 4
    assert speed.status({**result, "rows": [{"seconds": {"graph": None}}]}) == 3


def test_the_fastest_over_all_cases() -> None:
    one, two = "resnet50:b1:fp32:train", "resnet50:b2:fp32:train"
    found = Before(seconds={"a": {one: 1.0, two: 4.0}, "b": {one: 2.0, two: 2.0}})
    cases = [parse(text) for text in found.seconds["a"]]
    assert found.faster(["a", "b"], cases) == "b"
