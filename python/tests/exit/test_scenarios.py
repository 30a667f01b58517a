"""Every row of the table, several times; prints how sure that makes one."""

from __future__ import annotations

import os

import pytest
from tests.exit.harness import sanitizer
from tests.exit.repeat import first_seed, repeat
from tests.exit.table import SCENARIOS, Scenario

# 0: as often as the table says for the nightly run.
REPEATS = int(os.environ.get("ONEFLOW_EXIT_REPEATS", "2" if sanitizer() else "5"))
SEED = first_seed()


@pytest.mark.parametrize(
    "scenario", [s for s in SCENARIOS if s.sanitizer or not sanitizer()], ids=lambda s: s.name
)
def test_way_out(scenario: Scenario, capsys: pytest.CaptureFixture[str]) -> None:
    tally = repeat(scenario, REPEATS or scenario.nightly_repeats, SEED)
    with capsys.disabled():
        print(f"\n{tally}, seed {SEED}", end="", flush=True)
    assert not tally.failed, "\n".join(map(str, tally.failed[:5]))
