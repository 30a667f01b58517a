"""What posting needs of GitHub: six calls, and what may go wrong with one.

`GitHub` is an interface; :mod:`ci.perf_bot.post.client` is GitHub's own API behind it, and
:mod:`ci.perf_bot.post.dry_run` only tells. An implementation makes each call once and never waits;
waiting and repeating is :mod:`ci.perf_bot.post.patience`'s. No error's text holds the token.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Protocol

LONGEST_BODY = 65_536  # characters
LONGEST_DESCRIPTION = 140  # characters of a commit status


@dataclasses.dataclass(frozen=True)
class Comment:
    """A comment of a pull request. `author` is a login, empty where the account is gone."""

    id: int
    author: str
    body: str


@dataclasses.dataclass(frozen=True)
class Page:
    """Comments, oldest first, and whether more follow."""

    comments: Sequence[Comment]
    more: bool


class GitHub(Protocol):
    """One repository. All methods may raise :class:`ApiError`."""

    def comments(self, pull: int, page: int) -> Page:
        """The comments of a pull request, up to 100 a page; pages count from 1."""

    def create(self, pull: int, body: str) -> Comment:
        """A new comment. May raise :class:`TooLong`."""

    def edit(self, comment: int, body: str) -> None:
        """Replaces a comment's text. May raise :class:`TooLong`."""

    def delete(self, comment: int) -> None:
        """Deletes a comment; one that is gone already is no error."""

    def label(self, pull: int, name: str, present: bool) -> None:
        """Adds or removes a label; one that is there, or gone, already is no error."""

    def status(self, commit: str, state: str, description: str, link: str) -> None:
        """The status of a commit: `state` is error, failure, pending or success."""


class ApiError(Exception):
    """A call failed."""


class Limited(ApiError):
    """Refused for now, and not carried out: too many calls. `wait` is in seconds, None unsaid."""

    def __init__(self, text: str, wait: float | None) -> None:
        super().__init__(text)
        self.wait = wait


class Unsure(ApiError):
    """The server failed, or the connection: the call may have been carried out all the same.

    `wait` is in seconds, None unsaid.
    """

    def __init__(self, text: str, wait: float | None = None) -> None:
        super().__init__(text)
        self.wait = wait


class Gone(ApiError):
    """What the call is about does not exist (404, 410)."""


class TooLong(ApiError):
    """The text has more characters than a comment may have; nothing was stored."""


class Refused(ApiError):
    """Any other refusal: it will be the same next time."""
