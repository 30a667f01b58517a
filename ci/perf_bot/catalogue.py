"""The bot's own cases. A new one is a new entry here; its program is a script of `bench`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench import digits_reference
from bench.ops.rows import ROWS
from ci.perf_bot.cases import Case, Catalogue, Measured
from ci.perf_bot.schema import TIME

_DIGITS = Case(
    name="digits",
    title="perceptron on digits, training step, batch 32",
    model="digits perceptron",
    program="digits",
    metric="step_time",
    items=digits_reference.BATCH,
    item="images",
    input_shape=(digits_reference.BATCH, digits_reference.SIZES[0]),
    default=True,
)


def make_catalogue() -> Catalogue:
    """All cases and their programs."""
    cases = [_DIGITS]
    programs = {"digits": Measured("bench/digits_main.py", prepare=_digits_task, timeout_s=120.0)}
    for row in ROWS:
        # The processes of tiny ops hold all of them: memory and first step are no one's own.
        cases.append(
            Case(
                name=f"ops/{row.metric}",
                title=row.statement,
                model=row.metric,
                program="ops",
                metric=row.metric,
                figures=(TIME,),
                item="ops",
                input_shape=(1,),
                backward=False,
            )
        )
    expected = {row.metric: {"value": row.expected} for row in ROWS}
    programs["ops"] = Measured("bench/ops/micro_main.py", expected=expected, timeout_s=120.0)
    return Catalogue({case.name: case for case in cases}, programs)


def _digits_task(folder: Path) -> tuple[tuple[str, ...], Mapping[str, Mapping[str, Any]]]:
    """Writes the task that the processes read; the losses that training it must give."""
    from sklearn.datasets import load_digits

    data = load_digits()
    task = digits_reference.make_task(data.data, data.target)
    path = folder / "digits.npz"
    task.save(path)
    losses = digits_reference.reference_losses(task)
    return (str(path),), {"step_time": {"losses": losses}}
