"""Collects rounds of a plan's programs until its rows are decided; the command line.

A round of a program runs each of its variants once, one process after the other, in random order.
Neighbours in time share the host's mood, so their ratio drifts little; the random order makes what
remains symmetric. The order, and all else that is drawn, follows the policy's seed.

One process runs at a time; the runner sleeps meanwhile. Single-threaded.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sys
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from bench.harness import host, launch, render
from bench.harness.analysis import make_plan_schedule, make_rows, undecided
from bench.harness.answers import difference
from bench.harness.plan import CONTROL, Plan, Program, plan_from_json
from bench.harness.result import (
    INFRASTRUCTURE,
    SCHEMA,
    STATUS_NAMES,
    status_of,
    user_path,
    write_json,
)

Json = dict[str, Any]
Launch = Callable[[Sequence[str], Mapping[str, str], float], launch.Outcome]

# Variables that change what a library does, recorded with the result.
_TELLING = (
    "OMP_",
    "KMP_",
    "GOMP_",
    "MKL_",
    "DNNL_",
    "ONEDNN_",
    "ONEFLOW_",
    "MALLOC_",
    "LD_PRELOAD",
)
# An interpreter's own search path means nothing to another one; a plan sets what it needs.
_DROPPED = ("PYTHONPATH", "PYTHONHOME")


@dataclass
class Collector:
    """The state of a run.

    Attributes:
        plan: what to measure.
        launcher: runs a process; tests replace it.
        say: takes a line of progress.
        rounds, failures: what was collected, JSON values.
    """

    plan: Plan
    launcher: Launch = launch.launch
    say: Callable[[str], None] = lambda line: None
    rounds: list[Json] = field(default_factory=list)
    failures: list[Json] = field(default_factory=list)

    def collect(self) -> None:
        """Runs look after look, each only for the programs that are not decided yet."""
        open_programs = {program.name for program in self.plan.programs}
        done = 0
        for look, pairs in enumerate(make_plan_schedule(self.plan).pairs):
            self.run_rounds(range(done, pairs), open_programs)
            done = pairs
            open_programs = undecided(self.plan, self.rounds, self.failures)
            waiting = ", ".join(sorted(open_programs)) or "nothing"
            self.say(f"look {look + 1}, {pairs} pairs: undecided: {waiting}")
            if not open_programs:
                return

    def run_rounds(self, numbers: Iterable[int], names: Collection[str]) -> None:
        """Runs these rounds of the programs named, but none whose comparisons are all lost."""
        for number in numbers:
            for program in self._shuffled_programs(number):
                if program.name in names and self._worthwhile(program):
                    self._round(program, number)

    def _worthwhile(self, program: Program) -> bool:
        """False once every comparison of the program has lost a variant to a failure."""
        failed = self._failed(program)
        possible = [
            {v.candidate, v.reference}
            for v in self.plan.versus
            if v.role != CONTROL and {v.candidate, v.reference} <= set(program.available())
        ]
        left = [pair for pair in possible if not pair & failed]
        return bool(left) or not (possible or failed)

    def _failed(self, program: Program) -> set[str]:
        return {f["variant"] for f in self.failures if f["program"] == program.name}

    def _shuffled_programs(self, number: int) -> list[Program]:
        order = list(self.plan.programs)
        random.Random(f"{self.plan.policy.seed}/{number}").shuffle(order)
        return order

    def _round(self, program: Program, number: int) -> None:
        draw = random.Random(f"{self.plan.policy.seed}/{number}/{program.name}")
        failed = self._failed(program)
        order = [v for v in program.available() if v not in failed]
        draw.shuffle(order)
        before, runs = host.snapshot(), {}
        for variant in order:
            env = self._environment(program, variant, number, draw)
            outcome = self.launcher(program.commands[variant] or (), env, program.timeout_s)
            if outcome.failure is None:
                runs[variant] = {"seconds": outcome.seconds, "metrics": outcome.metrics}
            else:
                self._fail(program, variant, number, outcome.failure)
        for variant, failure in wrong_answers(program, runs).items():
            del runs[variant]
            self._fail(program, variant, number, failure)
        after = host.snapshot()
        self.rounds.append(
            {
                "program": program.name,
                "round": number,
                "order": order,
                "runs": runs,
                "load": after["load"],
                "mhz": after["mhz"],
                "steal": host.steal_share(before, after),
            }
        )
        self.say(f"{program.name}: round {number + 1}: {', '.join(order)}")

    def _environment(
        self, program: Program, variant: str, number: int, draw: random.Random
    ) -> dict[str, str]:
        """The process's environment.

        Its size shifts the stack and with it alignments, which alone can move a figure by some
        per cent; drawing it anew makes that a part of the spread, not of the difference.
        """
        env = {k: v for k, v in os.environ.items() if k not in _DROPPED}
        env["ONEFLOW_BENCH_SEED"] = f"{self.plan.policy.seed}/{number}"
        env["ONEFLOW_BENCH_PADDING"] = "." * draw.randrange(4096)
        return env | dict(program.env.get("*", {})) | dict(program.env.get(variant, {}))

    def _fail(self, program: Program, variant: str, number: int, failure: launch.Failure) -> None:
        self.failures.append(
            {
                "program": program.name,
                "variant": variant,
                "round": number,
                "kind": failure.kind,
                "detail": failure.detail,
            }
        )
        self.say(f"{program.name}: {variant}: {failure.kind}: {failure.detail}")


def wrong_answers(program: Program, runs: Mapping[str, Json]) -> dict[str, launch.Failure]:
    """The variants of a round that did not answer as they should, with the first reason.

    A metric is compared with the plan's expected answer, or else with that of the first variant
    in the plan's order which delivered.
    """
    found: dict[str, launch.Failure] = {}
    for row in program.rows:
        anchor = next((v for v in program.commands if v in runs and v not in found), None)
        for variant in [v for v in runs if v not in found]:
            line: Json | None = runs[variant]["metrics"].get(row.metric)
            first: Json | None = runs[anchor]["metrics"].get(row.metric) if anchor else None
            want = program.expected.get(row.metric) or (first or {}).get("check")
            if line is None:
                found[variant] = launch.Failure(launch.NO_OUTPUT, f"no metric {row.metric!r}")
            elif line["unit"] != row.unit:
                unit = f"{row.metric}: expects the unit {row.unit!r}, got {line['unit']!r}"
                found[variant] = launch.Failure(launch.BAD_OUTPUT, unit)
            elif want and (fault := difference(line["check"], want, program.rtol, program.atol)):
                found[variant] = launch.Failure(launch.WRONG_ANSWER, f"{row.metric}: {fault}")
    return found


def run_plan(
    plan: Plan, *, launcher: Launch = launch.launch, say: Callable[[str], None] = lambda line: None
) -> Json:
    """Measures a plan.

    Args:
        plan: what to measure.
        launcher: runs one process.
        say: takes lines of progress.

    Returns:
        The result as JSON values. An interrupt ends the collection; what was collected is kept.
    """
    collector = Collector(plan, launcher, say)
    before, start = host.snapshot(), time.time()
    interrupted = False
    try:
        collector.collect()
    except KeyboardInterrupt:
        interrupted = True
    after = host.snapshot()
    rows = make_rows(plan, collector.rounds, collector.failures)
    status = status_of(rows, collector.failures)
    return {
        "schema": SCHEMA,
        "plan": plan.to_json(),
        "host": {
            "identity": host.identity(),
            "env": {k: v for k, v in os.environ.items() if k.startswith(_TELLING)},
            "before": before,
            "after": after,
            "concerns": host.concerns(before, after),
        },
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(start)),
        "seconds": round(time.time() - start, 3),
        "interrupted": interrupted,
        "rounds": collector.rounds,
        "failures": collector.failures,
        "rows": rows,
        "status": STATUS_NAMES[INFRASTRUCTURE if interrupted and not status else status],
    }


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options that every benchmark program shares."""
    parser.add_argument("--out", type=user_path, help="write the result as JSON to this file")
    parser.add_argument("--format", choices=("terminal", "markdown"), default="terminal")
    parser.add_argument("--max-pairs", type=int, help="collect no more process pairs than this")
    parser.add_argument("--pairs", type=int, help="exactly so many, for a first look")
    parser.add_argument("--tolerance", type=float, help="relative difference that is the same")
    parser.add_argument("--family-rate", type=float, help="chance of any false alarm")
    parser.add_argument("--seed", type=int, help="of the order of rounds")
    parser.add_argument("--cpus", help="cores to run on, such as 0,1; default: all usable ones")
    parser.add_argument("--wait-quiet", type=float, default=0.0, metavar="SECONDS")
    parser.add_argument(
        "--strict-host", action="store_true", help="measure nothing on a host that looks busy"
    )
    parser.add_argument("--quiet", action="store_true", help="no progress on standard error")


