"""The second wall: nobody is notified, nothing hides, nothing links elsewhere, all fits."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ci.perf_bot.post import armour as module
from ci.perf_bot.post.armour import armour, length, shortened

HERE = ["https://github.com/octo/flow/"]
MENTION = re.compile(r"@[A-Za-z0-9]")
REFERENCE = re.compile(r"#[0-9]|GH-[0-9]")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("hi @somebody", "hi @_somebody"),
        ("a@b.example, @octo/team", "a@_b.example, @_octo/team"),
        ("see #12, octo/flow#12, GH-12", "see #_12, octo/flow#_12, GH-_12"),
        ("### Heading", "### Heading"),
        ("<!-- oneflow-perf-bot {} -->", "&lt;!-- oneflow-perf-bot {} -->"),
        ("```\n<!-- x\n<b>\n```\n<b>", "```\n&lt;!-- x\n<b>\n```\n&lt;b>"),
        (
            "<details><summary>x</summary></details><br>",
            "<details><summary>x</summary></details><br>",
        ),
        ("<details open><img src=x></DETAILS>", "&lt;details open>&lt;img src=x>&lt;/DETAILS>"),
        ("a < b > c <= d", "a < b > c <= d"),
        ("https://evil.example/x", "https_://evil.example/x"),
        ("https://github.com/octo/flow/commit/1", "https://github.com/octo/flow/commit/1"),
        ("https://github.com/octo/flow.evil/x", "https_://github.com/octo/flow.evil/x"),
        ("HTTPS://GITHUB.COM/octo/other/issues/1", "HTTPS_://GITHUB.COM/octo/other/issues/1"),
        ("_https://evil.example *HTTPS://x", "_https_://evil.example *HTTPS_://x"),
        ("_www.evil.example", "_www_.evil.example"),
        ("://x ftp://x", "_://x ftp_://x"),
        ("www.evil.example mailto:a@b.example", "www_.evil.example mailto_:a@_b.example"),
        ("a\u202eb\x00c\x1b[31m\r\nd\ud800", "a b c [31m\nd "),
    ],
)
def test_what_is_made_harmless(text: str, expected: str) -> None:
    assert armour(text, HERE).replace("\u200b", "_") == expected


@given(st.text(alphabet="@#<!-/>`~ \nabcGH12.:w\\[]()*|", max_size=80))
def test_no_text_gets_through(text: str) -> None:
    found = armour(text, HERE)
    assert not MENTION.search(found) and not REFERENCE.search(found)
    assert "<!--" not in found


@given(st.text(max_size=200))
def test_plain_text_stays_as_it_is(text: str) -> None:
    plain = re.sub(r"[^\w ]", "", text)
    assert armour(plain, HERE).replace("\u200b", "") == plain


def test_length_is_that_of_the_most_careful_counter() -> None:
    assert [length(text) for text in ("ab", "é✔", "🚀")] == [2, 2, 2]


def test_shortening_keeps_whole_lines_and_closes_what_is_open() -> None:
    lines = ["### Heading", "<details><summary>x</summary>", "", "````"]
    text = "\n".join(lines + ["y" * 50] * 100 + ["````", "", "</details>"])
    found = shortened(text, 1000, "the rest is left out\n")
    assert length(found) <= 1000
    assert found.startswith("\n".join(lines))
    assert found.endswith("\n````\n\n</details>\n\nthe rest is left out\n")
    assert shortened(text, 10_000, "the rest is left out\n") == text


@given(
    st.lists(
        st.sampled_from(["```", "`" * 400, "~~~", "<details>", "</details>", "x" * 90, "🚀" * 40])
    ),
    st.integers(100, 2000),
)
def test_what_is_shortened_fits(lines: list[str], limit: int) -> None:
    assert length(shortened("\n".join(lines), limit, "left out\n")) <= limit


def test_catches_a_wall_with_a_hole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: mentions are let through."""
    monkeypatch.setattr(module, "_PLACES", module._PLACES[1:])
    with pytest.raises(AssertionError):
        test_what_is_made_harmless("hi @somebody", "hi @_somebody")
