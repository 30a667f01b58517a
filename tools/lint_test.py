"""The whole checkout is formatted and lint-free. `tools/bazel run //tools:format` mends layout."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tools.checks import programs, source_rules, workspace

ROOT = workspace.root()


def expect_clean(complaints: str) -> None:
    if complaints:
        pytest.fail(complaints, pytrace=False)


def test_clang_format() -> None:
    expect_clean(programs.clang_format(ROOT, fix=False))


def test_buildifier() -> None:
    expect_clean(programs.buildifier(ROOT, fix=False))


def test_ruff() -> None:
    expect_clean(programs.ruff(ROOT, fix=False))


def test_mypy() -> None:
    expect_clean(programs.mypy(ROOT))


def test_source_rules() -> None:
    rules = source_rules.all_rules((ROOT / "tools/checks/forbidden.txt").read_text())
    paths = workspace.files(ROOT)
    found = list(source_rules.folders_without_readme(map(str, paths)))
    texts = {}
    for path in paths:
        try:
            texts[str(path)] = text = (ROOT / path).read_text()
        except UnicodeDecodeError:
            continue
        found += [problem for rule in rules for problem in rule(str(path), text)]
    found += source_rules.process_ends(texts)
    expect_clean("\n".join(found))


FAULTS = [
    (programs.clang_format, "x.cc", "int   x;\n"),
    (programs.buildifier, "BUILD.bazel", "cc_library( name='x' )\n"),
    (programs.ruff, "x.py", "import os\n"),
    (lambda root, fix: programs.mypy(root), "x.py", "x: int = 'a'\n"),
]


@pytest.mark.parametrize(("lint", "name", "text"), FAULTS)
def test_finds_a_planted_fault(
    tmp_path: Path, lint: Callable[..., str], name: str, text: str
) -> None:
    for settings in (".clang-format", "pyproject.toml"):
        shutil.copy(ROOT / settings, tmp_path)
    (tmp_path / name).write_text(text)
    assert lint(tmp_path, fix=False) != ""
