"""Whether any op of the case file is slower than at another commit: `//bench:gate -- BASE [HEAD]`.

    tools/bazel run //bench:gate -- master            this checkout beside master
    tools/bazel run //bench:gate -- v0.1 check_xx     one commit beside another

Two looks. In the first, a few pairs of processes time every case of the case file. A case that was
slower in each pair, and by the margin on average, is a suspect. The second look times the suspects
alone, in as many pairs as it takes to tell, with the base against itself as control. Its pairs are
new, so that only suspects share the chance of a false alarm, however many cases were looked at. A
case that is slower by less than the margin may stay unnoticed; the tables say what was seen.

Exit status: 0 no op slower; 1 one is; 2 usage; 3 nothing measured; 4 the base failed, or the host
is invalid; 5 the head failed, or gives another result; 6 a commit does not build.
"""

from __future__ import annotations

import argparse
import math
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import commits
from bench.harness import host, launch, render
from bench.harness.analysis import costs, paired
from bench.harness.estimate import hodges_lehmann
from bench.harness.plan import CONTROL, GATE, INFO, Plan, Program, Row, Versus
from bench.harness.result import OK, REGRESSION, STATUS_NAMES, user_path, write_json
from bench.harness.runner import Launch, run_plan
from bench.harness.sequential import minimum_pairs
from bench.harness.verdict import INCONCLUSIVE, SLOWER, Policy
from bench.ops.cases import FAMILIES, SIZES, metric

SCHEMA = "oneflow-gate/1"
BUILD_FAILED = 6
HEAD, BASE, AGAIN = "head", "base", "base again"
USUAL_SIZES = ("1 element", "64 kB", "16 MB")
FAMILY_RATE = 0.05
# Pairs of the second look beyond those in which all must agree.
SPARE = 2
Json = dict[str, Any]
Say = Callable[[str], None]


@dataclass(frozen=True)
class Side:
    """A library: what it is called, its interpreter and its search path."""

    label: str
    python: str
    path: tuple[str, ...]


def make_parser() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="gate", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("base", nargs="?", help="branch, tag or commit")
    parser.add_argument("head", nargs="?", help="another one; none: this checkout as it is")
    parser.add_argument("--base-python", metavar="PATH", help="a Python that has the base, built")
    parser.add_argument("--family", action="append", choices=list(FAMILIES))
    parser.add_argument("--size", action="append", choices=list(SIZES))
    parser.add_argument("--pairs", type=int, default=2, help="of the first look")
    parser.add_argument("--margin", type=float, default=0.05, help="0.05 is 5 %%")
    parser.add_argument("--threads", type=int, help="default: one for each usable core")
    parser.add_argument("--out", type=user_path, metavar="FILE", help="all that was measured")
    parser.add_argument("--format", choices=("terminal", "markdown"), default="terminal")
    commits.add_arguments(parser)
    return parser


def make_sides(args: argparse.Namespace, say: Say) -> dict[str, Side]:
    """Base and head.

    Raises:
        ValueError: there is no such commit, or not one base.
        commits.BuildFailed: a commit does not build.
    """
    if (args.base is None) == (args.base_python is None):
        raise ValueError("[gate] expects one base: a commit, or --base-python")
    names = {BASE: args.base} if args.base else {}
    names |= {HEAD: args.head} if args.head else {}
    built = commits.build(args, names, commits.here(), say) if names else {}
    own = tuple(path for path in sys.path if path)
    sides = {
        BASE: Side(f"the OneFlow of {args.base_python}", args.base_python, (str(commits.ROOT),)),
        HEAD: Side("this checkout", sys.executable, own),
    }
    for side, library in built.items():
        sides[side] = Side(library.label, sys.executable, library.path)
    return sides


