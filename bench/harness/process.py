"""The part of the harness that runs inside the measured process.

A measured program is any command that prints JSON lines like this one on its standard output:

    {"metric": "step_time", "unit": "s", "samples": [0.0012], "check": {"loss": 2.3}, ...}

This module is for those written in Python. It uses the standard library alone, so that the same
file serves OneFlow's interpreter, PyTorch's, and any other:

    reporter = Reporter()           # first of all: notes when the process started to work
    import torch
    reporter.imported()             # memory is counted from here on
    reporter.report("step_time", measure(step), check={"loss": loss()})

Steps are timed by the monotonic clock. `step` must have finished its work when it returns, or
`finish` must wait for it. Not thread-safe; one Reporter for each process.
"""

from __future__ import annotations

import gc
import json
import os
import random
import re
import statistics
import sys
import time
import timeit
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

Row = TypeVar("Row")

# A timing shorter than this would measure the clock: its resolution and cost are about 50 ns.
SHORTEST_TIMING_S = 5e-5
SHORTEST_STATEMENTS_S = 2e-3


@dataclass(frozen=True)
class Timing:
    """What a call of :func:`measure` found.

    Attributes:
        samples: seconds per step; each is the median of one batch of timings.
        loops: steps in each timing.
        first: seconds of the very first step, warm-up included.
    """

    samples: list[float]
    loops: int
    first: float


def measure(
    step: Callable[[], object],
    *,
    batches: int = 5,
    timings: int = 20,
    warmup_s: float = 0.2,
    loops: int | None = None,
    finish: Callable[[], object] | None = None,
) -> Timing:
    """Times a step: warm-up, then batches of timings of loops of steps.

    Args:
        step: called without arguments. The call, about 50 ns, is part of the figure; for a step
            as short as that use :func:`measure_statement`.
        batches: samples to return; each is the median of one batch.
        timings: timings in a batch.
        warmup_s: seconds to spend before the first batch, at least one step.
        loops: steps in each timing; by default enough for the clock to resolve.
        finish: called inside each timing, after its steps, to wait for what they left running.

    Returns:
        Seconds per step.

    >>> timing = measure(lambda: None, batches=3, timings=5, warmup_s=0.0)
    >>> len(timing.samples), all(0.0 < s < 0.1 for s in timing.samples)
    (3, True)
    """

    def timed(count: int) -> float:
        turns = range(count)
        start = time.perf_counter()
        for _ in turns:
            step()
        if finish is not None:
            finish()
        return time.perf_counter() - start

    return _measure(timed, batches, timings, warmup_s, loops, SHORTEST_TIMING_S)


def measure_statement(
    statement: str,
    names: dict[str, Any],
    *,
    finish: str = "",
    batches: int = 5,
    timings: int = 10,
    warmup_s: float = 0.1,
) -> Timing:
    """Times a statement in a loop of its own, as `timeit` does, without the cost of a call.

    Timings are so long that `finish`, run once in each, hardly counts. Python's garbage collector
    is off meanwhile.

    Args:
        statement: Python text.
        names: the names that it may use.
        finish: a statement to run after each loop, to wait for what it left running.
        batches, timings, warmup_s: as for :func:`measure`.

    Returns:
        Seconds per statement.

    >>> timing = measure_statement("x + x", {"x": 1}, batches=2, timings=2, warmup_s=0.0)
    >>> all(1e-9 < s < 1e-5 for s in timing.samples)
    True
    """
    timer = timeit.Timer(statement, globals=names)
    last = timeit.Timer(finish or "pass", globals=names)
    return _measure(
        lambda count: timer.timeit(count) + last.timeit(1),
        batches,
        timings,
        warmup_s,
        None,
        SHORTEST_STATEMENTS_S,
    )


def _measure(
    timed: Callable[[int], float],
    batches: int,
    timings: int,
    warmup_s: float,
    loops: int | None,
    shortest_s: float,
) -> Timing:
    first = timed(1)
    end = time.perf_counter() + warmup_s
    while time.perf_counter() < end:
        timed(1)
    count = loops or _calibrate(timed, shortest_s)
    gc.collect()
    samples = [
        statistics.median(timed(count) / count for _ in range(timings)) for _ in range(batches)
    ]
    return Timing(samples, count, first)


def _calibrate(timed: Callable[[int], float], shortest_s: float) -> int:
    loops = 1
    while min(timed(loops) for _ in range(3)) < shortest_s:
        loops *= 2
    return loops


def shuffled(rows: Iterable[Row]) -> list[Row]:
    """The rows in this round's order, so that none always runs into another's warm cache.

    The order follows ONEFLOW_BENCH_SEED, which the runner sets anew for each round.
    """
    order = list(rows)
    random.Random(os.environ.get("ONEFLOW_BENCH_SEED", "0")).shuffle(order)
    return order


class Reporter:
    """Writes the JSON lines of one process."""

    def __init__(self, allocator_peak: Callable[[], int] | None = None) -> None:
        """Starts the clock of the import.

        Args:
            allocator_peak: returns the most bytes the library's allocator held; may be set later.
        """
        self.allocator_peak = allocator_peak
        self._start = time.perf_counter()
        self._import_s: float | None = None
        self._rss = rss_bytes()

    def imported(self) -> None:
        """Call after the library's import: memory beyond this point is the program's."""
        self._import_s = time.perf_counter() - self._start
        gc.collect()
        reset_peak_rss()
        self._rss = rss_bytes()

    def report(
        self,
        metric: str,
        samples: Timing | list[float],
        *,
        check: Mapping[str, Any],
        unit: str = "s",
    ) -> None:
        """Prints one metric.

        Args:
            metric: its name, the same for each variant.
            samples: positive figures; the process counts as their median.
            check: the result that the program computed, JSON values. It must not be empty: the
                runner compares it with the expected answer and between variants.
            unit: of the samples.

        Raises:
            ValueError: `check` is empty.
        """
        if not check:
            raise ValueError(f"[report] expects {metric} to come with the result to check")
        line: dict[str, Any] = {"metric": metric, "unit": unit}
        if isinstance(samples, Timing):
            line |= {"samples": samples.samples, "loops": samples.loops, "first": samples.first}
        else:
            line["samples"] = list(samples)
        line["check"] = dict(check)
        line["rss_beyond_import_bytes"] = max(0, peak_rss_bytes() - self._rss)
        if self.allocator_peak is not None:
            line["peak_allocator_bytes"] = int(self.allocator_peak())
        if self._import_s is not None:
            line["import_s"] = self._import_s
        sys.stdout.write(json.dumps(line) + "\n")
        sys.stdout.flush()


def rss_bytes() -> int:
    """Resident memory of this process now."""
    return _status("VmRSS")


def peak_rss_bytes() -> int:
    """The most resident memory since the start, or since :func:`reset_peak_rss`."""
    return max(_status("VmHWM"), _status("VmRSS"))


def reset_peak_rss() -> bool:
    """Forgets the peak; False where the kernel does not allow it."""
    try:
        with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
            file.write("5")
    except OSError:
        return False
    return True


def _status(field: str) -> int:
    """Bytes of a field of /proc/self/status; 0 where there is none."""
    try:
        with open("/proc/self/status", encoding="ascii", errors="replace") as file:
            found = re.search(rf"^{field}:\s*(\d+) kB", file.read(), re.MULTILINE)
    except OSError:
        return 0
    return int(found.group(1)) * 1024 if found else 0
