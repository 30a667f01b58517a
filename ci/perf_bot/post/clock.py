"""The time, as something that a test can give."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Seconds since 1970, and waiting."""

    def now(self) -> float:
        """Seconds since 1970-01-01 UTC."""

    def sleep(self, seconds: float) -> None:
        """Returns that much later."""


class SystemClock:
    """The machine's clock."""

    def now(self) -> float:
        """Seconds since 1970-01-01 UTC."""
        return time.time()

    def sleep(self, seconds: float) -> None:
        """Returns that much later."""
        time.sleep(seconds)
