"""The testers' table for this checkout, or for a commit beside another: what bench/run.sh runs.

    testers                 this checkout's library
    testers check_xx        the commit of that name beside master, built in worktrees, measured in
    turns

Before anything is timed, all sides must compute the same. Exit status: 0 measured, nothing slower;
1 slower; 2 usage; 3 nothing measured; 4 infrastructure or host invalid; 5 a side crashed, or
computes something else; 6 a commit does not build.
"""

from __future__ import annotations

import argparse
import os
import shlex
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from bench import commits
from bench.commits import BuildFailed
from bench.harness import host, launch, torch_env
from bench.harness.analysis import make_rows as harness_rows
from bench.harness.plan import CONTROL, GATE, INFO, Plan, Program, Row, Versus
from bench.harness.result import BROKEN, status_of, user_path, write_json
from bench.harness.runner import Launch
from bench.harness.verdict import Policy
from bench.models import before as before_module
from bench.models import speed, testers_table
from bench.models.before import Before, CheckError
from bench.models.cases import Case
from bench.models.rounds import (
    ROOT,
    RTOL,
    RTOL_DROPOUT,
    STEP,
    TIMEOUT_S,
    Effort,
    Say,
    Timed,
    Variant,
    own_path,
)
from ci.perf_bot import builds

SCHEMA = "oneflow-testers/1"
BUILD_FAILED = 6
USUAL = ("resnet50:b16:fp32:train", "bert-large:b1:s512:fp32:train")
HEAD, BASE, AGAIN, PYTORCH = "head", "base", "base again", "pytorch"
Json = dict[str, Any]


@dataclass(frozen=True)
class Side:
    """A column of the table.

    Attributes:
        name: of the variant: head, base, "base again" or pytorch.
        label: what the user calls it, with its commit.
        python: the interpreter.
        library: `oneflow` or `torch`.
        path: what its search path begins with.
        about: for the notes.
    """

    name: str
    label: str
    python: str
    library: str
    path: tuple[str, ...]
    about: str = ""

    def variant(self, mode: str) -> Variant:
        """How its processes are started; PyTorch has a mode of its own."""
        setting = mode if self.library == "oneflow" else "fast"
        return Variant(self.name, self.python, self.library, setting, self.path)


def make_parser() -> argparse.ArgumentParser:
    """The command line; run.sh takes --repo."""
    parser = argparse.ArgumentParser(
        prog="run.sh", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "ref", nargs="?", help="branch, tag or commit; none: this checkout as it is"
    )
    parser.add_argument("--repo", help="address or folder to clone, where run.sh stands alone")
    parser.add_argument("--base", default="master", help="what REF is measured beside")
    speed.add_case_arguments(parser)
    parser.add_argument("--compare", choices=("torch",), help="PyTorch, too, at its fastest")
    parser.add_argument("--json", type=user_path, metavar="FILE", help="all that was measured")
    parser.add_argument("--csv", type=user_path, metavar="FILE")
    parser.add_argument("--plot", type=user_path, metavar="FILE", help=".svg or .png")
    parser.add_argument(
        "--budget", type=float, default=900.0, metavar="SECONDS", help="without builds"
    )
    parser.add_argument("--rounds", type=int, help="at most so many")
    parser.add_argument("--seconds", type=float, default=1.0, help="timed at least in each process")
    parser.add_argument("--threads", type=int, help="default: one for each usable core")
    commits.add_arguments(parser)
    torch_env.add_arguments(parser)
    return parser


def make_sides(args: argparse.Namespace, say: Say) -> list[Side]:
    """The columns: this checkout, or two commits built in worktrees; and PyTorch if asked for.

    Raises:
        BuildFailed: a commit does not build.
        ValueError: there is no such commit, or no PyTorch.
    """
    repository = commits.here()
    if args.ref is None:
        sides = [Side(HEAD, own_label(repository), sys.executable, "oneflow", own_path())]
    else:
        sides = _built(args, repository, say)
    if args.compare == "torch":
        found = torch_env.find_torch(args.torch_python)
        if found.python is None:
            raise ValueError(f"[compare] expects a PyTorch, got none: {found.reason}")
        about = speed.ABOUT["PyTorch fast"]
        label = f"PyTorch {found.version}"
        sides.append(Side(PYTORCH, label, found.python, "torch", (str(ROOT),), about))
    return sides


