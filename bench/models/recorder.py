"""What the stack recorder costs an eager training step: `tools/bazel run //bench:recorder`.

BERT-large unless another case is named. Processes run until the budget is used up; in each, steps
with the recorder on and with it paused take turns (recorder_main.py). Promised: at most 0.5 % of a
step's time, and at most 16 MiB.

Exit status: 0 both promises hold, or the time is undecided; 1 one is missed; 2 usage; 3 nothing
measured; 5 a process failed.
"""

from __future__ import annotations

import argparse
import math
import os
import shlex
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from bench.harness import host, launch
from bench.harness.estimate import bootstrap_interval, hodges_lehmann
from bench.harness.render import quantity
from bench.harness.result import BROKEN, NOTHING_MEASURED, OK, REGRESSION, user_path, write_json
from bench.harness.runner import Launch
from bench.models.cases import parse
from bench.models.rounds import ROOT, TIMEOUT_S, Say, own_path

SCHEMA = "oneflow-recorder/1"
USUAL = "bert-large:b1:s512:fp32:train"
ON, OFF, AGAIN = "on", "off", "off again"
MOST_SHARE, MOST_BYTES = 0.005, 16 << 20
HOLDS, MISSED, OPEN, INVALID = "holds", "missed", "undecided", "host invalid"
_SCRIPT = ROOT / "bench" / "models" / "recorder_main.py"
Json = dict[str, Any]


