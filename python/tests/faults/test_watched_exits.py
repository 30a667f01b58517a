"""Every way out of a program, while somebody watches who ends it: our code in one place only."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from tests.exit import harness
from tests.exit.table import SCENARIOS, Scenario
from tests.faults import interpose

# The embedding ones load a library of their own in front of the interpreter.
WATCHED = [row for row in SCENARIOS if row.start != "embed"]


@pytest.mark.parametrize("row", WATCHED, ids=lambda row: row.name)
def test_only_the_one_place_ends_it(row: Scenario, tmp_path: Path) -> None:
    log = tmp_path / "log"
    watch = {"LD_PRELOAD": str(interpose.LIBRARY), "ONEFLOW_INTERPOSE_LOG": str(log)}
    # How long it takes is measured elsewhere.
    slow = dataclasses.replace(row, wall=100.0, cpu=100.0)
    watch["ONEFLOW_SHUTDOWN_TIMEOUT_SECONDS"] = "100"
    verdict = harness.run_row(slow, harness.Variant(), "0", watch)
    calls = interpose.parse(log.read_text() if log.exists() else "")
    assert interpose.forbidden(calls) == [], verdict
    assert verdict.ok, verdict
