"""Times the bindings of `binding_spike` and prints one row for each variant.

Rounds run every variant once, in random order. The first variant is there twice; if its two medians
differ by more than the larger of their interquartile ranges, or that range is above a tenth of the
median, the host was too noisy: "host invalid".
"""

from __future__ import annotations

import argparse
import platform
import random
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import binding_spike as spike

# Calls in one turn of the loop, which then costs under 0.5 ns for each.
UNROLL = 20


def call_loop(statement: str, names: dict[str, Any]) -> Callable[[int], float]:
    """A function that runs `statement` `n` times and returns nanoseconds for each."""
    body = "\n        ".join([statement] * UNROLL)
    parameters = ", ".join(names)
    source = (
        f"def run(n, {parameters}):\n    start = clock()\n    for _ in range(n // {UNROLL}):\n"
        f"        {body}\n    return (clock() - start) / n\n"
    )
    scope: dict[str, Any] = {"clock": time.perf_counter_ns}
    exec(source, scope)  # the source is built from the table below only
    run = scope["run"]
    return lambda n: run(n, **names)


def allocation(kind: int, live: int) -> Callable[[int], float]:
    """Nanoseconds to allocate and free one object, `live` of them alive at a time."""

    def run(n: int) -> float:
        start = time.perf_counter_ns()
        spike.allocation_loop(kind, n, live)
        return (time.perf_counter_ns() - start) / n

    return run


def variants() -> dict[str, Callable[[int], float]]:
    """Every variant by name; each has been checked to give the right sum."""
    c, g, p = spike.c_make, spike.c_make_gc, spike.PybindScalar
    # name, statement, what `f` is, what makes `x` = 1.5 and `y` = 2.25, the sum
    rows: list[tuple[str, str, Any, Callable[[float], Any], float | None]] = [
        ("C API, FASTCALL: f(x, y)", "f(x, y)", spike.c_add, c, 3.75),
        ("C API, FASTCALL: f(x, y=y)", "f(x, y=y)", spike.c_add, c, 3.75),
        ("C API, FASTCALL, GIL released", "f(x, y)", spike.c_add_release, c, 3.75),
        ("C API, PyArg_ParseTupleAndKeywords", "f(x, y)", spike.c_add_varargs, c, 3.75),
        ("C API, nb_add: x + y", "x + y", None, c, 3.75),
        ("C API, nb_add, GC type: x + y", "x + y", None, g, 3.75),
        ("C API, nb_add: x + 1", "x + 1", None, c, 2.5),
        ("pybind11: f(x, y)", "f(x, y)", spike.pybind_add, p, 3.75),
        ("pybind11: f(x, y=y)", "f(x, y=y)", spike.pybind_add, p, 3.75),
        ("pybind11, shared_ptr arguments", "f(x, y)", spike.pybind_add_shared, p, 3.75),
        ("pybind11, __add__: x + y", "x + y", None, p, 3.75),
        ("pybind11, __add__: x + 1", "x + 1", None, p, 2.5),
        ("pybind11, __add__: x + 1.0", "x + 1.0", None, p, 2.5),
        ("floor: C function that does nothing", "f(x, y)", spike.c_nothing, c, None),
        ("floor: float + float", "x + y", None, float, 3.75),
    ]
    table: dict[str, Callable[[int], float]] = {}
    for name, statement, function, make, expected in rows:
        names = {"f": function, "x": make(1.5), "y": make(2.25)}
        result = eval(statement, {}, names)  # from the table above, as is the loop's source
        value = result.item() if hasattr(result, "item") else result
        assert value == expected, f"{name}: got {value}, expected {expected}"
        table[name] = call_loop(statement, names)
    for kind, label in enumerate(("no GC", "no GC, free list", "GC", "GC, free list")):
        for live in (1, 1000):
            table[f"alloc+free, {live} live: {label}"] = allocation(kind, live)
    return table


def iqr(samples: list[float]) -> float:
    """Interquartile range."""
    low, _, high = statistics.quantiles(samples, n=4)
    return high - low


def measure(rounds: int, calls: int, seed: int) -> None:
    """Runs the rounds and prints the table."""
    table = variants()
    first = next(iter(table))
    control = f"{first} (again)"
    table[control] = table[first]
    samples: dict[str, list[float]] = {name: [] for name in table}
    for run in table.values():
        run(calls // 10)
    shuffler = random.Random(seed)
    for _ in range(rounds):
        order = list(table)
        shuffler.shuffle(order)
        for name in order:
            samples[name].append(table[name](calls))
    print(f"CPython {platform.python_version()}, {rounds} rounds of {calls} calls, ns per call")
    print(f"{'variant':<44}{'median':>9}{'IQR':>8}")
    for name, values in samples.items():
        print(f"{name:<44}{statistics.median(values):>9.1f}{iqr(values):>8.1f}")
    shift = abs(statistics.median(samples[first]) - statistics.median(samples[control]))
    spread = max(iqr(samples[first]), iqr(samples[control]))
    valid = shift <= spread <= 0.1 * statistics.median(samples[first])
    print(f"control: medians differ by {shift:.2f} ns: {'valid' if valid else 'host invalid'}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=31)
    parser.add_argument("--calls", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    measure(options.rounds, options.calls, options.seed)
    return 0


if __name__ == "__main__":
    sys.exit(main())
