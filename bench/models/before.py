"""What is made sure of before anything is timed: that all variants compute the same, and what
PyTorch holds.

* Operations of a step, losses and gradients of the first three steps, dropout off, at full width
and depth but
  small batches: every variant against the reference, which is PyTorch, or else the first one; in
  bfloat16 against float32, as far as PyTorch's own bfloat16 is from that (rounding.py).
* PyTorch's peak bytes, of its own allocator, and which of its settings is faster.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from bench.models import first_steps, rounding
from bench.models.cases import RESNETS, Case, parse
from bench.models.rounds import FIRST_STEPS, Say, Variant

# Batch norm over one picture of 7 x 7 amplifies rounding most; text costs most time.
CHECK_BATCH = {"resnet50": 4, "bert-base": 2}
CHECK_SEQUENCE = 128
TIMEOUT_S = 900.0
# What the largest differences of a comparison are.
RELATIVE, SHARES = "largest differences", "shares of what bfloat16 may change"
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
        `flops` of a step, and for each other variant its largest `differences`, relative.

    Raises:
        CheckError: they differ by more than is allowed.
    """
    allowed = first_steps.tolerance(case)
    (first, want), *others = records.items()
    found: Json = {"flops": want["flops"], "against": first, "kind": RELATIVE, "variants": {}}
    for name, got in others:
        odd = first_steps.differences(got, want, allowed)
        if odd:
            raise CheckError(f"{case}: {name} does not compute what {first} does: {odd[0]}")
        found["variants"][name] = first_steps.worst(got, want, allowed.floor)
        found["flops"] = found["flops"] or got["flops"]
    return found


def compare_rounded(
    records: Mapping[str, Json], case: Case, plain: Json, against: str, right: Sequence[str]
) -> Json:
    """Compares the records of variants in bfloat16 with one in float32.

    Args:
        records: of the variants.
        case: what they ran.
        plain: the record in float32.
        against: what that is called.
        right: the variants whose rounding says how far others may be: PyTorch's. If there is none,
            all of them. A variant is not its own measure; who has none is not judged.

    Returns:
        As `compare`; the differences are shares of what is allowed.

    Raises:
        CheckError: one is farther from float32 than is allowed.
    """
    found: Json = {"flops": plain["flops"], "against": against, "kind": SHARES, "variants": {}}
    for name, got in records.items():
        peers = [records[other] for other in right or records if other != name]
        if not peers:
            continue
        allowed = rounding.limits(case, plain, peers)
        odd = rounding.differences(got, plain, allowed)
        if odd:
            raise CheckError(f"{case}: {name} does not compute what {against} does: {odd[0]}")
        found["variants"][name] = rounding.shares(got, plain, allowed)
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

        def recorded(variant: Variant, case: Case) -> Json:
            say(f"checking {case.title()}: {variant.name}")
            found: Json = run(variant, [str(case)], threads)[0]["record"]
            return found

        records = {variant.name: recorded(variant, case) for variant in several}
        if case.dtype == "fp32":
            before.checked[str(case)] = compare(records, case)
            continue
        first = replace(several[0], setting="eager")
        plain = recorded(first, replace(case, dtype="fp32"))
        right = [v.name for v in several if v.library == "torch"]
        before.checked[str(case)] = compare_rounded(
            records, case, plain, f"{first.name} in float32", right
        )
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
