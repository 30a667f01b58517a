"""Every op of the case file by size against PyTorch: `tools/bazel run //bench:sizes`.

Prints the harness's table, and below it for each family and size class the geometric mean of the
speeds, and the slowest case. A case's speed is that against PyTorch's faster form, with or without
a result that was there.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from bench import variants
from bench.harness import render, runner
from bench.harness.plan import Plan, Row
from bench.harness.result import STATUS_NAMES, write_json
from bench.ops.cases import FAMILIES, SIZES, metric, out_metric

Json = dict[str, Any]
TARGET_MEAN, TARGET_EACH = 1.1, 0.8


def make_plan(args: argparse.Namespace) -> Plan:
    """The plan: a program for each family, a row for each case and size."""
    plan = Plan([], [])
    programs = []
    for family in args.family or FAMILIES:
        words = [family, *(args.size or SIZES)]
        plan = variants.make_plan(
            "sizes", "ops/cases_main.py", words, _rows(family, args), {}, args
        )
        program = replace(plan.programs[0], name=family, rtol=1e-2, atol=1e-4, timeout_s=1800.0)
        if args.pairs:  # a first look has no verdicts, and so no control
            program = replace(program, commands={**program.commands, "head again": None})
        programs.append(program)
    return replace(plan, programs=programs)


def _rows(family: str, args: argparse.Namespace) -> list[Row]:
    rows = []
    for case in FAMILIES[family]:
        for size in case.sizes:
            if args.size and size not in args.size:
                continue
            rows.append(Row(metric(case, size), metric(case, size), target=TARGET_EACH))
            if case.out:
                rows.append(Row(out_metric(case, size), out_metric(case, size)))
    return rows


def speeds(result: Json) -> dict[tuple[str, str], dict[str, float]]:
    """(family, size) to the speed of each of its cases."""
    found: dict[tuple[str, str], dict[str, float]] = {}
    for row in result["rows"]:
        name, size = row["metric"].split(" / ")[:2]
        for comparison in row["comparisons"]:
            if comparison["reference"] == "pytorch" and comparison.get("speed"):
                cases = found.setdefault((row["program"], size), {})
                cases[name] = min(cases.get(name, math.inf), comparison["speed"])
    return found


def weighted_mean(family: str, cases: dict[str, float]) -> float:
    """The geometric mean of the speeds, by the case file's weights."""
    weights = {case.name: case.weight for case in FAMILIES[family]}
    total = sum(weights[name] for name in cases)
    return math.exp(sum(weights[name] * math.log(speed) for name, speed in cases.items()) / total)


def summary(result: Json) -> str:
    """A table in Markdown: family, size class, mean, slowest case, cases below the least."""
    lines = [
        "",
        f"Speed against PyTorch's faster form; targets: mean {TARGET_MEAN}, each {TARGET_EACH}.",
        "",
        "| family | size | cases | geometric mean | slowest | below the least |",
        "|---|---|---|---|---|---|",
    ]
    order = {size: i for i, size in enumerate(SIZES)}
    found = speeds(result)
    for family, size in sorted(found, key=lambda key: (key[0], order[key[1]])):
        cases = found[family, size]
        slowest = min(cases, key=lambda name: cases[name])
        low = sorted((speed, name) for name, speed in cases.items() if speed < TARGET_EACH)
        lines.append(
            f"| {family} | {size} | {len(cases)} | {weighted_mean(family, cases):.2f} | "
            f"{slowest} {cases[slowest]:.2f} | {', '.join(f'{n} {s:.2f}' for s, n in low)} |"
        )
    return "\n".join(lines) + "\n"


def main(argv: Sequence[str] | None = None) -> int:
    """Measures and prints."""
    parser = variants.make_parser(__doc__)
    parser.add_argument("--family", action="append", choices=list(FAMILIES))
    parser.add_argument("--size", action="append", choices=list(SIZES))
    args = parser.parse_args(argv)
    say = (lambda line: None) if args.quiet else (lambda line: print(line, file=sys.stderr))
    plan = runner.apply_arguments(make_plan(args), args)
    result = runner.run_plan(plan, say=say)
    if args.out:
        write_json(args.out, result)
    sys.stdout.write(render.render(result, args.format) + summary(result))
    return next(code for code, name in STATUS_NAMES.items() if name == result["status"])


if __name__ == "__main__":
    sys.exit(main())
