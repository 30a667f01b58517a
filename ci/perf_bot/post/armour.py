"""A second wall around the comment's text.

The first is :mod:`ci.perf_bot.render`, which escapes every text of a result. This one looks at the
finished Markdown, whoever made it, and knows nothing of results: afterwards nobody is notified, no
issue is referred to, nothing links to another place, nothing is hidden, and no mark is spoofed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

# Shows nothing, and ends a word.
_NOTHING = "\u200b"
# Tags that the report uses, none with an attribute.
_TAGS = ("br", "details", "summary")
_TAG = re.compile(rf"<(?!/?(?:{'|'.join(_TAGS)})>)(?=[A-Za-z/!?])")
_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")
# Overrides of the direction of text, and what is no character.
_HIDDEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]")
_PLACES = (
    (re.compile(r"@(?=[A-Za-z0-9])"), "@" + _NOTHING),
    (re.compile(r"#(?=[0-9])"), "#" + _NOTHING),
    (re.compile(r"(?i)(GH)-(?=[0-9])"), r"\1-" + _NOTHING),
    (re.compile(r"(?i)(www)\.(?=\S)"), r"\1" + _NOTHING + "."),
    (re.compile(r"(?i)(mailto|xmpp):(?=\S)"), r"\1" + _NOTHING + ":"),
)


def armour(text: str, places: Sequence[str]) -> str:
    """Markdown that notifies nobody and links to known places only.

    Args:
        text: Markdown.
        places: addresses that links may begin with, each with a `/` at its end.

    >>> armour("<b>ask @somebody about #12</b>", []).replace("\u200b", "_")
    '&lt;b>ask @_somebody about #_12&lt;/b>'
    """
    text = _HIDDEN.sub(" ", text.replace("\r\n", "\n"))
    lines = _tags_escaped(text.split("\n"))
    text = "\n".join(lines)

    # Wherever it stands: GitHub takes `_https://` for a link too.
    text = "".join(_linked(text, places))
    for pattern, instead in _PLACES:
        text = pattern.sub(instead, text)
    return text


def _linked(text: str, places: Sequence[str]) -> Iterator[str]:
    """The text in pieces, every `://` broken but those of known places."""
    done = 0
    for found in re.finditer("://", text):
        begins = (found.start() - place.index("://") for place in places)
        known = any(b >= 0 and text.startswith(p, b) for b, p in zip(begins, places))
        yield text[done : found.start()]
        yield "://" if known else _NOTHING + "://"
        done = found.end()
    yield text[done:]


def _tags_escaped(lines: Sequence[str]) -> list[str]:
    """Lines without tags other than ours. Text in a fence shows as it is, but for comments, which
    no report has.
    """
    found, fence = [], ""
    for line in lines:
        line = line.replace("<!--", "&lt;!--")
        edge = _FENCE.match(line)
        if not fence:
            found.append(_TAG.sub("&lt;", line))
            fence = edge[1] if edge else ""
        else:
            found.append(line)
            if edge and edge[1].startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
    return found


def length(text: str) -> int:
    """Characters as the most careful counter counts them: two for those beyond the first 65,536."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def shortened(text: str, limit: int, notice: str) -> str:
    """Markdown of at most `limit` characters: whole lines from the beginning, what they opened
    closed again, and a notice; the text itself if it fits.
    """
    if length(text) <= limit:
        return text
    kept: list[str] = []
    left = limit - length(notice)
    for line in text.split("\n"):
        left -= length(line) + 1
        if left < 0:
            break
        kept.append(line)
    # The ends need room too.
    while kept and length(_closed(kept, notice)) > limit:
        kept.pop()
    return _closed(kept, notice)


def _closed(lines: Sequence[str], notice: str) -> str:
    return "\n".join([*lines, *_ends(lines), "", notice])


def _ends(lines: Sequence[str]) -> list[str]:
    """What closes the fence and the folds that some lines leave open."""
    fence, folds = "", 0
    for line in lines:
        edge = _FENCE.match(line)
        if fence:
            closes = edge and edge[1].startswith(fence) and not line.strip().strip(fence[0])
            fence = "" if closes else fence
            continue
        fence = edge[1] if edge else ""
        folds += line.count("<details>") - line.count("</details>")
    ends = [fence] if fence else []
    return ends + ["", "</details>"] * min(max(folds, 0), 8)
