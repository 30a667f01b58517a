"""Posting: a result becomes a comment, a label and a commit status of a pull request."""

from __future__ import annotations

from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """The command `post`; see `command`. Whoever needs one part loads that part alone."""
    from ci.perf_bot.post import command

    return command.main(argv)