def own_label(repository: builds.Repository) -> str:
    """What this checkout is: its branch and commit, and whether files were changed."""
    try:
        name = repository.git("rev-parse", "--abbrev-ref", "HEAD")
        commit = repository.git("rev-parse", "--short=7", "HEAD")
        changed = repository.git("status", "--porcelain", "--untracked-files=no")
    except builds.GitError:
        return "this folder"
    shown = "HEAD" if name == "HEAD" else name
    return f"{shown}@{commit}{' with changes' if changed else ''}"


def _built(args: argparse.Namespace, repository: builds.Repository, say: Say) -> list[Side]:
    """Head, base, and base again."""
    names = {HEAD: args.ref, BASE: args.base}
    sides = [
        Side(name, library.label, sys.executable, "oneflow", library.path, library.about)
        for name, library in commits.build(args, names, repository, say).items()
    ]
    return [*sides, replace(sides[1], name=AGAIN)]


def program_name(case: Case, mode: str) -> str:
    """The harness's program that runs a case in a mode."""
    return f"{case.model} {case.dtype} {case.phase} {mode}"


def make_plan(
    cases: Sequence[Case], modes: Sequence[str], sides: Sequence[Side], threads: int, effort: Effort
) -> Plan:
    """The harness's plan: a program for each model and mode, a variant for each side."""
    groups: dict[str, list[Case]] = {}
    for case in cases:
        for mode in modes:
            groups.setdefault(program_name(case, mode), []).append(case)
    programs = []
    for name, mine in groups.items():
        mode = name.split(" ")[-1]
        variants = {side.name: side.variant(mode) for side in sides}
        words = [*map(str, mine), *effort.words()]
        env: dict[str, Mapping[str, str]] = {"*": {"OMP_NUM_THREADS": str(threads)}}
        env |= {key: variant.env() for key, variant in variants.items()}
        drops = mine[0].trains and mine[0].sequence > 0
        rtol = RTOL_DROPOUT if drops else RTOL[mine[0].dtype]
        commands = {key: variant.command(STEP, words) for key, variant in variants.items()}
        rows = [Row(str(case), case.testers_name(mode)) for case in mine]
        programs.append(Program(name, commands, rows, env, TIMEOUT_S, rtol=rtol, atol=rtol))
    names = [side.name for side in sides]
    usual = [
        Versus(HEAD, BASE, GATE),
        Versus(AGAIN, BASE, CONTROL),
        Versus(HEAD, PYTORCH, INFO),
    ]
    versus = [v for v in usual if {v.candidate, v.reference} <= set(names)]
    return Plan(programs, versus, Policy(family_rate=0.05))


def check(
    cases: Sequence[Case],
    modes: Sequence[str],
    sides: Sequence[Side],
    threads: int,
    say: Say,
    run: before_module.Run,
) -> Before:
    """That all sides compute the same in all modes; and PyTorch's peaks.

    Raises:
        CheckError: they do not, or one failed.
    """
    several = []
    for side in sides:
        if side.name == PYTORCH:
            several.append(side.variant(modes[0]))
        elif side.name != AGAIN:
            several += [replace(side.variant(m), name=f"{side.label} {m}") for m in modes]
    names = {f"{case.model} {case.dtype} {case.phase}" for case in cases}
    return before_module.check(cases, dict.fromkeys(names, several), threads, say, run)


