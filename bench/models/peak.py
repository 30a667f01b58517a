"""The most bytes that tensors hold during a step, by each library's own account.

OneFlow's pool counts them, each rounded up to its block. PyTorch's CPU allocator does not, but
reports each allocation to its profiler: the peak is what lived before the steps (weights, inputs)
and the highest sum of what came and went since. Not counted: what oneDNN and the runtimes take for
themselves beside the allocators.
"""

from __future__ import annotations

import gc
import importlib
from collections.abc import Iterable
from typing import Any

from bench.models.task import Task

STEPS = 2


def peak_of(library: Any, task: Task) -> int:
    """Bytes at the peak of a task's first two steps; the second has all that a step ever has."""
    gc.collect()
    if library.__name__ == "torch":
        return _torch_peak(task)
    library.cpu.reset_peak_memory_stats()
    for _ in range(STEPS):
        task.step()
    return int(library.cpu.max_memory_allocated())


def highest(before: int, changes: Iterable[int]) -> int:
    """The highest level, from a first one and its changes in order.

    >>> highest(10, [5, -5, 7, 1, -13])
    18
    """
    level = peak = before
    for change in changes:
        level += change
        peak = max(peak, level)
    return peak


def _torch_peak(task: Task) -> int:
    torch = task.library
    profiler = importlib.import_module("torch.profiler")
    if task.setting == "compile":  # what the compiler holds for a while is no part of a step
        task.step()
        gc.collect()
    before = sum(held_bytes(torch))
    with profiler.profile(
        activities=[profiler.ProfilerActivity.CPU], profile_memory=True
    ) as traced:
        for _ in range(STEPS):
            task.step()
    events = [e for e in traced.profiler.kineto_results.events() if e.name() == "[memory]"]
    events.sort(key=lambda event: event.start_ns())
    return highest(before, [int(event.nbytes()) for event in events])


def held_bytes(torch: Any) -> list[int]:
    """The sizes of all storages that Python can reach: parameters, states, gradients, inputs.

    The stand-ins with which torch.compile traces a model hold nothing.
    """
    storages = {}
    for item in gc.get_objects():
        kind = type(item)
        if issubclass(kind, torch.Tensor) and not kind.__module__.startswith("torch._subclasses"):
            if getattr(item, "is_mkldnn", False):  # a frozen weight in oneDNN's own order
                storages[id(item)] = item.numel() * item.element_size()
                continue
            storage = item.untyped_storage()
            storages[storage.data_ptr()] = storage.nbytes()
    return list(storages.values())
