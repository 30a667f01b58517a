"""20 steps of whole networks give what PyTorch gives: losses, parameters, buffers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.models import training
from tests.models.networks import NETWORKS

import oneflow as flow

RECORDED = json.loads(Path(__file__).with_name("recorded.json").read_text(encoding="utf-8"))


def compare(name: str, got: dict[str, Any]) -> None:
    """Everything that was recorded of a network."""
    want = RECORDED[name]
    np.testing.assert_allclose(got["losses"], want["losses"], rtol=1e-7, err_msg="losses")
    assert list(got["state"]) == list(want["state"])
    for key, numbers in want["state"].items():
        scale = max(1e-3, abs(numbers[1]))
        np.testing.assert_allclose(got["state"][key], numbers, rtol=1e-6, atol=1e-7 * scale,
                                   err_msg=f"{name}: {key}")  # fmt: skip


@pytest.mark.parametrize("name", list(NETWORKS))
def test_training(name: str) -> None:
    compare(name, training.train(flow, name))


def test_it_learns_something() -> None:
    for name in NETWORKS:
        losses = RECORDED[name]["losses"]
        assert len(losses) == training.STEPS
        assert len(set(losses)) == len(losses)


def test_a_wrong_step_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    dtype, _ = training.OPTIMIZERS["lstm"]
    wrong = (dtype, lambda lib, p: lib.optim.Adam(p, lr=1.0001e-2))
    monkeypatch.setitem(training.OPTIMIZERS, "lstm", wrong)
    with pytest.raises(AssertionError):
        compare("lstm", training.train(flow, "lstm"))