def measure(
    args: argparse.Namespace,
    cases: Sequence[Case],
    sides: Sequence[Side],
    say: Say,
    launcher: Launch = launch.launch,
    run: before_module.Run = before_module.run_first_steps,
    clock: Callable[[], float] = time.monotonic,
) -> Json:
    """Checks and times; the result as JSON values.

    Raises:
        CheckError: sides do not compute the same.
    """
    start, started = clock(), time.time()
    modes = list(dict.fromkeys(args.mode)) or list(speed.MODES)
    threads = args.threads or len(host.usable_cpus())
    state = host.snapshot()
    found = check(cases, modes, sides, threads, say, run)
    plan = make_plan(cases, modes, sides, threads, Effort(least=2, seconds=args.seconds))
    timed = Timed(plan, start + args.budget, args.rounds, say, launcher, clock)
    collector = timed.collect()
    # The looks are one, after all rounds that fitted: durations say nothing about who is faster.
    policy = replace(plan.policy, pairs=max(1, len(timed.took)))
    judged = harness_rows(replace(plan, policy=policy), collector.rounds, collector.failures)
    shown = [side for side in sides if side.name != AGAIN]
    order = [(program_name(case, mode), case, mode) for case in cases for mode in modes]
    rows = testers_table.make_rows(
        order,
        {f"{row['program']}\n{row['metric']}": row for row in judged},
        [side.name for side in shown],
        found.peaks,
    )
    return {
        "schema": SCHEMA,
        "rows": rows,
        "sides": [{"name": s.name, "label": s.label, "about": s.about} for s in shown],
        "compared": [(v.candidate, v.reference) for v in plan.versus if v.role != CONTROL],
        "policy": asdict(policy),
        "checked": found.checked,
        "failures": collector.failures,
        "rounds": collector.rounds,
        "status": status_of(judged, collector.failures)
        if plan.versus
        else _status(rows, collector.failures),
        "host": {
            "name": host.describe(host.identity()),
            "identity": host.identity(),
            "concerns": host.concerns(state, host.snapshot()),
        },
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(started)),
        "seconds": round(clock() - start, 1),
        "interrupted": timed.interrupted,
        "repeat": repeat(args),
    }


def _status(rows: Sequence[Json], failures: Sequence[Json]) -> int:
    """Of one side alone, where nothing is compared."""
    if failures:
        return BROKEN
    return 0 if any(any(row["sides"].values()) for row in rows) else 3


def repeat(args: argparse.Namespace) -> str:
    """The command that repeats this run."""
    words, repo = sys.argv[1:], args.repo or os.environ.get("ONEFLOW_BENCH_REPO")
    start = ["bash", "run.sh", "--repo", repo] if repo else ["bash", "bench/run.sh"]
    return shlex.join([*start, *words])


def write_files(args: argparse.Namespace, result: Json) -> None:
    """What the options ask for."""
    if args.json:
        write_json(args.json, result)
    if args.csv:
        testers_table.write_csv(result, args.csv)
    if args.plot:
        testers_table.write_plot(result, args.plot)


def say_progress(line: str) -> None:
    """To standard error, at once."""
    print(line, file=sys.stderr, flush=True)


def main(argv: Sequence[str] | None = None) -> int:
    """Measures and prints; returns the exit status."""
    parser = make_parser()
    args = parser.parse_args(argv)
    named = bool(args.case or args.batch or args.dtype or args.phase)
    try:
        cases = speed.choose_cases(args, ("resnet50", "bert-large") if named else USUAL)
        if args.plot and args.plot.suffix not in (".svg", ".png"):
            raise ValueError(f"[plot] expects a file that ends with .svg or .png, got {args.plot}")
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        sides = make_sides(args, say_progress)
    except ValueError as error:
        parser.error(str(error))
    except BuildFailed as error:
        print(f"run.sh: {error}", file=sys.stderr)
        return BUILD_FAILED
    try:
        result = measure(args, cases, sides, say_progress)
    except CheckError as error:
        print(f"run.sh: {error}", file=sys.stderr)
        return BROKEN
    write_files(args, result)
    sys.stdout.write(testers_table.render(result))
    return int(result["status"])


if __name__ == "__main__":
    sys.exit(main())
