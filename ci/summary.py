"""The closing line of .ci/run, from the events that Bazel wrote.

    summary.py EVENTS STATUS

Prints `N passed, N failed`, and returns STATUS; 1 if that is 0 although a test failed or none
passed.
"""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Iterable


@dataclasses.dataclass
class Counts:
    """How many test targets passed, and which did not."""

    passed: int = 0
    failed: list[str] = dataclasses.field(default_factory=list)


def count(lines: Iterable[str]) -> Counts:
    """Counts the test targets in the lines of a build event file.

    A test that was configured but has no result (its build failed) counts as failed.
    """
    wanted: set[str] = set()
    passed: set[str] = set()
    for line in lines:
        if not line.strip():
            continue
        event = json.loads(line)
        name = event.get("id", {})
        if "targetConfigured" in name and "testSize" in event.get("configured", {}):
            wanted.add(name["targetConfigured"]["label"])
        if "testSummary" in name:
            label = name["testSummary"]["label"]
            wanted.add(label)
            if event["testSummary"]["overallStatus"] in ("PASSED", "FLAKY"):
                passed.add(label)
    return Counts(len(passed), sorted(wanted - passed))


def report(counts: Counts, status: int) -> tuple[str, int]:
    """The text to print, its last line the closing one, and the exit status."""
    lines = [f"FAILED {label}" for label in counts.failed]
    lines.append(f"{counts.passed} passed, {len(counts.failed)} failed")
    if status == 0 and (counts.failed or not counts.passed):
        status = 1
    return "\n".join(lines), status


def main(args: list[str]) -> int:
    """The script's entry; see the module's text."""
    with open(args[0], encoding="utf-8") as events:
        text, status = report(count(events), int(args[1]))
    print(text)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
