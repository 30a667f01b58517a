"""How often the bot is wrong on this machine: `tools/bazel run //ci/perf_bot:calibrate`.

It runs the bot's whole way (rounds, looks, decision, result) on a case of 75 ms, many times: a
commit against itself, and against heads that are slower by a known amount, in random order. Each
comparison is a line of `comparisons.jsonl` in the folder; a run goes on where the one before it
stopped, so that a long calibration can be spread over quiet quarters of an hour. What others
disturbed is kept, counted by itself, and compared again. `--load` compares beside a process that
keeps one core busy. `--cpus 0` keeps all to one core, which then is never idle between the
processes of a round: a core that wakes up has another clock than before. `--report` sums up, with
what the power calculation promises for the noise that was measured; that is what CALIBRATION.md
holds.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bench.harness import host
from bench.harness.plan import Plan, Program, Row, standard_versus
from bench.harness.result import user_path
from ci.perf_bot import calibration, decide, guard, measure
from ci.perf_bot.cases import TOLERANCES, Case
from ci.perf_bot.schema import BASE, BASE_AGAIN, FIGURES, HEAD, TIME

Json = dict[str, Any]

NAME = "comparisons.jsonl"
CASE = Case("spin", "integer arithmetic", "spin", "spin", "step_time", backward=False)
_SEED = 7  # of the order of comparisons
_SCRIPT = Path(__file__).absolute().with_name("spin.py")


@dataclass(frozen=True)
class Kind:
    """A kind of comparison.

    Attributes:
        name: in the report.
        factor: head's time over base's.
        load: whether a process keeps a core busy.
        count: how many comparisons a whole calibration has.
    """

    name: str
    factor: float
    load: bool
    count: int


KINDS = (
    Kind("itself", 1.0, False, 200),
    Kind("1.5 % slower", 1.015, False, 50),
    Kind("3 % slower", 1.03, False, 50),
    Kind("6 % slower", 1.06, False, 50),
    Kind("itself, under load", 1.0, True, 40),
    Kind("6 % slower, under load", 1.06, True, 20),
)


def make_plan(factor: float, seed: int) -> Plan:
    """Base, head, base again; the three run one script."""
    start = [sys.executable, "-I", "-S", str(_SCRIPT)]
    commands = {BASE: [*start, "1.0"], HEAD: [*start, repr(factor)], BASE_AGAIN: [*start, "1.0"]}
    program = Program(CASE.program, commands, [Row(CASE.metric, CASE.title)], timeout_s=30.0)
    versus = standard_versus(list(commands))
    return Plan([program], versus, replace(decide.POLICY, seed=seed))


def compare_once(
    kind: Kind, index: int, tolerance: float, attempt: int = 0, **machine: Any
) -> Json:
    """One comparison, as the bot makes it; a line of the file.

    Args:
        kind, index: which one; the same ones draw the same order of rounds.
        tolerance: of the time.
        attempt: how often it was disturbed before.
        **machine: fields of the Session in place of the real machine's: launcher, clock, moment.
    """
    seed = zlib.crc32(f"{kind.name}/{index}/{attempt}".encode())
    plan = make_plan(kind.factor, seed)
    tolerances = measure.tolerances_of(tolerance)
    session = measure.Session([CASE], plan.policy, tolerances=tolerances, **machine)
    collector = session.collect(plan)
    evidence = session.evidence(collector)
    row = decide.make_rows(evidence, {CASE.name: ""})[0]
    figures = {name: row["figures"][name] for name in FIGURES}
    shares = guard.shares(evidence.rounds, [CASE.program])
    costs = {v: evidence.costs(CASE, TIME, v) for v in (BASE, BASE_AGAIN)}
    return {
        "kind": kind.name,
        "index": index,
        "verdicts": {name: f["gate"]["verdict"] for name, f in figures.items()},
        "controls": {name: f["control"]["verdict"] for name, f in figures.items()},
        "tolerance": tolerance,
        "looks": list(evidence.schedule.pairs),
        "ratio": figures[TIME]["gate"]["ratio"],
        "pairs": figures[TIME]["gate"]["pairs"],
        "spread": {name: f["gate"]["spread"] for name, f in figures.items()},
        "noise": [round(x, 6) for x in decide.extract.pairs(costs[BASE_AGAIN], costs[BASE])],
        "foreign": shares.foreign,
        "busy": guard.complaint(shares, evidence.usable) is not None,
        "load": host.snapshot()["load"],
        "seconds": round(session.used_s, 3),
        "failures": len(collector.failures),
    }


def todo(
    done: Sequence[Mapping[str, Any]], load: bool, seed: int, only: Sequence[str] = ()
) -> list[tuple[Kind, int]]:
    """What is still to be compared, in random order, the kinds mixed; all of them, or only some."""
    known = {(line["kind"], line["index"]) for line in done if load or not line["busy"]}
    wanted = [(k, i) for k in KINDS if k.load == load for i in range(k.count)]
    random.Random(seed).shuffle(wanted)
    left = [(kind, index) for kind, index in wanted if (kind.name, index) not in known]
    return [(kind, index) for kind, index in left if not only or kind.name in only]


@contextmanager
def burner(wanted: bool) -> Iterator[None]:
    """A process that keeps the last usable core busy meanwhile."""
    if not wanted:
        yield
        return
    process = subprocess.Popen([sys.executable, "-I", "-S", "-c", "while True: pass"])
    try:
        os.sched_setaffinity(process.pid, {host.usable_cpus()[-1]})
        yield
    finally:
        process.kill()
        process.wait()


def collect(
    folder: Path, minutes: float, load: bool, tolerance: float, only: Sequence[str] = ()
) -> int:
    """Makes comparisons for so long, each written as it is made; how many are still to be made."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / NAME
    done = calibration.read(path)
    # Without what was cut off at its end.
    path.write_text("".join(_text(line) for line in done), encoding="utf-8")
    if {line["tolerance"] for line in done} - {tolerance}:
        raise ValueError(f"[tolerance] expects the one that {path} began with")
    left = todo(done, load, _SEED, only)
    end = time.monotonic() + 60.0 * minutes
    with burner(load), open(path, "a", encoding="utf-8") as file:
        while left and time.monotonic() < end:
            # Under load, the burner is what there is to be measured beside.
            if not load and guard.wait_until_quiet(end - time.monotonic(), 0.5) is not None:
                break
            kind, index = left.pop(0)
            attempt = sum((x["kind"], x["index"]) == (kind.name, index) for x in done)
            line = compare_once(kind, index, tolerance, attempt)
            file.write(_text(line))
            file.flush()
            print(f"{kind.name} {index}: {line['verdicts']}, {line['seconds']} s", file=sys.stderr)
    return len(left)