def apply_arguments(plan: Plan, args: argparse.Namespace) -> Plan:
    """The plan with the command line's policy."""
    names = ("max_pairs", "pairs", "tolerance", "family_rate", "seed")
    given = {name: getattr(args, name) for name in names if getattr(args, name) is not None}
    return replace(plan, policy=replace(plan.policy, **given))


def measure_and_report(plan: Plan, args: argparse.Namespace) -> int:
    """Runs a plan as the command line asks, prints the table, returns the exit status."""
    if args.cpus:
        os.sched_setaffinity(0, {int(cpu) for cpu in args.cpus.split(",")})
    concerns = _wait_until_quiet(args.wait_quiet)
    if concerns and args.strict_host:
        print(f"bench: not measured: {'; '.join(concerns)}", file=sys.stderr)
        return INFRASTRUCTURE
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    say = (lambda line: None) if args.quiet else (lambda line: print(line, file=sys.stderr))
    result = run_plan(apply_arguments(plan, args), say=say)
    if args.out:
        write_json(args.out, result)
    sys.stdout.write(render.render(result, args.format))
    return next(code for code, name in STATUS_NAMES.items() if name == result["status"])


def _wait_until_quiet(limit_s: float) -> list[str]:
    end = time.monotonic() + limit_s
    while (concerns := host.concerns_before(host.snapshot())) and time.monotonic() < end:
        time.sleep(1.0)
    return concerns


def main(argv: Sequence[str] | None = None) -> int:
    """Measures a plan that is given as a JSON file."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("plan", type=user_path, help="the plan, JSON")
    add_arguments(parser)
    args = parser.parse_args(argv)
    try:
        plan = plan_from_json(json.loads(args.plan.read_text(encoding="utf-8")))
        plan = apply_arguments(plan, args)
    except (OSError, ValueError) as error:
        parser.error(str(error))
    return measure_and_report(plan, args)


if __name__ == "__main__":
    sys.exit(main())
