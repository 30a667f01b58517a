"""The measured programs print what the harness reads."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

import oneflow as flow
from bench.harness.answers import difference
from bench.harness.launch import read_metrics
from bench.models import first_steps_main, peak, step_main
from bench.models.cases import parse
from bench.models.task import Task
from bench.models.tests import record

CASES = ["resnet-tiny:b4:fp32:train", "bert-tiny:b2:s16:fp32:train"]


@pytest.mark.parametrize("setting", ["eager", "graph"])
def test_steps_are_timed(setting: str, capsys: pytest.CaptureFixture[str]) -> None:
    step_main.main(["oneflow", setting, *CASES, "--least", "2", "--seconds", "0"])
    metrics = read_metrics(capsys.readouterr().out)
    assert isinstance(metrics, dict) and set(metrics) == set(CASES)
    first = record.recorded()["first_steps"]
    for case, line in metrics.items():
        assert len(line["samples"]) == 2 and line["peak_allocator_bytes"] > 100_000
        # Dropout moves the loss of the text a little.
        wanted = first[case]["losses"]
        assert line["check"]["first"] == pytest.approx(wanted[0], rel=2e-2)
        if "resnet" in case:
            assert line["check"]["second"] == pytest.approx(wanted[1], rel=1e-4)


def test_an_update_that_was_left_out_shows() -> None:
    """Planted: the second loss is the first one, or higher."""
    pictures, text = parse("resnet50:b4:fp32:train"), parse("bert-base:b8:s128:fp32:train")
    assert difference(
        step_main.check_of(pictures, [7.0, 7.0]), step_main.check_of(pictures, [7.0, 6.9]), 1e-3, 0
    )
    right, wrong = ({"first": 11.2, "falls": falls} for falls in (True, False))
    assert step_main.check_of(text, [11.2, 10.6]) == right
    assert difference(step_main.check_of(text, [11.2, 11.3]), right, 2e-2, 0) and wrong != right
    short = parse("bert-base:b1:s128:fp32:train")
    assert step_main.check_of(short, [11.2, 11.3]) == {"first": 11.2}


@pytest.mark.parametrize("setting", ["eager", "graph"])
def test_a_step_waits_for_its_update(setting: str, monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []
    sync = flow._oneflow_internal.eager.Sync

    def spy() -> None:
        order.append("waited")
        sync()

    monkeypatch.setattr(flow._oneflow_internal.eager, "Sync", spy)
    step = Task(flow, parse(CASES[0]), setting).step
    for _ in range(2):
        step()
        order.append("returned")
    assert order == ["waited", "returned"] * 2


def test_records_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    first_steps_main.main(["oneflow", "graph", CASES[1]])
    line = json.loads(capsys.readouterr().out)
    assert line["case"] == CASES[1]
    assert line["record"]["flops"] == record.recorded()["first_steps"][CASES[1]]["flops"]


def test_peaks_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    first_steps_main.main(["oneflow", "eager", *CASES, "--peak"])
    lines = [json.loads(text) for text in capsys.readouterr().out.splitlines()]
    assert [line["case"] for line in lines] == CASES
    # At least the weights, their gradients and moments; far less than a gigabyte.
    assert all(500_000 < line["peak"] < 1e8 and line["seconds"] > 0 for line in lines)


def test_stand_ins_of_tensors_hold_nothing() -> None:
    """torch.compile leaves tensors whose memory cannot be asked for."""

    class Tensor:
        def untyped_storage(self) -> Any:
            return SimpleNamespace(data_ptr=lambda: id(self), nbytes=lambda: 40)

    def refuse(self: Tensor) -> Any:
        raise RuntimeError("Cannot access data pointer of Tensor")

    names = {"__module__": "torch._subclasses.fake_tensor", "untyped_storage": refuse}
    kept = [Tensor(), Tensor(), type("FakeTensor", (Tensor,), names)()]
    assert peak.held_bytes(SimpleNamespace(Tensor=Tensor)) == [40, 40]
    sizes = {"is_mkldnn": True, "numel": lambda self: 6, "element_size": lambda self: 4}
    kept.append(type("Opaque", (Tensor,), {**sizes, "untyped_storage": refuse})())
    assert sorted(peak.held_bytes(SimpleNamespace(Tensor=Tensor))) == [24, 40, 40]
    kept[2].__class__.__module__ = "elsewhere"
    with pytest.raises(RuntimeError):
        peak.held_bytes(SimpleNamespace(Tensor=Tensor))


def test_bad_words_end_the_program(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["oneflow", "eager", "resnet50:b0:fp32:train"], ["keras", "eager", CASES[0]]):
        with pytest.raises(SystemExit):
            step_main.main(words)
    with pytest.raises(ValueError, match="expects a setting"):
        step_main.main(["oneflow", "fast", CASES[0]])
    assert parse(CASES[0]).trains
    assert "usage" in capsys.readouterr().err
