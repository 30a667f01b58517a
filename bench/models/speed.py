"""ResNet-50 and BERT against PyTorch, in one command: `tools/bazel run //bench:speed`.

First it makes sure that all variants compute the same; then rounds of processes are timed until the
budget is used up, the convolutions and products alone among them. It prints a table, and leaves
`speed.json` (all that was measured), `speed.md` and `speed.svg` in `--out`.

Exit status: 0 measured; 2 usage; 3 nothing measured; 4 a reference failed; 5 a variant of ours
failed, or does not compute what the others do.
"""

from __future__ import annotations

import argparse
import os
import shlex
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.harness import host, launch, torch_env
from bench.harness.result import BROKEN, INFRASTRUCTURE, NOTHING_MEASURED, OK, user_path, write_json
from bench.harness.runner import Launch
from bench.models import before as before_module
from bench.models import cases as cases_module
from bench.models import figures, limits, page, picture
from bench.models.before import Before, CheckError
from bench.models.cases import Case
from bench.models.figures import COMPILED
from bench.models.rounds import (
    ALONE,
    LIMITS,
    ROOT,
    Effort,
    Say,
    Timed,
    Variant,
    make_plan,
    own_path,
    programs_of,
)

SCHEMA = "oneflow-speed/1"
MODES = ("graph", "eager")
# PyTorch's settings by the name in the table.
PYTORCH = {"PyTorch": "eager", "PyTorch fast": "fast", COMPILED: "compile"}
ABOUT = {
    "PyTorch": "eager, contiguous; AdamW with foreach",
    "PyTorch fast": "eager, channels_last; fused optimizers",
    COMPILED: "torch.compile of that, frozen for inference",
}
FASTEST = "PyTorch's fastest"
Json = dict[str, Any]


def make_parser() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(prog="speed", description=(__doc__ or "").split("\n")[0])
    add_case_arguments(parser)
    parser.add_argument(
        "--budget", type=float, default=570.0, metavar="SECONDS", help="for all of it"
    )
    parser.add_argument("--rounds", type=int, help="at most so many")
    parser.add_argument("--seconds", type=float, default=0.6, help="timed at least in each process")
    parser.add_argument(
        "--all-settings", action="store_true", help="time each of PyTorch's settings"
    )
    parser.add_argument("--compiled", action="store_true", help="torch.compile, too; takes minutes")
    parser.add_argument("--threads", type=int, help="default: one for each usable core")
    parser.add_argument("--out", type=user_path, default=user_path("bench-speed"), metavar="FOLDER")
    parser.add_argument("--format", choices=("terminal", "markdown"), default="terminal")
    torch_env.add_arguments(parser)
    return parser


def add_case_arguments(parser: argparse.ArgumentParser) -> None:
    """The options that choose cases."""
    models = cases_module.MODELS
    parser.add_argument(
        "--case", action="append", default=[], help=f"of {', '.join(models)}, or a whole one"
    )
    parser.add_argument("--batch", type=int, action="append", default=[])
    parser.add_argument("--dtype", choices=cases_module.DTYPES, action="append", default=[])
    parser.add_argument("--phase", choices=cases_module.PHASES, action="append", default=[])
    parser.add_argument("--mode", choices=MODES, action="append", default=[])


def choose_cases(args: argparse.Namespace, usual: Sequence[str]) -> list[Case]:
    """The cases that the options mean.

    Args:
        args: the command line.
        usual: models where none is named.

    Raises:
        ValueError: an option is no case.
    """
    found: list[Case] = []
    for text in args.case or usual:
        if ":" in text:
            found.append(cases_module.parse(text))
            continue
        if text not in cases_module.MODELS:
            raise ValueError(f"[case] expects one of {cases_module.MODELS}, got {text!r}")
        for dtype in args.dtype or ["fp32"]:
            for phase in args.phase or ["train"]:
                several = cases_module.usual(text, dtype, phase)
                if args.batch:
                    sequence = several[0].sequence
                    several = [Case(text, b, sequence, dtype, phase) for b in args.batch]
                found += several
    return list(dict.fromkeys(found))


def variants_of(
    names: Sequence[str],
    modes: Sequence[str],
    torch: torch_env.TorchPython,
    settings: Sequence[str],
) -> dict[str, list[Variant]]:
    """The variants of each program: ours, the first of ours again, and PyTorch's settings."""
    ours = [Variant(mode, sys.executable, "oneflow", mode, own_path()) for mode in modes]
    first = modes[0]
    again = Variant(f"{first} again", sys.executable, "oneflow", first, own_path(), control=first)
    theirs = [
        Variant(name, torch.python, "torch", PYTORCH[name], (str(ROOT),))
        for name in settings
        if torch.python
    ]
    return {name: [*ours, again, *theirs] for name in names}


