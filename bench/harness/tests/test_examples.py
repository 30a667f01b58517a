"""The examples in the docstrings."""

from __future__ import annotations

import doctest
import importlib

import pytest

MODULES = ["analysis", "answers", "estimate", "host", "launch", "plan", "process", "render"]
MODULES += ["result", "sequential", "signed_rank", "verdict"]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    found = doctest.testmod(importlib.import_module(f"bench.harness.{name}"))
    assert found.failed == 0


def test_there_are_examples() -> None:
    modules = [importlib.import_module(f"bench.harness.{name}") for name in MODULES]
    assert sum(doctest.testmod(module).attempted for module in modules) > 25
