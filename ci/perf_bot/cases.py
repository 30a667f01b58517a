"""What the bot measures: a table of cases, and the programs whose processes deliver them.

A case is a row of the comment. Its program is a script of `bench`, the same file for both commits
and for PyTorch, so that the two sides of a ratio do the same work; what differs is the library
that it imports. A new case is a new entry here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bench.harness.plan import Program, Row
from ci.perf_bot.schema import FIGURES, FIRST, MEMORY, PYTORCH, TIME

Json = dict[str, Any]

# Relative differences that nobody minds. The first step is one sample of work done once.
TOLERANCES = {TIME: 0.01, MEMORY: 0.02, FIRST: 0.05}


@dataclass(frozen=True)
class Case:
    """One row of the comment.

    Attributes:
        name: unique; a slash groups cases of one model.
        title: for people.
        model: its name in OneFlow's form of the comment.
        program: name of the measured program; several cases may share one.
        metric: the line of the program that holds the time of a step, in seconds.
        figures: what is judged: the time always, memory and first step where a program's
            processes are this case's alone.
        items: processed by one step, of kind `item`.
        input_shape: of the step's input.
        backward: whether a step holds the backward pass.
        processes: processes that train together.
        default: whether it is measured when no case is named.
    """

    name: str
    title: str
    model: str
    program: str
    metric: str
    figures: tuple[str, ...] = FIGURES
    items: int = 1
    item: str = "items"
    input_shape: tuple[int, ...] = ()
    backward: bool = True
    processes: int = 1
    default: bool = False

    def to_json(self) -> Json:
        """For the record of a run; :func:`case_from_json` reads it."""
        return asdict(self)


def case_from_json(value: Mapping[str, Any]) -> Case:
    """A case from a record."""
    lists = {name: tuple(value[name]) for name in ("figures", "input_shape")}
    return Case(**{**value, **lists})


@dataclass(frozen=True)
class Measured:
    """A program that is measured: a script, run as `SCRIPT oneflow|torch WORDS...`.

    Attributes:
        script: path below the checkout.
        words: further arguments.
        torch_words: the same for PyTorch; None when they are the same, or PyTorch cannot run it.
        expected: for each metric, the answer that its check must hold.
        rtol: how far a number of a check may differ, relative.
        timeout_s: after which a process counts as hung.
        prepare: called once with the run's folder; returns the last arguments, such as the path of
            a data file that it wrote, and the expected answers that go with it.
        torch: whether PyTorch can run it too.
    """

    script: str
    words: tuple[str, ...] = ()
    torch_words: tuple[str, ...] | None = None
    expected: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    rtol: float = 1e-4
    timeout_s: float = 300.0
    prepare: Callable[[Path], tuple[tuple[str, ...], Mapping[str, Mapping[str, Any]]]] | None = None
    torch: bool = True


@dataclass(frozen=True)
class Catalogue:
    """All cases by name, all programs by name."""

    cases: Mapping[str, Case]
    programs: Mapping[str, Measured]

    def choose(self, names: Sequence[str]) -> list[Case]:
        """The cases asked for, in the catalogue's order; the default ones when none is named. A
        name that ends in / stands for all that begin with it.

        Raises:
            ValueError: no case is so called.
        """
        if not names:
            return [case for case in self.cases.values() if case.default]
        for name in names:
            if not any(_matches(case, name) for case in self.cases):
                raise ValueError(f"[case] expects one of {', '.join(self.cases)}, got {name!r}")
        return [c for c in self.cases.values() if any(_matches(c.name, name) for name in names)]


def _matches(case: str, name: str) -> bool:
    return case == name or (name.endswith("/") and case.startswith(name))


def harness_program(
    name: str,
    measured: Measured,
    cases: Sequence[Case],
    commands: Mapping[str, Sequence[str] | None],
    env: Mapping[str, Mapping[str, str]],
    folder: Path,
) -> Program:
    """A program of the harness's plan.

    Args:
        name: of the program.
        measured: its script.
        cases: those of its cases that are measured.
        commands: for each variant, how a script is run there: interpreter, path of the script and
            the library's name; None where it cannot be.
        env: for each variant.
        folder: of the run, for files that the program reads.
    """
    more, expected = measured.prepare(folder) if measured.prepare else ((), measured.expected)
    ours, theirs = measured.words, measured.torch_words
    return Program(
        name,
        {
            v: None
            if command is None
            else [*command, *(theirs if theirs and v == PYTORCH else ours), *more]
            for v, command in commands.items()
        },
        [Row(case.metric, case.title) for case in cases],
        env,
        timeout_s=measured.timeout_s,
        expected=expected,
        rtol=measured.rtol,
    )
