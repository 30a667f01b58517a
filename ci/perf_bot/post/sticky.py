"""One comment on a pull request, however often and from however many places it is posted.

It is found by its hidden mark and its author, over all pages. There is no call that creates a
comment unless there is one; so whoever has created one lists them again: the oldest stays, and all
posters, who see the same list, delete the same others. Whatever is left over by a poster that was
ended in between is deleted by the next.

Calls: list, edit, status for an update that finds its comment (on the first page of 100) and a
label that is right. Of a label that changes: label, edit, status where this poster remembers its
comment, else list, label, edit, status. A first comment is list, create, list, status.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable
from functools import partial

from ci.perf_bot.post import marker
from ci.perf_bot.post.api import (
    LONGEST_BODY,
    ApiError,
    Comment,
    GitHub,
    Gone,
    Limited,
    Refused,
    TooLong,
    Unsure,
)
from ci.perf_bot.post.armour import shortened
from ci.perf_bot.post.marker import State
from ci.perf_bot.post.memory import Memory
from ci.perf_bot.post.patience import Patience

LABEL = "perf-regression"
_MOST_PAGES = 1000
_SHORTEST = 2000
_MOST_RESTARTS = 5


@dataclasses.dataclass(frozen=True)
class Report:
    """What is to be posted.

    `regressed` is None where the measurement cannot tell: the label stays as it is. `state` is that
    of the commit status. `notice` ends a text that had to be shortened.
    """

    pull: int
    commit: str
    run: int
    attempt: int
    text: str
    notice: str
    regressed: bool | None
    state: str
    description: str
    link: str


class Poster:
    """Posts reports. Used by one thread; posters elsewhere may do the same at the same time."""

    def __init__(
        self,
        github: GitHub,
        author: str,
        patience: Patience,
        log: Callable[[str], None] = lambda line: None,
        memory: Memory | None = None,
    ) -> None:
        """`author` is the login that the token comments as."""
        self._github = github
        self._author = author
        self._patience = patience
        self._log = log
        self._memory = memory or Memory()

    def post(self, report: Report) -> None:
        """The comment, the label, and the commit status.

        A comment of a later run stays as it is, and so does the label. Where comments are refused,
        as in a conversation that was locked, the status is set all the same.

        Raises:
            ApiError: a call was refused, or failed for longer than patience lasts.
        """
        status = partial(
            self._github.status, report.commit, report.state, report.description, report.link
        )
        try:
            self._comment_for_good(report)
        except (Gone, Refused, TooLong):
            with contextlib.suppress(ApiError):
                self._patience.call(status)
            raise
        self._patience.call(status)

    def _comment_for_good(self, report: Report) -> None:
        restarts = 0
        while not self._comment(report):
            restarts += 1
            if restarts > _MOST_RESTARTS:
                raise Refused(f"the comment vanished {restarts} times while it was written")
            self._log("the comment vanished while it was written: starting again")

    def _comment(self, report: Report) -> bool:
        """Label and comment; False if the comment was deleted meanwhile."""
        if self._relabel(report):
            return True
        found = self._ours(report.pull)
        before = marker.read(found[0].body) if found else marker.UNKNOWN
        state = State(report.run, report.attempt, report.commit, before.label)
        if before.is_newer_than(state):
            self._log(f"run {before.run} has commented already: it is later than {report.run}")
            self._delete(found[1:])
            self._memory.keep(report.pull, found[0].id, before)
            return True
        # First: if this call fails, the comment does not say that it was made.
        if report.regressed is not None and report.regressed != before.label:
            state = dataclasses.replace(state, label=report.regressed)
            self._patience.call(partial(self._github.label, report.pull, LABEL, state.label))
        if not found:
            found = self._create(report, state)
        self._delete(found[1:])
        return self._edit(found[0], report, state)

    def _relabel(self, report: Report) -> bool:
        """A label that changes, and the comment, where that is remembered; False if nothing has to
        change, or the comment is not what it was: then it is looked for.
        """
        known = self._memory.recall(report.pull)
        if known is None or report.regressed is None:
            return False
        comment, before = known
        state = State(report.run, report.attempt, report.commit, report.regressed)
        if before.label == state.label or before.is_newer_than(state):
            return False
        self._patience.call(partial(self._github.label, report.pull, LABEL, state.label))
        try:
            done = self._edit(Comment(comment, self._author, before.line()), report, state)
        except Refused:
            done = False
        if not done:
            self._memory.forget(report.pull)
        return done

    def _ours(self, pull: int) -> list[Comment]:
        """Our comments, oldest first, of all pages."""
        found: list[Comment] = []
        for number in range(1, _MOST_PAGES + 1):
            page = self._patience.call(partial(self._github.comments, pull, number))
            found += marker.ours(page.comments, self._author)
            if not page.more:
                break
        return marker.ours({comment.id: comment for comment in found}.values(), self._author)

    def _create(self, report: Report, state: State) -> list[Comment]:
        """Creates the comment; returns all of ours, oldest first. A creation is repeated only after
        a look whether the last one, or another poster's, was stored.
        """
        tries, limit = 0, LONGEST_BODY
        while True:
            try:
                made = self._github.create(report.pull, body_of(report, state, limit))
                break
            except (Limited, Unsure) as error:
                self._patience.wait(error, tries)
                tries += 1
            except TooLong:
                limit = _next_limit(limit)
            if found := self._ours(report.pull):
                return found
        self._check_author(made)
        # Lists may lag behind: what was just created counts, seen or not.
        seen = {comment.id: comment for comment in [made, *self._ours(report.pull)]}
        return marker.ours(seen.values(), self._author)

    def _check_author(self, made: Comment) -> None:
        """Takes a comment back that could never be found again."""
        if made.author != self._author:
            self._patience.call(partial(self._github.delete, made.id))
            raise Refused(
                f"expects a token that comments as {self._author!r}, got one of {made.author!r}; "
                "see --author"
            )

    def _delete(self, comments: list[Comment]) -> None:
        for comment in comments:
            self._log(f"deleting comment {comment.id}, a second one")
            self._patience.call(partial(self._github.delete, comment.id))

    def _edit(self, comment: Comment, report: Report, state: State) -> bool:
        """Brings a comment up to date; False if it is gone."""
        there = marker.read(comment.body)
        if there.is_newer_than(state):
            self._memory.keep(report.pull, comment.id, there)
            return True
        if report.regressed is None:
            # Another poster may have created it meanwhile.
            state = dataclasses.replace(state, label=there.label)
        limit = LONGEST_BODY
        while True:
            body = body_of(report, state, limit)
            try:
                if comment.body != body:
                    self._patience.call(partial(self._github.edit, comment.id, body))
                self._memory.keep(report.pull, comment.id, state)
                return True
            except TooLong:
                limit = _next_limit(limit)
            except Gone:
                return False


def body_of(report: Report, state: State, limit: int = LONGEST_BODY) -> str:
    """The comment: the mark, and as much of the text as fits below it."""
    mark = state.line()
    # One less: the limit itself is for others to argue about.
    # Nothing at the end that the server may strip: what it holds is compared with this.
    return f"{mark}\n{shortened(report.text, limit - len(mark) - 2, report.notice)}".rstrip()


def _next_limit(limit: int) -> int:
    """Half, until there is too little to tell.

    Raises:
        TooLong: there is.
    """
    if limit // 2 < _SHORTEST:
        raise TooLong(f"a comment of {limit} characters is still too long for GitHub")
    return limit // 2
