"""Unmodified flowvision runs on this package: what flowvision_models.py tries, model by model."""

from __future__ import annotations

import json
from typing import Any

import flowvision
import numpy as np
import pytest
from tests.libraries.flowvision_models import MODELS, NO_MODEL, OTHERS, RECORDED, attempt, step_of
from tests.support import must_fail

import oneflow as flow


def check(name: str) -> None:
    """A forward and a training step, compared with OneFlow 0.9.0 where that runs the model."""
    got, why = attempt(name, json.loads(RECORDED.read_text()))
    assert got is not None and why == "", why


@pytest.mark.parametrize("name", list(MODELS))
def test_forward_and_step(name: str) -> None:
    check(name)


@pytest.mark.parametrize("name", OTHERS)
def test_a_step_of_each_other_family(name: str) -> None:
    broken = NO_MODEL.get((flowvision.__version__, name))
    if broken:
        with pytest.raises(AttributeError, match=broken):
            step_of(name)
        return
    assert np.isfinite(step_of(name))


def test_the_models_that_0_9_0_runs_are_compared() -> None:
    assert {"resnet50", "vit_base_patch16_224", "swin_tiny_patch4_window7_224"} == set(
        json.loads(RECORDED.read_text())
    )


def test_control_of_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """GELU by its other formula, which differs in the fourth digit."""
    forward = flow.nn.GELU.forward

    def rough(self: Any, x: Any) -> Any:
        return x * flow.sigmoid(1.702 * x)

    assert forward is not rough
    monkeypatch.setattr(flow.nn.GELU, "forward", rough)
    must_fail(check, "vit_base_patch16_224")


def test_control_of_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without its steps a detector's loss stays what it was."""
    monkeypatch.setattr(flow.optim.SGD, "step", lambda self: None)
    must_fail(check, "ssdlite320_mobilenet_v3_large")