def make_plan(
    sides: Mapping[str, Side],
    metrics: Mapping[str, Sequence[str]],
    threads: int,
    policy: Policy,
    control: bool,
) -> Plan:
    """The harness's plan: a program for each family.

    Args:
        sides: base and head.
        metrics: for each family the cases to time, by their metrics' names.
        threads: of every process.
        policy: pairs and rates.
        control: whether the base runs twice, and the head is judged.
    """
    script = str(commits.ROOT / "bench" / "ops" / "cases_main.py")
    kinds = {BASE: sides[BASE], HEAD: sides[HEAD]} | ({AGAIN: sides[BASE]} if control else {})
    programs = []
    for family, names in metrics.items():
        words = [script, "oneflow", family, *names]
        env: dict[str, Mapping[str, str]] = {"*": {"OMP_NUM_THREADS": str(threads)}}
        for kind, side in kinds.items():
            env[kind] = {"PYTHONPATH": os.pathsep.join(side.path)}
        commands = {kind: [side.python, *words] for kind, side in kinds.items()}
        rows = [Row(name, f"{family}: {name}") for name in names]
        programs.append(
            Program(family, commands, rows, env, timeout_s=1800.0, rtol=1e-2, atol=1e-4)
        )
    versus = [Versus(HEAD, BASE, GATE if control else INFO)]
    versus += [Versus(AGAIN, BASE, CONTROL)] if control else []
    labels = {kind: side.label for kind, side in kinds.items()}
    return Plan(programs, versus, policy, labels=labels)


def chosen(args: argparse.Namespace) -> dict[str, list[str]]:
    """The cases of the first look."""
    sizes = args.size or USUAL_SIZES
    found = {
        family: [metric(c, s) for c in FAMILIES[family] for s in c.sizes if s in sizes]
        for family in args.family or FAMILIES
    }
    return {family: names for family, names in found.items() if names}


def ratios(plan: Plan, rounds: Sequence[Json]) -> dict[tuple[str, str], list[float]]:
    """Log ratios of head's times over base's by family and metric, one for each pair."""
    found = {}
    for program in plan.programs:
        for row in program.rows:
            head, base = (costs(rounds, program.name, row, side) for side in (HEAD, BASE))
            found[program.name, row.metric] = paired(head, base)
    return found


def suspects(
    seen: Mapping[tuple[str, str], Sequence[float]], margin: float
) -> dict[str, list[str]]:
    """The cases that were slower in each pair, and by the margin on average.

    >>> suspects({("a", "x"): [0.1, 0.2], ("a", "y"): [0.3, -0.1], ("b", "z"): [0.01, 0.02]}, 0.05)
    {'a': ['x']}
    """
    found: dict[str, list[str]] = {}
    for (family, name), values in seen.items():
        if values and min(values) > 0.0 and hodges_lehmann(list(values)) > math.log1p(margin):
            found.setdefault(family, []).append(name)
    return found


def measure(
    args: argparse.Namespace, sides: Mapping[str, Side], say: Say, launcher: Launch = launch.launch
) -> Json:
    """Both looks; the result as JSON values."""
    start, started = time.monotonic(), time.time()
    threads = args.threads or len(host.usable_cpus())
    plan = make_plan(sides, chosen(args), threads, Policy(pairs=args.pairs), control=False)
    first = run_plan(plan, launcher=launcher, say=say)
    seen = ratios(plan, first["rounds"])
    found = suspects(seen, args.margin)
    count = sum(map(len, found.values()))
    say(f"{count} of {len(seen)} cases looked slower, after {time.monotonic() - start:.0f} s")
    second: Json | None = None
    if found and not first["interrupted"]:
        pairs = minimum_pairs(FAMILY_RATE, count) + SPARE
        policy = Policy(family_rate=FAMILY_RATE, pairs=pairs, tolerance=args.margin)
        second = run_plan(
            make_plan(sides, found, threads, policy, control=True), launcher=launcher, say=say
        )
    return {
        "schema": SCHEMA,
        "sides": {name: side.label for name, side in sides.items()},
        "margin": args.margin,
        "pairs": args.pairs,
        "seen": [[family, name, values] for (family, name), values in seen.items()],
        "suspects": found,
        "first": first,
        "second": second,
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(started)),
        "seconds": round(time.monotonic() - start, 1),
    }


