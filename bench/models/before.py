"""What is made sure of before anything is timed: that all variants compute the same, and what
PyTorch holds.

* Operations of a step, losses and gradients of the first three steps, dropout off, at full width
and depth but
  small batches: every variant against the reference, which is PyTorch, or else the first one.
* PyTorch's peak bytes, of its own allocator, and which of its settings is faster.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from bench.models.cases import RESNETS, Case, parse
from bench.models.first_steps import differences, tolerance, worst
from bench.models.rounds import FIRST_STEPS, Say, Variant

# Batch norm over one picture of 7 x 7 amplifies rounding most; text costs most time.
CHECK_BATCH = {"resnet50": 4, "bert-base": 2}
CHECK_SEQUENCE = 128
TIMEOUT_S = 900.0
Json = dict[str, Any]
Run = Callable[[Variant, Sequence[str], int], list[Json]]


class CheckError(Exception):
    """Variants do not compute the same, or one of them failed."""


@dataclass
class Before:
    """What was found.

    Attributes:
        checked: for each case that was compared, the operations of a step and the largest
            differences.
        peaks: for each variant and case, bytes.
        seconds: for each variant and case, of one step.
    """

    checked: dict[str, Json] = field(default_factory=dict)
    peaks: dict[str, dict[str, int]] = field(default_factory=dict)
    seconds: dict[str, dict[str, float]] = field(default_factory=dict)

    def faster(self, names: Sequence[str], cases: Sequence[Case]) -> str:
        """The variant that takes least for these cases together."""
        return min(names, key=lambda n: sum(self.seconds[n][str(case)] for case in cases))


def run_first_steps(variant: Variant, words: Sequence[str], threads: int) -> list[Json]:
    """Runs first_steps_main.py in a variant; its lines.

    Raises:
        CheckError: it failed; the text ends with its standard error.
    """
    env = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME")}
    env |= variant.env() | {"OMP_NUM_THREADS": str(threads)}
    command = variant.command(FIRST_STEPS, words)
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, env=env, timeout=TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CheckError(f"{variant.name}: {error}") from None
    if done.returncode != 0:
        end = done.stderr.strip()[-1500:]
        raise CheckError(f"{variant.name}: exit status {done.returncode}: {end}")
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def check_cases(cases: Sequence[Case]) -> list[Case]:
    """One case for each model, dtype and phase, at a batch that is quick to check."""
    found: dict[tuple[str, str, str], Case] = {}
    for case in cases:
        batch = min(case.batch, CHECK_BATCH.get(case.model, case.batch))
        batch = max(batch, 2 if case.model in RESNETS else 1)
        small = replace(case, batch=batch, sequence=min(case.sequence, CHECK_SEQUENCE))
        found.setdefault((case.model, case.dtype, case.phase), small)
    return list(found.values())


def compare(records: Mapping[str, Json], case: Case) -> Json:
    """Compares the records of variants with the first one's.

    Returns:
        `flops` of a step, and for each other variant its largest differences.

    Raises:
        CheckError: they differ by more than is allowed, or no two of them could be counted.
    """
    allowed = tolerance(case)
    (first, want), *others = records.items()
    found: Json = {"flops": want["flops"], "against": first, "variants": {}}
    for name, got in others:
        odd = differences(got, want, allowed)
        if odd:
            raise CheckError(f"{case}: {name} does not compute what {first} does: {odd[0]}")
        found["variants"][name] = worst(got, want, allowed.floor)
        found["flops"] = found["flops"] or got["flops"]
    return found


def check(
    cases: Sequence[Case],
    variants: Mapping[str, Sequence[Variant]],
    threads: int,
    say: Say,
    run: Run = run_first_steps,
) -> Before:
    """Checks each case of `check_cases`, and measures PyTorch's peaks and seconds for all cases.

    Args:
        cases: what will be measured.
        variants: for each program of rounds.programs_of; controls are left out here.
        threads: of every process.
        say: takes lines of progress.
        run: tests replace it.

    Raises:
        CheckError: variants do not compute the same, or one of them failed.
    """
    before = Before()
    for case in check_cases(cases):
        several = variants[f"{case.model} {case.dtype} {case.phase}"]
        several = [v for v in several if not v.control]
        several.sort(key=lambda v: v.library != "torch")  # the reference first
        records = {}
        for variant in several:
            say(f"checking {case.title()}: {variant.name}")
            records[variant.name] = run(variant, [str(case)], threads)[0]["record"]
        before.checked[str(case)] = compare(records, case)
    torches = {v.name: v for several in variants.values() for v in several if v.library == "torch"}
    for name, variant in torches.items():
        mine = [
            str(case)
            for case in cases
            if variant in variants[f"{case.model} {case.dtype} {case.phase}"]
        ]
        say(f"peak bytes: {name}")
        for line in run(variant, [*mine, "--peak"], threads):
            text = str(parse(line["case"]))
            before.peaks.setdefault(name, {})[text] = line["peak"]
            before.seconds.setdefault(name, {})[text] = line["seconds"]
    return before
