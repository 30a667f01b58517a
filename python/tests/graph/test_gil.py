"""A run needs no lock of Python's: it goes on while another thread keeps the GIL."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable
from typing import Any

from tests.graph.graphs import FunctionGraph
from tests.support import must_fail, values

import oneflow as flow

# By this library's functions the GIL is kept, not let go as by ctypes.CDLL's.
_libc = ctypes.PyDLL(None)
TRIES = 20


def chain(x: Any) -> Any:
    """Some milliseconds of products, one after the other."""
    for _ in range(20):
        x = flow.tanh(x @ x)
    return x


def goes_on_without_gil(
    start: Callable[[], Callable[[], Any]], usual: float, tries: int = TRIES
) -> None:
    """What was started is as good as over once the GIL was kept from everybody for long enough.

    Args:
        start: starts something, and returns how to wait for its end
        usual: seconds that it takes
        tries: one that succeeds is enough: others may need the processor meanwhile
    """
    waits = []
    for _ in range(tries):
        wait = start()
        _libc.usleep(int(usual * 4e6))
        begin = time.perf_counter()
        wait()
        waits.append(time.perf_counter() - begin)
        if waits[-1] < usual / 4:
            return
    raise AssertionError(f"{min(waits):.4f} s were left of {usual:.4f} s")


def test_a_run_goes_on_while_the_gil_is_kept() -> None:
    graph, x = FunctionGraph(chain), flow.randn(400, 400)
    values(graph(x))
    begin = time.perf_counter()
    expected = values(graph(x))
    usual = time.perf_counter() - begin
    results: list[Any] = []

    def start() -> Callable[[], Any]:
        results.append(graph(x))
        return lambda: values(results[-1])

    goes_on_without_gil(start, usual)
    assert (values(results[-1]) == expected).all()


def test_control() -> None:
    """What does need the GIL is not over then."""
    usual = 0.5

    def start() -> Callable[[], None]:
        def work() -> None:
            end = time.thread_time() + usual
            while time.thread_time() < end:
                sum(range(1000))

        thread = threading.Thread(target=work)
        thread.start()
        return thread.join

    must_fail(goes_on_without_gil, start, usual, 1)
