"""Runs scenarios and judges them. `run_scenario` is for other suites too; README.md shows how."""

from __future__ import annotations

import dataclasses
import importlib.util
import os
import random
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.exit.process import MAX_SLOWNESS, Ended, Launch, run
from tests.exit.table import AUTO, DEV, NO_RECORDER, PROGRAMS, QUEUED, SCENARIOS, Scenario

# How many times slower everything may be under a sanitizer.
SANITIZER_FACTOR = 10.0
EMBED = Path(__file__).parent / "embed.so"
_PAUSE = 0.05  # seconds, at most


@dataclasses.dataclass(frozen=True)
class Variant:
    """How a scenario is run: a column of words in the report."""

    mode: str = AUTO
    dev: bool = False
    recorder: bool = True
    pause: bool = False

    def words(self) -> frozenset[str]:
        """What `without` of the table may name."""
        return frozenset(
            {self.mode}
            | ({DEV} if self.dev else set())
            | (set() if self.recorder else {NO_RECORDER})
        )


# Repeats take these in turn.
VARIANTS = (
    Variant(),
    Variant(QUEUED, dev=True, pause=True),
    Variant(AUTO, recorder=False, pause=True),
    Variant(QUEUED, pause=True),
    Variant(AUTO, dev=True, pause=True),
    Variant(QUEUED, recorder=False, pause=True),
)


@dataclasses.dataclass(frozen=True)
class Problem:
    """What a check found. `check` is one of CHECKS."""

    check: str
    text: str


CHECKS = ("status", "stdout", "stderr", "wall", "cpu", "core", "orphan", "shared memory")


@dataclasses.dataclass(frozen=True)
class Verdict:
    """What one run gave."""

    scenario: Scenario
    variant: Variant
    seed: str
    ended: Ended
    problems: list[Problem]

    @property
    def ok(self) -> bool:
        """Did every check pass?"""
        return not self.problems

    def checks(self) -> set[str]:
        """The names of the checks that failed."""
        return {problem.check for problem in self.problems}

    def __str__(self) -> str:
        head = f"{self.scenario.name} ({self.scenario.what}), {self.variant}, seed {self.seed!r}"
        lines = [f"  {problem.check}: {problem.text}" for problem in self.problems]
        return "\n".join([head, *(lines or ["  as it should be"])])


def sanitizer() -> str:
    """asan or tsan where the tests run under one, else an empty string."""
    name = os.environ.get("ONEFLOW_SANITIZER", "")
    found = re.search(r"lib(asan|tsan)\.so", os.environ.get("LD_PRELOAD", ""))
    return name or (found.group(1) if found else "")


def variants(scenario: Scenario) -> Iterator[Variant]:
    """The variants of a scenario, for ever, one for each repeat."""
    without = scenario.without | ({DEV} if sanitizer() else set())
    chosen = [variant for variant in VARIANTS if not variant.words() & without]
    while True:
        yield from chosen


def rows(number: int) -> list[Scenario]:
    """The rows of a number, one for each case."""
    return [scenario for scenario in SCENARIOS if scenario.number == number]


def run_scenario(
    number: int,
    case: str | None = None,
    env: Mapping[str, str] | None = None,
    extension: str | Path | None = None,
    variant: Variant | None = None,
    seed: str = "0",
) -> Verdict:
    """Runs one row of the table once.

    Args:
        number: the scenario
        case: its case; None: the first
        env: environment variables beside those of the table
        extension: another build of `_oneflow_internal.so`, used in the place of the package's
        variant: how; None: plain
        seed: of the random pause and of the moments of signals
    """
    (scenario,) = [row for row in rows(number) if case in (None, row.case)][:1]
    return run_row(scenario, variant or Variant(), seed, env, extension)


def run_row(
    scenario: Scenario,
    variant: Variant,
    seed: str,
    env: Mapping[str, str] | None = None,
    extension: str | Path | None = None,
    program: Path | None = None,
) -> Verdict:
    """Runs a row, which need not be in the table if `program` is given."""
    factor = SANITIZER_FACTOR if sanitizer() else 1.0
    limit = scenario.wall * factor
    rng = random.Random(f"{seed}/{scenario.name}")
    with tempfile.TemporaryDirectory(prefix="exit-") as name:
        folder = Path(name)
        package = None if extension is None else overlay(folder, Path(extension))
        program = program or scenario.program
        launch = Launch(
            command(scenario, variant, program),
            environment(scenario, variant, rng, package, env or {}, limit),
            folder,
            scenario.start,
            program.read_text() if scenario.start == "stdin" else "",
            scenario.signals,
            limit,
        )
        ended = run(launch, rng)
    return Verdict(scenario, variant, seed, ended, judge(scenario, variant, ended, factor))


