"""Markers of programs written for a compiler of Python; here they change nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def script(obj: Any, *args: Any, **kwargs: Any) -> Any:
    """The function, class or module itself: there is nothing to compile.

    Example:
        >>> import oneflow as flow
        >>> @flow.jit.script
        ... def double(x):
        ...     return x + x
        >>> double(flow.ones(1)).tolist()
        [2.0]
    """
    return obj


def ignore(drop: Any = False, **kwargs: Any) -> Callable[[Any], Any] | Any:
    """The function itself, as a decorator with or without arguments.

    Example:
        >>> import oneflow as flow
        >>> @flow.jit.ignore
        ... def one():
        ...     return 1
        >>> one()
        1
    """
    return drop if callable(drop) else lambda function: function


def _script_if_tracing(function: Any) -> Any:
    """The function itself: what flowvision marks its box functions with."""
    return function
