"""How the time of a step grows with batch, depth and sequence: `tools/bazel run //bench:growth`.

Promised: linear in batch and depth; in the sequence to the square, which is attention's. Sizes of
one axis share a process, and rounds of processes (graph, eager, PyTorch) take turns until the
budget is used up. It prints a table with the fitted polynomials, and leaves `growth.json` (all that
was measured), `growth.md` and `growth.svg` (times with their fits) in `--out`.

Exit status: 0 grows as promised; 1 it does not; 2 usage; 3 nothing measured; 4 a reference failed;
5 a variant of ours failed or answered wrongly.
"""

from __future__ import annotations

import argparse
import os
import shlex
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

from bench.harness import host, launch, torch_env
from bench.harness.result import (
    BROKEN,
    INFRASTRUCTURE,
    NOTHING_MEASURED,
    OK,
    REGRESSION,
    user_path,
    write_json,
)
from bench.harness.runner import Launch
from bench.models import cases as cases_module
from bench.models import figures, growth_fit, growth_page
from bench.models.cases import BERTS, RESNETS, Case
from bench.models.rounds import ROOT, Effort, Say, Timed, Variant, make_plan, own_path

SCHEMA = "oneflow-growth/1"
BATCH, DEPTH, SEQUENCE = "batch", "depth", "sequence"
AXES = (BATCH, DEPTH, SEQUENCE)
DEGREES = {BATCH: 1, DEPTH: 1, SEQUENCE: 2}
MODES = ("graph", "eager")
PYTORCH = "PyTorch"
Json = dict[str, Any]


@dataclass(frozen=True)
class Sizes:
    """What an axis of a model is measured at.

    Attributes:
        batch, sequence, depth: of the other axes meanwhile; 0 is the model's own.
        values: of the axis.
    """

    batch: int
    sequence: int
    depth: int
    values: tuple[int, ...]


# So that all sizes of an axis are timed in half a minute on two cores, and the smallest one is more
# than what a step costs whatever its size.
_RESNET = {BATCH: Sizes(0, 0, 0, (1, 2, 4, 8, 16)), DEPTH: Sizes(2, 0, 0, (1, 6, 12, 23))}
_BERT = {
    BATCH: Sizes(0, 128, 4, (1, 2, 4, 8, 16)),
    DEPTH: Sizes(2, 128, 0, (2, 4, 8, 12)),
    SEQUENCE: Sizes(2, 0, 4, (64, 128, 192, 256, 384, 512)),
}
_TINY = {
    BATCH: Sizes(0, 16, 2, (2, 4, 8, 16)),
    DEPTH: Sizes(2, 16, 0, (2, 4, 8, 16)),
    SEQUENCE: Sizes(2, 0, 2, (4, 8, 16, 32)),
}
SIZES: dict[str, dict[str, Sizes]] = {
    **dict.fromkeys(RESNETS, _RESNET),
    **dict.fromkeys(BERTS, _BERT),
    "bert-tiny": _TINY,
}


def make_parser() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(prog="growth", description=(__doc__ or "").split("\n")[0])
    models = ", ".join(cases_module.MODELS)
    parser.add_argument(
        "--case", action="append", default=[], choices=cases_module.MODELS, help=f"of {models}"
    )
    parser.add_argument("--axis", action="append", default=[], choices=AXES)
    parser.add_argument("--sizes", help="of the axis, such as 1,2,4; with one --axis only")
    parser.add_argument("--dtype", choices=cases_module.DTYPES, default="fp32")
    parser.add_argument("--phase", choices=cases_module.PHASES, default="train")
    parser.add_argument("--mode", choices=MODES, action="append", default=[])
    parser.add_argument("--budget", type=float, default=570.0, metavar="SECONDS")
    parser.add_argument("--rounds", type=int, help="at most so many")
    parser.add_argument("--seconds", type=float, default=0.3, help="timed at least for each size")
    parser.add_argument("--threads", type=int, help="default: one for each usable core")
    parser.add_argument(
        "--out", type=user_path, default=user_path("bench-growth"), metavar="FOLDER"
    )
    torch_env.add_arguments(parser)
    return parser


@dataclass(frozen=True)
class Series:
    """A model's cases along an axis, and the size of each."""

    model: str
    axis: str
    cases: tuple[Case, ...]
    sizes: tuple[int, ...]


def choose(args: argparse.Namespace) -> list[Series]:
    """What the options mean.

    Raises:
        ValueError: a size is none, or an axis is not the model's.
    """
    if args.sizes and len(args.axis) != 1:
        raise ValueError("[sizes] expects one --axis that they are sizes of")
    found = []
    for model in dict.fromkeys(args.case or ["resnet50", "bert-base"]):
        for axis in dict.fromkeys(args.axis or SIZES[model]):
            if axis not in SIZES[model]:
                raise ValueError(f"[axis] expects one of {list(SIZES[model])} for {model}")
            found.append(_series(model, axis, args))
    return found


def _series(model: str, axis: str, args: argparse.Namespace) -> Series:
    usual = SIZES[model][axis]
    try:
        values = tuple(int(text) for text in args.sizes.split(",")) if args.sizes else usual.values
    except ValueError:
        raise ValueError(f"[sizes] expects numbers such as 1,2,4, got {args.sizes!r}") from None
    if len(set(values)) != len(values) or min(values) < 1:
        raise ValueError(f"[sizes] expects different numbers above 0, got {values}")
    start = {BATCH: usual.batch or 1, SEQUENCE: usual.sequence, DEPTH: usual.depth}
    cases = []
    for value in values:
        at = start | {axis: value}
        case = Case(model, at[BATCH], at[SEQUENCE], args.dtype, args.phase, at[DEPTH])
        cases.append(case)
    return Series(model, axis, tuple(cases), values)


