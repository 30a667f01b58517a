"""What the programs of this folder share. Imports nothing of the package: some need that."""

from __future__ import annotations

import os
import re
import sys
import time
from typing import Any


def pause() -> None:
    """Sleeps for a moment that the harness has drawn: what follows then meets another state."""
    time.sleep(float(os.environ.get("WAY_OUT_PAUSE", "0")))


def case() -> str:
    """The case of the scenario, as in the table."""
    return sys.argv[1]


def mark(text: str) -> None:
    """Prints a line at once, for the harness that waits for it."""
    sys.stdout.flush()
    os.write(1, f"{text}\n".encode())


def premise(holds: bool, text: str) -> None:
    """Ends a program whose scenario did not come about, so that it cannot pass."""
    if not holds:
        os.write(2, f"the scenario did not take place: {text}\n".encode())
        os._exit(99)


def queued(flow: Any) -> int:
    """How many ops wait or run."""
    text = flow._oneflow_internal.describe_unfinished()
    found = re.search(r"(\d+) instructions left", text)
    return int(found.group(1)) if found else 0


def keep_busy(flow: Any, ops: int = 2000, size: int = 400) -> Any:
    """Queues `ops` products of about a millisecond, and more if those have run already; the last
    of them.
    """
    x = flow.ones(size, size)
    for _ in range(ops):
        y = x @ x
    while queued(flow) == 0:
        y = x @ x
    return y
