"""The tiny models give what PyTorch gave for them, and a model that is wrong is noticed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import oneflow as flow
from bench.models import first_steps, weights
from bench.models.cases import parse
from bench.models.tests import record

RECORDED = record.recorded()["first_steps"]
PICTURES, TEXT = "resnet-tiny:b4:fp32:train", "bert-tiny:b2:s16:fp32:train"


def found(case: str, setting: str = "eager", count: bool = False) -> list[str]:
    """What differs from PyTorch's record."""
    got = first_steps.record(flow, setting, parse(case), count)
    return first_steps.differences(got, RECORDED[case], first_steps.tolerance(parse(case)))


@pytest.mark.parametrize("setting", ["eager", "graph"])
@pytest.mark.parametrize("case", record.CASES)
def test_as_in_pytorch(case: str, setting: str) -> None:
    assert found(case, setting, count=True) == []


def test_operations_are_counted_in_graphs() -> None:
    for case, want in RECORDED.items():
        got = first_steps.record(flow, "graph", parse(case))
        assert got["flops"] == want["flops"] > 1_000_000


def scaled_layer_norm(monkeypatch: pytest.MonkeyPatch) -> None:
    init = flow.nn.LayerNorm.__init__

    def wrong(self: Any, *args: Any, **kwargs: Any) -> None:
        init(self, *args, **kwargs | {"eps": 1e-2})

    monkeypatch.setattr(flow.nn.LayerNorm, "__init__", wrong)


def tanh_gelu(monkeypatch: pytest.MonkeyPatch) -> None:
    gelu = flow._C.gelu
    monkeypatch.setattr(flow.nn.GELU, "forward", lambda self, x: gelu(1.003 * x))


def other_inputs(monkeypatch: pytest.MonkeyPatch) -> None:
    inputs = weights.inputs
    monkeypatch.setattr(weights, "inputs", lambda case: inputs(case, 1))


def other_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    init = flow.optim.AdamW.__init__

    def wrong(self: Any, *args: Any, **kwargs: Any) -> None:
        init(self, *args, **kwargs | {"lr": 1.5e-4})

    monkeypatch.setattr(flow.optim.AdamW, "__init__", wrong)


def more_decay(monkeypatch: pytest.MonkeyPatch) -> None:
    init = flow.optim.SGD.__init__

    def wrong(self: Any, *args: Any, **kwargs: Any) -> None:
        init(self, *args, **kwargs | {"weight_decay": 0.01})

    monkeypatch.setattr(flow.optim.SGD, "__init__", wrong)


def flipped_gradient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sign of one small parameter's gradient."""
    step = flow.optim.SGD.step

    def wrong(self: Any, *args: Any) -> Any:
        bias = self.param_groups[0]["params"][2]
        bias.grad = -bias.grad
        return step(self, *args)

    monkeypatch.setattr(flow.optim.SGD, "step", wrong)


def biased_norm(monkeypatch: pytest.MonkeyPatch) -> None:
    init = flow.nn.BatchNorm2d.__init__

    def wrong(self: Any, count: int) -> None:
        init(self, count, eps=2e-4)

    monkeypatch.setattr(flow.nn.BatchNorm2d, "__init__", wrong)


def weaker_past(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flow.Tensor, "__iadd__", lambda self, other: self + 0.999 * other)


FAULTS: list[tuple[str, Callable[[pytest.MonkeyPatch], None]]] = [
    (TEXT, scaled_layer_norm),
    (TEXT, tanh_gelu),
    (TEXT, other_inputs),
    (TEXT, other_rate),
    (PICTURES, more_decay),
    (PICTURES, flipped_gradient),
    (PICTURES, biased_norm),
    (PICTURES, weaker_past),
]


@pytest.mark.parametrize(("case", "fault"), FAULTS)
def test_control_of_a_wrong_model(
    case: str, fault: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    fault(monkeypatch)
    assert found(case)


def test_differences_are_named() -> None:
    want = RECORDED[TEXT]
    allowed = first_steps.tolerance(parse(TEXT))
    name = "cls.predictions.bias"
    moments = [{**m, name: [-x for x in m[name]]} for m in want["moments"]]
    (first, *_) = first_steps.differences({**want, "moments": moments}, want, allowed)
    assert name in first and "step 1" in first
    more = first_steps.differences({**want, "flops": 1}, want, allowed)
    assert more[0].startswith("operations of a step: 1 and ")
    short = first_steps.differences({**want, "losses": want["losses"][:2]}, want, allowed)
    assert short == ["steps: 2 and 3"]
    less = [{k: v for k, v in m.items() if k != name} for m in want["moments"]]
    assert name in first_steps.differences({**want, "moments": less}, want, allowed)[0]
    nan = first_steps.differences({**want, "losses": [float("nan")] * 3}, want, allowed)
    assert len(nan) == 3


def test_the_settings_are_checked() -> None:
    with pytest.raises(ValueError, match="setting of .*graph"):
        first_steps.record(flow, "fast", parse(TEXT))
