"""The machine's own archive is read from apt's sources in both of their forms."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from tools.launcher import debian
from tools.launcher.errors import LauncherError

DEB822 = """\
Types: deb
# a comment
URIs: http://mirror.example/debian-security
Suites: stable-security
Components: main

Types: deb deb-src
URIs: http://mirror.example/debian
Suites: stable stable-updates
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
"""

ONE_LINE = """\
# deb http://other.example/debian stable main
deb http://security.example/debian-security stable-security main
deb [arch=amd64 signed-by=/k.gpg] https://mirror.example/debian/ stable main contrib
"""


def test_deb822() -> None:
    assert debian.source_entry(DEB822) == {
        "uri": "http://mirror.example/debian",
        "signed_by": "/usr/share/keyrings/debian-archive-keyring.gpg",
    }


def test_one_line_form() -> None:
    expected = {"uri": "https://mirror.example/debian/", "signed_by": "/k.gpg"}
    assert debian.source_entry(ONE_LINE) == expected


def test_a_disabled_entry_does_not_count() -> None:
    with pytest.raises(LauncherError, match="no Debian archive"):
        debian.source_entry(DEB822.replace("Signed-By: ", "Enabled: no\nSigned-By: "))


def test_a_machine_without_debian_is_an_error() -> None:
    with pytest.raises(LauncherError, match="no Debian archive"):
        debian.source_entry("deb http://archive.example/ubuntu noble main\n")


def test_a_cached_archive_needs_no_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    sha256 = hashlib.sha256(b"x").hexdigest()
    (tmp_path / "file").write_bytes(b"x")
    kept = debian.keep(tmp_path / "file", sha256, tmp_path)
    assert debian.fetch("binary", "x", ["stable"], sha256, tmp_path) == kept
    with pytest.raises(LauncherError, match="no apt-get"):
        debian.fetch("binary", "x", ["stable"], "0" * 64, tmp_path)
