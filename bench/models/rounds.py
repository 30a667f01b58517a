"""Which processes run a set of cases, and rounds of them until the time is used up.

A variant is a library in an interpreter with one of its settings. Cases of one model, dtype and
phase share a process, which times each of them; a round runs every variant once, in random order
(bench/harness).
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.harness import launch
from bench.harness.plan import CONTROL, INFO, Plan, Program, Row, Versus
from bench.harness.runner import Collector, Launch
from bench.models.cases import RESNETS, Case

# Not resolved: under Bazel it is the tree of links that holds what the target needs.
ROOT = Path(__file__).absolute().parent.parent.parent
STEP = ROOT / "bench" / "models" / "step_main.py"
FIRST_STEPS = ROOT / "bench" / "models" / "first_steps_main.py"
LIMITS = ROOT / "bench" / "models" / "limits"
ALONE = "alone"
# How far the first loss of two variants may differ. Dropout and bfloat16 move it.
RTOL = {"fp32": 1e-3, "bf16": 2e-2}
RTOL_DROPOUT = 2e-2
TIMEOUT_S = 900.0
Say = Callable[[str], None]
Json = dict[str, Any]


@dataclass(frozen=True)
class Variant:
    """A library with a setting.

    Attributes:
        name: in tables.
        python: the interpreter.
        library: `oneflow` or `torch`.
        setting: as for Task.
        path: what its search path begins with.
        control: name of the variant that it repeats, or empty.
    """

    name: str
    python: str
    library: str
    setting: str
    path: tuple[str, ...] = ()
    control: str = ""

    def command(self, script: Path, words: Sequence[str]) -> list[str]:
        """The argument list of a script run by this variant."""
        return [self.python, str(script), self.library, self.setting, *words]

    def env(self) -> dict[str, str]:
        """What its processes need of the environment."""
        return {"PYTHONPATH": os.pathsep.join(self.path)}


def own_path() -> tuple[str, ...]:
    """This interpreter's own search path: under Bazel it is more than the interpreter knows."""
    return tuple(path for path in sys.path if path)


@dataclass(frozen=True)
class Effort:
    """How much of a process is measured: steps to warm up, timed steps, their seconds at least.

    Allocators settle in the first steps: PyTorch's second step of ResNet-50 at batch 16 takes a
    quarter longer than its fifth, with ten times the page faults.
    """

    warm: int = 3
    least: int = 1
    seconds: float = 0.6

    def words(self) -> list[str]:
        """For the command line of step_main.py."""
        return [
            *("--warm", str(self.warm)),
            *("--least", str(self.least)),
            *("--seconds", f"{self.seconds:g}"),
        ]


def programs_of(cases: Sequence[Case]) -> dict[str, list[Case]]:
    """The cases by the program that runs them.

    >>> list(programs_of([Case("resnet50", 2), Case("resnet50", 1), Case("bert-base", 8, 128)]))
    ['resnet50 fp32 train', 'bert-base fp32 train']
    """
    found: dict[str, list[Case]] = {}
    for case in cases:
        found.setdefault(f"{case.model} {case.dtype} {case.phase}", []).append(case)
    return found


def make_plan(
    cases: Sequence[Case],
    variants: Mapping[str, Sequence[Variant]],
    threads: int,
    effort: Effort,
    spec: Path | None,
) -> Plan:
    """The harness's plan.

    Args:
        cases: what is measured.
        variants: of each program.
        threads: of every process.
        effort: of every process.
        spec: the file for limits.cc, all cases of which get a row; None measures no limits.
    """
    programs = [
        _program(name, mine, variants[name], threads, effort)
        for name, mine in programs_of(cases).items()
    ]
    if spec is not None:
        env = {"*": {"OMP_NUM_THREADS": str(threads)}}
        rows = [Row(str(case), case.title()) for case in cases]
        rows.append(Row("bandwidth", "memory bandwidth", "GB/s", "higher"))
        command = {ALONE: [str(LIMITS), str(spec)]}
        programs.append(Program(ALONE, command, rows, env, TIMEOUT_S))
    versus: list[Versus] = []
    for several in variants.values():
        versus += [_versus(v, several) for v in several if v.name != several[0].name]
    return Plan(programs, list(dict.fromkeys(versus)))


def _versus(variant: Variant, several: Sequence[Variant]) -> Versus:
    """A control with what it repeats, and the first variant with every other one."""
    if variant.control:
        return Versus(variant.name, variant.control, CONTROL)
    return Versus(several[0].name, variant.name, INFO)


def _program(
    name: str, cases: Sequence[Case], variants: Sequence[Variant], threads: int, effort: Effort
) -> Program:
    words = [*map(str, cases), *effort.words()]
    env: dict[str, Mapping[str, str]] = {"*": {"OMP_NUM_THREADS": str(threads)}}
    env |= {variant.name: variant.env() for variant in variants}
    drops = cases[0].trains and cases[0].model not in RESNETS
    rtol = RTOL_DROPOUT if drops else RTOL[cases[0].dtype]
    return Program(
        name,
        {variant.name: variant.command(STEP, words) for variant in variants},
        [Row(str(case), case.title()) for case in cases],
        env,
        TIMEOUT_S,
        rtol=rtol,
        atol=rtol,
    )


@dataclass
class Timed:
    """Rounds within a time.

    Attributes:
        plan: what is measured.
        until: seconds of `clock` at which all should be over.
        most: rounds at most; None for as many as fit.
        say: takes lines of progress.
        launcher, clock: tests replace them.
    """

    plan: Plan
    until: float
    most: int | None = None
    say: Say = lambda line: None
    launcher: Launch = launch.launch
    clock: Callable[[], float] = time.monotonic
    took: list[float] = field(default_factory=list)
    interrupted: bool = False

    def collect(self) -> Collector:
        """Runs rounds; the first always, each further one if the longest so far would fit.

        An interrupt ends the collection; what was collected is kept.
        """
        collector = Collector(self.plan, self.launcher, self.say)
        names = {program.name for program in self.plan.programs}
        try:
            while self._fits():
                start = self.clock()
                collector.run_rounds([len(self.took)], names)
                self.took.append(self.clock() - start)
                left = max(0.0, self.until - self.clock())
                self.say(f"round {len(self.took)} took {self.took[-1]:.0f} s, {left:.0f} s left")
        except KeyboardInterrupt:
            self.interrupted = True
        return collector

    def _fits(self) -> bool:
        if self.most is not None and len(self.took) >= self.most:
            return False
        return not self.took or self.clock() + max(self.took) <= self.until
