"""Runs rows of the table again and again, and says how sure that makes one.

tools/bazel run //python/tests/exit:repeat -- --repeats 50 27 36-queue
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import random
import sys
import time
from collections.abc import Iterable

from tests.exit.failure_rate import upper_bound
from tests.exit.harness import Verdict, run_row, variants
from tests.exit.table import SCENARIOS, Scenario


@dataclasses.dataclass
class Tally:
    """The runs of one row."""

    scenario: Scenario
    runs: int = 0
    seconds: float = 0.0
    cpu: float = 0.0
    failed: list[Verdict] = dataclasses.field(default_factory=list)

    def __str__(self) -> str:
        """One line of the report."""
        bound = upper_bound(len(self.failed), self.runs) * 100
        return (
            f"{self.scenario.name:20} {self.runs:5} runs {len(self.failed):4} failures, "
            f"rate below {bound:6.2f} % (95 %), {self.seconds / self.runs:6.2f} s and "
            f"{self.cpu / self.runs:5.2f} s of processor time each"
        )


def first_seed() -> str:
    """What the seeds of all runs begin with: ONEFLOW_EXIT_SEED, else something new."""
    return os.environ.get("ONEFLOW_EXIT_SEED") or f"{random.SystemRandom().getrandbits(32):08x}"


def repeat(scenario: Scenario, repeats: int, seed: str) -> Tally:
    """Runs a row, each time in its next variant and with a seed of its own."""
    tally = Tally(scenario)
    for number, variant in zip(range(repeats), variants(scenario)):
        started = time.monotonic()
        verdict = run_row(scenario, variant, f"{seed}/{number}")
        tally.seconds += time.monotonic() - started
        tally.cpu += verdict.ended.cpu
        tally.runs += 1
        if not verdict.ok:
            tally.failed.append(verdict)
    return tally


def chosen(names: Iterable[str]) -> list[Scenario]:
    """The rows of the given numbers or names; all for none."""
    wanted = set(names)
    return [s for s in SCENARIOS if not wanted or wanted & {str(s.number), s.name}]


def main() -> int:
    """The command line; the status is 1 where a run failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", nargs="*", help="numbers (27) or names (36-queue); none: all")
    parser.add_argument("--repeats", type=int, default=0, help="0: as in the nightly run")
    parser.add_argument("--seed", default=first_seed())
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    failures = 0
    for scenario in chosen(options.rows):
        tally = repeat(scenario, options.repeats or scenario.nightly_repeats, options.seed)
        print(tally, flush=True)
        for verdict in tally.failed[:3]:
            print(verdict, flush=True)
        failures += len(tally.failed)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
