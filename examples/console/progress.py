"""A progress bar for terminals, and plain lines for everything else."""

from __future__ import annotations

import os
import sys
import time
from typing import TextIO

_WIDTH = 30
_REDRAW_SECONDS = 0.1


def wants_color(stream: TextIO, environ: dict[str, str] | None = None) -> bool:
    """Whether to use colour: as NO_COLOR, FORCE_COLOR and TERM say, else on a terminal."""
    env = dict(os.environ) if environ is None else environ
    if env.get("NO_COLOR"):
        return False
    if env.get("FORCE_COLOR"):
        return True
    return stream.isatty() and env.get("TERM") != "dumb"


class Progress:
    """Shows how far a loop of `total` steps is. One thread.

    On a terminal one line is redrawn at most ten times a second; elsewhere only `line` prints.
    """

    def __init__(self, total: int, stream: TextIO | None = None) -> None:
        self._total = max(total, 1)
        self._stream = sys.stdout if stream is None else stream
        self._live = self._stream.isatty() and os.environ.get("TERM") != "dumb"
        self._color = wants_color(self._stream)
        self._drawn_at = 0.0

    def step(self, done: int, note: str) -> None:
        """Says that `done` steps are over."""
        now = time.monotonic()
        if not self._live or (done < self._total and now - self._drawn_at < _REDRAW_SECONDS):
            return
        self._drawn_at = now
        filled = _WIDTH * done // self._total
        bar = "#" * filled + "." * (_WIDTH - filled)
        if self._color:
            bar = f"\x1b[32m{bar}\x1b[0m"
        self._stream.write(f"\r[{bar}] {100 * done // self._total:3d} %  {note}\x1b[K")
        self._stream.flush()

    def line(self, text: str) -> None:
        """Prints a line above the bar."""
        self._stream.write(f"\r\x1b[K{text}\n" if self._live else f"{text}\n")
        self._stream.flush()

    def close(self) -> None:
        """Removes the bar."""
        if self._live:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
