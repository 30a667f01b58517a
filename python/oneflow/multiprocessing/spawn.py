"""Runs one function in several processes; the first failure ends them all, and is raised."""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import Any, cast


class ProcessException(Exception):
    """A process of `spawn` failed.

    Example:
        >>> from oneflow.multiprocessing.spawn import ProcessException
        >>> ProcessException("why", 1, 42).pid
        42
    """

    def __init__(self, message: str, error_index: int, pid: int | None) -> None:
        super().__init__(message)
        self.error_index, self.pid = error_index, pid


class ProcessRaisedException(ProcessException):
    """The function raised an exception in a process; the text has its traceback.

    Example:
        >>> import oneflow as flow
        >>> issubclass(flow.multiprocessing.ProcessRaisedException, Exception)
        True
    """


class ProcessExitedException(ProcessException):
    """A process ended with a status, or by a signal.

    Example:
        >>> from oneflow.multiprocessing import ProcessExitedException
        >>> ProcessExitedException("why", 0, 42, 3).exit_code
        3
    """

    def __init__(
        self, message: str, error_index: int, pid: int | None, exit_code: int,
        signal_name: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__(message, error_index, pid)
        self.exit_code, self.signal_name = exit_code, signal_name


def _run(fn: Callable[..., Any], index: int, args: Sequence[Any], errors: Any) -> None:
    try:
        fn(index, *args)
    except KeyboardInterrupt:
        pass
    except Exception:
        errors.put(traceback.format_exc())
        sys.exit(1)


class ProcessContext:
    """Processes that run, and how to wait for them.

    Example: see `spawn`.
        >>> import oneflow as flow
        >>> context = flow.multiprocessing.spawn(print, nprocs=0, join=False)
        >>> context.join()
        True
    """

    def __init__(self, processes: list[Any], error_queues: list[Any]) -> None:
        self.processes, self.error_queues = processes, error_queues
        self.sentinels = {process.sentinel: i for i, process in enumerate(processes)}

    def pids(self) -> list[int]:
        """The processes' numbers."""
        return [process.pid for process in self.processes]

    def join(self, timeout: float | None = None) -> bool:
        """Waits until a process ends, or `timeout` seconds; whether all have ended.

        Raises:
            ProcessRaisedException, ProcessExitedException: one failed; the others were ended.
        """
        if not self.sentinels:
            return True
        ready = multiprocessing.connection.wait(list(self.sentinels), timeout)
        failed = None
        for sentinel in ready:
            index = self.sentinels.pop(cast(int, sentinel))
            self.processes[index].join()
            if self.processes[index].exitcode != 0 and failed is None:
                failed = index
        if failed is None:
            return not self.sentinels
        for process in self.processes:
            if process.is_alive():
                process.terminate()
            process.join()
        self._raise(failed)
        return True

    def _raise(self, index: int) -> None:
        process = self.processes[index]
        if not self.error_queues[index].empty():
            text = self.error_queues[index].get()
            message = f"[spawn] expects process {index} to raise nothing, got this from it:\n{text}"
            raise ProcessRaisedException(message, index, process.pid)
        if process.exitcode < 0:
            name = signal.Signals(-process.exitcode).name
            message = f"[spawn] expects process {index} to exit with 0, got signal {name}"
            raise ProcessExitedException(message, index, process.pid, process.exitcode, name)
        message = f"[spawn] expects process {index} to exit with 0, got {process.exitcode}"
        raise ProcessExitedException(message, index, process.pid, process.exitcode)


SpawnContext = ProcessContext


def start_processes(
    fn: Callable[..., Any],
    args: Sequence[Any] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """As `spawn`, with another way to start processes.

    Example:
        >>> import oneflow as flow
        >>> flow.multiprocessing.start_processes(print, nprocs=0)
    """
    context: Any = multiprocessing.get_context(start_method)
    processes, queues = [], []
    for index in range(nprocs):
        queue = context.SimpleQueue()
        process = context.Process(target=_run, args=(fn, index, args, queue), daemon=daemon)
        process.start()
        processes.append(process)
        queues.append(queue)
    running = ProcessContext(processes, queues)
    if not join:
        return running
    while running.sentinels and not running.join():
        pass
    return None


def spawn(
    fn: Callable[..., Any],
    args: Sequence[Any] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Runs `fn(i, *args)` in process i of `nprocs` new ones.

    Args:
        fn: a function of a module, which the processes import
        join: whether to wait for all; if not, the result is a `ProcessContext`
        daemon: whether they end when this process does

    Raises:
        ProcessRaisedException, ProcessExitedException: one failed; the others were ended.

    Example:
        >>> import oneflow as flow
        >>> flow.multiprocessing.spawn(print, nprocs=0)
    """
    return start_processes(fn, args, nprocs, join, daemon, start_method)
