"""Tiny ops of OneFlow against PyTorch: `tools/bazel run //bench:ops`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from bench import variants
from bench.harness import runner
from bench.harness.plan import Plan, Row
from bench.ops.rows import ROWS


def make_plan(args: argparse.Namespace) -> Plan:
    """The plan: one program, a row for each row of the table."""
    rows = [Row(row.metric, row.statement, target=row.target) for row in ROWS]
    expected = {row.metric: {"value": row.expected} for row in ROWS}
    return variants.make_plan("ops", "ops/micro_main.py", [], rows, expected, args)


def main(argv: Sequence[str] | None = None) -> int:
    """Measures and prints."""
    args = variants.make_parser(__doc__).parse_args(argv)
    return runner.measure_and_report(make_plan(args), args)


if __name__ == "__main__":
    sys.exit(main())
