"""What the fuzzer's programs import: an op that fails in the background, and ways to call."""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import Awaitable, Callable, Coroutine, Generator
from typing import Any

from stack_testing import record

__all__ = ["SOURCES", "Later", "compiled", "decorated", "record", "run", "run_asyncio", "spawn"]

# The texts that programs give to exec, by file name.
SOURCES: dict[str, str] = {}


class Later:
    """An awaitable that suspends its coroutine once."""

    def __await__(self) -> Generator[None, None, int]:
        yield
        return 0


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


def spawn(function: Callable[[int], Any], site: int) -> int:
    """Calls `function` in two threads at once."""
    threads = [threading.Thread(target=function, args=(site,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return site


def decorated(function: Callable[..., Any]) -> Callable[..., Any]:
    """Puts one Python frame between caller and function."""

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return wrapper


def compiled(name: str, mode: str) -> Any:
    """The code object of one of SOURCES."""
    return compile(SOURCES[name], name, mode)
