"""What kills the process with OneFlow kills nothing here, until its fault is planted.

Bad input of every entry is tried in python/tests/test_errors.py and, for each op of the table, in
python/tests/ops/test_bad_input.py; test_watched.py runs those under its watch.
"""

from __future__ import annotations

import pytest
from tests.faults import interpose
from tests.faults.faulty import Ended
from tests.faults.killers import GOES_ON, KILLERS, PRELUDE, WENT_ON, Killer
from tests.support import must_fail

BY_TITLE = [pytest.param(killer, id=killer.title) for killer in KILLERS]


def ended(killer: Killer, fault: str | None) -> tuple[Ended, list[interpose.Call]]:
    return interpose.run(PRELUDE + killer.program + GOES_ON, fault)


def check(killer: Killer, end: Ended, calls: list[interpose.Call]) -> None:
    """It caught exceptions, went on, ended with status 0, and nobody ended it from within."""
    assert interpose.forbidden(calls) == []
    assert (end.status, end.stderr) == (0, "")
    at = 0
    for word in killer.words:
        assert word in end.stdout[at:], end.stdout
        at = end.stdout.index(word, at) + len(word)
    assert end.stdout.endswith(WENT_ON)


@pytest.mark.parametrize("killer", BY_TITLE)
def test_nothing_kills(killer: Killer) -> None:
    check(killer, *ended(killer, None))


@pytest.mark.parametrize("killer", BY_TITLE)
def test_a_plant_kills(killer: Killer) -> None:
    end, calls = ended(killer, killer.fault)
    must_fail(check, killer, end, calls)
    if killer.dies_by is None:
        assert (end.status, end.stdout) == (0, "no exception\n" + WENT_ON)
        return
    assert end.status == -killer.dies_by, end
    assert not end.stdout.endswith(WENT_ON)
    assert len(interpose.forbidden(calls)) == (1 if killer.dies_by.name == "SIGABRT" else 0)
