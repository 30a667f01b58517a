"""What a result means for the label and for the commit status."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from ci.perf_bot.post.api import LONGEST_DESCRIPTION
from ci.perf_bot.schema import SLOWER

# success: nothing was found. failure: this change is at fault. error: it is not known.
_STATES = {
    "ok": "success",
    "regression": "failure",
    "nothing measured": "error",
    "infrastructure": "error",
    "broken": "failure",
    "build failed": "failure",
    "host invalid": "error",
    "inconclusive": "success",
}
_WORDS = {
    "ok": "no regression found",
    "regression": "slower, or more memory",
    "nothing measured": "nothing was measured",
    "infrastructure": "the comparison failed, not by this change",
    "broken": "a case crashes, hangs or answers wrongly",
    "build failed": "this change does not build",
    "host invalid": "the host was not fit to measure on",
    "inconclusive": "no regression found, but nothing could be decided",
}


@dataclasses.dataclass(frozen=True)
class Verdict:
    """`regressed` is None where the label stays as it is; `state` and `description` are those of
    the commit status.
    """

    regressed: bool | None
    state: str
    description: str


def verdict_of(result: Mapping[str, Any]) -> Verdict:
    """The verdict of a checked result."""
    slower = [
        f"{row['case']} {name}"
        for row in result["rows"]
        for name, figure in row["figures"].items()
        if figure["gate"]["verdict"] == SLOWER
    ]
    status = result["status"]
    regressed = True if slower else False if status == "ok" else None
    state, words = _STATES[status], _WORDS[status]
    if slower and state != "failure":
        # No measurement says both.
        state, words = _STATES["regression"], _WORDS["regression"]
    return Verdict(regressed, state, short(words + (f": {', '.join(slower)}" if slower else "")))


def short(text: str) -> str:
    """A description of a commit status: one line, at most 140 characters."""
    clean = "".join(c if c.isprintable() else " " for c in text)
    most = LONGEST_DESCRIPTION
    return clean if len(clean) <= most else clean[: most - 1].rstrip() + "…"