def command(scenario: Scenario, variant: Variant, program: Path) -> list[str]:
    """The command line of a run."""
    if scenario.start == "embed":
        return [sys.executable, str(program), scenario.case]
    flags = ["-X", "dev"] if variant.dev else []
    if scenario.start == "stdin":
        return [sys.executable, *flags, "-", scenario.case]
    if scenario.start == "interactive":
        flags.append("-i")
    return [sys.executable, *flags, str(program), scenario.case]


def environment(
    scenario: Scenario,
    variant: Variant,
    rng: random.Random,
    package: Path | None,
    env: Mapping[str, str],
    limit: float,
) -> dict[str, str]:
    """The caller's environment, without its Python and OneFlow settings and with the run's."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTHON", "ONEFLOW_"))
    }
    path = [str(PROGRAMS), *([str(package)] if package else []), *sys.path]
    if variant.pause:
        kept["WAY_OUT_PAUSE"] = f"{rng.uniform(0, _PAUSE):.6f}"
    if not variant.recorder:
        kept["ONEFLOW_PYTHON_STACK_GETTER"] = "0"
    if scenario.start == "embed":
        kept["LD_PRELOAD"] = f"{os.environ.get('LD_PRELOAD', '')} {EMBED}".strip()
    return {
        **kept,
        "PYTHONNOUSERSITE": "1",
        # Compiled once, and not beside the sources.
        "PYTHONPYCACHEPREFIX": str(Path(tempfile.gettempdir()) / f"exit-pyc-{os.getuid()}"),
        "PYTHONPATH": os.pathsep.join(path),
        "ONEFLOW_VM_MODE": variant.mode,
        # Past the limit: the runtime's own deadline must not end what hangs, or is only slow.
        "ONEFLOW_SHUTDOWN_TIMEOUT_SECONDS": str(2 * MAX_SLOWNESS * limit),
        **dict(scenario.environ),
        **env,
    }


def overlay(folder: Path, extension: Path) -> Path:
    """A folder to import the package from, where it has another build of its extension."""
    spec = importlib.util.find_spec("oneflow")
    assert spec is not None and spec.submodule_search_locations, "no package oneflow"
    source = Path(spec.submodule_search_locations[0])
    package = folder / "package"
    shutil.copytree(
        source,
        package / "oneflow",
        copy_function=lambda old, new: os.symlink(os.path.realpath(old), new),
    )
    own = package / "oneflow" / "_oneflow_internal.so"
    own.unlink()
    own.symlink_to(extension.resolve())
    return package


def judge(scenario: Scenario, variant: Variant, ended: Ended, factor: float) -> list[Problem]:
    """Compares how a run ended with the table."""
    stderr = scenario.stderr
    if not variant.recorder and scenario.stderr_no_recorder is not None:
        stderr = scenario.stderr_no_recorder
    if variant.dev and scenario.stderr_dev is not None:
        stderr = scenario.stderr_dev
    found = []

    def expect(good: bool, check: str, text: str) -> None:
        if not good:
            found.append(Problem(check, text))

    def match(check: str, pattern: str, text: str) -> None:
        expect(bool(re.fullmatch(pattern, text)), check, f"expected {pattern!r}, got {text!r}")

    if ended.hung:
        expect(False, "wall", f"ended by force after {ended.wall:.1f} s; threads: {ended.hung}")
    else:
        allowed = scenario.status if isinstance(scenario.status, tuple) else (scenario.status,)
        expect(ended.status in allowed, "status",
               f"expected {scenario.status}, got {ended.status}")  # fmt: skip
    match("stdout", scenario.stdout, ended.stdout)
    match("stderr", stderr, ended.stderr)
    expect(ended.cpu <= scenario.cpu * factor, "cpu", f"{ended.cpu:.2f} s of {scenario.cpu} s")
    expect(scenario.core or not ended.core, "core", "a core was dumped")
    expect(not ended.orphans, "orphan", "; ".join(ended.orphans))
    expect(not ended.shared, "shared memory", ", ".join(ended.shared))
    return found
