"""When a call is made again, and how long to wait before.

GitHub says how long: `retry-after`, then `x-ratelimit-reset`; where it says nothing, a limit is
given a minute, then twice that, and so on, and a failing server a second, then two, and so on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ci.perf_bot.post.api import Limited, Unsure
from ci.perf_bot.post.clock import Clock

T = TypeVar("T")

FIRST_WAIT_LIMITED = 60.0  # seconds
FIRST_WAIT_FAILED = 1.0
MOST_TRIES = 8
LONGEST = 3700.0  # GitHub counts calls by the hour


class Patience:
    """Waits, up to a number of seconds over all calls of one posting."""

    def __init__(
        self, clock: Clock, seconds: float = LONGEST, log: Callable[[str], None] = lambda line: None
    ) -> None:
        self._clock = clock
        self._left = seconds
        self._log = log

    def call(self, make: Callable[[], T]) -> T:
        """Makes a call whose repetition does no harm, again and again until it succeeds.

        Raises:
            ApiError: as the call does, or the last error when patience is at an end.
        """
        tries = 0
        while True:
            try:
                return make()
            except (Limited, Unsure) as error:
                self.wait(error, tries)
            tries += 1

    def wait(self, error: Limited | Unsure, tries: int) -> None:
        """Waits after the failure of one call that was tried before `tries` times.

        Raises:
            ApiError: `error`, if there is no more time or there were enough tries.
        """
        if error.wait is not None:
            # At least a little: the clocks may differ.
            seconds = max(error.wait, FIRST_WAIT_FAILED * 2.0**tries)
        else:
            first = FIRST_WAIT_LIMITED if isinstance(error, Limited) else FIRST_WAIT_FAILED
            seconds = first * 2.0**tries
        if tries + 1 >= MOST_TRIES or seconds > self._left:
            raise error
        self._log(f"waiting {seconds:.0f} s: {error}")
        self._left -= seconds
        self._clock.sleep(seconds)
