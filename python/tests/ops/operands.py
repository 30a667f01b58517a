"""Operands for op tests: arrays of every layout, and the same layout as a tensor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import oneflow as flow


@dataclass
class Operand:
    """An array as a dense base, reordered dims, and a shape that it is repeated to."""

    base: np.ndarray
    order: tuple[int, ...]
    shape: tuple[int, ...]

    @classmethod
    def of(cls, array: np.ndarray) -> Operand:
        """Takes an array (a view too) apart."""
        repeated = [s == 0 and n > 1 for s, n in zip(array.strides, array.shape)]
        core = array[tuple(slice(0, 1) if r else slice(None) for r in repeated)]
        order = sorted(range(core.ndim), key=lambda i: -core.strides[i])
        base = np.array(core.transpose(order), order="C")
        return cls(base, tuple(int(i) for i in np.argsort(order)), array.shape)

    def array(self, base: np.ndarray | None = None) -> np.ndarray:
        """As numpy sees it."""
        dense = self.base if base is None else base
        return np.broadcast_to(dense.transpose(self.order), self.shape)

    def tensor(self, leaf: flow.Tensor) -> flow.Tensor:
        """The same view of a tensor that holds the base."""
        out = leaf
        if self.order != tuple(range(len(self.order))):
            out = flow._C.permute(out, self.order)
        if tuple(out.shape) != self.shape:
            out = flow._C.expand(out, self.shape)
        return out

    def leaf(self, requires_grad: bool = False) -> flow.Tensor:
        """A tensor that holds the base."""
        return flow.tensor(self.base, requires_grad=requires_grad)


def makers(dtype: str, seed: int) -> dict[str, Any]:
    """The functions that a row's samples may call, for one dtype."""
    rng = np.random.default_rng(seed)
    kind = np.dtype(dtype)

    def random(*shape: int) -> np.ndarray:
        """Numbers of either sign, none near zero, where some functions have a corner."""
        if kind.kind == "f":
            signs = rng.choice([-1.0, 1.0], shape)
            return np.asarray(signs * rng.uniform(0.2, 2.0, shape)).astype(kind)
        return np.asarray(rng.integers(-5, 6, shape)).astype(kind)

    def positive(*shape: int) -> np.ndarray:
        return np.abs(random(*shape)) + kind.type(1)

    def integers(*shape: int, low: int = 0, high: int = 10) -> np.ndarray:
        return np.asarray(rng.integers(low, high, shape)).astype(np.int64)

    def special(*shape: int) -> np.ndarray:
        """Numbers that break careless code."""
        if kind.kind == "f":
            values = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5, -2.5]
        else:
            values = [0, 1, -1, 7, np.iinfo(kind).max // 4, np.iinfo(kind).min // 4]
        count = int(np.prod(shape))
        return np.resize(np.array(values, kind), count).reshape(shape)

    return {"R": random, "P": positive, "I": integers, "special": special, "np": np}