def variants_of(modes: Sequence[str], torch: torch_env.TorchPython) -> list[Variant]:
    """Ours in each mode, the first of them again, and PyTorch."""
    ours = [Variant(mode, sys.executable, "oneflow", mode, own_path()) for mode in modes]
    again = replace(ours[0], name=f"{ours[0].name} again", control=ours[0].name)
    theirs = []
    if torch.python:
        theirs.append(Variant(PYTORCH, torch.python, "torch", "fast", (str(ROOT),)))
    return [*ours, again, *theirs]


def measure(
    args: argparse.Namespace,
    series: Sequence[Series],
    torch: torch_env.TorchPython,
    say: Say,
    launcher: Launch = launch.launch,
    clock: Callable[[], float] = time.monotonic,
) -> Json:
    """Times all sizes; the result as JSON values."""
    start, started = clock(), time.time()
    modes = list(dict.fromkeys(args.mode)) or list(MODES)
    variants = variants_of(modes, torch)
    before, threads = host.snapshot(), args.threads or len(host.usable_cpus())
    cases = list(dict.fromkeys(case for one in series for case in one.cases))
    names = {f"{case.model} {case.dtype} {case.phase}" for case in cases}
    effort = Effort(warm=2, least=2, seconds=args.seconds)
    plan = make_plan(cases, dict.fromkeys(names, variants), threads, effort, None)
    # Dropout moves the loss of a few words a lot.
    programs = [
        replace(p, rtol=0.1) if p.name.startswith(tuple(BERTS)) else p for p in plan.programs
    ]
    plan = replace(plan, programs=programs)
    timed = Timed(plan, start + args.budget, args.rounds, say, launcher, clock)
    collector = timed.collect()
    shown = [v.name for v in variants if not v.control]
    controls = make_controls(cases, collector.rounds, modes[0])
    rows = [row for one in series for row in make_rows(one, collector.rounds, shown, controls)]
    return {
        "schema": SCHEMA,
        "rows": rows,
        "controls": controls,
        "variants": shown,
        "modes": modes,
        "failures": collector.failures,
        "rounds": collector.rounds,
        "threads": threads,
        "pytorch": torch.label(),
        "host": {
            "name": host.describe(host.identity()),
            "identity": host.identity(),
            "concerns": host.concerns(before, host.snapshot()),
        },
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(started)),
        "seconds": round(clock() - start, 1),
        "interrupted": timed.interrupted,
        "repeat": repeat(),
    }


def make_rows(
    series: Series, rounds: Sequence[Json], variants: Sequence[str], controls: Mapping[str, float]
) -> list[Json]:
    """A row for each variant that delivered all sizes: points, fit, whether the promise holds."""
    rows, degree = [], DEGREES[series.axis]
    off = max((abs(controls.get(str(case), 1.0) - 1.0) for case in series.cases), default=0.0)
    for variant in variants:
        by_size = [list(figures.times(rounds, str(c), variant).values()) for c in series.cases]
        if not all(by_size):
            continue
        costs = [median(times) for times in by_size]
        found = growth_fit.fit(series.sizes, costs, degree)
        largest = max(series.sizes)
        rows.append(
            {
                "model": series.model,
                "axis": series.axis,
                "cases": [str(case) for case in series.cases],
                "variant": variant,
                "sizes": list(series.sizes),
                "seconds": costs,
                "low": [min(times) for times in by_size],
                "high": [max(times) for times in by_size],
                "rounds": min(len(times) for times in by_size),
                "degree": degree,
                "terms": list(found.terms),
                "shares": found.shares(largest),
                "error": found.error,
                "exponent": growth_fit.exponent(series.sizes, costs),
                "state": growth_fit.state(found, len(costs), off),
            }
        )
    return rows


def make_controls(cases: Sequence[Case], rounds: Sequence[Json], mode: str) -> Json:
    """The first mode against itself: the ratio of each case."""
    found = {}
    for case in cases:
        again = figures.times(rounds, str(case), f"{mode} again")
        ratio = figures.ratio(again, figures.times(rounds, str(case), mode))
        if ratio is not None:
            found[str(case)] = ratio["value"]
    return found


def repeat() -> str:
    """The command that repeats this run."""
    words = sys.argv[1:]
    return shlex.join(["tools/bazel", "run", "//bench:growth", *(["--", *words] if words else [])])


def status(result: Mapping[str, Any]) -> int:
    """The exit status that a result amounts to."""
    failed = {f["variant"].removesuffix(" again") for f in result["failures"]}
    if failed & set(result["modes"]):
        return BROKEN
    if failed:
        return INFRASTRUCTURE
    if not result["rows"]:
        return NOTHING_MEASURED
    ours = [row["state"] for row in result["rows"] if row["variant"] in result["modes"]]
    return REGRESSION if growth_fit.BROKEN in ours else OK


def main(argv: Sequence[str] | None = None) -> int:
    """Measures and prints; returns the exit status."""
    parser = make_parser()
    args = parser.parse_args(argv)
    try:
        series = choose(args)
    except ValueError as error:
        parser.error(str(error))
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    torch = torch_env.find_torch(args.torch_python)

    def say(line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    say(torch.label())
    result = measure(args, series, torch, say)
    args.out.mkdir(parents=True, exist_ok=True)
    write_json(args.out / "growth.json", result)
    (args.out / "growth.md").write_text(growth_page.render(result, "markdown"), encoding="utf-8")
    growth_page.draw(result, args.out / "growth.svg")
    sys.stdout.write(growth_page.render(result, "terminal"))
    say(f"written: {os.path.relpath(args.out)}/growth.json, growth.md, growth.svg")
    return status(result)


if __name__ == "__main__":
    sys.exit(main())