def _text(line: Json) -> str:
    return json.dumps(line, sort_keys=True) + "\n"


def main(argv: Sequence[str] | None = None) -> int:
    """Goes on with the calibration, or reports it."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--out", type=user_path, default=user_path("perf-calibration"))
    parser.add_argument("--minutes", type=float, default=5.0, help="of this run")
    parser.add_argument("--tolerance", type=float, default=TOLERANCES[TIME], help="of times")
    parser.add_argument("--kind", action="append", default=[], choices=[k.name for k in KINDS])
    parser.add_argument("--load", action="store_true", help="beside a process that burns a core")
    parser.add_argument("--cpus", help="cores to run on, such as 0; default: all usable ones")
    parser.add_argument("--report", action="store_true", help="print the report of what is there")
    args = parser.parse_args(argv)
    try:
        # As for `measure`: what was written stays, and the burner ends.
        measure.prepare(args)
        if args.report:
            lines = calibration.read(args.out / NAME)
            sys.stdout.write(calibration.report(lines, {k.name: k for k in KINDS}))
            return 0
        left = collect(args.out, args.minutes, args.load, args.tolerance, args.kind)
    except (OSError, ValueError) as error:
        print(f"calibrate: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("calibrate: interrupted; what was compared is kept", file=sys.stderr)
        return 4
    print(f"{left} comparisons are left", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
