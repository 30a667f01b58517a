"""The table of faults is complete, and what it names exists."""

from __future__ import annotations

import re

import pytest
from tests.faults.catalogue import CATALOGUE, Row

from tools.checks import workspace

ROOT = workspace.root()
HEADER = "oneflow/common/planted_fault.h"
_LINE = re.compile(r"\bX\((k\w+), \"(\w+)\"\)")


def faults(header: str) -> dict[str, str]:
    """Name to enumerator, of every line of the list."""
    return {name: enumerator for enumerator, name in _LINE.findall(header)}


def sources() -> dict[str, str]:
    """The text of what may plant a fault, by path."""
    paths = workspace.files(ROOT, (".cc", ".h", ".cu", ".py"))
    wanted = [p for p in paths if p.parts[0] in ("oneflow", "python") and str(p) != HEADER]
    return {str(path): (ROOT / path).read_text() for path in wanted}


def unplanted(known: dict[str, str], texts: dict[str, str]) -> list[str]:
    """Faults that no code asks about."""
    plants = "\n".join(
        text
        for path, text in texts.items()
        if not re.search(r"_test\.cc$|planted_faults_testlib\.h$|(catalogue|test_\w+)\.py$", path)
    )
    used = set(re.findall(r"\bFault::(k\w+)", plants)) | set(re.findall(r'"(\w+)":', plants))
    return [name for name, enumerator in known.items() if not {name, enumerator} & used]


def missing(row: Row) -> list[str]:
    """What should turn red and does not exist."""
    result = []
    for red in row.red:
        path, _, name = red.partition("::")
        text = (ROOT / path).read_text() if (ROOT / path).is_file() else ""
        if path.endswith(".cc"):
            suite, _, test = name.partition(".")
            found = re.search(rf"TEST(_\w)?\({suite}, {test}\)", text)
        else:
            found = re.search(rf"^(def {name}\(|{name} = )", text, re.M)
        if not found:
            result.append(red)
    return result


def test_every_fault_has_a_row() -> None:
    known = faults((ROOT / HEADER).read_text())
    assert len(known) > 5
    assert [row.name for row in CATALOGUE] == list(known)


def test_every_fault_is_planted() -> None:
    assert unplanted(faults((ROOT / HEADER).read_text()), sources()) == []


@pytest.mark.parametrize("row", CATALOGUE, ids=lambda row: row.name)
def test_what_turns_red_exists(row: Row) -> None:
    assert row.red and missing(row) == []
    assert len(row.oneflow) > 10 and len(row.planted) > 10


def test_control() -> None:
    header = 'X(kA, "a_fault") X(kB, "b_fault") \\\n  X(kC, "c_fault")'
    known = faults(header)
    assert known == {"a_fault": "kA", "b_fault": "kB", "c_fault": "kC"}
    texts = {
        "oneflow/vm/x.cc": "if (FaultPlanted(Fault::kA)) {",
        "oneflow/vm/x_test.cc": "ScopedFault planted(Fault::kB);",
        "python/tests/faults/python_plants.py": 'PLANTS = {"c_fault": f}',
    }
    assert unplanted(known, texts) == ["b_fault"]
    here = "python/tests/faults/test_catalogue.py"
    there = "oneflow/common/planted_faults_testlib_test.cc"
    good = (f"{here}::test_control", f"{there}::PlantedFaults.AWrongNameIsAnError")
    bad = (f"{here}::test_nothing", f"{there}::PlantedFaults.Nothing", "python/none.py::test_x")
    assert missing(Row("x", "x", "x", good + bad)) == list(bad)
