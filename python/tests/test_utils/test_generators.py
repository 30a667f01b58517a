"""Generators: types from annotations, values within bounds, drawn once."""

from __future__ import annotations

import typing
from typing import Any

import numpy as np
import pytest
from tests.support import must_fail
from tests.test_utils import standin

from oneflow.test_utils.automated_test_util import generators as gen
from oneflow.test_utils.automated_test_util.dual_calls import _annotate

torch = standin.torch


@pytest.mark.parametrize(
    ("annotation", "kinds"),
    [
        (int, {int}),
        (float, {float}),
        (bool, {bool}),
        (None, {type(None)}),
        (int | tuple[int, int], {int, list}),
        (float | None, {float, type(None)}),
        (typing.Union[int, float], {int, float}),  # noqa: UP007
    ],
)
def test_random_gives_what_is_annotated(annotation: Any, kinds: set[type]) -> None:
    generator = gen.random(1, 5).to(annotation)
    values = [generator.eval() for _ in range(200)]
    assert {type(v) for v in values} == kinds
    numbers = [v for v in values if type(v) in (int, float)]
    assert all(1 <= v < 5 for v in numbers)


def test_ints_reach_both_ends_and_no_further() -> None:
    generator = gen.random(1, 4).to(int)
    assert {generator.eval() for _ in range(300)} == {1, 2, 3}


def test_a_value_is_drawn_once() -> None:
    generator = gen.random(0, 1 << 40).to(int)
    assert generator.value() == generator.value()
    assert (generator * 2 + 1 - generator).value() == generator.value() + 1
    assert (10 - generator).value() == 10 - generator.value()
    assert generator.eval() != generator.eval()


def test_the_parameters_annotation_is_used() -> None:
    def function(x: Any, size: int, scale: float = 1.0) -> None:
        """Takes a size and a scale."""

    size, scale = gen.random(1, 5), gen.random(1, 5)
    _annotate(function, (None, size), {"scale": scale})
    assert type(size.value()) is int
    assert type(scale.value()) is float


def test_one_of_several() -> None:
    choice = gen.oneof(1, 2, possibility=0.9)
    values = [choice.eval() for _ in range(1000)]
    assert 820 < values.count(1) < 970
    either = gen.random(0, 1).to(int) | gen.constant("x")
    assert {either.eval() for _ in range(100)} == {0, "x"}
    assert gen.oneof(len, len)([1, 2]) == 2
    with pytest.raises(ValueError, match="possibility for each of 2"):
        gen.oneof(1, 2, possibility=[1.0])


def test_tensors_have_the_shape_that_is_asked_for() -> None:
    tensor = gen.random_pytorch_tensor(ndim=3, dim0=2, dim1=gen.random(5, 6), low=3, high=4)
    value = tensor.value()
    assert tuple(value.shape)[:2] == (2, 5)
    assert 1 <= value.shape[2] < 8
    assert ((value.numpy() >= 3) & (value.numpy() < 4)).all()
    assert tuple(gen.random_pytorch_tensor(ndim=0).value().shape) == ()
    whole = gen.random_pytorch_tensor(ndim=1, dim0=50, low=0, high=3, dtype=int).value()
    assert set(np.unique(whole.numpy())) <= {0, 1, 2}
    assert whole.dtype == torch.int64
    with pytest.raises(NotImplementedError, match="float or int"):
        gen.random_pytorch_tensor(dtype=str).value()


def test_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONEFLOW_TEST_CPU_ONLY", "1")
    assert {gen.random_device().eval() for _ in range(20)} == {"cpu"}
    assert gen.gpu_device().value() == "cuda"
    monkeypatch.delenv("ONEFLOW_TEST_CPU_ONLY")
    assert {gen.random_device().eval() for _ in range(50)} == {"cpu", "cuda"}


def test_control(monkeypatch: pytest.MonkeyPatch) -> None:
    """A generator that draws anew each time."""
    monkeypatch.setattr(gen.generator, "value", lambda self: self._calc_value())
    must_fail(test_a_value_is_drawn_once)
