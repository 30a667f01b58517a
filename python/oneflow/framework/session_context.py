"""The session: the owner of the graphs of a process."""

from __future__ import annotations

from oneflow.framework.multi_client_session import MultiClientSession, SessionStatus

__all__ = [
    "GetDefaultSession",
    "MultiClientSession",
    "NewDefaultSession",
    "SessionStatus",
    "TryCloseDefaultSession",
    "try_init_default_session",
]

_session = MultiClientSession()


def GetDefaultSession() -> MultiClientSession:  # noqa: N802: OneFlow's name
    """The session of this process; there is one.

    Example:
        >>> from oneflow.framework.session_context import GetDefaultSession
        >>> GetDefaultSession() is GetDefaultSession()
        True
    """
    return _session


NewDefaultSession = GetDefaultSession


def TryCloseDefaultSession() -> None:  # noqa: N802: OneFlow's name
    """Closes the session's graphs; see `MultiClientSession.close`.

    Example:
        >>> from oneflow.framework import session_context
        >>> session_context.TryCloseDefaultSession()
    """
    _session.close()


def try_init_default_session() -> None:
    """Nothing: the session begins with the first graph.

    Example:
        >>> from oneflow.framework import session_context
        >>> session_context.try_init_default_session()
    """
