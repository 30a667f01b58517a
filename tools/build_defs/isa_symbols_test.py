"""A symbol that leaks newer instructions into other code is found."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.build_defs import isa_symbols

CLEAN = """\
kernels.o:
0000000000000000 T oneflow::avx2::Add(float*, long)
0000000000000010 W oneflow::avx2::Vec<float>::Load(float const*)
0000000000000000 V typeinfo for oneflow::Error
0000000000000000 t helper
"""
LEAK = "0000000000000020 W std::vector<float>::push_back(float const&)\n"


def test_a_clean_archive_passes() -> None:
    assert isa_symbols.shared_symbols(CLEAN) == []


def test_a_leak_is_found() -> None:
    expected = "std::vector<float>::push_back(float const&)"
    assert isa_symbols.shared_symbols(CLEAN + LEAK) == [expected]


def test_an_archive_without_symbols_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "nm").write_text("#!/bin/sh\necho 'empty.o:'\n")
    (tmp_path / "nm").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    assert isa_symbols.main(["x.a"]) == 1
    assert "defines nothing" in capsys.readouterr().out
