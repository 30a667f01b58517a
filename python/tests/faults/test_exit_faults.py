"""Each of OneFlow's faults at the exits, planted, turns a named way out red."""

from __future__ import annotations

import dataclasses
import os
import sys
from pathlib import Path

import pytest
from tests.exit import harness
from tests.exit.table import PROGRAMS
from tests.faults import faulty
from tests.faults.catalogue import CATALOGUE, EXIT
from tests.faults.exit_faults import EXIT_FAULTS, ExitFault

BY_FAULT = [pytest.param(fault, id=f"{fault.fault}-{fault.row}") for fault in EXIT_FAULTS]


def leave(fault: ExitFault, planted: bool) -> harness.Verdict:
    """How the fault's way out ends on the package with faults."""
    # Where it ends at all, how long it takes on a busy machine says nothing about the fault.
    seconds = fault.seconds if planted and fault.seconds is not None else 100.0
    scenario = dataclasses.replace(fault.scenario(), wall=seconds, cpu=100.0)
    env = {
        "PYTHONPATH": os.pathsep.join([str(PROGRAMS), str(faulty.PACKAGE), *sys.path]),
        "ONEFLOW_SHUTDOWN_TIMEOUT_SECONDS": fault.timeout if planted else "100",
        faulty.VARIABLE: fault.fault if planted else "none",
    }
    variant = harness.Variant(fault.mode)
    verdict = harness.run_row(scenario, variant, "0", env, program=fault.program())
    for name in verdict.ended.shared:
        (Path("/dev/shm") / name).unlink()
    return verdict


@pytest.mark.parametrize("fault", BY_FAULT)
def test_a_plant_turns_it_red(fault: ExitFault) -> None:
    for _ in range(fault.attempts):
        verdict = leave(fault, planted=True)
        if not verdict.ok:
            break
    assert fault.red <= verdict.checks(), verdict
    if fault.status is not None:
        assert verdict.ended.status == fault.status, verdict


@pytest.mark.parametrize("fault", BY_FAULT)
def test_it_is_green_without(fault: ExitFault) -> None:
    """It is the fault that turns it red, not the package with faults."""
    verdict = leave(fault, planted=False)
    assert verdict.ok, verdict


def test_every_fault_of_the_catalogue_has_a_way_out() -> None:
    at_exit = [row.name for row in CATALOGUE if row.red == EXIT]
    assert [fault.fault for fault in EXIT_FAULTS] == at_exit
