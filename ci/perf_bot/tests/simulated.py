"""Simulated runs with known truth: a launcher and a clock that take no time.

`Simulated` is the machine: each variant has a true cost, each process a noise of its own (and steps
within it, which share that noise). `run` is the bot's whole way from rounds to a result.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.harness.estimate import Floats
from bench.harness.launch import Failure, Outcome
from bench.harness.plan import Plan
from bench.harness.sequential import Schedule
from bench.harness.verdict import Policy
from ci.perf_bot import decide, guard, measure, record
from ci.perf_bot.cases import Case, Catalogue, Measured
from ci.perf_bot.schema import BASE

Json = dict[str, Any]
Noise = Callable[[random.Random], float]

QUICK = Policy(family_rate=0.05, control_rate=0.05, looks=2, resamples=200)


def normal(sigma: float) -> Noise:
    """Log-normal costs."""
    return lambda draw: draw.gauss(0.0, sigma)


@dataclass
class Simulated:
    """A launcher: the first word of a command is the variant.

    Attributes:
        costs: seconds of a step, for each variant.
        noise: draws a process's log factor.
        first, memory: factors on the variant's first step and memory.
        seconds: that a process takes, by the simulated clock.
        foreign: share of the machine that others use.
        fails: variants that fail, with how.
    """

    costs: Mapping[str, float]
    noise: Noise = field(default_factory=lambda: normal(0.003))
    first: Mapping[str, float] = field(default_factory=dict)
    memory: Mapping[str, float] = field(default_factory=dict)
    seconds: float = 1.0
    foreign: float = 0.0
    fails: Mapping[str, Failure] = field(default_factory=dict)
    seed: int = 1
    now: float = 0.0
    calls: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.draw = random.Random(self.seed)

    def __call__(self, command: Sequence[str], env: Mapping[str, str], timeout_s: float) -> Outcome:
        variant = command[0]
        self.calls.append(variant)
        self.now += self.seconds
        if variant in self.fails:
            return Outcome(self.seconds, failure=self.fails[variant])
        cost = self.costs[variant] * 2.718281828459045 ** self.noise(self.draw)
        first = 3.0 * cost * self.first.get(variant, 1.0)
        memory = int((64 << 20) * self.memory.get(variant, 1.0))
        lines = {
            name: {
                "metric": name,
                "unit": "s",
                "samples": [cost],
                "first": first,
                "rss_beyond_import_bytes": memory,
                "check": {"sum": 1.0},
            }
            for name in ("t", "u")
        }
        return Outcome(self.seconds, lines)

    def clock(self) -> float:
        """The simulated time."""
        return self.now

    def moment(self) -> guard.Moment:
        """The clocks of two cores, one of which the measured processes use."""
        return guard.Moment(2.0 * self.now, (1.0 + 2.0 * self.foreign) * self.now, 0.0, self.now)


def case(name: str = "a", **changes: Any) -> Case:
    """A case of a program of the same name."""
    return Case(**{"title": f"case {name}", "model": name, "program": name, "metric": "t",
                   "name": name, **changes})  # fmt: skip


def make_session(
    cases: Sequence[Case],
    machine: Simulated,
    policy: Policy = QUICK,
    budget_s: float | None = None,
) -> tuple[measure.Session, Plan]:
    """A session on a simulated machine, and its plan."""
    sides = {v: measure.Side(v, "x", ()) for v in machine.costs}
    programs = {c.program: Measured("s") for c in cases}
    catalogue = Catalogue({c.name: c for c in cases}, programs)
    plan = measure.make_plan(catalogue, cases, sides, 1, Path(), policy)
    session = measure.Session(
        list(cases), policy, budget_s, machine, clock=machine.clock, moment=machine.moment
    )
    return session, plan


def run(
    cases: Sequence[Case],
    machine: Simulated,
    policy: Policy = QUICK,
    budget_s: float | None = None,
) -> Json:
    """The record of a simulated run."""
    session, plan = make_session(cases, machine, policy, budget_s)
    collector = session.collect(plan)
    return complete(measure.record_of(session, collector), cases)


def complete(part: Json, cases: Sequence[Case]) -> Json:
    """A record: what a session knows, and what stands around it."""
    moment = {"load": 0.1, "mhz": 2500.0, "steal": None, "foreign": None}
    return {
        "schema": record.RECORD_SCHEMA,
        "base": commit("b"),
        "head": commit("a"),
        "started": "2026-12-01T04:30:00Z",
        "seconds": 100.0,
        "host": {
            "model": "Z80",
            "cores": 2,
            "usable": 2,
            "memory_bytes": 8 << 30,
            "kernel": "6.1",
            "python": "3.11.7",
            "device": "CPU",
            "threads": 2,
            "before": moment,
            "after": moment,
            "concerns": [],
        },
        "repeats": {c.name: command(f"--case {c.name}") for c in cases},
        "repeat": command("--seed 20"),
        "pytorch": "PyTorch 2.13.0",
        "repository": "https://example.org/o/r",
        **part,
    }


def command(words: str) -> str:
    """A repeat command."""
    return f"tools/bazel run //ci/perf_bot -- measure --base bbbbbbbbbbbb {words}"


def commit(letter: str) -> Json:
    """A commit of one letter."""
    return {
        "commit": letter * 40,
        "ref": {"a": "HEAD", "b": "master"}[letter],
        "subject": f"kernels: change {letter}",
        "time": "2026-12-01T04:00:00Z",
        "built": True,
        "seconds": 12.0,
    }


def evidence(
    values: Mapping[str, Floats], policy: Policy, schedule: Schedule, figures: tuple[str, ...]
) -> decide.Evidence:
    """Evidence from the log costs of variants: shape (cases, rounds) each."""
    count = len(next(iter(values.values())))
    cases = [case(f"c{i}", figures=figures) for i in range(count)]
    rounds = []
    for i, item in enumerate(cases):
        for number in range(len(values[BASE][i])):
            runs = {
                variant: {"metrics": {"t": {"samples": [float(2.718281828 ** v[i][number])]}}}
                for variant, v in values.items()
            }
            rounds.append({"program": item.program, "round": number, "runs": runs})
    return decide.Evidence(cases, rounds, [], policy, schedule, 2)
