"""Captures from wherever Python code can run: signals, tracing, threads that C made, and others.

Each compares every frame with the interpreter's own frame objects.
"""

from __future__ import annotations

import ctypes
import gc
import os
import pathlib
import signal
import sys
import sysconfig
import threading
import time
from collections.abc import Callable, Iterator
from types import CodeType, FrameType
from typing import Any

import pytest
import stack_testing as st
from stack_helpers import HAS_COLUMNS, check, function, last, run_python, true_position


@pytest.fixture(autouse=True)
def installed() -> Iterator[None]:
    """Installs the recorder; a second time does nothing."""
    st.install()
    yield


def _checked() -> int:
    """Captures below its caller, whose frame, and its callers', must be right."""
    return check(st.capture(), sys._getframe())


def test_control() -> None:
    """A stack that is not the one of the frame is noticed."""

    def other() -> int:
        return st.capture()

    with pytest.raises(AssertionError):
        check(other(), sys._getframe())


# ---- signals


def test_signal_handlers() -> None:
    """In the middle of other captures and of code never seen before."""
    calls = 0

    def handler(number: int, frame: FrameType | None) -> None:
        nonlocal calls
        calls += 1
        assert frame is not None
        assert st.resolve(_checked())[-3][:3] == true_position(frame)[:3]
        signal.setitimer(signal.ITIMER_REAL, 0.001)  # once, so that handlers do not nest

    def busy(n: int) -> int:
        if n:
            return busy(n - 1)
        _checked()
        return function(f"<signal {calls}>", "def f():\n  return st.capture()")()

    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.001)
    try:
        end = time.monotonic() + 60
        while calls < 100 and time.monotonic() < end:
            assert last(busy(calls % 20))[1] == "f"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert calls >= 100


# ---- tracing, profiling, debugging


