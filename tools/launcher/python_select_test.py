"""The interpreter is found on PATH and in pyenv, and a wrong wish is a clear error."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tools.launcher import python_select
from tools.launcher.errors import LauncherError


def fake_python(path: Path, version: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho '{version} {path}'\n")
    path.chmod(0o755)
    return path


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", f"{tmp_path}/old{os.pathsep}{tmp_path}/bin")
    monkeypatch.setenv("PYENV_ROOT", f"{tmp_path}/pyenv")
    fake_python(tmp_path / "old/python3", "3.9")
    return tmp_path


def test_default_is_the_first_new_enough_on_path(machine: Path) -> None:
    python = fake_python(machine / "bin/python3", "3.11")
    assert python_select.select(None) == python


def test_default_falls_back_to_the_newest_of_pyenv(machine: Path) -> None:
    fake_python(machine / "pyenv/versions/3.10.13/bin/python3", "3.10")
    python = fake_python(machine / "pyenv/versions/3.12.1/bin/python3", "3.12")
    assert python_select.select(None) == python


def test_a_version_on_path_goes_before_pyenv(machine: Path) -> None:
    python = fake_python(machine / "bin/python3.12", "3.12")
    fake_python(machine / "pyenv/versions/3.12.1/bin/python3", "3.12")
    assert python_select.select("3.12") == python


def test_the_newest_patch_of_pyenv(machine: Path) -> None:
    fake_python(machine / "pyenv/versions/3.12.9/bin/python3", "3.12")
    python = fake_python(machine / "pyenv/versions/3.12.10/bin/python3", "3.12")
    fake_python(machine / "pyenv/versions/3.1.2/bin/python3", "3.1")
    assert python_select.select("3.12") == python


def test_a_path(machine: Path) -> None:
    python = fake_python(machine / "any/name", "3.13")
    assert python_select.select(str(python)) == python


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ("3.9", "expects 3.10 to 3.13, got 3.9"),
        ("3.14", "expects 3.10 to 3.13, got 3.14"),
        ("three", "expects a version such as 3.12"),
        ("3.11", "no Python 3.11 on PATH or in pyenv"),
        ("/no/such", "/no/such is no Python interpreter"),
        (None, "no Python 3.10 to 3.13"),
    ],
)
def test_a_wrong_wish(wanted: str | None, message: str) -> None:
    with pytest.raises(LauncherError, match=message):
        python_select.select(wanted)


def test_a_path_to_an_old_one(machine: Path) -> None:
    with pytest.raises(LauncherError, match="which is 3.9"):
        python_select.select(str(machine / "old/python3"))
