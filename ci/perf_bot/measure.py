"""The measuring edge: builds two commits, collects rounds, leaves a record and a result.

`tools/bazel run //ci/perf_bot -- measure --base master --head HEAD --out DIR`

A commit that does not build, a case that crashes and a host that is too busy are results like any
other; each has an exit status of its own (schema.STATUSES). One measured process runs at a time.
"""

from __future__ import annotations

import argparse
import os
import platform
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy

from bench.harness import host, launch, torch_env
from bench.harness.plan import Plan, Program, standard_versus
from bench.harness.result import user_path
from bench.harness.runner import Collector
from bench.harness.sequential import Schedule, make_schedule
from bench.harness.verdict import Policy
from ci.perf_bot import budget, builds, decide, guard, record
from ci.perf_bot.cases import TOLERANCES, Case, Catalogue, harness_program
from ci.perf_bot.schema import BASE, BASE_AGAIN, HEAD, PYTORCH, TIME

Json = dict[str, Any]
Say = Callable[[str], None]

# Not resolved: under Bazel it is the tree of links that holds what the target needs.
ROOT = Path(__file__).absolute().parent.parent.parent
# A run may outlast its budget by this much before it is cut off within a look.
_GRACE = 1.15


@dataclass(frozen=True)
class Side:
    """How a variant's processes are run.

    Attributes:
        python: the interpreter; None when the variant is not to be had.
        library: the first argument of each script.
        path: folders for its modules.
    """

    python: str | None
    library: str
    path: tuple[str, ...]


@dataclass
class Session:
    """A run in the making: what the record will say, filled as it becomes known.

    Attributes:
        cases: what is measured; those dropped for the budget leave it.
        policy: rates and looks.
        budget_s: seconds for all rounds; None for no limit.
        tolerances: relative difference that nobody minds, for each figure.
        launcher: runs a process; tests replace it.
        say: takes lines of progress.
        clock: seconds; tests replace it.
        moment: the machine's clocks; tests replace it.
    """

    cases: list[Case]
    policy: Policy
    budget_s: float | None = None
    launcher: guard.Launch = launch.launch
    say: Say = lambda line: None
    tolerances: Mapping[str, float] = field(default_factory=lambda: TOLERANCES)
    clock: Callable[[], float] = time.monotonic
    moment: Callable[[], guard.Moment | None] = guard.moment
    schedule: Schedule = Schedule((1,), (1.0,))
    errors: list[Json] = field(default_factory=list)
    round_s: dict[str, float] = field(default_factory=dict)
    needed_s: float | None = None
    used_s: float = 0.0

    def collect(self, plan: Plan) -> Collector:
        """Runs rounds until everything is decided, or the budget is used up.

        An interrupt ends the collection; what was collected is kept, and an error says so.
        """
        collector = Collector(plan, guard.watched(self.launcher, self.moment), self.say)
        start = self.clock()
        try:
            self._first_round(collector)
            if self.cases:
                self._looks(collector, start)
        except KeyboardInterrupt:
            self.errors.append(record.error("run", "interrupted", "the run was interrupted"))
        self.used_s = self.clock() - start
        return collector

    def _first_round(self, collector: Collector) -> None:
        """One round of each program; from its duration follow the looks that fit."""
        for program in collector.plan.programs:
            begin = self.clock()
            collector.run_rounds([0], [program.name])
            self.round_s[program.name] = self.clock() - begin
        sizes = {
            name: decide.family_size([c for c in self.cases if c.program == name])
            for name in self.round_s
        }
        found = budget.fit(self.policy, self.round_s, sizes, self.budget_s)
        self.needed_s = found.needed_s
        for name in found.dropped:
            self._drop(name)
        if found.schedule is None:
            self.say("the budget suffices for nothing")
            return
        self.schedule = found.schedule
        minutes = sum(self.round_s[name] for name in found.kept) / 60.0
        looks = ", ".join(map(str, self.schedule.pairs))
        self.say(f"a round takes {minutes:.1f} min; looks at {looks} pairs")
        for spread, found_at in budget.table(
            (0.005, 0.01, 0.02),
            self.schedule,
            self.policy.family_rate,
            decide.family_size(self.cases),
        ):
            self.say(f"pairs that spread by {spread:.1%} resolve {found_at:.1%}, 95 times of 100")

    def _drop(self, program: str) -> None:
        """Takes a program's cases out: no pair of theirs could be judged within the budget."""
        limit = (self.budget_s or 0.0) / 60.0
        needed = (self.needed_s or 0.0) / 60.0
        for case in [c for c in self.cases if c.program == program]:
            detail = f"{limit:.1f} min do not suffice: all cases together need {needed:.1f} min"
            self.errors.append(record.error("budget", "dropped", detail, case=case.name))
            self.cases.remove(case)

    def _looks(self, collector: Collector, start: float) -> None:
        open_programs = {case.program for case in self.cases}
        done = 1
        for look, pairs in enumerate(self.schedule.pairs):
            for number in range(done, pairs):
                if self.budget_s is not None and self.clock() - start > _GRACE * self.budget_s:
                    self.say("the budget is used up")
                    return
                collector.run_rounds([number], open_programs)
            done = pairs
            open_programs = decide.undecided(self.evidence(collector))
            waiting = ", ".join(sorted(open_programs)) or "nothing"
            self.say(f"look {look + 1}, {pairs} pairs: undecided: {waiting}")
            if not open_programs:
                return

    def evidence(self, collector: Collector) -> decide.Evidence:
        """What there is to decide on now."""
        return decide.Evidence(
            self.cases,
            collector.rounds,
            collector.failures,
            self.policy,
            self.schedule,
            len(host.usable_cpus()),
            self.tolerances,
        )


