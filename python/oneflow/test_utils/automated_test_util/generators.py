"""Generators of random arguments. `value()` draws once and then repeats; `eval()` draws anew.

A generator knows its type late: `random(1, 5)` gives an int, a float, a bool or a tuple according
to the annotation of the parameter that it is passed for, or to `to(int)`.
"""

from __future__ import annotations

import collections.abc
import os
import random as python_random
import types
import typing
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np
import torch

import oneflow as flow

__all__ = [
    "all_cpu_placement",
    "all_placement",
    "all_sbp",
    "choice_pytorch_tensor",
    "constant",
    "cpu_device",
    "gpu_device",
    "nothing",
    "oneof",
    "random",
    "random_bool",
    "random_cpu_placement",
    "random_device",
    "random_gpu_placement",
    "random_or_nothing",
    "random_placement",
    "random_pytorch_tensor",
    "random_sbp",
]

rng = np.random.default_rng()


class Nothing:
    """The value of an argument that is to be left out."""


class generator:
    """A random value; generators add, subtract, multiply, and `a | b` is one of them."""

    def __init__(self, children: Sequence[generator] = ()) -> None:
        self.children = list(children)
        self._drawn: tuple[Any, ...] = ()

    def _calc_value(self) -> Any:
        raise NotImplementedError

    def _init(self) -> None:
        self._drawn = ()
        for child in self.children:
            child._init()

    def value(self) -> Any:
        """The value; drawn at the first call."""
        if not self._drawn:
            self._drawn = (self._calc_value(),)
        return self._drawn[0]

    def eval(self) -> Any:
        """A new value."""
        self._init()
        return self.value()

    def size(self) -> int:
        """How much it weighs in `a | b`."""
        return 1

    def to(self, annotation: Any) -> generator:
        """Says what type is wanted, unless that was said before."""
        self._to(annotation)
        for child in self.children:
            child.to(annotation)
        return self

    def _to(self, annotation: Any) -> None:
        """What a kind of generator does with the type."""

    def __or__(self, other: Any) -> generator:
        other = pack(other)
        return oneof(self, other, possibility=self.size() / (self.size() + other.size()))

    def __ror__(self, other: Any) -> generator:
        return pack(other) | self

    def __add__(self, other: Any) -> generator:
        return _combined(lambda a, b: a + b, self, other)

    def __radd__(self, other: Any) -> generator:
        return _combined(lambda a, b: a + b, other, self)

    def __sub__(self, other: Any) -> generator:
        return _combined(lambda a, b: a - b, self, other)

    def __rsub__(self, other: Any) -> generator:
        return _combined(lambda a, b: a - b, other, self)

    def __mul__(self, other: Any) -> generator:
        return _combined(lambda a, b: a * b, self, other)

    def __rmul__(self, other: Any) -> generator:
        return _combined(lambda a, b: a * b, other, self)

    def __neg__(self) -> generator:
        return _combined(lambda a, b: b - a, self, 0)


class _combined(generator):
    """A function of two generators."""

    def __init__(self, function: Callable[[Any, Any], Any], a: Any, b: Any) -> None:
        super().__init__([pack(a), pack(b)])
        self.function = function

    def _calc_value(self) -> Any:
        return self.function(*(child.value() for child in self.children))


def pack(x: Any) -> generator:
    """A generator; anything else as a constant one."""
    return x if isinstance(x, generator) else constant(x)


class constant(generator):
    """Always the same."""

    def __init__(self, x: Any) -> None:
        super().__init__()
        self.x = x

    def _calc_value(self) -> Any:
        return self.x


class nothing(generator):
    """An argument that is left out."""

    def _calc_value(self) -> Any:
        return Nothing()


