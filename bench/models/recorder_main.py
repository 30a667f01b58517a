"""The measured process of what the stack recorder costs: `recorder_main.py CASE`.

Eager steps in threes: one with the recorder on, two with it paused, in random order. The three
share the process, its memory and its clock, so that the ratio of neighbours shows little else than
the recorder; the two that are paused are its control. The time that the issuing thread worked is
told beside each step's: where another thread runs the kernels, that is where all of the cost is.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import random
import sys
import time
from collections.abc import Sequence

import oneflow as flow
from bench.models.cases import parse
from bench.models.task import Task

ON, OFF, AGAIN = "on", "off", "off again"


def main(argv: Sequence[str] | None = None) -> None:
    """Times the steps, prints a line for each kind."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("case", type=parse, metavar="CASE")
    parser.add_argument("--warm", type=int, default=2)
    parser.add_argument("--least", type=int, default=2, help="threes at least")
    parser.add_argument("--seconds", type=float, default=60.0, help="go on for so long")
    parser.add_argument("--vm", choices=("auto", "inline", "queued"), default="auto")
    args = parser.parse_args(argv)
    inside = flow._oneflow_internal
    inside.set_vm_mode(args.vm)
    task = Task(flow, args.case, "eager")
    answers = [task.step() for _ in range(args.warm)]
    gc.collect()
    draw = random.Random(os.environ.get("ONEFLOW_BENCH_SEED", "0"))
    walls: dict[str, list[float]] = {ON: [], OFF: [], AGAIN: []}
    threads: dict[str, list[float]] = {ON: [], OFF: [], AGAIN: []}
    end = time.perf_counter() + args.seconds
    while len(walls[ON]) < args.least or time.perf_counter() < end:
        for kind in draw.sample(list(walls), len(walls)):
            inside.pause_stack_recorder(kind != ON)
            start, worked = time.perf_counter(), time.thread_time()
            answers.append(task.step())
            threads[kind].append(time.thread_time() - worked)
            walls[kind].append(time.perf_counter() - start)
    inside.pause_stack_recorder(False)
    for kind, samples in walls.items():
        line: dict[str, object] = {"metric": kind, "unit": "s", "samples": samples}
        line |= {"thread": threads[kind], "bytes": inside.stack_recorder_bytes()}
        line["check"] = {"first": answers[0]}
        sys.stdout.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
