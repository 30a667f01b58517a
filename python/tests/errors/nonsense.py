"""Calls public functions with nonsense; nothing but an ordinary Python exception may come of it.

`python -m tests.errors.nonsense SEED SECONDS` runs until the processor time is used up; the
process must live, and no exception may be a bug of ours. Each call is written to a file before it
is made, so that who finds a dead process finds the call that killed it. A seed always makes the
same calls.
"""

from __future__ import annotations

import faulthandler
import importlib
import inspect
import os
import random
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import oneflow as flow

# Not called at random: they end, replace or stop what the test itself stands on, or take long.
SPARED = {
    "oneflow.set_num_threads",
    "oneflow._oneflow_internal.set_num_threads",
    "oneflow._oneflow_internal.shutdown",
    "oneflow._oneflow_internal.fail_allocation",  # makes everything else fail
    "oneflow._oneflow_internal.trip_internal_check",  # a bug, on purpose
    "oneflow._oneflow_internal.set_package_folder",
    "oneflow._oneflow_internal.save",
    "oneflow.save",  # to names of files that are nonsense
    "oneflow._C.throw_error",  # waits as long as it is told
    "oneflow._C.throw_error_",
    "oneflow._C.throw_error_in_backward",
}
MODULES = (
    "oneflow",
    "oneflow._oneflow_internal",
    "oneflow._C",
    "oneflow.amp",
    "oneflow.autograd",
    "oneflow.autograd.graph",
    "oneflow.comm",
    "oneflow.cpu",
    "oneflow.cuda",
    "oneflow.distributions",
    "oneflow.linalg",
    "oneflow.nn",
    "oneflow.nn.functional",
    "oneflow.nn.init",
    "oneflow.nn.utils",
    "oneflow.nn.utils.rnn",
    "oneflow.optim",
    "oneflow.optim.lr_scheduler",
    "oneflow.sbp",
    "oneflow.special",
    "oneflow.utils.checkpoint",
    "oneflow.utils.data",
)
# Of an exception that is allowed: a Python program may meet it. The rest is a bug.
ALLOWED = (
    TypeError, ValueError, IndexError, KeyError, AttributeError, RuntimeError, NotImplementedError,
    OverflowError, OSError, MemoryError, RecursionError, ZeroDivisionError, StopIteration,
    AssertionError, BufferError, LookupError, EOFError, Warning,
)  # fmt: skip


