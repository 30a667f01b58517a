"""What posters of one machine, or of one workflow, remember of their comments: number and mark.

With it, a label that changes costs no look at the list of comments; what a poster elsewhere, which
shares no memory with this one, wrote meanwhile of a later run is then replaced. A file that is
lost, old or damaged costs a call, and a comment that is gone is looked for. Who writes it decides
which of our comments is edited; so it is no file of a stranger. Not locked: of two posters that
write at the same time, one is forgotten.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ci.perf_bot.post import marker
from ci.perf_bot.post.marker import State

MOST = 500  # pull requests, those that were posted on last
_LARGEST_BYTES = 1 << 20


def default_file(environ: Mapping[str, str]) -> Path | None:
    """In the user's cache; None where there is none.

    >>> default_file({"HOME": "/home/x"})
    PosixPath('/home/x/.cache/oneflow-perf/comments.json')
    """
    home = environ.get("HOME")
    root = environ.get("XDG_CACHE_HOME") or (os.path.join(home, ".cache") if home else None)
    return Path(root) / "oneflow-perf" / "comments.json" if root else None


class Memory:
    """The comments of one repository."""

    def __init__(self, file: Path | None = None, where: str = "") -> None:
        """`where` is the server with the repository; without a file nothing is remembered."""
        self._file, self._where = file, where

    def recall(self, pull: int) -> tuple[int, State] | None:
        """The number of our comment on a pull request and what it said; None if not known."""
        found = self._read().get(self._key(pull))
        state = marker.read(found[1]) if found else marker.UNKNOWN
        return (found[0], state) if found and state != marker.UNKNOWN else None

    def keep(self, pull: int, comment: int, state: State) -> None:
        """Remembers; if it cannot, it does not."""
        if self._file is None:
            return
        entries = self._read()
        entries.pop(self._key(pull), None)
        entries[self._key(pull)] = (comment, state.line())
        self._write(dict(list(entries.items())[-MOST:]))

    def forget(self, pull: int) -> None:
        """What was remembered is not so."""
        entries = self._read()
        if entries.pop(self._key(pull), None) is not None:
            self._write(entries)

    def _key(self, pull: int) -> str:
        return f"{self._where}#{pull}"

    def _read(self) -> dict[str, tuple[int, str]]:
        if self._file is None:
            return {}
        try:
            with open(self._file, "rb") as file:
                value: Any = json.loads(file.read(_LARGEST_BYTES))
        except (OSError, ValueError, RecursionError):
            return {}
        items = value.items() if isinstance(value, dict) else ()
        return {key: (item[0], item[1]) for key, item in items if _is_entry(item)}

    def _write(self, entries: Mapping[str, tuple[int, str]]) -> None:
        assert self._file is not None
        with contextlib.suppress(OSError):
            self._file.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=self._file.parent)
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(entries, file)
            os.replace(name, self._file)


def _is_entry(item: Any) -> bool:
    return isinstance(item, list) and [type(x) for x in item] == [int, str]
