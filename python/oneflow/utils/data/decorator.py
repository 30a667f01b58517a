"""Decorators of iterable data sets that are chained: as methods, and by whether they are random."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any

from oneflow.utils.data.dataset import IterableDataset as IterDataPipe

_determinism = False


def _check_pipe(caller: str, cls: Any) -> type[IterDataPipe[Any]]:
    if not isinstance(cls, type) or not issubclass(cls, IterDataPipe):
        raise TypeError(f"[{caller}] expects a subclass of IterDataPipe, got {cls!r}")
    return cls


class functional_datapipe:
    """Makes a data set a method of all others: `source.name(...)` is `Decorated(source, ...)`.

    Args:
        name: of the method

    Raises:
        TypeError: the decorated class is no IterDataPipe.
        ValueError: there is such a method already.

    Example:
        >>> from oneflow.utils.data import IterDataPipe, functional_datapipe
        >>> @functional_datapipe("doubled")
        ... class Doubled(IterDataPipe):
        ...     def __init__(self, source):
        ...         self.source = source
        ...     def __iter__(self):
        ...         return (2 * x for x in self.source)
        >>> class Count(IterDataPipe):
        ...     def __iter__(self):
        ...         return iter(range(3))
        >>> list(Count().doubled().doubled())
        [0, 4, 8]
    """

    def __init__(self, name: str) -> None:
        if not isinstance(name, str) or not name.isidentifier():
            raise TypeError(f"[functional_datapipe] expects the name of a method, got {name!r}")
        self.name = name

    def __call__(self, cls: Any) -> Any:
        """Decorates a class, or what `non_deterministic` made of one."""
        if not isinstance(cls, non_deterministic):
            _check_pipe("functional_datapipe", cls)
        IterDataPipe.register_datapipe_as_function(self.name, cls)
        return cls


class guaranteed_datapipes_determinism:
    """While it is active, making a data set that is `non_deterministic` is an error.

    Example:
        >>> from oneflow.utils.data import guaranteed_datapipes_determinism
        >>> with guaranteed_datapipes_determinism():
        ...     pass
    """

    def __enter__(self) -> None:
        global _determinism
        self._before = _determinism
        _determinism = True

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        global _determinism
        _determinism = self._before


class non_deterministic:
    """Marks a data set whose order is not the same each time.

    Used as `@non_deterministic`, or as `@non_deterministic(is_random)` with a function that is
    given the arguments of the class, and returns whether such an instance is random.

    Raises:
        TypeError: what is decorated is no IterDataPipe; or an instance is made inside
            `guaranteed_datapipes_determinism`.

    Example:
        >>> from oneflow.utils.data import IterDataPipe, non_deterministic
        >>> @non_deterministic
        ... class Shuffled(IterDataPipe):
        ...     def __iter__(self):
        ...         return iter(())
        >>> list(Shuffled())
        []
    """

    def __init__(self, arg: Any) -> None:
        self.cls: type[IterDataPipe[Any]] | None = None
        self._is_random: Callable[..., Any] | None = None
        if isinstance(arg, type):
            self.cls = _check_pipe("non_deterministic", arg)
        elif callable(arg):
            self._is_random = arg
        else:
            raise TypeError(f"[non_deterministic] expects a class or a function, got {arg!r}")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Decorates a class, if that has not been done; else makes an instance."""
        if self.cls is None:
            self.cls = _check_pipe("non_deterministic", args[0] if args else None)
            return self
        if _determinism and self._random(args, kwargs):
            raise TypeError(
                f"[non_deterministic] expects deterministic data sets inside "
                f"guaranteed_datapipes_determinism, got a {self.cls.__name__}"
            )
        return self.cls(*args, **kwargs)

    def _random(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        if self._is_random is None:
            return True
        answer = self._is_random(*args, **kwargs)
        if not isinstance(answer, bool):
            raise TypeError(
                f"[non_deterministic] expects its function to say a bool, got {answer!r}"
            )
        return answer
