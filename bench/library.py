"""The library under measurement, in a measured process: OneFlow or PyTorch, by name.

Their APIs are alike, so that one program serves both; what differs is here.
"""

from __future__ import annotations

import argparse
import importlib
from typing import Any

from bench.harness.process import Reporter

LIBRARIES = ("oneflow", "torch")


def start(description: str, *extra: str) -> tuple[Any, Reporter, argparse.Namespace]:
    """The usual beginning of a measured program.

    Args:
        description: of the program, for its help.
        *extra: names of further positional arguments.

    Returns:
        The library's module, the reporter, and the command line.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("library", choices=LIBRARIES)
    for name in extra:
        parser.add_argument(name)
    args = parser.parse_args()
    reporter = Reporter()
    library = importlib.import_module(args.library)
    if args.library == "oneflow":  # PyTorch does not count the CPU's memory.
        reporter.allocator_peak = library.cpu.max_memory_allocated
    reporter.imported()
    return library, reporter, args
