"""The table of tiny ops. A new row here is a new row of the report; nothing else changes.

A statement is Python text that means the same for OneFlow and PyTorch. It sees `library` and the
tensor `x`, one float32 element, 1.5.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class MicroRow:
    """One tiny op.

    Attributes:
        metric: its name in the results.
        statement: what is timed.
        expected: the value of the statement, as a list.
        target: speed against PyTorch that it should reach; None for no target.
    """

    metric: str
    statement: str
    expected: list[float]
    target: float | None = None


ROWS = (
    MicroRow("add_tensor", "x + x", [3.0], target=1.0),
    MicroRow("add_scalar", "x + 1", [2.5], target=1.0),
    MicroRow("mul_tensor", "x * x", [2.25]),
    MicroRow("relu", "library.relu(x)", [1.5]),
)
