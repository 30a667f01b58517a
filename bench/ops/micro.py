"""Tiny ops of OneFlow against PyTorch: `tools/bazel run //bench:ops`."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from bench import variants
from bench.harness.plan import Row
from bench.ops.rows import ROWS


def main(argv: Sequence[str] | None = None) -> int:
    """Measures and prints."""
    args = variants.make_parser(__doc__).parse_args(argv)
    rows = [Row(row.metric, row.statement, target=row.target) for row in ROWS]
    expected = {row.metric: {"value": row.expected} for row in ROWS}
    plan = variants.make_plan("ops", "ops/micro_main.py", [], rows, expected, args)
    return variants.run(plan, args)


if __name__ == "__main__":
    sys.exit(main())
