"""The training step of examples/digits against PyTorch's: `tools/bazel run //bench:digits`."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from sklearn.datasets import load_digits

from bench import digits_reference as reference
from bench import variants
from bench.harness.plan import Row

TARGET = 1.3


def main(argv: Sequence[str] | None = None) -> int:
    """Measures and prints."""
    args = variants.make_parser(__doc__).parse_args(argv)
    data = load_digits()
    task = reference.make_task(data.data, data.target)
    expected = {"step_time": {"losses": reference.reference_losses(task)}}
    rows = [Row("step_time", "a training step of examples/digits", target=TARGET)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "task.npz"
        task.save(path)
        plan = variants.make_plan("digits", "digits_main.py", [str(path)], rows, expected, args)
        return variants.run(plan, args)


if __name__ == "__main__":
    sys.exit(main())
