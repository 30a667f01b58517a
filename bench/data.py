"""Reading pictures with two workers against PyTorch: `tools/bazel run //bench:data`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from bench import variants
from bench.harness import runner
from bench.harness.plan import Plan, Row

TARGET = 1.0


def make_plan(args: argparse.Namespace) -> Plan:
    """The plan: a batch of each of two data sets."""
    rows = [
        Row("transformed", "a batch of 32 pictures, made from bytes by two workers", target=TARGET),
        Row("ready", "a batch of 32 pictures that lie ready", target=TARGET),
    ]
    return variants.make_plan("data", "data_main.py", [], rows, {}, args)


def main(argv: Sequence[str] | None = None) -> int:
    """Measures and prints."""
    args = variants.make_parser(__doc__).parse_args(argv)
    return runner.measure_and_report(make_plan(args), args)


if __name__ == "__main__":
    sys.exit(main())
