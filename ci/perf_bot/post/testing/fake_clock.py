"""A clock that stands still until somebody sleeps."""

from __future__ import annotations

import threading


class FakeClock:
    """Safe for several threads: each sleep moves the one time on. `slept` holds all of them."""

    def __init__(self, now: float = 1_800_000_000.0) -> None:
        self._lock = threading.Lock()
        self._now = now
        self.slept: list[float] = []

    def now(self) -> float:
        """Seconds since 1970, by this clock."""
        with self._lock:
            return self._now

    def sleep(self, seconds: float) -> None:
        """Returns at once, that much later."""
        with self._lock:
            self._now += seconds
            self.slept.append(seconds)
