"""The examples in the docstrings."""

from __future__ import annotations

import doctest
import importlib

import pytest

MODULES = ["budget", "cases", "decide", "extract", "guard", "history", "record", "render", "schema"]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    found = doctest.testmod(importlib.import_module(f"ci.perf_bot.{name}"))
    assert found.failed == 0


def test_there_are_examples() -> None:
    modules = [importlib.import_module(f"ci.perf_bot.{name}") for name in MODULES]
    assert sum(doctest.testmod(module).attempted for module in modules) > 12
