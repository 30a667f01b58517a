"""The measured process of training and inference steps: `step_main.py LIBRARY SETTING CASE
[CASE...]`.

For each case, in the round's order: the model is made, steps warm up, and steps are timed one by
one. A step holds all that a program does with a batch, reading the loss included. The check is the
loss of the first two steps, of which the second one shows what the first one's update did. With
dropout they depend on random numbers: BERT-base's at 8 x 128 by 0.24 and 0.47 % (standard
deviation), while the second one is 5.7 % lower; so there it is told whether it is lower.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import time
from collections.abc import Sequence
from typing import Any

from bench.harness.process import Reporter, Timing, shuffled
from bench.models.cases import Case, parse
from bench.models.task import SETTINGS, Task

ENOUGH_PICTURES, ENOUGH_WORDS = 4, 1024


def time_case(
    library: Any, setting: str, case: Case, warm: int, least: int, seconds: float
) -> tuple[Timing, list[float]]:
    """Times the steps of a case.

    Args:
        library, setting, case: as for Task.
        warm: steps before the timed ones.
        least: timed steps at least.
        seconds: timed steps go on until this much time is over.

    Returns:
        Seconds of each step, and the results of the first two.
    """
    task = Task(library, case, setting)
    start = time.perf_counter()
    answers = [task.step()]
    first = time.perf_counter() - start
    answers += [task.step() for _ in range(warm - 1)]
    gc.collect()
    samples: list[float] = []
    end = time.perf_counter() + seconds
    while len(samples) < least or time.perf_counter() < end:
        start = time.perf_counter()
        answers.append(task.step())
        samples.append(time.perf_counter() - start)
    return Timing(samples, 1, first), answers[:2]


def check_of(case: Case, answers: Sequence[float]) -> dict[str, float | bool]:
    """What must be the same on all sides, from the results of the first two steps."""
    first, second = answers[:2]
    # Batch norm over fewer pictures makes too much of what rounding did to the update.
    if case.trains and case.sequence == 0 and case.batch >= ENOUGH_PICTURES:
        return {"first": first, "second": second}
    # Of fewer words, the second loss may be above the first one by chance.
    if case.trains and case.batch * case.sequence >= ENOUGH_WORDS:
        return {"first": first, "falls": second < first}
    return {"first": first}


def main(argv: Sequence[str] | None = None) -> None:
    """Times each case and reports it."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("library", choices=SETTINGS)
    parser.add_argument("setting")
    parser.add_argument("cases", nargs="+", type=parse, metavar="CASE")
    parser.add_argument("--warm", type=int, default=1)
    parser.add_argument("--least", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=0.5)
    args = parser.parse_args(argv)
    reporter = Reporter()
    library = importlib.import_module(args.library)
    reporter.imported()
    for case in shuffled(args.cases):
        gc.collect()
        if args.library == "oneflow":  # PyTorch does not count the CPU's memory
            library.cpu.empty_cache()
            library.cpu.reset_peak_memory_stats()
            reporter.allocator_peak = library.cpu.max_memory_allocated
        timing, answers = time_case(
            library, args.setting, case, args.warm, args.least, args.seconds
        )
        reporter.report(str(case), timing, check=check_of(case, answers))


if __name__ == "__main__":
    main()
