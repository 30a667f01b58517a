"""Posting that only tells: reads what there is, and prints what it would write."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from ci.perf_bot.post.api import Comment, GitHub, Page

NEW = 1 << 62  # the number of a comment that does not exist


class DryRun:
    """`github` is asked for comments, and nothing else; without one there are none."""

    def __init__(self, github: GitHub | None, author: str, tell: Callable[[str], None]) -> None:
        self._github = github
        self._author = author
        self._tell = tell
        self._made: list[Comment] = []

    def comments(self, pull: int, page: int) -> Page:
        """What there is, and what would have been created."""
        found = self._github.comments(pull, page) if self._github else Page([], False)
        made = [] if found.more else self._made
        return dataclasses.replace(found, comments=[*found.comments, *made])

    def create(self, pull: int, body: str) -> Comment:
        """Tells."""
        self._tell(f"would create a comment on pull request {pull}:\n{body}")
        self._made.append(Comment(NEW, self._author, body))
        return self._made[-1]

    def edit(self, comment: int, body: str) -> None:
        """Tells."""
        self._tell(f"would edit comment {comment}:\n{body}")

    def delete(self, comment: int) -> None:
        """Tells."""
        self._tell(f"would delete comment {comment}")

    def label(self, pull: int, name: str, present: bool) -> None:
        """Tells."""
        self._tell(f"would {'add' if present else 'remove'} label {name} on pull request {pull}")

    def status(self, commit: str, state: str, description: str, link: str) -> None:
        """Tells."""
        self._tell(f"would set the status of {commit} to {state}: {description} {link}".rstrip())
