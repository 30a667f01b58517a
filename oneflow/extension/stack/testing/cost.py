"""What a capture costs: recorder on against off, and against PyTorch's CapturedTraceback.

Prints nanoseconds for each capture: medians over rounds whose variants take turns, with quartiles.
PyTorch is used where it can be imported, else its rows are left out. Run it on an idle machine:

    tools/bazel run -c opt //oneflow/extension/stack/testing:cost
"""

from __future__ import annotations

import _thread
import importlib.util
import json
import os
import random
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import stack_testing as st

_DEPTHS = (3, 20)
_ROUNDS = 15
_CALLS = 4000

Capture = Callable[..., Any]
Way = Callable[[Capture, tuple], float]


def _at_depth(depth: int, work: Way, capture: Capture, arguments: tuple) -> float:
    """What `work` returns when its own calls see a stack of `depth` frames, its own included."""
    result = []
    done = threading.Lock()

    def descend(more: int) -> float:
        return descend(more - 1) if more else work(capture, arguments)

    def bottom() -> None:
        result.append(descend(depth - 3))
        done.release()

    done.acquire()
    _thread.start_new_thread(bottom, ())  # threading.Thread would add frames below
    with done:
        return result[0]


def _check_depth(capture: Capture, arguments: tuple) -> float:
    return len(st.resolve(capture(*arguments)))


def _in_place(capture: Capture, arguments: tuple) -> float:
    """ns for each call from ten lines of one frame, the frame's callers unchanged."""
    begin = time.perf_counter_ns()
    for _ in range(_CALLS // 10):
        capture(*arguments)
        capture(*arguments)
        capture(*arguments)
        capture(*arguments)
        capture(*arguments)
        capture(*arguments)
        capture(*arguments)
        capture(*arguments)
        capture(*arguments)
        capture(*arguments)
    return (time.perf_counter_ns() - begin) / (_CALLS // 10 * 10)


def _five_new(capture: Capture, arguments: tuple) -> float:
    """ns for each call below five frames that were made for it."""

    def first() -> None:
        second()

    def second() -> None:
        third()

    def third() -> None:
        fourth()

    def fourth() -> None:
        fifth()

    def fifth() -> None:
        capture(*arguments)

    begin = time.perf_counter_ns()
    for _ in range(_CALLS):
        first()
    return (time.perf_counter_ns() - begin) / _CALLS


def _plain_python() -> float:
    """ns for each turn of Python code that issues no op."""

    def function(a: int, b: int = 1) -> int:
        return a + b

    begin = time.perf_counter_ns()
    value = 0
    for _ in range(_CALLS):
        value = function(value)
    return (time.perf_counter_ns() - begin) / _CALLS


def _variants(with_torch: bool) -> dict[str, tuple[Capture, tuple]]:
    variants: dict[str, tuple[Capture, tuple]] = {
        "nothing": (st.nothing, ()),
        "capture": (st.capture, ()),
        "capture again": (st.capture, ()),
    }
    if not with_torch or importlib.util.find_spec("torch") is None:
        return variants
    profiler = importlib.import_module("torch._C._profiler")
    traceback = importlib.import_module("torch.utils._traceback")
    variants["torch gather"] = (profiler.gather_traceback, (True, False, False))
    variants["torch extract"] = (traceback.CapturedTraceback.extract, ())
    return variants


def _measure(rounds: int, with_torch: bool) -> dict[str, list[float]]:
    """All rows of this process; names are `<depth> <way> <variant>`."""
    st.install()
    times: dict[str, list[float]] = {}
    jobs: list[tuple[str, int, Way, Capture, tuple]] = []
    for depth in _DEPTHS:
        if st.stats()["enabled"]:
            assert _at_depth(depth, _check_depth, st.capture, ()) == depth
        for variant, (capture, arguments) in _variants(with_torch).items():
            jobs.append((f"{depth} same {variant}", depth, _in_place, capture, arguments))
            if depth > 8:
                name = f"{depth} five new {variant}"
                jobs.append((name, depth - 5, _five_new, capture, arguments))
    for _ in range(rounds):
        random.shuffle(jobs)
        for name, depth, way, capture, arguments in jobs:
            times.setdefault(name, []).append(_at_depth(depth, way, capture, arguments))
        times.setdefault("plain python", []).append(_plain_python())
    return times


def _row(name: str, values: list[float]) -> str:
    low, middle, high = statistics.quantiles(values, n=4)
    return f"{name:42} {middle:8.1f}   [{low:.1f}, {high:.1f}]"


def _beyond_nothing(times: dict[str, list[float]]) -> None:
    for name, values in sorted(times.items()):
        prefix = next((p for p in ("same", "five new") if f" {p} " in name), None)
        if prefix is None or name.endswith("nothing"):
            continue
        floor = times[name.split(prefix)[0] + prefix + " nothing"]
        print(_row(name, [a - b for a, b in zip(values, floor, strict=True)]))


def _on_against_off(pairs: int) -> None:
    results: dict[str, dict[str, list[float]]] = {"0": {}, "1": {}}
    for _ in range(pairs):
        for setting in random.sample(["0", "1"], 2):
            run = subprocess.run(
                [sys.executable, __file__, "--child"],
                env={
                    **os.environ,
                    "ONEFLOW_PYTHON_STACK_GETTER": setting,
                    "PYTHONPATH": os.pathsep.join(sys.path),
                },
                stdout=subprocess.PIPE,
                check=True,
            )
            for name, values in json.loads(run.stdout).items():
                results[setting].setdefault(name, []).append(statistics.median(values))
    for name, on in results["1"].items():
        if name == "plain python" or name.endswith(" capture"):
            off = results["0"][name]
            print(_row(f"{name}, off", off))
            print(_row(f"{name}, on minus off", [a - b for a, b in zip(on, off, strict=True)]))


def main() -> None:
    """Measures, or with --child prints one process's times as JSON."""
    if "--child" in sys.argv:
        print(json.dumps(_measure(3, with_torch=False)))
        return
    print(f"CPython {sys.version.split()[0]}, ns for each capture: median [quartiles]")
    print("-- beyond a call that does nothing, one process, depth / frames / way")
    times = _measure(_ROUNDS, with_torch=True)
    print(f"public API: {st.stats()['public_api']}; distinct stacks: {st.stats()['stacks']}")
    _beyond_nothing(times)
    print("-- recorder on against off, a process each")
    _on_against_off(7)


if __name__ == "__main__":
    main()
