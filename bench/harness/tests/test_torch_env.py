"""Finding PyTorch's interpreter, with made-up ones: nothing is downloaded."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from bench.harness import torch_env
from bench.harness.torch_env import VARIABLE, find_torch


def made_python(path: Path, text: str) -> str:
    """An executable that stands in for an interpreter."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="ascii")
    path.chmod(0o755)
    return str(path)


def test_the_flag_comes_before_the_variable(tmp_path: Path) -> None:
    first = made_python(tmp_path / "a", "echo 2.13.0+cpu")
    second = made_python(tmp_path / "b", "echo 1.0.0")
    assert find_torch(first, environ={VARIABLE: second}).version == "2.13.0+cpu"
    assert find_torch(environ={VARIABLE: second}).version == "1.0.0"
    assert find_torch(first, environ={}).label() == "PyTorch 2.13.0+cpu"


def test_none_means_none() -> None:
    found = find_torch("none", environ={})
    assert (found.python, found.label()) == (None, "n/a (not asked for)")


@pytest.mark.parametrize(
    ("text", "reason"),
    [("echo no torch here >&2; exit 1", "no torch here"), ("exit 3", "exit status 3")],
)
def test_an_interpreter_without_it_is_a_reason(tmp_path: Path, text: str, reason: str) -> None:
    found = find_torch(made_python(tmp_path / "a", text), environ={})
    assert found.python is None and reason in found.reason


def test_no_interpreter_is_a_reason() -> None:
    found = find_torch("/no/such/python", environ={})
    assert found.python is None and "No such file" in found.reason


def test_a_cache_that_cannot_be_written_is_a_reason(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("", encoding="ascii")
    found = find_torch(environ={}, cache=blocked)
    assert found.python is None and "cannot use" in found.reason


PIP = 'case "$*" in *install*) echo "$*" >> {log}; {then} ;; *) echo 2.13.0 ;; esac'


def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, then: str) -> torch_env.TorchPython:
    """Lets find_torch make an environment by a venv module that is made up."""
    python = PIP.format(log=tmp_path / "log", then=then)
    write = f"printf '#!/bin/sh\\n%s\\n' '{python}' > $3/bin/python"
    maker = f"mkdir -p $3/bin; {write}; chmod +x $3/bin/python"
    monkeypatch.setattr(sys, "executable", made_python(tmp_path / "maker", maker))
    return find_torch(environ={"HOME": str(tmp_path)})


def test_the_first_use_installs_and_the_second_finds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = install(tmp_path, monkeypatch, "true")
    second = install(tmp_path, monkeypatch, "true")
    assert (first.version, first.reason) == ("2.13.0", "installed")
    assert (second.python, second.reason) == (first.python, "found in the cache")
    log = (tmp_path / "log").read_text(encoding="ascii").splitlines()
    assert log == ["-m pip install --quiet torch==2.13.0 numpy"]


def test_an_installation_that_fails_is_a_reason_and_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed = install(tmp_path, monkeypatch, "echo no network >&2; exit 1")
    assert failed.label() == "n/a (installing PyTorch failed: no network)"
    assert install(tmp_path, monkeypatch, "true").reason == "installed"


def test_without_permission_to_install_only_the_cache_is_tried(tmp_path: Path) -> None:
    found = find_torch(environ={"XDG_CACHE_HOME": str(tmp_path)}, install=False)
    assert found.python is None
    assert list(tmp_path.iterdir()) == []