def make_sides(sites: Mapping[str, Path], torch: torch_env.TorchPython) -> dict[str, Side]:
    """The variants: the two libraries, the first one again, and PyTorch where there is one."""
    packages = str(Path(numpy.__file__).parent.parent)
    sides = {
        name: Side(sys.executable, "oneflow", (str(sites[key]), packages, str(ROOT)))
        for name, key in ((BASE, BASE), (HEAD, HEAD), (BASE_AGAIN, BASE))
    }
    return sides | {PYTORCH: Side(torch.python, "torch", (str(ROOT),))}


def make_plan(
    catalogue: Catalogue,
    cases: Sequence[Case],
    sides: Mapping[str, Side],
    threads: int,
    folder: Path,
    policy: Policy,
) -> Plan:
    """The harness's plan: a program for each script, its variants, their environments.

    Raises:
        OSError: a program's data cannot be written to the folder.
    """
    env: dict[str, Mapping[str, str]] = {"*": {"OMP_NUM_THREADS": str(threads)}}
    env |= {name: {"PYTHONPATH": os.pathsep.join(side.path)} for name, side in sides.items()}
    programs: list[Program] = []
    for name in dict.fromkeys(case.program for case in cases):
        measured = catalogue.programs[name]
        script = str(ROOT / measured.script)
        commands: dict[str, Sequence[str] | None] = {
            variant: [side.python, script, side.library] if side.python else None
            for variant, side in sides.items()
            if variant != PYTORCH or measured.torch
        }
        mine = [case for case in cases if case.program == name]
        programs.append(harness_program(name, measured, mine, commands, env, folder))
    return Plan(programs, standard_versus(list(sides)), policy)


def machine(threads: int) -> Json:
    """What the machine is, for the record."""
    identity = host.identity()
    return {
        "model": str(identity["model"])[:120],
        "cores": identity["cores"] or 1,
        "usable": len(host.usable_cpus()),
        "memory_bytes": identity["memory_bytes"],
        "kernel": str(identity["kernel"])[:120],
        "python": platform.python_version(),
        "device": "CPU",
        "threads": threads,
    }


def snapshot(state: Mapping[str, Any]) -> Json:
    """What a snapshot tells of one moment."""
    return {"load": state["load"], "mhz": state["mhz"], "steal": None, "foreign": None}


