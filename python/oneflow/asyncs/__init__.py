"""Threads of the runtime that a program may name.

OneFlow lets a program say which thread of the runtime issues its ops. Here ops run in the order of
their device's stream whatever thread they are given to, so a name changes nothing.
"""

from __future__ import annotations

from types import TracebackType


class Thread:
    """A name for a thread of the runtime.

    Example:
        >>> import oneflow as flow
        >>> with flow.asyncs.thread(flow.asyncs.Thread()):
        ...     flow.ones(1).tolist()
        [1.0]
    """


class thread:
    """Ops inside the block belong to a thread.

    Raises:
        TypeError: it is no `Thread`.

    Example: see `Thread`.
        >>> import oneflow as flow
        >>> flow.asyncs.thread(1)
        Traceback (most recent call last):
        TypeError: [thread] expects an asyncs.Thread, got int
    """

    def __init__(self, named: Thread) -> None:
        if not isinstance(named, Thread):
            raise TypeError(f"[thread] expects an asyncs.Thread, got {type(named).__name__}")
        self._named = named

    def __enter__(self) -> None:
        return None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        return None
