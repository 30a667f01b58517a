"""The measured process of the tiny ops: `micro_main.py oneflow|torch`."""

from __future__ import annotations

from typing import Any

from bench.harness.process import measure_statement, shuffled
from bench.library import start
from bench.ops.rows import ROWS


def main() -> None:
    """Times each row and reports it with its value."""
    library, reporter, _ = start("Times tiny ops.")
    x = library.tensor([1.5], dtype=library.float32)
    names: dict[str, Any] = {"library": library, "x": x}
    for row in shuffled(ROWS):
        timing = measure_statement(row.statement, names, finish=f"({row.statement}).numpy()")
        value = eval(row.statement, dict(names))
        reporter.report(row.metric, timing, check={"value": value.reshape(-1).tolist()})


if __name__ == "__main__":
    main()
