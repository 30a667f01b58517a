"""clang-tidy finds nothing in the C++ of the checkout (settings: .clang-tidy). Nightly: it takes
minutes.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tools.checks import programs, workspace

ROOT = workspace.root()


def test_clang_tidy() -> None:
    complaints = programs.clang_tidy(ROOT)
    if complaints:
        pytest.fail(complaints, pytrace=False)


def test_finds_a_planted_fault(tmp_path: Path) -> None:
    shutil.copy(ROOT / ".clang-tidy", tmp_path)
    (tmp_path / "oneflow").mkdir()
    (tmp_path / "oneflow/x.cc").write_text("bool f(int x) { return x == 1 || x == 1; }\n")
    assert "misc-redundant-expression" in programs.clang_tidy(tmp_path)
