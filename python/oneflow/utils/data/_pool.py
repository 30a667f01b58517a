"""The worker processes of one DataLoader, and the order in which their batches come.

Ownership: the pool owns its processes. They end when it is closed or collected, when the program
ends, and by themselves when its process is gone. Threads: none; one thread at a time may use it.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import time
import warnings
import weakref
from collections.abc import Iterable, Iterator
from multiprocessing.connection import Connection, wait
from typing import Any

from oneflow.utils.data._shared import Window
from oneflow.utils.data._worker import Reply, Settings, Start, Task, WorkerInfo, run

_CLOSE_SECONDS = 5.0
_POLL_SECONDS = 1.0


class WorkerPool:
    """Starts `count` processes; `batches` reads a pass through them.

    Args:
        settings: what they read, and how
        count: how many
        seed: worker i draws from seed + i
        context: how processes start: None (fork where there is fork), a name, or a context
        timeout: seconds to wait for a batch; 0 waits for ever
        prefetch: batches that each worker is ahead
    """

    def __init__(
        self,
        settings: Settings,
        count: int,
        seed: int,
        context: Any,
        timeout: float,
        prefetch: int,
    ) -> None:
        self._timeout = timeout
        self._prefetch = prefetch
        self._epoch = 0
        self._pipes: list[Connection] = []
        self._windows: list[Window] = []
        self._processes: list[Any] = []
        self._finalizer = weakref.finalize(self, _end, os.getpid(), self._pipes, self._processes)
        made = _context(context)
        for worker in range(count):
            info = WorkerInfo(worker, count, (seed + worker) % 2**63, settings.dataset)
            self._start(made, info, settings)

    def _start(self, context: Any, info: WorkerInfo, settings: Settings) -> None:
        ours, theirs = context.Pipe(duplex=True)
        self._pipes.append(ours)
        self._windows.append(Window())
        inherited = list(self._pipes) if context.get_start_method() == "fork" else []
        arguments = (info, settings, theirs, inherited)
        process = context.Process(target=run, args=arguments, daemon=True)
        with warnings.catch_warnings():
            # The runtime holds its locks around a fork, and a worker starts no thread of it.
            warnings.filterwarnings("ignore", "This process .* is multi-threaded", Warning)
            try:
                process.start()
            except (AttributeError, TypeError, pickle.PicklingError) as error:
                self.close()
                raise TypeError(
                    "[DataLoader] expects a data set and functions that can be pickled where "
                    f"workers start by {context.get_start_method()}, got: {error}"
                ) from error
        theirs.close()
        self._processes.append(process)

    def close(self) -> None:
        """Ends the processes, within seconds; a second call does nothing."""
        self._finalizer()

    def batches(self, tasks: Iterable[Any], endless: bool) -> Iterator[Any]:
        """The batches of `tasks` in their order; of an iterable data set (`endless`), worker by
        worker in turn, until each has said that it is over.
        """
        self._epoch += 1
        for pipe in self._pipes:
            self._send(pipe, Start(self._epoch))
        run_ = _Pass(self, self._epoch, iter(tasks), endless)
        yield from run_.read()

    def _send(self, pipe: Connection, request: Any) -> None:
        try:
            pipe.send(request)
        except OSError:
            self._check_alive(certain=True)

    def _receive(self) -> list[Reply]:
        """At least one reply; an error where a worker died or the time is over."""
        deadline = time.monotonic() + self._timeout if self._timeout else None
        while True:
            ready: list[Any] = wait(self._pipes, _POLL_SECONDS if deadline is None else 0.05)
            if ready:
                return [self._read(self._pipes.index(pipe)) for pipe in ready]
            self._check_alive()
            if deadline is not None and time.monotonic() > deadline:
                self.close()
                raise RuntimeError(
                    f"[DataLoader] expects a batch within {self._timeout} s, got none"
                )

    def _read(self, worker: int) -> Reply:
        """The reply that has come from a worker."""
        try:
            reply: Reply = self._pipes[worker].recv()
            if reply.batch is None:
                return reply
            self._windows[worker].take_news(reply.batch, self._pipes[worker])
        except (EOFError, OSError):
            self._check_alive(certain=True)
            raise
        return reply._replace(batch=self._windows[worker].open(reply.batch))

    def _check_alive(self, certain: bool = False) -> None:
        """Raises if a worker is gone; `certain` if that is known already."""
        if certain:
            # A process closes its files shortly before it can be waited for.
            gone = wait([process.sentinel for process in self._processes], _POLL_SECONDS)
            for process in self._processes:
                if process.sentinel in gone:
                    process.join(_POLL_SECONDS)
        for worker, process in enumerate(self._processes):
            if not process.is_alive():
                code, pid = process.exitcode, process.pid
                self.close()
                how = f"signal {-code}" if code < 0 else f"status {code}"
                raise RuntimeError(
                    f"[DataLoader] worker {worker} (process {pid}) ended with {how} while its "
                    "batches were awaited"
                )
        if certain:
            self.close()
            raise RuntimeError("[DataLoader] a worker closed its pipe while it still runs")


class _Pass:
    """One pass over the data: which worker has which batch, and which came early."""

    def __init__(self, pool: WorkerPool, epoch: int, tasks: Iterator[Any], endless: bool) -> None:
        self._pool = pool
        self._epoch = epoch
        self._tasks = tasks
        self._endless = endless
        self._sent = 0
        self._owners: dict[int, int] = {}  # batch -> worker, for those that are on their way
        self._early: dict[int, Reply] = {}

    def read(self) -> Iterator[Any]:
        """The batches in order. Each that is taken makes its worker read a further one."""
        for _ in range(self._pool._prefetch):
            for worker in range(len(self._pool._pipes)):
                self._send_next(worker)
        number = 0
        while number < self._sent:
            worker = self._owners.pop(number)
            reply = self._take(number)
            number += 1
            if reply.failure is not None:
                reply.failure.raise_()
            if not reply.over:
                self._send_next(worker)
                yield reply.batch

    def _send_next(self, worker: int) -> None:
        try:
            indices = None if self._endless else next(self._tasks)
        except StopIteration:
            return
        self._owners[self._sent] = worker
        dropped = self._pool._windows[worker].dropped()
        self._pool._send(self._pool._pipes[worker], Task(self._epoch, self._sent, indices, dropped))
        self._sent += 1

    def _take(self, number: int) -> Reply:
        while number not in self._early:
            if self._pool._epoch != self._epoch:
                raise RuntimeError(
                    "[DataLoader] expects one pass at a time with persistent_workers, got a second "
                    "one that began before this was over"
                )
            for reply in self._pool._receive():
                if reply.number < 0 and reply.failure is not None:  # a worker that could not begin
                    self._pool.close()
                    reply.failure.raise_()
                if reply.epoch == self._epoch:
                    self._early[reply.number] = reply
        return self._early.pop(number)


def _context(context: Any) -> Any:
    """The multiprocessing context for a name, or for None fork where there is fork."""
    if context is not None and not isinstance(context, str):
        return context
    methods = multiprocessing.get_all_start_methods()
    if context is not None and context not in methods:
        raise ValueError(
            f"[DataLoader] expects multiprocessing_context among {methods}, got {context!r}"
        )
    return multiprocessing.get_context(context or ("fork" if "fork" in methods else None))


def _end(owner: int, pipes: list[Connection], processes: list[Any]) -> None:
    """Asks the workers to end, then makes them. Bounded by _CLOSE_SECONDS."""
    if os.getpid() != owner:
        return  # a fork of the owner: the workers are not its own
    for pipe in pipes:
        try:
            pipe.send(None)  # a worker's thread takes this at once, and ends its process
        except OSError:
            pass
        pipe.close()
    deadline = time.monotonic() + _CLOSE_SECONDS
    for process in processes:
        process.join(max(0.0, deadline - time.monotonic()))
    for process in processes:
        if process.is_alive():
            process.kill()
            process.join()
