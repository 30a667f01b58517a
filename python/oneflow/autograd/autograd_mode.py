"""Switches that say whether autograd records ops: context managers that are decorators too."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from oneflow import _oneflow_internal

_F = TypeVar("_F", bound=Callable[..., Any])
_is_enabled = _oneflow_internal.is_grad_enabled
_set_enabled = _oneflow_internal.set_grad_enabled


def is_grad_enabled() -> bool:
    """Whether autograd records ops of this thread.

    Example:
        >>> import oneflow as flow
        >>> with flow.no_grad():
        ...     flow.is_grad_enabled()
        False
    """
    return bool(_is_enabled())


class _GradMode:
    """Sets the switch on entry and restores what it found on exit. Entering again nests.

    Thread safety: one thread for each object; the switch itself belongs to the thread.
    """

    def __init__(self, enabled: bool) -> None:
        self._enabled = enabled
        self._before: list[bool] = []

    def __enter__(self) -> None:
        self._before.append(_is_enabled())
        _set_enabled(self._enabled)

    def __exit__(self, *error: object) -> None:
        _set_enabled(self._before.pop())

    def _again(self) -> _GradMode:
        return _GradMode(self._enabled)

    def __call__(self, function: _F) -> _F:
        """`function`, run with the switch set; of a generator function every step is."""
        if not callable(function):
            raise TypeError(
                f"[autograd] expects a function to decorate, got {type(function).__name__}"
            )
        if inspect.isgeneratorfunction(function):
            return self._wrap_generator(function)

        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            with self._again():
                return function(*args, **kwargs)

        return wrapper  # type: ignore[return-value]

    def _wrap_generator(self, function: Any) -> Any:
        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            with self._again():
                steps = function(*args, **kwargs)
                send: Callable[[], Any] = lambda: next(steps)  # noqa: E731
            while True:
                try:
                    with self._again():
                        item = send()
                except StopIteration as end:
                    return end.value
                send = yield from _resume(steps, item)

        return wrapper


def _resume(steps: Any, item: Any) -> Any:
    """Yields `item`; returns what to call to go on: send a value, throw an error, or close."""
    try:
        value = yield item
    except GeneratorExit:
        steps.close()
        raise
    except BaseException as error:
        raised = error
        return lambda: steps.throw(raised)
    return lambda: steps.send(value)


class no_grad(_GradMode):
    """Inside it, autograd records nothing: results have `requires_grad=False`.

    A context manager, and a decorator with or without parentheses.

    Example:
        >>> import oneflow as flow
        >>> x = flow.ones(1, requires_grad=True)
        >>> with flow.no_grad():
        ...     y = x * 2
        >>> y.requires_grad
        False
    """

    def __new__(cls, function: Any = None) -> Any:
        return object.__new__(cls) if function is None else _GradMode(False)(function)

    def __init__(self, function: Any = None) -> None:
        super().__init__(False)


class enable_grad(_GradMode):
    """Inside it, autograd records, also within `no_grad`.

    A context manager, and a decorator with or without parentheses.

    Example:
        >>> import oneflow as flow
        >>> x = flow.ones(1, requires_grad=True)
        >>> with flow.no_grad(), flow.enable_grad():
        ...     y = x * 2
        >>> y.requires_grad
        True
    """

    def __new__(cls, function: Any = None) -> Any:
        return object.__new__(cls) if function is None else _GradMode(True)(function)

    def __init__(self, function: Any = None) -> None:
        super().__init__(True)


class inference_mode(_GradMode):
    """`no_grad` under the name that says what for; `inference_mode(False)` records.

    Args:
        mode: whether to stop recording; default True

    Example:
        >>> import oneflow as flow
        >>> with flow.inference_mode():
        ...     flow.is_grad_enabled()
        False
    """

    def __new__(cls, mode: Any = True) -> Any:
        return _GradMode(False)(mode) if callable(mode) else object.__new__(cls)

    def __init__(self, mode: bool = True) -> None:
        super().__init__(not mode)


class set_grad_enabled(_GradMode):
    """Sets the switch at once; as a context manager it restores what was before.

    Args:
        mode: whether autograd records

    Raises:
        TypeError: `mode` is no bool.

    Example:
        >>> import oneflow as flow
        >>> with flow.set_grad_enabled(False):
        ...     flow.is_grad_enabled()
        False
        >>> flow.is_grad_enabled()
        True
    """

    def __init__(self, mode: bool) -> None:
        if not isinstance(mode, bool):
            raise TypeError(f"[set_grad_enabled] expects a bool, got {mode!r}")
        super().__init__(mode)
        self._found = bool(_is_enabled())
        _set_enabled(mode)

    def __enter__(self) -> None:
        self._before.append(self._found)
        _set_enabled(self._enabled)

    def __call__(self, function: _F) -> _F:
        # As a decorator it must not leave the switch changed for the rest of the program.
        _set_enabled(self._found)
        return super().__call__(function)
