"""MultiClientSession: OneFlow's name of the session as Python sees it."""

from __future__ import annotations

import enum

from oneflow import _oneflow_internal


class SessionStatus(enum.Enum):
    """Whether a session has begun.

    Example:
        >>> from oneflow.framework.multi_client_session import SessionStatus
        >>> SessionStatus.INITED.name
        'INITED'
    """

    CREATED = 1
    INITED = 2
    CLOSED = 3


class MultiClientSession:
    """The session, which owns the graphs. It is there as long as the process: this only names it.

    Example:
        >>> from oneflow.framework.session_context import GetDefaultSession
        >>> session = GetDefaultSession()
        >>> session.TryInit()
        >>> session.status is session.Status.INITED
        True
    """

    Status = SessionStatus

    @property
    def id(self) -> int:
        """The session's generation: how often the session was closed, and one."""
        return int(_oneflow_internal.graph.session_generation())

    @property
    def status(self) -> SessionStatus:
        """INITED: it always takes graphs, until the process ends."""
        return SessionStatus.INITED

    def TryInit(self) -> None:  # noqa: N802: OneFlow's name
        """Nothing: the session begins with the first graph."""

    def close(self) -> None:
        """Closes all graphs: waits for their runs, newest first.

        Using one afterwards raises RuntimeError. The next graph that is made starts a new
        generation of the session.
        """
        _oneflow_internal.graph.session_close()

    TryClose = close