class Hostile:
    """Raises, or changes what is being read, whenever it is asked for anything."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._list: list[Any] = [1, 2, self]

    def _answer(self, *answers: Any) -> Any:
        if self._chance.random() < 0.3:
            raise self._chance.choice(
                [ValueError("hostile"), KeyError("hostile"), MemoryError(), RecursionError()]
            )
        if self._chance.random() < 0.3:
            self._list.clear()
        return self._chance.choice(answers)

    def list_with_me(self) -> list[Any]:
        """A list that becomes empty while it is read."""
        return self._list

    def __index__(self) -> int:
        return self._answer(0, 1, -1, 1 << 62, 1 << 70)

    def __int__(self) -> int:
        return self._answer(0, 3)

    def __float__(self) -> float:
        return self._answer(0.0, float("nan"), 1e308)

    def __bool__(self) -> bool:
        return self._answer(True, False)

    def __len__(self) -> int:
        return self._answer(0, 2, 1 << 40)

    def __iter__(self) -> Any:
        return self._answer(iter([1, self]), iter(()))

    def __getitem__(self, index: Any) -> Any:
        return self._answer(1, self)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._answer(None, args[0] if args else 3, flow.ones(2))

    def __eq__(self, other: object) -> Any:
        return self._answer(True, False, None)

    def __hash__(self) -> int:
        return self._answer(1, 2)

    def __repr__(self) -> str:
        return self._answer("Hostile()", "\ud800")

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        return self._answer(np.ones(2), 3, None)


class HostileTensor(flow.Tensor):
    """A tensor some of whose attributes raise."""

    def __getattribute__(self, name: str) -> Any:
        if name in ("dtype", "numpy"):
            raise ValueError("hostile attribute")
        return super().__getattribute__(name)


def tensors(chance: random.Random) -> Any:
    """A tensor of some shape, dtype and layout."""
    shape = chance.choice(
        [(), (0,), (1,), (2,), (3,), (2, 3), (3, 2), (0, 3), (2, 3, 4), (1,) * 16]
    )
    dtype = chance.choice(
        [flow.float32, flow.float64, flow.int64, flow.int32, flow.int8, flow.uint8, flow.bool]
    )
    made = flow.ones(*shape).to(dtype) if shape else flow.tensor(1).to(dtype)
    kind = chance.randrange(7)
    if kind == 0 and dtype in (flow.float32, flow.float64):
        made.requires_grad = True
    elif kind == 1 and len(shape) == 2:
        made = made.t()
    elif kind == 2 and len(shape) == 1:
        made = made.expand(3, *shape)
    elif kind == 3:
        try:
            made = flow._C.throw_error(made.detach(), kind="value")
        except ValueError:  # at its line
            pass
    elif kind == 4:
        made = flow.from_numpy(np.ones(shape, np.float32))
    elif kind == 5:
        made = HostileTensor(made)
    return made


def value(chance: random.Random, depth: int = 0) -> Any:
    """An argument: something useful now and then, else anything."""
    kind = chance.randrange(20 if depth < 3 else 16)
    if kind < 5:
        return tensors(chance)
    if kind < 8:
        return chance.choice([0, 1, 2, -1, 3, -3, 16, 17, 1 << 31, -(1 << 63), 1 << 63, 1 << 70])
    if kind == 8:
        return chance.choice([0.5, float("nan"), float("inf"), -1e308, 1e-320, 1j])
    if kind == 9:
        return chance.choice([None, True, False, Ellipsis, NotImplemented, slice(None, None, -1)])
    if kind == 10:
        return chance.choice(
            ["", "mean", "sum", "cpu", "cuda", "\ud800", "x" * 5000, b"bytes", "none"]
        )
    if kind == 11:
        return chance.choice(
            [flow.float32, flow.int64, flow.device("cpu"), np.float32, int, object]
        )
    if kind == 12:
        return chance.choice(
            [np.ones((2, 3)), np.array(3), np.float32(2), np.array(["a"]), np.array([None])]
        )
    if kind == 13:
        return chance.choice([Hostile(chance), Hostile(chance).list_with_me(), lambda *a: None])
    if kind == 14:
        return chance.choice([flow.nn.Linear(2, 2), flow.Generator(), flow.nn, sys, type, Hostile])
    if kind == 15:
        endless: list[Any] = []
        endless.append(endless)
        return chance.choice([endless, range(3), {1: 2}, {"a": endless}, {1, 2}, object()])
    length = chance.randrange(4) if kind < 19 else chance.choice([17, 40])
    items = [value(chance, depth + 1) for _ in range(length)]
    return chance.choice([items, tuple(items), iter(items), dict(enumerate(items))])


def callables() -> dict[str, Callable[..., Any]]:
    """Every public function and class by its full name, and the methods of Tensor."""
    found: dict[str, Callable[..., Any]] = {}
    for module in MODULES:
        members = vars(importlib.import_module(module))
        for name in members.get("__all__", members):
            thing = members.get(name, None)
            if not name.startswith("__") and callable(thing) and not inspect.ismodule(thing):
                found[f"{module}.{name}"] = thing
    for name in dir(flow.Tensor):
        if name not in ("__class__", "__init_subclass__", "__reduce__", "__reduce_ex__"):
            found[f"Tensor.{name}"] = getattr(flow.Tensor, name)
    return {name: f for name, f in sorted(found.items()) if name not in SPARED and callable(f)}


def call(chance: random.Random, function: Any, is_method: bool) -> None:
    """One call; an exception that is no ordinary one goes through."""
    args = [value(chance) for _ in range(chance.choice([0, 1, 1, 2, 2, 2, 3, 4, 6]))]
    if is_method and chance.random() < 0.9:
        args.insert(0, tensors(chance))
    keywords = {}
    if chance.random() < 0.3:
        names = [
            "dim",
            "dtype",
            "device",
            "keepdim",
            "alpha",
            "generator",
            "out",
            "size",
            "x",
            "\ud800",
        ]
        keywords = {chance.choice(names): value(chance) for _ in range(chance.choice([1, 2]))}
    try:
        result = function(*args, **keywords)
        for _ in range(3):  # an endless iterator is none of ours to exhaust
            if not hasattr(type(result), "__next__"):
                break
            next(result)
        repr(result)
        if isinstance(result, flow.Tensor) and result.numel() < 10**6:
            result.numpy()
    except flow.InternalError:
        raise
    except ALLOWED:
        pass


def run(seed: int, seconds: float, log: Any) -> int:
    """Calls until the processor time is used up; the number of calls."""
    chance = random.Random(seed)
    functions = list(callables().items())
    modes = ("auto", "inline", "queued", "random")
    end = time.process_time() + seconds
    count = 0
    while time.process_time() < end:
        name, function = chance.choice(functions)
        state = chance.getrandbits(64)
        log.seek(0)
        log.write(f"{name} {state}\n".ljust(200))
        log.flush()
        flow._oneflow_internal.set_vm_mode(chance.choice(modes))
        call(random.Random(state), function, name.startswith("Tensor."))
        count += 1
        if count % 50 == 0:
            settle()
    settle()
    return count


def settle() -> None:
    """Waits for what is queued, and puts back what a call may have changed for all."""
    try:
        flow._oneflow_internal.sync()
    except ALLOWED:
        pass
    flow._oneflow_internal.forget_unread_errors()
    flow.set_grad_enabled(True)
    flow.set_printoptions(profile="default")


def main() -> None:
    """See the module."""
    faulthandler.enable()
    seed, seconds, path = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3]
    os.environ.setdefault("ONEFLOW_CPU_MEMORY_LIMIT", "1GiB")
    with open(path, "w") as log:
        count = run(seed, seconds, log)
    print(f"{count} calls of {len(callables())} functions")


if __name__ == "__main__":
    main()
