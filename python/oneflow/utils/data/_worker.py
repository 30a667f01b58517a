"""What runs in a worker process of DataLoader, and what it says to the process that reads.

Requests and replies go through one pipe for each worker. A request is `Start`, `Task` or None (the
end); a reply is `Reply`. A thread takes requests off the pipe at once, so that the reader never
waits for a worker that waits for the reader.
"""

from __future__ import annotations

import os
import pickle
import queue
import random
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Sequence
from multiprocessing import reduction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from oneflow.framework.generator import manual_seed
from oneflow.utils.data import _collate
from oneflow.utils.data._fetch import fetcher_for
from oneflow.utils.data._shared import Arena

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

_PARENT_POLL_SECONDS = 2.0


class Start(NamedTuple):
    """A pass begins; what is left of earlier ones means nothing any more."""

    epoch: int


class Task(NamedTuple):
    """One batch to read: indices, or for an iterable data set the next samples.

    `dropped`: the buffers of shared memory whose contents the reader has dropped.
    """

    epoch: int
    number: int
    indices: Any
    dropped: Sequence[int] = ()


class Reply(NamedTuple):
    """A batch (`Packed`), the error that it ended in, or the news that the stream is over."""

    epoch: int
    number: int
    batch: Any = None
    failure: Failure | None = None
    over: bool = False


class Failure(NamedTuple):
    """An exception, as it can travel: its type if that can be pickled, and its text."""

    kind: type[BaseException]
    text: str

    @classmethod
    def of(cls, error: BaseException, where: str) -> Failure:
        """The failure of the exception that is being handled."""
        kind: type[BaseException] = type(error)
        try:
            pickle.dumps(kind)
        except Exception:  # a class inside a function, say
            kind = RuntimeError
        text = f"[DataLoader] {where} failed; its stack was:\n{traceback.format_exc()}"
        return cls(kind if issubclass(kind, Exception) else RuntimeError, text)

    def raise_(self) -> None:
        """Raises it in the process that reads."""
        try:
            error = self.kind(_Text(self.text))
        except Exception:  # the type wants other arguments
            error = RuntimeError(self.text)
        raise error from None


class _Text(str):
    """A text whose repr is itself: KeyError prints that, which would hide the lines of a stack."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class WorkerInfo(NamedTuple):
    """Who a worker is; see `get_worker_info`.

    Attributes:
        id: from 0 to num_workers - 1
        num_workers: how many there are
        seed: of its random numbers
        dataset: its copy of the data set

    Example: see `get_worker_info`.
        >>> from oneflow.utils.data._worker import WorkerInfo
        >>> WorkerInfo(0, 2, 7, "abc").id
        0
    """

    id: int
    num_workers: int
    seed: int
    dataset: Any


_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """In a worker process of DataLoader who it is, elsewhere None.

    An `IterableDataset` asks it to give each worker a part of the samples.

    Example:
        >>> import oneflow as flow
        >>> class Count(flow.utils.data.IterableDataset):
        ...     def __iter__(self):
        ...         info = flow.utils.data.get_worker_info()
        ...         start, step = (0, 1) if info is None else (info.id, info.num_workers)
        ...         return iter(range(start, 6, step))
        >>> loader = flow.utils.data.DataLoader(Count(), batch_size=3, num_workers=2)
        >>> [batch.tolist() for batch in loader]
        [[0, 2, 4], [1, 3, 5]]
    """
    return _info


class Settings(NamedTuple):
    """What a worker needs besides its pipe."""

    dataset: Any
    collate_fn: Callable[[Any], Any]
    batched: bool
    batch_size: int | None
    drop_last: bool
    init_fn: Callable[[int], Any] | None


def run(
    info_: WorkerInfo, settings: Settings, pipe: Connection, inherited: list[Connection]
) -> None:
    """The main function of a worker process."""
    global _info
    _info = info_
    # The terminal's Ctrl-C reaches all processes; the one that reads decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for other in inherited:  # a copy of these would hide from other workers that the reader is gone
        other.close()
    requests: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(
        target=_take_requests, args=(pipe, requests, os.getppid()), daemon=True
    ).start()
    _seed(info_.seed)
    try:
        if settings.init_fn is not None:
            settings.init_fn(info_.id)
        _serve(info_, settings, pipe, requests)
    except BaseException as error:
        _say(pipe, Reply(-1, -1, failure=Failure.of(error, _name(info_))))


def _take_requests(pipe: Connection, requests: Any, parent: int) -> None:
    """Ends the process when the one that reads says so or is gone, whatever the worker is doing."""
    try:
        while True:
            if pipe.poll(_PARENT_POLL_SECONDS):
                request = pipe.recv()
                if request is None:
                    break
                requests.put(request)
            elif os.getppid() != parent:
                break
    except (EOFError, OSError):
        pass
    os._exit(0)


def _say(pipe: Connection, reply: Reply, new: Sequence[Any] = ()) -> None:
    """Sends a reply, and the files of the buffers that are new in it."""
    sys.stdout.flush()  # the process may end at any time from here on
    try:
        pipe.send(reply)
        for buffer in new:
            reduction.send_handle(pipe, buffer.file, None)
            buffer.close()
    except OSError:  # nobody reads any more
        os._exit(0)


def _seed(seed: int) -> None:
    random.seed(seed)
    np.random.seed(seed % 2**32)
    manual_seed(seed)


def _name(info: WorkerInfo) -> str:
    return f"worker {info.id} (process {os.getpid()})"


def _serve(info: WorkerInfo, settings: Settings, pipe: Connection, requests: Any) -> None:
    fetch: Any = None
    epoch = -1
    arena = _collate.arena = Arena()
    while True:
        request = requests.get()
        if isinstance(request, Start):
            fetch, epoch = None, request.epoch
            continue
        arena.take_back(request.dropped)
        if request.epoch != epoch:
            continue
        new: Sequence[Any] = ()
        try:
            if fetch is None:
                fetch = fetcher_for(settings)
            packed, new = arena.pack(fetch(request.indices))
            reply = Reply(epoch, request.number, packed)
        except StopIteration:
            reply = Reply(epoch, request.number, over=True)
        except Exception as error:
            reply = Reply(epoch, request.number, failure=Failure.of(error, _name(info)))
        _say(pipe, reply, new)
