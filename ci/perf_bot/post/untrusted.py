"""A result that a pull request's own code wrote: believed only as far as it can be checked.

What GitHub says about the run (its commit, its pull request, the repository) comes from the event
and never from the result. The figures cannot be checked: whoever changes the code that is measured
can make them up; so they decide about a comment, a label and a status, and about nothing else.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

from ci.perf_bot.schema import LARGEST_RESULT_BYTES, read_result

Json = dict[str, Any]


class BadResult(ValueError):
    """The result is not to be shown. The text names the field, and quotes it shortly."""


def load(path: Path, commit: str, address: str) -> Json:
    """The checked result in a file.

    Args:
        path: a plain file of at most `LARGEST_RESULT_BYTES`; a link is refused.
        commit: what must have been measured, 40 hex digits.
        address: the repository's, with which links begin; it takes the place of the result's own.

    Raises:
        FileNotFoundError: there is no such file.
        BadResult: it is no result, or one of another commit.
    """
    return accept(_bytes_of(path), commit, address)


def accept(data: bytes, commit: str, address: str) -> Json:
    """As `load`, from the file's content."""
    try:
        result = read_result(data)
    except ValueError as error:
        raise BadResult(str(error)) from None
    if result["head"]["commit"] != commit:
        raise BadResult(f"result.head.commit: expects {commit}, got {result['head']['commit']}")
    if result["base"]["commit"] == commit:
        raise BadResult("result.base.commit: is the commit that was measured against it")
    return result | {"repository": address}


def _bytes_of(path: Path) -> bytes:
    try:
        # A pipe does not block, a link is not followed.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise BadResult(f"cannot be read: {error.strerror}") from None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise BadResult("is no plain file")
        with open(descriptor, "rb", closefd=False) as file:
            # One more than there may be, so that too much is seen.
            return file.read(LARGEST_RESULT_BYTES + 1)
    finally:
        os.close(descriptor)