def slower_of(result: Json) -> list[str]:
    """The cases that are slower, as far as this could be told."""
    return _with_verdict(result, SLOWER)


def _with_verdict(result: Json, verdict: str) -> list[str]:
    rows = result["second"]["rows"] if result["second"] else []
    return [
        row["title"]
        for row in rows
        if any(c["role"] == GATE and c["verdict"] == verdict for c in row["comparisons"])
    ]


def status(result: Json) -> int:
    """The exit status that a result amounts to: the second look's, unless the first failed."""
    names = {name: code for code, name in STATUS_NAMES.items()}
    first = names[result["first"]["status"]]
    if first != OK or result["second"] is None:
        return first
    return REGRESSION if slower_of(result) else names[result["second"]["status"]]


def page(result: Json, style: str = "terminal") -> str:
    """The report: a table of families by size, the suspects, and the verdict in one line."""
    lines = _families(result)
    sides = result["sides"]
    lines.append("")
    lines.append(
        f"speed: {sides[BASE]}'s time over {sides[HEAD]}'s, above 1 is faster; "
        f"{result['pairs']} pairs of processes, {result['seconds']:.0f} s in all"
    )
    text = "\n".join(lines) + "\n"
    if result["second"]:
        text += "\nLooked slower, and measured again:\n\n"
        text += render.render(result["second"], style)
    for failure in result["first"]["failures"]:
        text += f"failed: {failure['program']}, {failure['variant']}: {failure['detail']}\n"
    return f"{text}\n{verdict(result)}\n"


def verdict(result: Json) -> str:
    """In one line."""
    slower, unclear = slower_of(result), _with_verdict(result, INCONCLUSIVE)
    looked = sum(1 for *_, values in result["seen"] if values)
    if not looked:
        return "nothing measured"
    if slower:
        return f"slower: {len(slower)} of {looked} cases: {'; '.join(slower)}"
    more = f"; {len(unclear)} that looked slower could not be decided" if unclear else ""
    if status(result) != OK:
        return f"not decided ({STATUS_NAMES[status(result)]}): {looked} cases were timed{more}"
    return f"no op slower: {looked} cases, margin {result['margin']:.0%}{more}"


def _families(result: Json) -> list[str]:
    groups: dict[tuple[str, str], dict[str, float]] = {}
    for family, name, values in result["seen"]:
        if values:
            case, size = name.split(" / ")
            speed = math.exp(-hodges_lehmann(values))
            groups.setdefault((family, size), {})[case] = speed
    table = ["| family | size | cases | geometric mean | slowest |", "|---|---|---|---|---|"]
    for (family, size), speeds in groups.items():
        mean = math.exp(sum(map(math.log, speeds.values())) / len(speeds))
        slowest = min(speeds, key=speeds.__getitem__)
        cells = [family, size, str(len(speeds)), f"{mean:.3f}", f"{slowest} {speeds[slowest]:.2f}"]
        table.append(f"| {' | '.join(cells)} |")
    return table


def main(argv: Sequence[str] | None = None) -> int:
    """Measures and prints; returns the exit status."""
    parser = make_parser()
    args = parser.parse_args(argv)

    def say(line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        sides = make_sides(args, say)
    except ValueError as error:
        parser.error(str(error))
    except commits.BuildFailed as error:
        print(f"gate: {error}", file=sys.stderr)
        return BUILD_FAILED
    result = measure(args, sides, say)
    if args.out:
        write_json(Path(args.out), result)
    sys.stdout.write(page(result, args.format))
    return status(result)


if __name__ == "__main__":
    sys.exit(main())
