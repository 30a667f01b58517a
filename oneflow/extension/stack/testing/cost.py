"""What a capture costs: recorder on against off, and against PyTorch's CapturedTraceback.

Prints nanoseconds of processor time for each capture: medians over rounds whose variants take
turns, with quartiles; then what is promised beside what was measured, and a control, the same
capture measured twice. PyTorch is measured in the same process, so it must be of the same Python
version; its rows are left out where there is none.

    tools/bazel run //oneflow/extension/stack/testing:cost -- --torch-python PATH
"""

from __future__ import annotations

import _thread
import argparse
import dataclasses
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

from bench.harness import torch_env

_DEPTHS = (3, 20)
_ROUNDS = 31
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
    begin = time.thread_time_ns()
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
    return (time.thread_time_ns() - begin) / (_CALLS // 10 * 10)


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

    begin = time.thread_time_ns()
    for _ in range(_CALLS):
        first()
    return (time.thread_time_ns() - begin) / _CALLS


def _plain_python() -> float:
    """ns for each turn of Python code that issues no op."""

    def function(a: int, b: int = 1) -> int:
        return a + b

    begin = time.thread_time_ns()
    value = 0
    for _ in range(_CALLS):
        value = function(value)
    return (time.thread_time_ns() - begin) / _CALLS


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
    return f"{name:36} {middle:8.2f}   [{low:.2f}, {high:.2f}]"


def _beyond_nothing(times: dict[str, list[float]]) -> None:
    for name, values in sorted(times.items()):
        prefix = next((p for p in ("same", "five new") if f" {p} " in name), None)
        if prefix is None or name.endswith("nothing"):
            continue
        floor = times[name.split(prefix)[0] + prefix + " nothing"]
        print(_row(name, [a - b for a, b in zip(values, floor, strict=True)]))


def _on_against_off(pairs: int) -> dict[str, list[float]]:
    """On minus off, for each pair of processes; one measured after the other, in random order."""
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
    return {
        name: [a - b for a, b in zip(on, results["0"][name], strict=True)]
        for name, on in results["1"].items()
        if name == "plain python" or name.endswith(" capture")
    }


# ---- what is promised


@dataclasses.dataclass(frozen=True)
class Promise:
    """A figure that must hold: at most, or at least, `limit`."""

    text: str
    values: list[float]
    limit: float
    at_most: bool = True

    def row(self) -> str:
        """The figure, its limit, and whether it holds."""
        middle = statistics.median(self.values)
        holds = middle <= self.limit if self.at_most else middle >= self.limit
        words = f"{'at most' if self.at_most else 'at least'} {self.limit:g}"
        return f"{_row(self.text, self.values)}   {words}: {'holds' if holds else 'MISSED'}"


def _ratios(times: dict[str, list[float]], frames: str, variant: str) -> list[float]:
    """`variant` beyond nothing over our capture beyond nothing, round by round."""
    named = {v: times[f"20 {frames} {v}"] for v in ("nothing", "capture", variant)}
    rounds = zip(named["nothing"], named["capture"], named[variant], strict=True)
    return [(other - floor) / (ours - floor) for floor, ours, other in rounds]


def _promises(times: dict[str, list[float]], on_off: dict[str, list[float]]) -> list[Promise]:
    promises = [
        Promise("on minus off, depth 20, ns", on_off["20 same capture"], 130),
        Promise("on minus off, depth 3, ns", on_off["3 same capture"], 40),
        Promise("on minus off, plain Python, ns", on_off["plain python"], 1.5),
    ]
    for variant in ("torch extract", "torch gather"):
        if f"20 same {variant}" in times:
            for frames, least in (("same", 1.3), ("five new", 2.0)):
                ratios = _ratios(times, frames, variant)
                promises.append(Promise(f"{variant} / ours, {frames}", ratios, least, False))
    return promises


def _control(times: dict[str, list[float]]) -> str:
    """The same capture twice; where they differ, the machine was not fit for measuring."""
    lines = []
    for frames in ("same", "five new"):
        ratios = _ratios(times, frames, "capture again")
        off = abs(statistics.median(ratios) - 1)
        verdict = "agrees" if off <= 0.1 else "HOST INVALID"
        lines.append(f"{_row(f'control: again / ours, {frames}', ratios)}   {verdict}")
    return "\n".join(lines)


def _add_torch(flag: str | None) -> str:
    """Makes PyTorch importable here; says which, or why not."""
    found = torch_env.find_torch(flag)
    if found.python is None:
        return found.label()
    ask = "import json, sys, sysconfig; print(json.dumps([sys.version_info[:2]"
    ask += ", sysconfig.get_path('purelib')]))"
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    answer = subprocess.check_output([found.python, "-c", ask], env=environment)
    version, folder = json.loads(answer)
    if tuple(version) != sys.version_info[:2]:
        return f"n/a (PyTorch is for Python {version[0]}.{version[1]})"
    sys.path.append(folder)
    return found.label()


def main() -> None:
    """Measures, or with --child prints one process's times as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    torch_env.add_arguments(parser)
    parser.add_argument("--rounds", type=int, default=_ROUNDS)
    parser.add_argument("--pairs", type=int, default=9, help="of processes, on and off")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    flags = parser.parse_args()
    if flags.child:
        print(json.dumps(_measure(3, with_torch=False)))
        return
    torch = _add_torch(flags.torch_python)
    print(f"CPython {sys.version.split()[0]}, {torch}; load before {os.getloadavg()[0]:.1f}")
    times = _measure(flags.rounds, with_torch=True)
    print(f"public API: {st.stats()['public_api']}; distinct stacks: {st.stats()['stacks']}")
    print("-- ns beyond a call that does nothing: depth, frames, way; median [quartiles]")
    _beyond_nothing(times)
    print("-- what is promised")
    for promise in _promises(times, _on_against_off(flags.pairs)):
        print(promise.row())
    print(_control(times))
    print(f"load after {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
