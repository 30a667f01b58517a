"""Prints records of the first steps: `first_steps_main.py LIBRARY SETTING CASE [CASE...]`.

One JSON line a case, `{"case": ..., "record": ...}`. With `--peak` instead the most bytes that
tensors hold during a step, `{"case": ..., "peak": ..., "seconds": ...}`, and how long a step takes.
"""

from __future__ import annotations

import argparse
import importlib
import json
import time
from collections.abc import Sequence

from bench.models.cases import parse
from bench.models.first_steps import record
from bench.models.peak import peak_of
from bench.models.task import SETTINGS, Task


def main(argv: Sequence[str] | None = None) -> None:
    """Runs each case and prints its record."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("library", choices=SETTINGS)
    parser.add_argument("setting")
    parser.add_argument("cases", nargs="+", type=parse, metavar="CASE")
    parser.add_argument("--peak", action="store_true")
    args = parser.parse_args(argv)
    library = importlib.import_module(args.library)
    for case in args.cases:
        line: dict[str, object] = {"case": str(case)}
        if args.peak:
            task = Task(library, case, args.setting)
            line["peak"] = peak_of(library, task)
            start = time.perf_counter()
            task.step()
            line["seconds"] = time.perf_counter() - start
        else:
            line["record"] = record(library, args.setting, case)
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
