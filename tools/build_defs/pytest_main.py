"""The main of every Python test: runs pytest over the files that it is given.

No test at all is a failure (pytest's own status 5), and so is one that was skipped or is expected
to fail: neither is allowed here.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
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
        expected_to_fail = hasattr(report, "wasxfail")
        if expected_to_fail:
            del report.wasxfail  # pytest does not count a failure that has it
        if report.skipped or expected_to_fail:
            report.outcome = "failed"
            report.longrepr = f"{item.nodeid} was skipped or expected to fail: {report.longrepr}"


class Shard:
    """Runs every n-th test, where Bazel divides a target that has a `shard_count`."""

    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Keeps what is this shard's part."""
        total = int(os.environ.get("TEST_TOTAL_SHARDS", "1"))
        index = int(os.environ.get("TEST_SHARD_INDEX", "0"))
        if "TEST_SHARD_STATUS_FILE" in os.environ:
            Path(os.environ["TEST_SHARD_STATUS_FILE"]).touch()
        config.hook.pytest_deselected(
            items=[item for n, item in enumerate(items) if n % total != index]
        )
        items[:] = items[index::total]


def preload_sanitizer() -> None:
    """Starts this program again with the sanitizer's runtime loaded first, as extension modules
    need.

    The interpreter is not built with a sanitizer; `--config=asan` and `tsan` name theirs in
    ONEFLOW_SANITIZER, which stays set: tests are gentler then with time.
    """
    name = os.environ.get("ONEFLOW_SANITIZER", "")
    if name and "LD_PRELOAD" not in os.environ:
        # libstdc++ too: the runtime looks for its `throw` at the start, and the interpreter is
        # plain C.
        libraries = [_library(f"lib{name}.so"), _library("libstdc++.so")]
        environment = dict(os.environ, LD_PRELOAD=":".join(libraries))
        os.execve(sys.executable, [sys.executable, *sys.argv], environment)


def _library(name: str) -> str:
    """The path of one of the compiler's own libraries."""
    command = [os.environ.get("CC") or "gcc", f"-print-file-name={name}"]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    return os.path.realpath(result.stdout.strip())


def main() -> int:
    """Runs pytest; returns its status."""
    preload_sanitizer()
    arguments = ["-p", "no:cacheprovider", "-q", "-rf", "--import-mode=importlib"]
    arguments.append(f"--rootdir={os.getcwd()}")
    xml = os.environ.get("XML_OUTPUT_FILE")
    if xml:
        arguments.append(f"--junitxml={xml}")
    chosen = os.environ.get("TESTBRIDGE_TEST_ONLY")
    if chosen:
        arguments += ["-k", chosen]
    return int(pytest.main(arguments + sys.argv[1:], plugins=[NoSkips(), Shard()]))


if __name__ == "__main__":
    sys.exit(main())
