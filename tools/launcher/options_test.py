"""Flags of tools/bazel's own, and the choice of Bazel."""

from __future__ import annotations

import pytest

from tools.launcher import find_bazel, options
from tools.launcher.errors import LauncherError


def test_own_flags_are_taken_out() -> None:
    parsed = options.parse(["--of_python=3.12", "test", "--config=dbg", "--of_cache=/c", "//..."])
    assert (parsed.python, parsed.cache) == ("3.12", "/c")
    assert parsed.bazel_args == ["test", "--config=dbg", "//..."]


def test_words_of_the_program_that_is_run_are_left_alone() -> None:
    parsed = options.parse(["run", "//x", "--", "--of_python=1"])
    assert parsed.python is None
    assert parsed.bazel_args == ["run", "//x", "--", "--of_python=1"]


@pytest.mark.parametrize("flag", ["--of_pyhton=3.12", "--of_", "--of_help=1"])
def test_an_unknown_flag_is_an_error(flag: str) -> None:
    with pytest.raises(LauncherError, match=f"unknown flag {flag}"):
        options.parse(["test", flag])


def test_a_flag_without_a_value_is_an_error() -> None:
    with pytest.raises(LauncherError, match="--of_python expects a value"):
        options.parse(["--of_python", "3.12", "test"])


def test_command_is_the_first_word_that_is_no_flag() -> None:
    assert options.command_of(["--output_base=/x", "test", "//..."]) == "test"
    assert options.command_of(["--version"]) is None


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("bazel 7.7.1\n", (7, 7, 1)),
        ("bazel 4.2.3- (@non-git)", (4, 2, 3)),
        ("bazel no_version", (4, 2, 3)),
    ],
)
def test_version(text: str, version: tuple[int, ...]) -> None:
    assert find_bazel.parse_version(text) == version
