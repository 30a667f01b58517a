"""Operands for op tests: arrays of every layout, and the same layout as a tensor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import oneflow as flow


def numpy_dtype(name: str) -> np.dtype[Any]:
    """numpy's dtype of that name; float32 holds bfloat16's numbers, which numpy has not."""
    return np.dtype("float32" if name == "bfloat16" else name)


def to_bfloat16(array: np.ndarray) -> np.ndarray:
    """Drops the bits of float32 that bfloat16 lacks."""
    dense = np.array(array, np.float32, order="C")
    bits = dense.view(np.uint32) & np.uint32(0xFFFF0000)
    return np.asarray(bits.view(np.float32)).reshape(dense.shape)


@dataclass
class Operand:
    """An array as a dense base, reordered dims, and a shape that it is repeated to."""

    base: np.ndarray
    order: tuple[int, ...]
    shape: tuple[int, ...]
    bfloat16: bool = False  # base holds numbers that bfloat16 has

    @classmethod
    def of(cls, array: np.ndarray, dtype: str = "") -> Operand:
        """Takes an array (a view too) apart. `dtype` is what the test is about."""
        repeated = [s == 0 and n > 1 for s, n in zip(array.strides, array.shape)]
        core = array[tuple(slice(0, 1) if r else slice(None) for r in repeated)]
        order = sorted(range(core.ndim), key=lambda i: -core.strides[i])
        base = np.array(core.transpose(order), order="C")
        short = dtype == "bfloat16" and base.dtype == np.float32
        if short:
            base = to_bfloat16(base)
        return cls(base, tuple(int(i) for i in np.argsort(order)), array.shape, short)

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
        dtype = flow.bfloat16 if self.bfloat16 else None
        return flow.tensor(self.base, dtype=dtype, requires_grad=requires_grad)


def makers(dtype: str, seed: int, span: tuple[float, ...] = ()) -> dict[str, Any]:
    """The functions that a row's samples may call, for one dtype; floats come from `span`."""
    rng = np.random.default_rng(seed)
    kind = numpy_dtype(dtype)

    def random(*shape: int) -> np.ndarray:
        """Numbers of either sign, none near zero, where some functions have a corner."""
        if kind.kind == "f" and span:
            return np.asarray(rng.uniform(span[0], span[1], shape)).astype(kind)
        if kind.kind == "f":
            signs = rng.choice([-1.0, 1.0], shape)
            return np.asarray(signs * rng.uniform(0.2, 2.0, shape)).astype(kind)
        low = 0 if kind.kind in "ub" else -5
        return np.asarray(rng.integers(low, 2 if kind.kind == "b" else 6, shape)).astype(kind)

    def positive(*shape: int) -> np.ndarray:
        return np.abs(random(*shape)) + kind.type(1)

    def integers(*shape: int, low: int = 0, high: int = 10) -> np.ndarray:
        return np.asarray(rng.integers(low, high, shape)).astype(np.int64)

    def special(*shape: int) -> np.ndarray:
        """Numbers that break careless code."""
        if kind.kind == "f":
            values = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5, -2.5]
        elif kind.kind == "b":
            values = [False, True]
        else:
            values = [0, 1, -1, 7, np.iinfo(kind).max // 4, np.iinfo(kind).min // 4]
            values = [v for v in values if v >= np.iinfo(kind).min]
        count = int(np.prod(shape))
        return np.resize(np.array(values, kind), count).reshape(shape)

    return {"R": random, "P": positive, "I": integers, "special": special, "np": np}
