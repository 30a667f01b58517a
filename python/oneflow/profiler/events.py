"""Events of a profile, one by one or summed up by their name."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

_WIDEST = 55
_Event = TypeVar("_Event", bound="EventBase")


def format_time(microseconds: float) -> str:
    """A length of time with its unit.

    >>> format_time(12.3456), format_time(2500.0), format_time(3e6)
    ('12.346us', '2.500ms', '3.000s')
    """
    for size, unit in ((1e6, "s"), (1e3, "ms")):
        if microseconds >= size:
            return f"{microseconds / size:.3f}{unit}"
    return f"{microseconds:.3f}us"


@dataclass
class EventBase:
    """One event, or several of one name.

    Attributes:
        name: of the op, or what `record_function` was given.
        cpu_time_total: microseconds, of all of them.
        count: how many they are.
        thread: where the first of them ran.
        start: microseconds from the start of the profile to that of the first.
        line: `file:line in function` of the program's line that asked for the first, or "".

    Example:
        >>> both = EventBase("relu", 3.0).add(EventBase("relu", 1.0))
        >>> both.count, both.cpu_time_total, both.cpu_time
        (2, 4.0, 2.0)
    """

    name: str
    cpu_time_total: float = 0.0
    count: int = 1
    thread: str = ""
    start: float = 0.0
    line: str = ""

    @property
    def cpu_time(self) -> float:
        """Microseconds of one, on average."""
        return self.cpu_time_total / self.count

    @property
    def cuda_time_total(self) -> None:
        """Times on a GPU are not taken."""
        return None

    cuda_time = cuda_time_total

    def has_cuda_time(self) -> bool:
        """Whether there is a time on a GPU: never."""
        return False

    def key(self, shapes: bool) -> tuple[str, ...]:
        """What events that are summed up have in common."""
        return (type(self).__name__, self.name)

    def add(self: _Event, other: _Event) -> _Event:
        """Both as one."""
        total = self.cpu_time_total + other.cpu_time_total
        return replace(self, cpu_time_total=total, count=self.count + other.count)

    def to_dict(self) -> dict[str, Any]:
        """Its columns in a table, as text but for the count."""
        return {
            "name": self.name,
            "cpu_time_total": format_time(self.cpu_time_total),
            "cpu_time": format_time(self.cpu_time),
            "count": self.count,
        }


@dataclass
class CustomEvent(EventBase):
    """What a program marks itself (`record_function`), and what frames kernels: a graph's run.

    Example:
        >>> CustomEvent("epoch", 2500.0).to_dict()["cpu_time"]
        '2.500ms'
    """


@dataclass
class KernelEvent(EventBase):
    """An op.

    Attributes:
        input_shapes: `"(2, 3), (3,)"` where shapes were recorded, else "".
        category: "vm" for an op of its own, "graph" for one inside a graph's run.

    Example:
        >>> KernelEvent("relu", 1.5, input_shapes="(2, 3)").to_dict()["input_shapes"]
        '(2, 3)'
    """

    input_shapes: str = ""
    category: str = "vm"
    attributes: str = field(default="", init=False, repr=False)

    def key(self, shapes: bool) -> tuple[str, ...]:
        """What events that are summed up have in common."""
        return (*super().key(shapes), self.input_shapes if shapes else "")

    def to_dict(self) -> dict[str, Any]:
        """Its columns in a table, as text but for the count."""
        return {**super().to_dict(), "input_shapes": self.input_shapes}


class Events(list[EventBase]):
    """A list of events that can sum itself up and print itself as a table.

    Example:
        >>> times = [("relu", 1.0), ("tanh", 2.0), ("relu", 5.0)]
        >>> found = Events(KernelEvent(*each) for each in times)
        >>> print(found.key_averages())  # doctest: +NORMALIZE_WHITESPACE
        Name  CPU time total   Share  CPU time  Number of calls
        -------------------------------------------------------
        relu         6.000us  75.0 %   3.000us                2
        tanh         2.000us  25.0 %   2.000us                1
    """

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_attributes: bool = False
    ) -> Events:
        """Events of one name as one, those that took the longest first.

        Args:
            group_by_input_shape: keep ops on other shapes apart.
            group_by_attributes: attributes are not recorded: makes no difference.
        """
        found: dict[tuple[str, ...], EventBase] = {}
        for event in self:
            key = event.key(group_by_input_shape)
            if key in found:
                found[key] = found[key].add(event)
            elif isinstance(event, KernelEvent) and not group_by_input_shape:
                found[key] = replace(event, input_shapes="")
            else:
                found[key] = replace(event)
        return Events(sorted(found.values(), key=lambda e: -e.cpu_time_total))

    def total(self) -> float:
        """Microseconds of all ops. The marks of the program, which frame them, do not count."""
        return sum(e.cpu_time_total for e in self if isinstance(e, KernelEvent))

    def table(self) -> str:
        """A table, one line for each event; shares are of the time of all ops."""
        heads = ["Name", "CPU time total", "Share", "CPU time", "Number of calls"]
        if any(isinstance(e, KernelEvent) and e.input_shapes for e in self):
            heads.append("Input shapes")
        if any(e.line for e in self):
            heads.append("First line")
        total = self.total() or 1.0
        rows = [heads]
        for event in self:
            cells = event.to_dict()
            share = ""
            if isinstance(event, KernelEvent):
                share = f"{100 * event.cpu_time_total / total:.1f} %"
            columns = {
                "Name": _cut(event.name),
                "CPU time total": cells["cpu_time_total"],
                "Share": share,
                "CPU time": cells["cpu_time"],
                "Number of calls": str(event.count),
                "Input shapes": _cut(cells.get("input_shapes", "")),
                "First line": event.line,
            }
            rows.append([columns[head] for head in heads])
        return _aligned(rows)

    def __str__(self) -> str:
        return self.table()


def _cut(text: str) -> str:
    return text if len(text) <= _WIDEST else text[: _WIDEST - 3] + "..."


def _aligned(rows: Iterable[list[str]]) -> str:
    """Columns of one width; numbers to the right, texts to the left."""
    rows = list(rows)
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    left = {i for i, head in enumerate(rows[0]) if head in ("Name", "Input shapes", "First line")}
    lines = [
        "  ".join(
            cell.ljust(width) if i in left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    lines.insert(1, "-" * max(len(line) for line in lines))
    return "\n".join(lines) + "\n"
