"""The main of every Python test: runs pytest over the files that it is given.

No test at all is a failure (pytest's own status 5), and so is one that was skipped or is expected
to fail: neither is allowed here.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any

import pytest


class NoSkips:
    """Turns a skipped or expected failure into a failure, so that a green run means that every
    test ran.
    """

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Iterator[None]:
        """Rewrites the report of one phase of a test."""
        outcome: Any = yield
        report = outcome.get_result()
        if report.skipped:
            report.outcome = "failed"
            report.longrepr = f"{item.nodeid} was skipped: {report.longrepr}"


def main() -> int:
    """Runs pytest; returns its status."""
    arguments = ["-p", "no:cacheprovider", "-q", "-rf", "--import-mode=importlib"]
    arguments.append(f"--rootdir={os.getcwd()}")
    xml = os.environ.get("XML_OUTPUT_FILE")
    if xml:
        arguments.append(f"--junitxml={xml}")
    chosen = os.environ.get("TESTBRIDGE_TEST_ONLY")
    if chosen:
        arguments += ["-k", chosen]
    return int(pytest.main(arguments + sys.argv[1:], plugins=[NoSkips()]))


if __name__ == "__main__":
    sys.exit(main())
