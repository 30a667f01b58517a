"""The first line of our comment: a hidden mark, and what the last posting did.

    <!-- oneflow-perf-bot {"attempt":1,"commit":"...","label":true,"run":17} -->

A comment is ours only if we are its author *and* it begins with the mark: anybody can write the
mark, and we may write other comments, which can quote it.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterable

from ci.perf_bot.post.api import Comment

PREFIX = "<!-- oneflow-perf-bot "
_LINE = re.compile(re.escape(PREFIX) + r"(\{[^\n]{0,300}\}) -->")


@dataclasses.dataclass(frozen=True)
class State:
    """What a comment says: the workflow's run and attempt, the commit that was measured, and
    whether the label was set when the comment was written.
    """

    run: int
    attempt: int
    commit: str
    label: bool

    def line(self) -> str:
        """The mark, without a line feed.

        >>> read(State(7, 1, "ab", True).line())
        State(run=7, attempt=1, commit='ab', label=True)
        """
        fields = json.dumps(dataclasses.asdict(self), sort_keys=True, separators=(",", ":"))
        return f"{PREFIX}{fields} -->"

    def is_newer_than(self, other: State) -> bool:
        """Whether it comes of a later run, or a later attempt at the same. Run 0 is a post by hand:
        whoever makes one wants to see it.
        """
        return other.run != 0 and (self.run, self.attempt) > (other.run, other.attempt)


UNKNOWN = State(0, 0, "", False)


def read(body: str) -> State:
    """The state in a comment of ours; `UNKNOWN` if it cannot be read."""
    found = _LINE.match(body)
    try:
        fields = json.loads(found[1]) if found else {}
        state = State(**fields)
    except (TypeError, ValueError):
        return UNKNOWN
    kinds = {"run": int, "attempt": int, "commit": str, "label": bool}
    good = all(type(getattr(state, name)) is kind for name, kind in kinds.items())
    return state if good else UNKNOWN


def ours(comments: Iterable[Comment], author: str) -> list[Comment]:
    """Those that are ours, the oldest first."""
    found = (c for c in comments if c.author == author and c.body.startswith(PREFIX))
    return sorted(found, key=lambda comment: comment.id)
