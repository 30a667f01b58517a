"""The tiny models give what PyTorch gave for them, and a model that is wrong is noticed."""

from __future__ import annotations

import doctest
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oneflow as flow
from bench.models import first_steps, rounding, weights
from bench.models.cases import parse
from bench.models.task import Task
from bench.models.tests import record

RECORDED = record.recorded()["first_steps"]
PICTURES, TEXT = "resnet-tiny:b4:fp32:train", "bert-tiny:b2:s16:fp32:train"
PICTURES_BF16, TEXT_BF16 = (case.replace("fp32", "bf16") for case in (PICTURES, TEXT))


def found(case: str, setting: str = "eager", count: bool = False) -> list[str]:
    """What differs from PyTorch's record."""
    return judged(case, first_steps.record(flow, setting, parse(case), count))


def judged(case: str, got: dict[str, Any]) -> list[str]:
    """What differs between a record and PyTorch's, in float32 or as far as bfloat16 allows."""
    if parse(case).dtype == "fp32":
        return first_steps.differences(got, RECORDED[case], first_steps.tolerance(parse(case)))
    plain = RECORDED[case.replace("bf16", "fp32")]
    allowed = rounding.limits(parse(case), plain, [RECORDED[case]])
    return rounding.differences(got, plain, allowed)


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


def half(grad: Any) -> Any:
    return 0.5 * grad


def dropped(grad: Any) -> Any:
    return 0.0 * grad


def permuted(grad: Any) -> Any:
    return grad.t().contiguous() if grad.ndim == 2 else flow.roll(grad, 1, 0)


# In bfloat16: a factor 2 that is missing, a gradient in another order, one that a head loses.
GRADIENTS: list[tuple[str, str, Callable[[Any], Any]]] = [
    (TEXT_BF16, "bert.encoder.layer.0.output.dense.bias", half),
    (TEXT_BF16, "bert.encoder.layer.1.attention.self.value.bias", half),
    (TEXT_BF16, "bert.embeddings.LayerNorm.bias", half),
    (TEXT_BF16, "cls.predictions.bias", half),
    (TEXT_BF16, "bert.encoder.layer.0.attention.self.query.weight", permuted),
    (TEXT_BF16, "bert.encoder.layer.1.output.LayerNorm.weight", permuted),
    (TEXT_BF16, "cls.seq_relationship.weight", dropped),
    (TEXT_BF16, "cls.predictions.transform.dense.weight", dropped),
    (PICTURES_BF16, "fc.bias", half),
    (PICTURES_BF16, "layer4.0.bn3.bias", permuted),
    (PICTURES_BF16, "fc.weight", dropped),
]


@pytest.mark.parametrize(("case", "name", "change"), GRADIENTS)
def test_control_of_a_wrong_gradient_in_bfloat16(
    case: str, name: str, change: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong(self: Task) -> float:
        loss = self.loss(*self.inputs)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        parameter = dict(self.model.named_parameters())[name]
        parameter.grad = change(parameter.grad)
        self.optimizer.step()
        return self._finished(loss.item())

    monkeypatch.setattr(Task, "_train", wrong)
    assert any(name in text for text in found(case))


def moved(record: dict[str, Any], name: str, by: float) -> dict[str, Any]:
    """A record in which each number of a parameter's moments is off by so much."""
    moments = [{**m, name: [x + by for x in m[name]]} for m in record["moments"]]
    return {**record, "moments": moments}


def test_a_sum_that_cancels_may_be_off_by_its_terms_rounding() -> None:
    """Two elements, whose gradients cancel over the pairs: PyTorch being right there by luck does
    not make others wrong; a bias whose gradient is far from 0 has no such excuse.
    """
    plain, case = RECORDED[TEXT], parse(TEXT_BF16)
    lucky = RECORDED[TEXT_BF16]
    name = "cls.seq_relationship.bias"
    lucky = {
        **lucky,
        "moments": [{**a, name: b[name]} for a, b in zip(lucky["moments"], plain["moments"])],
    }
    allowed = rounding.limits(case, plain, [lucky])
    lengths = rounding.accumulated(plain["moments"][0], plain["sizes"])
    assert allowed.moments[0][name] >= rounding.UNIT * lengths[name] > 0.0
    little, much = (0.3 * allowed.moments[0][name], 3.0 * allowed.moments[0][name])
    assert rounding.differences(moved(lucky, name, little), plain, allowed) == []
    assert name in rounding.differences(moved(lucky, name, much), plain, allowed)[0]


def test_losses_and_totals_in_bfloat16() -> None:
    plain, rounded = RECORDED[TEXT], RECORDED[TEXT_BF16]
    assert judged(TEXT_BF16, plain) == []
    losses = [1.01 * loss for loss in plain["losses"]]
    found = judged(TEXT_BF16, {**rounded, "losses": losses})
    assert [text[:15] for text in found] == [f"loss of step {step}:" for step in (1, 2, 3)]
    longer = [{n: [1.05 * x for x in v] for n, v in m.items()} for m in plain["moments"]]
    assert "longer or shorter" in judged(TEXT_BF16, {**rounded, "moments": longer})[0]
    assert judged(TEXT_BF16, {**rounded, "losses": [float("nan")] * 3})
    assert judged(TEXT_BF16, {**rounded, "flops": 1})[0].startswith("operations of a step")
    shares = rounding.shares(rounded, plain, rounding.limits(parse(TEXT_BF16), plain, [rounded]))
    assert 0.0 < shares["moment"] <= 1.0 / rounding.MULTIPLE + 1e-9


def test_examples() -> None:
    assert doctest.testmod(rounding).failed == 0


def test_a_sketch_has_the_length_of_a_difference() -> None:
    """Over many names; of few elements exactly."""
    rng, ratios = np.random.default_rng(0), []
    for number in range(200):
        a, b = rng.standard_normal((2, 1000))
        one, other = (first_steps._summary(f"p{number}", x) for x in (a, b))
        ratios.append(first_steps.apart(one, other) ** 2 / float(((a - b) ** 2).sum()))
    assert 0.9 < np.mean(ratios) < 1.1 and 0.3 < np.std(ratios) < 0.7
    few = [first_steps._summary("p", x) for x in (a[:7], b[:7])]
    assert first_steps.apart(*few) == pytest.approx(float(np.linalg.norm(a[:7] - b[:7])))


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