def make_parser() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(prog="recorder", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--case", default=USUAL, help=f"default: {USUAL}")
    parser.add_argument("--budget", type=float, default=570.0, metavar="SECONDS")
    parser.add_argument("--processes", type=int, help="at most so many")
    parser.add_argument("--seconds", type=float, default=120.0, help="of steps in each process")
    parser.add_argument("--vm", choices=("auto", "inline", "queued"), default="auto")
    parser.add_argument("--threads", type=int, help="default: one for each usable core")
    parser.add_argument("--out", type=user_path, metavar="FILE", help="all that was measured, JSON")
    return parser


def collect(
    args: argparse.Namespace,
    say: Say,
    launcher: Launch = launch.launch,
    clock: Callable[[], float] = time.monotonic,
) -> tuple[list[Json], str]:
    """Runs processes, the first always, each further one if the longest so far would fit.

    Returns:
        The lines of each process by kind, and the first failure, which ends the collection.
    """
    end, longest = clock() + args.budget, 0.0
    found: list[Json] = []
    threads = args.threads or len(host.usable_cpus())
    words = [args.case, "--seconds", f"{args.seconds:g}", "--vm", args.vm]
    while not found or clock() + longest <= end:
        if args.processes is not None and len(found) >= args.processes:
            break
        env = dict(os.environ) | {
            "PYTHONPATH": os.pathsep.join(own_path()),
            "OMP_NUM_THREADS": str(threads),
            "ONEFLOW_BENCH_SEED": str(len(found)),
            # On in every process; what is measured is pausing it.
            "ONEFLOW_PYTHON_STACK_GETTER": "1",
        }
        start = clock()
        command = [sys.executable, str(_SCRIPT), *words]
        outcome = launcher(command, env, TIMEOUT_S + 2.0 * args.seconds)
        longest = max(longest, clock() - start)
        if outcome.failure is not None:
            return found, f"{outcome.failure.kind}: {outcome.failure.detail}"
        found.append(outcome.metrics)
        count = len(outcome.metrics[ON]["samples"])
        say(f"process {len(found)}: {count} steps on and twice as many off, {longest:.0f} s")
    return found, ""


def ratio(lines: Sequence[Json], over: str, under: str) -> Json:
    """The ratio of the times of neighbouring steps, less 1, with its 95 % interval.

    >>> ratio([{"a": {"samples": [3.0, 3.0]}, "b": {"samples": [2.0, 2.0]}}], "a", "b")["value"]
    0.5
    """
    pairs = [(a, b) for m in lines for a, b in zip(m[over]["samples"], m[under]["samples"])]
    logs = [math.log(a / b) for a, b in pairs]
    interval = bootstrap_interval(logs)
    bounded = math.isfinite(interval.low + interval.high)
    return {
        "value": round(math.expm1(hodges_lehmann(logs)), 9),
        "low": math.expm1(interval.low) if bounded else None,
        "high": math.expm1(interval.high) if bounded else None,
        "pairs": len(logs),
    }


def thread_share(lines: Sequence[Json]) -> Json:
    """What the issuing thread works longer with the recorder on, over the time of a step."""
    step = median(x for m in lines for x in m[OFF]["samples"])
    extra = [a - b for m in lines for a, b in zip(m[ON]["thread"], m[OFF]["thread"])]
    interval = bootstrap_interval(extra)
    bounded = math.isfinite(interval.low + interval.high)
    return {
        "value": hodges_lehmann(extra) / step,
        "low": interval.low / step if bounded else None,
        "high": interval.high / step if bounded else None,
        "pairs": len(extra),
    }


def summary(lines: Sequence[Json]) -> Json:
    """What a collection of processes says."""
    control = ratio(lines, AGAIN, OFF)
    found = ratio(lines, ON, OFF)
    held = max(m[ON]["bytes"] for m in lines)
    return {
        "step": median(x for m in lines for x in m[OFF]["samples"]),
        "on / off": found,
        "control": control,
        "thread": thread_share(lines),
        "bytes": held,
        "time": state(found, control),
        "memory": HOLDS if held <= MOST_BYTES else MISSED,
    }


def state(found: Mapping[str, Any], control: Mapping[str, Any]) -> str:
    """Whether the whole interval keeps to the promise; a control that is off by more than the
    promise says nothing does.

    >>> near = {"value": 0.0, "low": -0.001, "high": 0.001}
    >>> state(near, near), state(near | {"high": 0.01}, near)
    ('holds', 'undecided')
    """
    if found["low"] is None or control["low"] is None:
        return OPEN
    if control["low"] > MOST_SHARE or control["high"] < -MOST_SHARE:
        return INVALID
    return HOLDS if found["high"] <= MOST_SHARE else MISSED if found["low"] > MOST_SHARE else OPEN


def render(result: Mapping[str, Any]) -> str:
    """The report; ends with a newline."""
    found = result["summary"]
    lines = [f"stack recorder, an eager step of {result['case']}, {quantity(found['step'], 's')}"]
    lines.append(f"on against off: {_percent(found['on / off'])}; at most 0.5 %: {found['time']}")
    lines.append(f"control, off against off: {_percent(found['control'])}")
    lines.append(f"the issuing thread's work, of a step: {_percent(found['thread'])}")
    size = found["bytes"] / 2**20
    lines.append(f"memory: {size:.2f} MiB; at most 16 MiB: {found['memory']}")
    lines += [f"host concern: {text}" for text in result["host"]["concerns"]]
    lines.append(
        f"{result['processes']} processes, vm {result['vm']}, {result['threads']} threads; host: "
        f"{result['host']['name']}; measured {result['started']}, {result['seconds']:.0f} s"
    )
    return "\n".join([*lines, f"repeat: {result['repeat']}"]) + "\n"


def _percent(found: Mapping[str, Any]) -> str:
    ends = ("?" if x is None else f"{100.0 * x:+.3f}" for x in (found["low"], found["high"]))
    return f"{100.0 * found['value']:+.3f} % [{', '.join(ends)}] over {found['pairs']} pairs"


def status(found: Mapping[str, Any]) -> int:
    """The exit status of a summary."""
    return REGRESSION if MISSED in (found["time"], found["memory"]) else OK


def main(argv: Sequence[str] | None = None) -> int:
    """Measures and prints; returns the exit status."""
    parser = make_parser()
    args = parser.parse_args(argv)
    try:
        if not parse(args.case).trains:
            raise ValueError(f"[case] expects a training step, got {args.case}")
    except ValueError as error:
        parser.error(str(error))
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    before, started, start = host.snapshot(), time.time(), time.monotonic()
    lines, failure = collect(args, lambda line: print(line, file=sys.stderr, flush=True))
    if failure:
        print(f"recorder: {failure}", file=sys.stderr)
        return BROKEN
    if not lines:
        return NOTHING_MEASURED
    words = sys.argv[1:]
    result = {
        "schema": SCHEMA,
        "case": args.case,
        "vm": args.vm,
        "threads": args.threads or len(host.usable_cpus()),
        "processes": len(lines),
        "summary": summary(lines),
        "lines": lines,
        "host": {
            "name": host.describe(host.identity()),
            "concerns": host.concerns(before, host.snapshot()),
        },
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(started)),
        "seconds": round(time.monotonic() - start, 1),
        "repeat": shlex.join(
            ["tools/bazel", "run", "//bench:recorder", *(["--", *words] if words else [])]
        ),
    }
    if args.out:
        write_json(Path(args.out), result)
    sys.stdout.write(render(result))
    return status(result["summary"])


if __name__ == "__main__":
    sys.exit(main())
