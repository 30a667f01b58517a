"""Marks of functions that will go."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_deprecated: set[int] = set()
_kept: list[Any] = []


def oneflow_deprecate(*api_names: str, **kwargs: Any) -> Callable[[Any], Any]:
    """A decorator that marks a function or class as deprecated; it still works.

    Example:
        >>> import oneflow as flow
        >>> @flow.oneflow_deprecate()
        ... def old():
        ...     return 1
        >>> flow.is_deprecated(old)
        True
    """

    def mark(thing: Any) -> Any:
        _kept.append(thing)
        _deprecated.add(id(thing))
        return thing

    return mark


def is_deprecated(func_or_class: Any) -> bool:
    """Whether a function or class is marked as deprecated.

    Example:
        >>> import oneflow as flow
        >>> flow.is_deprecated(flow.ones)
        False
    """
    return id(func_or_class) in _deprecated
