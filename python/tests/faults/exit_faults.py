"""The faults that OneFlow has at its exits, each with the way out that turns red with it.

The ways out are those of python/tests/exit/table.py, and one of our own.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from tests.exit.table import AUTO, QUEUED, SCENARIOS, Scenario

PROGRAMS = Path(__file__).absolute().parent / "programs"

# Not among the ways out: nothing goes wrong at its end, but a worker has to release an array.
OWNER = Scenario(
    0, "owner", "a worker is the last to use a numpy array, as an interrupt ended the wait",
    stdout=r"interrupted\nreleased by MainThread\nfailed\n",
)  # fmt: skip


class ExitFault(NamedTuple):
    """A fault and what notices it.

    Attributes:
        fault: its name
        row: the scenario, or its number and case
        red: the checks of the harness that must fail, and with them perhaps others
        status: the status in which it then ends; None where the harness has to end it
        mode: how ops run
        seconds: how long it is waited for, where it hangs
        timeout: ONEFLOW_SHUTDOWN_TIMEOUT_SECONDS; short where the deadline is what ends it
        attempts: how many times the program may run until the fault shows; more than one where it
            takes a thread to be scheduled within the milliseconds that Python takes to finalize
    """

    fault: str
    row: str
    red: set[str]
    status: int | None
    mode: str = AUTO
    seconds: float | None = None
    timeout: str = "100"
    attempts: int = 1

    def scenario(self) -> Scenario:
        """The row of the table that it names."""
        return next(row for row in [OWNER, *SCENARIOS] if row.name == self.row)

    def program(self) -> Path | None:
        """The program, where it is not the table's."""
        return PROGRAMS / "owner.py" if self.scenario() is OWNER else None


EXIT_FAULTS = (
    ExitFault("stop_does_not_wake_stream", "02", {"status", "stderr"}, 1, QUEUED, timeout="3"),
    ExitFault("deadline_ignored", "36-long_op", {"wall", "stderr"}, None, seconds=6),
    ExitFault("unread_error_not_reported", "14-end", {"status", "stderr"}, 0),
    ExitFault("frames_read_without_gil", "02", {"status"}, -11),
    ExitFault("destructor_throws_once_closed", "09-numpy", {"status"}, -6),
    ExitFault("sync_in_destructor_hangs", "13", {"wall"}, None, seconds=6),
    ExitFault("loader_worker_not_ended", "42-alive", {"wall"}, None, seconds=6),
    ExitFault("fork_child_waits_for_threads", "41-fork", {"wall"}, None, QUEUED, 6),
    ExitFault("interrupt_aborts", "35", {"status"}, -6),
    ExitFault("shared_memory_left_behind", "01", {"shared memory"}, 0),
    ExitFault("admission_stays_open", "27", {"status"}, -6, QUEUED, attempts=8),
    ExitFault("owner_freed_without_gil", "00-owner", {"status"}, -6, QUEUED),
)
