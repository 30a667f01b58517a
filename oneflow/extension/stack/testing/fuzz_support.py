"""What the fuzzer's programs import: an op to fail in the background, and ways to call.

`use()` says what the op is; programs find it under the name `record`.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import functools
import re
import sys
import threading
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterator
from functools import partial, reduce
from typing import Any

__all__ = [
    "SOURCES",
    "Later",
    "compiled",
    "decorated",
    "gathered",
    "observed",
    "partial",
    "passing",
    "pooled",
    "re",
    "record",
    "reduce",
    "run",
    "run_asyncio",
    "spawn",
    "warm",
]

# The texts that programs give to exec, by file name.
SOURCES: dict[str, str] = {}

record: Callable[[int], int]
_mute: Callable[[int], object]


def use(op: Callable[[int], int], mute: Callable[[int], object]) -> None:
    """`op(tag)` is `record` from now on; while more `mute(1)` than `mute(-1)` was called, it does
    not count."""
    global record, _mute
    record, _mute = op, mute


def warm() -> Iterator[int]:
    """Turns for a loop, of which only the last counts: what runs often is specialised."""
    _mute(1)
    try:
        yield from range(20)
    finally:
        _mute(-1)
    yield 20


class Later:
    """An awaitable that suspends its coroutine once; also as context and iterator."""

    def __init__(self) -> None:
        self.left = 2

    def __await__(self) -> Generator[None, None, int]:
        yield
        return 0

    async def __aenter__(self) -> Later:
        await Later()
        return self

    async def __aexit__(self, *error: object) -> None:
        await Later()

    def __aiter__(self) -> Later:
        return self

    async def __anext__(self) -> int:
        await Later()
        self.left -= 1
        if self.left < 0:
            raise StopAsyncIteration
        return self.left


def run(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Drives a coroutine to its end without an event loop."""
    while True:
        try:
            coroutine.send(None)
        except StopIteration as end:
            return end.value


def run_asyncio(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Runs a coroutine as a task of a new event loop."""

    async def main() -> Any:
        task: Awaitable[Any] = asyncio.ensure_future(coroutine)
        return await task

    return asyncio.run(main())


def gathered(function: Callable[[int], Coroutine[Any, Any, Any]], site: int) -> int:
    """Runs two coroutines as tasks that take turns."""

    async def main() -> None:
        await asyncio.gather(function(site), function(site))

    asyncio.run(main())
    return site


def spawn(function: Callable[[int], Any], site: int) -> int:
    """Calls `function` in two threads at once."""
    threads = [threading.Thread(target=function, args=(site,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return site


def pooled(function: Callable[[int], Any], site: int) -> int:
    """Calls `function` on a pool of threads."""
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return sum(bool(x) for x in pool.map(function, (site, site)))


def observed(install: str, function: Callable[[int], Any], site: int) -> Any:
    """Calls `function` under a trace or profile function, sys.settrace or sys.setprofile."""

    def watch(frame: object, event: str, argument: object) -> Any:
        return watch

    getattr(sys, install)(watch)
    try:
        return function(site)
    finally:
        getattr(sys, install)(None)


def decorated(function: Callable[..., Any]) -> Callable[..., Any]:
    """Puts one Python frame between caller and function."""

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return wrapper


def passing(_: object) -> Callable[[Any], Any]:
    """A decorator that changes nothing, made by a call."""
    return lambda function: function


def compiled(name: str, mode: str) -> Any:
    """The code object of one of SOURCES."""
    return compile(SOURCES[name], name, mode)