def _work(n: int) -> int:
    values = [_checked() for _ in range(2)]
    try:
        values.append(n // (n % 2))
    except ZeroDivisionError:
        _checked()
    for value in sorted(values, key=lambda _: _checked()):
        n += value
    return n if n < 100 else max(_checked() for _ in (0, 1))


@pytest.mark.parametrize("install", [sys.settrace, sys.setprofile])
def test_trace_and_profile_functions_capture(install: Callable[[Any], None]) -> None:
    """At each event, while the traced code captures too."""
    events: list[str] = []

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        if frame.f_code.co_filename != __file__ or frame.f_code is _checked.__code__:
            return None
        events.append(event)
        stack = check(st.capture(), sys._getframe())
        assert st.resolve(stack)[-2][1] == frame.f_code.co_name
        return trace

    install(trace)
    try:
        for n in range(4):
            _work(n)
    finally:
        install(None)
    kinds = ("line", "exception", "call", "return")
    assert set(events) >= set(kinds if install is sys.settrace else ("call", "return", "c_call"))


def test_a_debugger_that_jumps() -> None:
    """A frame whose f_lineno was set goes on, and is recorded, where it was sent."""

    def jumping() -> list[int]:
        lines = []
        lines.append(last(st.capture())[2])
        lines.append(last(st.capture())[2])
        lines.append(last(st.capture())[2])
        return lines

    first = jumping.__code__.co_firstlineno

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        if event == "line" and frame.f_code is jumping.__code__ and frame.f_lineno == first + 3:
            debugged: Any = frame
            debugged.f_lineno = first + 4
        return trace

    sys.settrace(trace)
    try:
        lines = jumping()
    finally:
        sys.settrace(None)
    assert lines == [first + 2, first + 4]


def test_monitoring_callbacks_capture() -> None:
    """From Python 3.12 on; before, there is nothing to monitor with."""
    monitoring: Any = getattr(sys, "monitoring", None)
    assert (monitoring is not None) == (sys.version_info >= (3, 12))
    if monitoring is None:
        return
    seen = 0

    def on_line(code: CodeType, line: int) -> None:
        nonlocal seen
        if code is _work.__code__:
            seen += 1
            check(st.capture(), sys._getframe())

    tool = monitoring.DEBUGGER_ID
    monitoring.use_tool_id(tool, "stack test")
    try:
        monitoring.register_callback(tool, monitoring.events.LINE, on_line)
        monitoring.set_events(tool, monitoring.events.LINE)
        for n in range(4):
            _work(n)
    finally:
        monitoring.set_events(tool, 0)
        monitoring.free_tool_id(tool)
    assert seen > 10


def test_pytests_rewritten_asserts() -> None:
    """Code made from a changed syntax tree: the line and the columns are those of the text."""
    source = pathlib.Path(__file__).read_text(encoding="utf-8").split("\n")
    assert (
        last(st.capture())[2] - 1
        == source.index(f"        last({'st.capture()'})[2] - 1")
    )  # fmt: skip
    assert last(
        st.capture())[2:6] == _expected(source)  # fmt: skip


def _expected(source: list[str]) -> tuple[int, int, int, int]:
    line = 1 + source.index(f"        st.{'capture()'})[2:6] == _expected(source)  # fmt: skip")
    return (line, line, 8, 20) if HAS_COLUMNS else (line, line, -1, -1)


# ---- threads


def test_threads_made_by_c() -> None:
    """Threads that enter Python by PyGILState_Ensure, again and again."""
    stacks: list[int] = []
    mistakes: list[BaseException] = []

    def main(_: object) -> None:
        try:
            stacks.append(_checked())
        except BaseException as error:
            mistakes.append(error)

    callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(main)
    libc = ctypes.CDLL(None)
    for _ in range(20):
        threads = [ctypes.c_ulong() for _ in range(4)]
        for thread in threads:
            assert libc.pthread_create(ctypes.byref(thread), None, callback, None) == 0
        for thread in threads:
            assert libc.pthread_join(thread, None) == 0
    assert not mistakes, mistakes[0]
    assert len(stacks) == 80
    assert [frame[1] for frame in st.resolve(stacks[0])] == ["main", "_checked"]


def test_a_thread_of_c_after_its_python_state_is_gone() -> None:
    """It has no stack outside Python, before and after it was inside."""
    assert st.capture_without_gil() == 0
    test_threads_made_by_c()
    assert st.capture_without_gil() == 0


def test_collections_run_by_other_threads() -> None:
    """gc.callbacks and finalizers run between any two instructions of whoever allocates."""
    mistakes: list[BaseException] = []
    runs = 0

    def on_collection(phase: str, info: dict[str, int]) -> None:
        nonlocal runs
        runs += 1
        try:
            _checked()
        except BaseException as error:
            mistakes.append(error)

    def allocate() -> None:
        for i in range(300):
            cycle: list[Any] = []
            cycle.append(cycle)
            function(f"<gc {i % 7}>", "def f():\n  return st.capture()")()
            _checked()

    threshold = gc.get_threshold()
    gc.callbacks.append(on_collection)
    gc.set_threshold(5)
    try:
        threads = [threading.Thread(target=allocate) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        gc.set_threshold(*threshold)
        gc.callbacks.remove(on_collection)
    assert not mistakes, mistakes[0]
    assert runs > 50


# ---- the interpreter's own ways to run code


def test_constructors_that_the_interpreter_inlines() -> None:
    """From 3.12 on a frame that no program knows of stands between call and __init__."""

    class Made:
        def __init__(self, depth: int) -> None:
            self.stack = _checked()
            self.more = Made(depth - 1) if depth else None

    stacks = [Made(3).stack for _ in range(200)]
    assert [f[1] for f in st.resolve(stacks[-1])][-2:] == ["__init__", "_checked"]


def test_properties_operators_and_generators_that_the_interpreter_inlines() -> None:
    """Each often enough to be specialised."""

    class Forms:
        @property
        def field(self) -> int:
            return _checked()

        def __getitem__(self, key: int) -> int:
            return _checked()

        def __getattr__(self, name: str) -> int:
            return _checked()

        def __iter__(self) -> Iterator[int]:
            for _ in range(3):
                yield _checked()

    def sending() -> Any:
        yield from forms

    forms: Any = Forms()
    for _ in range(100):
        _ = forms.field + forms[0] + forms.missing
        for _ in forms:
            pass
        list(sending())


def _everywhere(**environment: str) -> None:
    out = run_python(
        """
        import sys
        import stack_testing as st
        from stack_helpers import check
        st.install()
        START
        def work(n):
            check(st.capture(), sys._getframe())
            return work(n - 1) if n else 0
        class Made:
            def __init__(self):
                work(2)
        def generator():
            yield work(1)
        for i in range(100):
            work(i % 9), Made(), list(generator()), sorted([3, 1], key=work)
            names = {"work": work}
            exec(compile("\\n" * (i % 7) + "(lambda: work(3))()", f"<{i}>", "exec"), names)
        print(st.stats()["enabled"])
        """.replace("START", environment.pop("START", "")),
        **environment,
    )
    assert out == "True\n"


@pytest.mark.parametrize("allocator", ["malloc", "malloc_debug", "pymalloc_debug"])
def test_other_allocators(allocator: str) -> None:
    """Addresses lie elsewhere, and freed memory is overwritten."""
    _everywhere(PYTHONMALLOC=allocator)


def test_development_mode() -> None:
    """-X dev: debug hooks, warnings, faulthandler."""
    _everywhere(PYTHONDEVMODE="1")


def test_the_trampoline_of_perf() -> None:
    """From 3.12 on, each Python function can get machine code of its own below it."""
    has = sys.version_info >= (3, 12) and sysconfig.get_config_var("PY_HAVE_PERF_TRAMPOLINE")
    _everywhere(START="sys.activate_stack_trampoline('perf')" if has else "")


def test_subinterpreters_are_not_recorded() -> None:
    """Their code objects may die with them. (One that shares the GIL can import the module.)"""
    out = run_python(
        """
        import os, sys
        import stack_testing as st
        st.install()
        old = sys.version_info < (3, 13)
        interpreters = __import__("_xxsubinterpreters" if old else "_interpreters")
        other = interpreters.create(isolated=False) if old else interpreters.create("legacy")
        program = '''if True:
            import stack_testing as st
            def f():
                return st.capture()
            st.install()
            for _ in range(100):
                assert f() == 0
                assert st.current() == ""
            print("inside", st.stats()["codes"], flush=True)
        '''
        before = st.capture()
        interpreters.run_string(other, program)
        interpreters.destroy(other)
        print("outside", st.resolve(before)[-1][1], st.capture() > 0, st.stats()["codes"])
        """
    )
    assert out == "inside 1\noutside <module> True 1\n"


def test_children_of_multiprocessing() -> None:
    """Forked and spawned."""
    for method in ("fork", "spawn"):
        out = run_python(
            f"""
            import multiprocessing, sys
            def child(queue):
                import stack_testing as st
                from stack_helpers import check
                st.install()
                stack = check(st.capture(), sys._getframe())
                queue.put(st.resolve(stack)[-1][1])
            if __name__ == "__main__":
                import stack_testing as st
                st.install()
                st.capture()
                context = multiprocessing.get_context({method!r})
                queue = context.Queue()
                process = context.Process(target=child, args=(queue,))
                process.start()
                print(queue.get(timeout=60))
                process.join()
            """,
            as_file=True,
        )
        assert out == "child\n"


def test_environment_is_that_of_this_process() -> None:
    """The tests above ran by the way that this target is for."""
    assert st.stats()["public_api"] == (os.environ.get("ONEFLOW_TEST_STACK_PUBLIC_API") == "1")
