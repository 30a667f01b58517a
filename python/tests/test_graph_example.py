"""//examples:graph: eager and graph agree, and it prints what it says."""

from __future__ import annotations

import pytest
from tests.support import must_fail

from examples.graph import graph


def agree(eager: float, traced: float) -> None:
    """Both have learned the same."""
    assert abs(eager - traced) < 1e-6 + 0.02 * eager


def test_both_ways_agree(capsys: pytest.CaptureFixture[str]) -> None:
    eager, traced = graph.main(["--steps", "100", "--show"])
    agree(eager, traced)
    text = capsys.readouterr().out
    assert "GRAPH:TrainGraph" in text and "network.0.weight" in text and "graph.py" in text
    assert text.splitlines()[-1].startswith("graph ")


def test_control() -> None:
    must_fail(agree, 0.1, 0.2)
