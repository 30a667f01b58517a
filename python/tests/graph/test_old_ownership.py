"""A build in which graphs are closed after the threads that run them: the scripts must notice."""

from __future__ import annotations

import pytest
from tests.faults import faulty
from tests.graph import test_lifetime
from tests.support import must_fail

FAULT = "graphs_outlive_threads"
TESTS = (
    test_lifetime.test_order_at_a_normal_end,
    test_lifetime.test_order_after_unittest,
    test_lifetime.test_order_after_an_exception,
)


def plant(monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    """Programs that are run from now on meet the fault."""
    monkeypatch.syspath_prepend(str(faulty.PACKAGE))
    monkeypatch.setenv(faulty.VARIABLE, fault)


@pytest.mark.parametrize("test", TESTS)
def test_the_scripts_turn_red(monkeypatch: pytest.MonkeyPatch, test: object) -> None:
    plant(monkeypatch, FAULT)
    must_fail(test)  # type: ignore[arg-type]


def test_they_are_green_without(monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, "none")
    for test in TESTS:
        test()
