"""A training step of a perceptron against PyTorch's: `tools/bazel run //bench:digits`."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from sklearn.datasets import load_digits

from bench import digits_reference as reference
from bench import variants
from bench.harness import runner
from bench.harness.plan import Plan, Row

TARGET = 1.3


def make_plan(path: Path, args: argparse.Namespace) -> Plan:
    """The plan; writes the task that the measured processes read to a file."""
    data = load_digits()
    task = reference.make_task(data.data, data.target)
    task.save(path)
    expected = {"step_time": {"losses": reference.reference_losses(task)}}
    rows = [Row("step_time", "a training step of a perceptron", target=TARGET)]
    return variants.make_plan("digits", "digits_main.py", [str(path)], rows, expected, args)


def main(argv: Sequence[str] | None = None) -> int:
    """Measures and prints."""
    args = variants.make_parser(__doc__).parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        return runner.measure_and_report(make_plan(Path(folder) / "task.npz", args), args)


if __name__ == "__main__":
    sys.exit(main())
