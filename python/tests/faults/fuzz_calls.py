"""Calls everything that is public with arguments that make no sense, until the time is over.

    python fuzz_calls.py SEED SECONDS LOG

What it calls last stands in LOG, so that a call which kills the process is known. Prints how many
calls it made, and how many returned.
"""

from __future__ import annotations

import random
import sys
import time
import types
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import oneflow as flow
import oneflow.autograd
import oneflow.nn.functional
import oneflow.optim
import oneflow.utils.data

# They write files, change how all later calls run, start processes; or fail, as late as is asked.
LEFT_OUT = {"save", "load", "set_num_threads", "DataLoader"}
LATE = "throw_error"
UNCALLABLE = {"__class__", "__init_subclass__", "__subclasshook__", "__del__", "__new__"}


class Evil:
    """Promises to be a number and a sequence, and breaks each promise in another way."""

    def __index__(self) -> int:
        raise ValueError("no index")

    def __float__(self) -> float:
        raise KeyError("no float")

    def __len__(self) -> int:
        return 1 << 40

    def __getitem__(self, index: Any) -> Any:
        return self

    def __iter__(self) -> Any:
        return iter([1, 2])

    def __eq__(self, other: object) -> bool:
        raise ZeroDivisionError

    __hash__ = None  # type: ignore[assignment]


def arguments() -> list[Any]:
    """What may be passed; tensors among them."""
    leaf = flow.ones(2, 3, requires_grad=True)
    return [
        *(None, True, 0, 1, -1, 1.5, float("nan"), float("inf"), 1 << 45, 1 << 62, 1 << 70),
        *("x", "", "cuda", b"x", (), [], [1, 2], (1 << 62, 1 << 62), [None], {}, [[1], [1, 2]]),
        *(Evil(), object(), int, len, flow.float32, flow.int64, flow.device("cpu")),
        *(np.float32(2), np.int64(3), np.array([1, 2]), np.zeros((0, 3)), np.array("x")),
        *(flow.ones(0), flow.tensor(1.0), flow.ones(2, 3), flow.tensor([[1, 2, 3]])),
        *(flow.tensor([True, False]), leaf, leaf * 2, flow.ones(3, 2).t(), flow.tensor(7)),
        *(flow.ones(2, dtype=flow.float16), flow.ones(1).expand(1 << 10), flow.nn.Linear(3, 2)),
    ]


def functions() -> list[tuple[str, Callable[..., Any]]]:
    """Everything public that can be called; methods of tensors get a tensor in front."""
    modules: list[Any] = [
        *(flow, flow._C, flow.nn, flow.nn.functional, flow.nn.init, flow.optim, flow.autograd),
        *(flow.utils.data, flow.cpu, flow.cuda),
    ]
    found = []
    for module in modules:
        for name, value in sorted(vars(module).items()):
            if name.startswith(("_", LATE)) or name in LEFT_OUT:
                continue
            if callable(value) and not isinstance(value, types.ModuleType):
                found.append((f"{module.__name__}.{name}", value))
    for name in dir(flow.Tensor):
        value = getattr(flow.Tensor, name)
        if callable(value) and name not in UNCALLABLE | LEFT_OUT:
            found.append((f"Tensor.{name}", value))
    return found


def words(value: Any) -> str:
    """An argument, for the log."""
    if isinstance(value, flow.Tensor):
        return f"Tensor{tuple(value.shape)}"
    return type(value).__name__ if isinstance(value, Evil) else repr(value)[:60]


def main(seed: str, seconds: str, log: str) -> None:
    """See the module's text."""
    warnings.simplefilter("ignore")
    draw = random.Random(seed)
    end = time.monotonic() + float(seconds)
    calls = returned = 0
    pool, everything = arguments(), functions()
    with open(log, "w") as file:
        while time.monotonic() < end:
            if calls % 1000 == 0:
                flow._oneflow_internal.set_vm_mode(draw.choice(["auto", "queued", "inline"]))
                pool = arguments()  # what ops in place have made of them is forgotten
            name, function = draw.choice(everything)
            chosen = [draw.choice(pool) for _ in range(draw.randrange(5))]
            if name.startswith("Tensor."):
                chosen.insert(0, draw.choice([v for v in pool if isinstance(v, flow.Tensor)]))
            file.seek(0)
            file.truncate()
            file.write(f"{name}({', '.join(map(words, chosen))})")
            file.flush()
            calls += 1
            try:
                result = function(*chosen)
                if isinstance(result, flow.Tensor) and result.numel() < 1000:
                    result.numpy()
                returned += 1
            except Exception:  # noqa: S110 - which one is tested elsewhere
                pass
    print(calls, returned)


if __name__ == "__main__":
    main(*sys.argv[1:])
