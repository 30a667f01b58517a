"""The measured programs give the expected answers on OneFlow, and a wrong one is caught."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench import data, data_main, digits, graph, variants
from bench import digits_reference as reference
from bench.harness import launch
from bench.harness.plan import Plan
from bench.harness.runner import wrong_answers
from bench.ops import micro

Json = dict[str, Any]


def run_head(plan: Plan, number: int = 0, variant: str = "head") -> dict[str, Json]:
    """One process of OneFlow, as the runner starts it; its metrics."""
    program = plan.programs[number]
    env = {**os.environ, **program.env["*"], **program.env[variant]}
    outcome = launch.launch(program.commands[variant] or (), env, 100.0)
    assert outcome.failure is None, outcome.failure
    return outcome.metrics


def faults(plan: Plan, metrics: dict[str, Json]) -> list[str]:
    """What the runner would find wrong with the answers."""
    found = wrong_answers(plan.programs[0], {"head": {"metrics": metrics}})
    return [f"{f.kind}: {f.detail}" for f in found.values()]


@pytest.fixture(name="plan", scope="module")
def fixture_plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    """The digits plan without PyTorch."""
    args = variants.make_parser(None).parse_args(["--torch-python", "none"])
    return digits.make_plan(tmp_path_factory.mktemp("task") / "task.npz", args)


@pytest.fixture(name="metrics", scope="module")
def fixture_metrics(plan: Plan) -> dict[str, Json]:
    """What OneFlow delivered for it."""
    return run_head(plan)


def test_digits_train_as_the_reference_does(plan: Plan, metrics: dict[str, Json]) -> None:
    assert faults(plan, metrics) == []
    line = metrics["step_time"]
    assert len(line["check"]["losses"]) == reference.CHECKED_STEPS
    assert line["first"] > 0.0 and line["rss_beyond_import_bytes"] > 0


def test_a_wrong_loss_is_caught(plan: Plan, metrics: dict[str, Json]) -> None:
    line = metrics["step_time"]
    losses = list(line["check"]["losses"])
    losses[-1] *= 1.001
    wrong = {"step_time": line | {"check": {"losses": losses}}}
    assert faults(plan, wrong)[0].startswith("wrong answer: step_time: check.losses[39]")


def test_a_library_without_momentum_would_be_caught(
    plan: Plan, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The reference tells apart what differs in the mathematics, not only in the last digit."""
    monkeypatch.setattr(reference, "MOMENTUM", 0.0)
    args = variants.make_parser(None).parse_args(["--torch-python", "none"])
    other = digits.make_plan(tmp_path / "task.npz", args)
    line = {"check": other.programs[0].expected["step_time"], "unit": "s"}
    assert "wrong answer" in faults(plan, {"step_time": line})[0]


def test_graphs_train_as_eager_does(tmp_path: Path) -> None:
    args = variants.make_parser(None).parse_args(["--torch-python", "none"])
    plan = graph.make_plan(tmp_path / "task.npz", args)
    steps, own = plan.programs
    runs = {name: {"metrics": run_head(plan, 0, name)} for name in ("head", "eager")}
    assert wrong_answers(steps, runs) == {}
    assert [row.metric for row in steps.rows] == list(runs["head"]["metrics"])
    alone = run_head(plan, 1)
    assert [row.metric for row in own.rows] == list(alone)
    assert alone["one_op"]["check"] == {"value": [2.25]}
    # A little above the logarithm of its thousand classes; the process compared it with eager's.
    assert 6.0 < alone["compile_resnet50"]["check"]["loss"] < 9.0
    assert "pytorch" not in own.commands
    # Each network's losses are compared: a wrong one is caught.
    for row in steps.rows:
        wrong = json.loads(json.dumps(runs))
        wrong["eager"]["metrics"][row.metric]["check"]["losses"][-1] *= 1.001
        assert wrong_answers(steps, wrong)["eager"].kind == "wrong answer"


def test_tiny_ops_give_their_values() -> None:
    args = variants.make_parser(None).parse_args(["--torch-python", "none"])
    plan = micro.make_plan(args)
    metrics = run_head(plan)
    assert faults(plan, metrics) == []
    wrong = replace(plan.programs[0], expected={"add_tensor": {"value": [3.5]}})
    assert wrong_answers(wrong, {"head": {"metrics": metrics}})["head"].kind == "wrong answer"


def test_pictures_come_whole_and_in_order() -> None:
    args = variants.make_parser(None).parse_args(["--torch-python", "none"])
    metrics = run_head(data.make_plan(args))
    count = data_main.BATCH * data_main.BATCHES
    for name in ("transformed", "ready"):
        check = metrics[name]["check"]
        assert check["indices"] == count * (count - 1) // 2
    # The same pictures, made in a worker or before.
    assert metrics["transformed"]["check"] == metrics["ready"]["check"]