class oneof(generator):
    """One of its arguments; `possibility`: a weight each, or that of the first of two."""

    def __init__(self, *args: Any, possibility: Any = None) -> None:
        self.args = [pack(a) for a in args]
        super().__init__(self.args)
        if isinstance(possibility, float):
            possibility = [possibility, 1.0 - possibility]
        self.possibility = possibility or [1.0 / len(args)] * len(args)
        if len(self.possibility) != len(args):
            raise ValueError(
                f"[oneof] expects a possibility for each of {len(args)} arguments, "
                f"got {self.possibility}"
            )

    def _calc_value(self) -> Any:
        index = int(rng.choice(len(self.args), p=np.array(self.possibility)))
        return self.args[index].value()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls one of the functions."""
        return self._calc_value()(*args, **kwargs)

    def size(self) -> int:
        """That of all arguments."""
        return sum(a.size() for a in self.args)


class random(generator):
    """A number in [low, high); of the type that is asked for."""

    def __init__(self, low: Any = 1, high: Any = 6) -> None:
        self.low, self.high = pack(low), pack(high)
        super().__init__([self.low, self.high])
        self.annotation: Any = None

    def _to(self, annotation: Any) -> None:
        if self.annotation is None:
            self.annotation = annotation

    def _calc_value(self) -> Any:
        return self._generate(self.annotation)

    def _generate(self, annotation: Any) -> Any:
        origin = typing.get_origin(annotation)
        if origin is typing.Union or origin is types.UnionType:
            return self._generate(python_random.choice(typing.get_args(annotation)))
        if origin in (tuple, list, collections.abc.Sequence):
            inner = [a for a in typing.get_args(annotation) if a is not Ellipsis]
            count = len(inner) if origin is tuple else 1
            return [self._generate(a) for a in inner[:count]]
        if annotation is None or annotation is type(None):
            return None
        low, high = self.low.value(), self.high.value()
        if annotation is int:
            return int(rng.integers(low, high))
        if annotation is float:
            return float(rng.uniform(low, high))
        if annotation is bool:
            return bool(rng.integers(0, 2))
        raise NotImplementedError(f"[random] expects int, float, bool or tuples, got {annotation}")


def random_or_nothing(low: Any, high: Any) -> generator:
    """A number, or, in a third of cases, no argument."""
    return oneof(random(low, high), nothing(), possibility=2 / 3)


def random_bool() -> generator:
    """True or False."""
    return random().to(bool)


class random_pytorch_tensor(generator):
    """A PyTorch tensor: `ndim` dims of sizes dim0, dim1, ..., numbers in [low, high).

    A size that is None is drawn in [1, 8). dtype: float (then float32) or int (int64).
    """

    def __init__(
        self,
        ndim: Any = None,
        dim0: Any = 1,
        dim1: Any = None,
        dim2: Any = None,
        dim3: Any = None,
        dim4: Any = None,
        low: Any = 0,
        high: Any = 1,
        dtype: Any = float,
        pin_memory: bool = False,
    ) -> None:
        dims = [random(1, 8) if d is None else pack(d) for d in (dim0, dim1, dim2, dim3, dim4)]
        self.ndim = (random(1, 6) if ndim is None else pack(ndim)).to(int)
        self.dims = [d.to(int) for d in dims]
        self.low, self.high = pack(low).to(float), pack(high).to(float)
        self.dtype = pack(dtype)
        self.pin_memory = pin_memory
        super().__init__([self.ndim, *self.dims, self.low, self.high, self.dtype])

    def to(self, annotation: Any) -> generator:
        """A tensor already knows its types."""
        return self

    def _calc_value(self) -> torch.Tensor:
        sizes = [d.value() for d in self.dims]
        shape = [sizes[i] if i < 5 else int(rng.integers(1, 8)) for i in range(self.ndim.value())]
        low, high, dtype = self.low.value(), self.high.value(), self.dtype.value()
        if dtype is float:
            made = torch.tensor(rng.uniform(low, high, shape), dtype=torch.float32)
        elif dtype is int:
            made = torch.tensor(rng.integers(int(low), int(high), shape), dtype=torch.int64)
        else:
            raise NotImplementedError(f"[random_tensor] expects dtype float or int, got {dtype}")
        return made.pin_memory() if self.pin_memory else made


class choice_pytorch_tensor(generator):
    """A PyTorch tensor of elements of `a`, as numpy.random.choice draws them."""

    def __init__(
        self, a: Any, size: Any = None, replace: bool = True, p: Any = None, dtype: Any = int
    ) -> None:
        super().__init__()
        self.arguments = (a, size, replace, p)
        self.dtype = dtype

    def _calc_value(self) -> torch.Tensor:
        a, size, replace, p = self.arguments
        return torch.tensor(np.asarray(rng.choice(a, size, replace, p)).astype(self.dtype))


class random_device(generator):
    """`cpu`, or `cuda` where tests may use it (ONEFLOW_TEST_CPU_ONLY is not set)."""

    kinds: tuple[str, ...] = ("cuda", "cpu")

    def _calc_value(self) -> str:
        kinds = [k for k in self.kinds if k == "cpu" or not os.getenv("ONEFLOW_TEST_CPU_ONLY")]
        return python_random.choice(kinds or list(self.kinds))


class cpu_device(random_device):
    """`cpu`."""

    kinds = ("cpu",)


class gpu_device(random_device):
    """`cuda`."""

    kinds = ("cuda",)


class all_placement(generator):
    """All placements over all ranks: each kind of device, each hierarchy."""

    kinds: tuple[str, ...] = ("cuda", "cpu")

    def __len__(self) -> int:
        return len(self._all())

    def __getitem__(self, key: int) -> Any:
        return self._all()[key]

    def _all(self) -> list[Any]:
        kinds = [k for k in self.kinds if k == "cpu" or not os.getenv("ONEFLOW_TEST_CPU_ONLY")]
        world, nodes = flow.env.get_world_size(), flow.env.get_node_size()
        shapes = [(world,), (nodes, world // nodes)]
        return [
            flow.placement(kind, np.arange(world).reshape(shape).tolist())
            for kind, shape in product(kinds or self.kinds, shapes)
        ]

    def _calc_value(self) -> Any:
        return self._all()


class all_cpu_placement(all_placement):
    """Those of CPUs."""

    kinds = ("cpu",)


class random_placement(all_placement):
    """One of all placements."""

    def _calc_value(self) -> Any:
        return python_random.choice(self._all())


class random_cpu_placement(random_placement):
    """One of those of CPUs."""

    kinds = ("cpu",)


class random_gpu_placement(random_placement):
    """One of those of GPUs."""

    kinds = ("cuda",)


class all_sbp(generator):
    """All SBPs of a tensor of `max_dim` dims over a placement of `dim` dims."""

    def __init__(
        self,
        placement: Any = None,
        dim: int = 1,
        max_dim: int = 0,
        except_split: bool = False,
        except_broadcast: bool = False,
        except_partial_sum: bool = False,
        valid_split_axis: int | Sequence[int] | None = None,
    ) -> None:
        super().__init__()
        if placement is not None:
            placed = placement.value() if isinstance(placement, generator) else placement
            dim = len(np.shape(placed.ranks))
        self.dim, self.max_dim = dim, max_dim
        self.without = (except_split, except_broadcast, except_partial_sum)
        axes = range(max_dim) if valid_split_axis is None else valid_split_axis
        self.axes = [axes] if isinstance(axes, int) else list(axes)

    def __len__(self) -> int:
        return len(self._all())

    def __getitem__(self, key: int) -> Any:
        return self._all()[key]

    def _all(self) -> list[Any]:
        if self.max_dim == 0:  # a number is not split
            return [[flow.sbp.broadcast] * self.dim]
        no_split, no_broadcast, no_partial = self.without
        one = [] if no_split else [flow.sbp.split(i) for i in self.axes if i < self.max_dim]
        one += [] if no_broadcast else [flow.sbp.broadcast]
        one += [] if no_partial else [flow.sbp.partial_sum]
        return list(product(one, repeat=self.dim))

    def _calc_value(self) -> Any:
        return self._all()


class random_sbp(all_sbp):
    """One of all SBPs."""

    def _calc_value(self) -> Any:
        return python_random.choice(self._all())
