"""The closing line of .ci/run, from the events that Bazel wrote.

    summary.py EVENTS STATUS [EVENTS STATUS ...]

One pair for each run of Bazel. Prints `N passed, N failed`, and `, N skipped` for test targets that
no run could build for its configuration. Returns the first STATUS that is not 0; 1 if all are 0
although a test failed or none passed.
"""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Iterable


@dataclasses.dataclass
class Counts:
    """Labels of test targets, by what became of them; each is in one of the three."""

    passed: set[str] = dataclasses.field(default_factory=set)
    failed: set[str] = dataclasses.field(default_factory=set)
    skipped: set[str] = dataclasses.field(default_factory=set)


def count(lines: Iterable[str]) -> Counts:
    """Sorts the targets in the lines of a build event file.

    A target that could not be built has failed, be it a test or what a test needs, and so has a
    test that was announced and has no result. A test that Bazel skipped as made for another
    configuration is skipped; one that its tags left out does not count.
    """
    tests: set[str] = set()
    announced: set[str] = set()
    counts = Counts()
    for event in [json.loads(line) for line in lines if line.strip()]:
        name = event.get("id", {})
        announced |= {
            c["testSummary"]["label"] for c in event.get("children", ()) if "testSummary" in c
        }
        if "targetConfigured" in name and "testSize" in event.get("configured", {}):
            tests.add(name["targetConfigured"]["label"])
        elif "targetCompleted" in name and event.get("aborted", {}).get("reason") == "SKIPPED":
            counts.skipped.add(name["targetCompleted"]["label"])
        elif "targetCompleted" in name and not event.get("completed", {}).get("success"):
            counts.failed.add(name["targetCompleted"]["label"])
        elif "testSummary" in name:
            passed = event.get("testSummary", {}).get("overallStatus") in ("PASSED", "FLAKY")
            (counts.passed if passed else counts.failed).add(name["testSummary"]["label"])
    counts.failed |= announced - counts.passed
    counts.skipped &= tests - counts.failed - counts.passed
    return counts


def merge(runs: Iterable[Counts]) -> Counts:
    """One count for several runs: a target that failed in any has failed; one that ran in any was
    not skipped.
    """
    total = Counts()
    for run in runs:
        total.passed |= run.passed
        total.failed |= run.failed
        total.skipped |= run.skipped
    total.passed -= total.failed
    total.skipped -= total.passed | total.failed
    return total


def report(counts: Counts, status: int) -> tuple[str, int]:
    """The text to print, its last line the closing one, and the exit status."""
    lines = [f"FAILED {label}" for label in sorted(counts.failed)]
    closing = f"{len(counts.passed)} passed, {len(counts.failed)} failed"
    if counts.skipped:
        closing += f", {len(counts.skipped)} skipped"
    if status == 0 and (counts.failed or not counts.passed):
        status = 1
    return "\n".join([*lines, closing]), status


def main(args: list[str]) -> int:
    """The script's entry; see the module's text."""
    runs = []
    for path in args[::2]:
        with open(path, encoding="utf-8") as events:
            runs.append(count(events))
    status = next((int(s) for s in args[1::2] if int(s) != 0), 0)
    text, status = report(merge(runs), status)
    print(text)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