def keep_fastest(
    variants: Mapping[str, list[Variant]], before: Before, cases: Sequence[Case]
) -> tuple[dict[str, list[Variant]], list[str]]:
    """Of PyTorch's eager settings the fastest for each program, under one name, and the compiled
    one; and which the fastest are.
    """
    kept, notes = {}, []
    for name, mine in programs_of(cases).items():
        eager = [v for v in variants[name] if v.library == "torch" and v.name != COMPILED]
        best = before.faster([v.name for v in eager], mine) if eager else ""
        kept[name] = [v for v in variants[name] if v not in eager]
        for v in variants[name]:
            if v.name == best:
                renamed = Variant(FASTEST, v.python, v.library, v.setting, v.path)
                kept[name].append(renamed)
                peaks, seconds = before.peaks, before.seconds
                peaks.setdefault(FASTEST, {}).update({str(c): peaks[best][str(c)] for c in mine})
                seconds.setdefault(FASTEST, {}).update(
                    {str(c): seconds[best][str(c)] for c in mine}
                )
                notes.append(f"{name}: {ABOUT[best]}")
    return kept, notes


def choose_references(
    args: argparse.Namespace,
    cases: Sequence[Case],
    variants: Mapping[str, list[Variant]],
    before: Before,
) -> tuple[Mapping[str, list[Variant]], list[str], dict[str, str]]:
    """Which of PyTorch's settings are timed: the fastest eager one and the compiled one if it is
    among them, or with --all-settings all; variants, names (faster ones first), what they are.
    """
    known = {v.name for several in variants.values() for v in several if v.library == "torch"}
    references = [name for name in PYTORCH if name in known]
    if args.all_settings or not references:
        references.sort(key=lambda n: sum(before.seconds[n].values()))
        return variants, references, {n: ABOUT[n] for n in references}
    variants, notes = keep_fastest(variants, before, cases)
    references = [FASTEST, *(n for n in references if n == COMPILED)]
    labels = {n: ABOUT[n] for n in references if n == COMPILED}
    return variants, references, {FASTEST: "; ".join(notes), **labels}


def measure(
    args: argparse.Namespace,
    cases: Sequence[Case],
    torch: torch_env.TorchPython,
    say: Say,
    launcher: Launch = launch.launch,
    run: before_module.Run = before_module.run_first_steps,
    clock: Callable[[], float] = time.monotonic,
) -> Json:
    """Checks and times; the result as JSON values.

    Raises:
        CheckError: variants do not compute the same, or one failed while that was looked at.
    """
    start, started = clock(), time.time()
    modes = list(dict.fromkeys(args.mode)) or list(MODES)
    threads = args.threads or len(host.usable_cpus())
    settings = [n for n in PYTORCH if n != COMPILED or args.compiled]
    several = variants_of(list(programs_of(cases)), modes, torch, settings)
    state = host.snapshot()
    found = before_module.check(cases, several, threads, say, run)
    variants, references, labels = choose_references(args, cases, several, found)
    labels = {"pytorch": torch.label(), **labels}
    with tempfile.TemporaryDirectory() as folder:
        spec = Path(folder) / "spec"
        spec.write_text(limits.spec(list(cases)), encoding="ascii")
        effort = Effort(seconds=args.seconds)
        plan = make_plan(cases, variants, threads, effort, spec if LIMITS.exists() else None)
        timed = Timed(plan, start + args.budget, args.rounds, say, launcher, clock)
        collector = timed.collect()
    after = host.snapshot()
    rows = [
        figures.make_row(case, collector.rounds, modes, references, found.peaks) for case in cases
    ]
    return {
        "schema": SCHEMA,
        "rows": rows,
        "modes": modes,
        "references": references,
        "checked": found.checked,
        "labels": labels,
        "failures": collector.failures,
        "rounds": collector.rounds,
        "threads": threads,
        "host": {
            "name": host.describe(host.identity()),
            "identity": host.identity(),
            "concerns": host.concerns(state, after),
        },
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(started)),
        "seconds": round(clock() - start, 1),
        "interrupted": timed.interrupted,
        "repeat": repeat(),
    }


def repeat() -> str:
    """The command that repeats this run."""
    words = sys.argv[1:]
    return shlex.join(["tools/bazel", "run", "//bench:speed", *(["--", *words] if words else [])])


def status(result: Mapping[str, Any]) -> int:
    """The exit status that a result amounts to."""
    failed = {f["variant"] for f in result["failures"]}
    if any(name.removesuffix(" again") in result["modes"] for name in failed):
        return BROKEN
    if failed - {ALONE}:
        return INFRASTRUCTURE
    measured = any(value for row in result["rows"] for value in row["seconds"].values())
    return OK if measured else NOTHING_MEASURED


def main(argv: Sequence[str] | None = None) -> int:
    """Measures and prints; returns the exit status."""
    parser = make_parser()
    args = parser.parse_args(argv)
    try:
        cases = choose_cases(args, ("resnet50", "bert-base"))
    except ValueError as error:
        parser.error(str(error))
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    torch = torch_env.find_torch(args.torch_python)

    def say(line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    say(torch.label())
    try:
        result = measure(args, cases, torch, say)
    except CheckError as error:
        print(f"speed: {error}", file=sys.stderr)
        return BROKEN
    args.out.mkdir(parents=True, exist_ok=True)
    write_json(args.out / "speed.json", result)
    (args.out / "speed.md").write_text(page.render(result, "markdown"), encoding="utf-8")
    picture.draw(result, args.out / "speed.svg")
    sys.stdout.write(page.render(result, args.format))
    say(f"written: {os.path.relpath(args.out)}/speed.json, speed.md, speed.svg")
    return status(result)


if __name__ == "__main__":
    sys.exit(main())