def repeats(args: argparse.Namespace, base: str, head: str, cases: Sequence[Case]) -> Json:
    """The commands that repeat each row, and the one that repeats all ("")."""
    words = ["tools/bazel", "run", "//ci/perf_bot", "--", "measure"]
    words += ["--base", base[:12], "--head", head[:12]]
    options = (
        (name, getattr(args, name)) for name in ("threads", "cpus", "seed", "budget", "tolerance")
    )
    for name, value in options:
        words += [f"--{name}", f"{value:g}" if isinstance(value, float) else str(value)] * (
            value is not None
        )
    start = " ".join(words)
    one = {case.name: f"{start} --case {case.name}" for case in cases}
    return one | {"": " ".join([start, *(f"--case {name}" for name in args.case)])}


def build_both(
    builder: builds.Builder, commits: Mapping[str, str], out: Path, say: Say
) -> tuple[dict[str, builds.Build], list[Json]]:
    """The libraries of both sides, and an error for each that could not be built."""
    made: dict[str, builds.Build] = {}
    errors = []
    for side in (BASE, HEAD):
        say(f"building {side}, {commits[side][:12]}")
        try:
            made[side] = builder.build(side, commits[side], out / f"build-{side}.log")
        except builds.BuildError as fault:
            errors.append(record.error("build", fault.kind, fault.detail, side=side))
        except builds.GitError as fault:
            errors.append(record.error("setup", "unavailable", str(fault), side=side))
    return made, errors


def sides_of(
    repository: builds.Repository, base: str, head: str, merge_base: bool
) -> tuple[builds.Revision, builds.Revision]:
    """The two commits that names mean; base is where the lines parted if that is asked for.

    Raises:
        ValueError: there is no such commit.
    """
    try:
        first, second = repository.resolve(base), repository.resolve(head)
        if merge_base:
            parting = repository.merge_base(first.commit, second.commit)
            first = repository.revision(parting, first.ref)
    except builds.GitError as fault:
        raise ValueError(str(fault)) from None
    return first, second


def run(
    args: argparse.Namespace,
    catalogue: Catalogue,
    say: Say,
    launcher: guard.Launch = launch.launch,
) -> Json:
    """Measures as the command line asks.

    Returns:
        The record.

    Raises:
        ValueError: a case, a commit or an option is none.
        OSError: the folder cannot be written.
    """
    repository = builds.Repository(args.checkout)
    base, head = sides_of(repository, args.base, args.head, args.merge_base)
    cases = catalogue.choose(args.case)
    threads = args.threads or len(host.usable_cpus())
    policy = replace(decide.POLICY, seed=decide.POLICY.seed if args.seed is None else args.seed)
    budget_s = args.budget * 60.0 if args.budget is not None else None
    session = Session(cases, policy, budget_s, launcher, say, tolerances_of(args.tolerance))
    started, begin = time.time(), time.monotonic()
    args.out.mkdir(parents=True, exist_ok=True)
    builder = builds.Builder(repository, args.work, args.bazel_flag, args.build_timeout * 60.0)
    with builds.locked(args.work):
        commits = {BASE: base.commit, HEAD: head.commit}
        made, session.errors = build_both(builder, commits, args.out, say)
        torch = torch_env.TorchPython(None, "", "not looked for")
        before, collector = host.snapshot(), None
        if len(made) == 2:
            torch = torch_env.find_torch(args.torch_python)
            say(torch.label())
            sides = make_sides({side: build.site for side, build in made.items()}, torch)
            plan = make_plan(catalogue, cases, sides, threads, args.out, policy)
            if args.wait_quiet and (text := guard.wait_until_quiet(args.wait_quiet)) is not None:
                say(f"measuring nevertheless: {text}")
            before = host.snapshot()
            collector = session.collect(plan)
    commands = repeats(args, base.commit, head.commit, catalogue.choose(args.case))
    after = host.snapshot()
    return {
        "schema": record.RECORD_SCHEMA,
        **{side: _commit(made, side, found) for side, found in ((BASE, base), (HEAD, head))},
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(started)),
        "seconds": round(time.monotonic() - begin, 3),
        "host": machine(threads)
        | {"before": snapshot(before), "after": snapshot(after)}
        | {"concerns": host.concerns(before, after)[:20]},
        "repeats": {name: text for name, text in commands.items() if name},
        "repeat": commands[""],
        "pytorch": torch.label()[:120],
        "repository": args.repository,
        **record_of(session, collector),
    }


