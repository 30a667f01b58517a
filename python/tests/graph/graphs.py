"""Graphs of plain functions, how their results are compared with eager, and a block for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from tests.support import values

import oneflow as flow
from oneflow import nn

# Without these a graph does what eager does, op by op.
PASSES = (
    "common_subexpressions",
    "dead_nodes",
    "constant_folding",
    "batch_norm_fusion",
    "arranged_weights",
    "blocked_layout",
    "fusion",
    "in_place",
    "recompute",
)


class FunctionGraph(nn.Graph):
    """A graph of a function."""

    def __init__(self, function: Callable[..., Any], passes: bool = True) -> None:
        super().__init__()
        self.function = function
        if not passes:
            self.config.disable_passes(*PASSES)

    def build(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the function."""
        return self.function(*args, **kwargs)


def leaves(value: Any) -> list[Any]:
    """The tensors of a nested structure."""
    if isinstance(value, flow.Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in leaves(item)]
    return []


def bits(tensor: Any) -> bytes:
    """The elements' bytes; those of NaN are made alike, as its sign has no meaning."""
    if tensor.dtype == flow.bfloat16:
        tensor = tensor.float()
    array = values(tensor)
    if array.dtype.kind == "f":
        array = np.where(np.isnan(array), np.asarray(np.nan, array.dtype), array)
    return array.tobytes()


def assert_equal(got: Any, want: Any, what: str = "") -> None:
    """The tensors of two structures are the same to the last bit, shapes and dtypes, too."""
    ours, theirs = leaves(got), leaves(want)
    assert len(ours) == len(theirs), f"{what}: {len(ours)} tensors, expected {len(theirs)}"
    for number, (a, b) in enumerate(zip(ours, theirs)):
        name = f"{what} result {number}"
        assert tuple(a.shape) == tuple(b.shape), f"{name}: {a.shape}, expected {b.shape}"
        assert a.dtype == b.dtype, f"{name}: {a.dtype}, expected {b.dtype}"
        assert bits(a) == bits(b), f"{name}: {values(a)}, expected {values(b)}"


def assert_close(got: Any, want: Any, what: str = "", tolerance: float = 1e-5) -> None:
    """The same within a tolerance, relative and to the largest element."""
    ours, theirs = leaves(got), leaves(want)
    assert len(ours) == len(theirs), what
    for a, b in zip(ours, theirs):
        assert tuple(a.shape) == tuple(b.shape), what
        assert a.dtype == b.dtype, what
        x, y = (values(t.float() if t.dtype == flow.bfloat16 else t) for t in (a, b))
        finite = np.abs(y[np.isfinite(y)]) if y.dtype.kind == "f" else np.zeros(0)
        largest = float(finite.max()) if finite.size else 1.0
        np.testing.assert_allclose(
            x, y, rtol=tolerance, atol=tolerance * max(largest, 1e-30), err_msg=what
        )


def check(function: Callable[..., Any], *args: Any, runs: int = 2) -> None:
    """A function eager, as a graph without passes, and with them."""
    want = function(*args)
    plain, full = FunctionGraph(function, passes=False), FunctionGraph(function)
    for _ in range(runs):
        assert_equal(plain(*args), want, "without passes")
        assert_close(full(*args), want, "with passes")
    plain.close()
    full.close()


class ResidualBlock(nn.Module):
    """A residual block as torchvision writes it: relu and the addition in place."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.relu = nn.ReLU(inplace=True)
        self.past = None
        if stride != 1 or inputs != outputs:
            self.past = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)
            )

    def forward(self, x: Any) -> Any:
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        y += x if self.past is None else self.past(x)
        return self.relu(y)
