"""The seam: faults are planted in the package with faults, and nowhere else."""

from __future__ import annotations

from pathlib import Path

from tests.faults import faulty

import oneflow as production

EXTENSION = Path(str(production._oneflow_internal.__file__))


def test_a_program_runs_on_the_package_with_faults() -> None:
    ended = faulty.run("print(flow.__file__, (flow.ones(2) + 1).tolist())", "none")
    assert ended.stdout == f"{faulty.PACKAGE}/oneflow/__init__.py [2.0, 2.0]\n", ended.stderr
    assert (ended.status, ended.stderr) == (0, "")


def test_a_wrong_name_is_an_error_of_the_import() -> None:
    ended = faulty.run("print('imported')", "kernel_error_escape")
    assert (ended.status, ended.stdout) == (1, "")
    assert "ValueError: ONEFLOW_PLANTED_FAULT expects one of none, calls_abort," in ended.stderr
    assert "got kernel_error_escape\n" in ended.stderr


def test_a_fault_is_planted() -> None:
    assert faulty.run("print('imported')", "calls_exit").status == 7
    assert faulty.run("print('imported')", "none") == faulty.Ended(0, "imported\n", "")


def test_production_knows_no_faults() -> None:
    """Nothing that users get can be made to misbehave from outside."""
    names = [faulty.VARIABLE.encode(), b"PLANTED", b"calls_quick_exit"]
    content = EXTENSION.read_bytes()
    assert [name for name in names if name in content] == []
    for path in EXTENSION.parent.rglob("*.py*"):
        assert faulty.VARIABLE not in path.read_text(), path


def test_control() -> None:
    """What must not be found in production is found where it is."""
    content = (faulty.PACKAGE / "oneflow" / "_oneflow_internal.so").read_bytes()
    assert faulty.VARIABLE.encode() in content and b"calls_quick_exit" in content