def record_of(session: Session, collector: Collector | None) -> Json:
    """The part of a record that a session knows."""
    schedule = session.schedule
    if collector is None:
        family = decide.family_size(session.cases)
        schedule = make_schedule(session.policy.family_rate, family, session.policy.looks)
    return {
        "cases": [case.to_json() for case in session.cases] if collector else [],
        "policy": asdict(session.policy),
        "tolerances": dict(session.tolerances),
        "schedule": asdict(schedule),
        "rounds": collector.rounds if collector else [],
        "failures": collector.failures if collector else [],
        "errors": session.errors,
        "budget": {
            "minutes": None if session.budget_s is None else session.budget_s / 60.0,
            "used_minutes": session.used_s / 60.0,
            "needed_minutes": None if session.needed_s is None else session.needed_s / 60.0,
            "round_seconds": session.round_s,
        },
    }


def _commit(
    made: Mapping[str, builds.Build], side: str, revision: builds.Revision
) -> dict[str, Any]:
    build = made.get(side)
    return {
        **asdict(revision),
        "built": build is not None,
        "seconds": build.seconds if build else 0.0,
    }


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `measure`."""
    parser.add_argument("--base", default="master", help="what to compare with")
    parser.add_argument("--head", default="HEAD", help="what is judged")
    parser.add_argument("--merge-base", action="store_true", help="compare with where head parted")
    parser.add_argument("--out", type=user_path, default=user_path("perf-results"))
    parser.add_argument("--case", action="append", default=[], help="a case; may be repeated")
    parser.add_argument("--budget", type=_minutes, metavar="MINUTES", help="for all rounds")
    parser.add_argument(
        "--tolerance", type=_share, help="relative difference of times that is the same: 0.01"
    )
    parser.add_argument("--threads", type=int, help="default: one for each usable core")
    parser.add_argument("--cpus", help="cores to run on, such as 0,1; default: all usable ones")
    parser.add_argument("--seed", type=int, help="of the order of rounds")
    parser.add_argument("--wait-quiet", type=float, default=0.0, metavar="SECONDS")
    parser.add_argument("--bazel-flag", action="append", default=[], help="such as --jobs=2")
    parser.add_argument("--build-timeout", type=_minutes, default=60.0, metavar="MINUTES")
    parser.add_argument("--repository", help="address that links begin with, https://HOST/O/R")
    parser.add_argument("--checkout", type=user_path, default=workspace(), help="of the commits")
    work = torch_env.default_cache(os.environ) / "perf_bot"
    parser.add_argument("--work", type=user_path, default=work, help="for worktrees and wheels")
    torch_env.add_arguments(parser)


def workspace() -> Path:
    """The checkout that `bazel run` was called in, else the current folder."""
    return Path(os.environ.get("BUILD_WORKSPACE_DIRECTORY", "."))


def tolerances_of(time_tolerance: float | None) -> dict[str, float]:
    """The tolerances, the time's replaced if one is given."""
    return TOLERANCES | ({TIME: time_tolerance} if time_tolerance is not None else {})


def _share(text: str) -> float:
    value = float(text)
    if not 0.0 < value < 1.0:
        raise argparse.ArgumentTypeError(f"expects a share between 0 and 1, got {text}")
    return value


def _minutes(text: str) -> float:
    value = float(text)
    if not 0.0 < value < 1e5:
        raise argparse.ArgumentTypeError(f"expects minutes above 0, got {text}")
    return value


def prepare(args: argparse.Namespace) -> None:
    """Applies what concerns this process: cores, and an end on request like on an interrupt.

    Raises:
        ValueError: the cores named cannot be used.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if args.cpus:
        try:
            os.sched_setaffinity(0, {int(cpu) for cpu in args.cpus.split(",")})
        except (ValueError, OSError) as error:
            raise ValueError(f"[cpus] expects usable cores such as 0,1: {error}") from None
