"""The example of each row runs, and prints what it says."""

from __future__ import annotations

import doctest

from tests.ops.samples import each, table

import oneflow as flow
from tools.gen.table import Row

ROWS = [row for row in table() if row.doc.get("example")]


def run_example(name: str, text: str) -> doctest.TestResults:
    """Runs one example by doctest; its report goes to stdout, which pytest shows."""
    test = doctest.DocTestParser().get_doctest(text, {"flow": flow}, name, None, 0)
    return doctest.DocTestRunner().run(test)


@each("row", ROWS)
def test_example(row: Row) -> None:
    result = run_example(row.name, row.doc["example"])
    assert result.attempted > 0
    assert result.failed == 0


def test_a_wrong_example_is_noticed() -> None:
    assert run_example("wrong", ">>> 1 + 1\n3\n").failed == 1


@each("row", [row for row in table() if row.places])
def test_help_shows_signature_and_summary(row: Row) -> None:
    name = row.inplace_name if row.inplace_only else row.python_name
    text = getattr(flow._C, name).__doc__
    assert row.doc["summary"].strip() in text
    assert row.signature.text(name) in text
