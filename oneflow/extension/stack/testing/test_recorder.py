"""The recorder: ids, eviction, threads, sources, forms of code, environment."""

from __future__ import annotations

import gc
import itertools
import os
import re
import subprocess
import sys
import threading
import traceback
import types
from collections.abc import Iterator
from typing import Any

import pytest
import stack_testing as st
from stack_helpers import function, last, run_python

_HAS_COLUMNS = sys.version_info >= (3, 11)
_PUBLIC = os.environ.get("ONEFLOW_TEST_STACK_PUBLIC_API") == "1"


@pytest.fixture(autouse=True)
def installed() -> Iterator[None]:
    """Installs the recorder; a second time does nothing."""
    st.install()
    yield
    st.hide_below("")


# ---- ids


def test_the_way_that_the_interpreter_allows_is_used() -> None:
    """The declared layout passes its check, and layouts that are wrong do not."""
    checks = st.layout_checks()
    debug_build = hasattr(sys, "gettotalrefcount")
    assert bool(checks) == (sys.version_info < (3, 14) and not debug_build)
    if checks:
        assert checks.pop("declared")
        assert len(checks) == 4
        assert not any(checks.values()), checks
    assert st.stats()["enabled"]
    assert st.stats()["public_api"] == (_PUBLIC or debug_build)


def test_a_line_has_one_id_and_lines_differ() -> None:
    """Loops do not make new stacks; neighbouring calls do."""
    same = {st.capture() for _ in range(100)}
    assert len(same) == 1
    pair = [(st.capture(), st.capture()) for _ in range(100)]
    assert len(set(pair)) == 1
    assert pair[0][0] != pair[0][1]


def test_callers_make_the_difference() -> None:
    """The same frame called from two lines is two stacks."""

    def inner() -> int:
        return st.capture()

    first = inner()
    second = inner()
    assert first != second
    assert [f[2] for f in st.resolve(second)][:-2] == [f[2] for f in st.resolve(first)][:-2]


def test_frames_are_those_of_traceback() -> None:
    """File, line, function and source of every frame are what `traceback` shows."""
    stack, expected = st.capture(), traceback.extract_stack()
    frames = st.resolve(stack)
    assert [(f[0], f[1], f[2], f[6].strip()) for f in frames] == [
        (s.filename, s.name, s.lineno, s.line) for s in expected
    ]


def test_very_deep_stacks() -> None:
    """Deeper than any buffer, again and again, with other stacks in between."""

    def deep(n: int) -> int:
        return deep(n - 1) if n else st.capture()

    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(20000)
    try:
        ids = [deep(n) for n in (5000, 10, 700, 5000, 10, 700)]
    finally:
        sys.setrecursionlimit(limit)
    assert ids[:3] == ids[3:]
    assert len(st.resolve(ids[0])) == len(st.resolve(ids[1])) + 4990
    assert "[Previous line repeated 4998 more times]" in st.format_without_gil(ids[0])


def test_positions_of_every_instruction_of_the_library() -> None:
    """The decoder and CPython's agree over all code objects of many modules."""
    modules = [m for m in list(sys.modules.values()) if isinstance(m, types.ModuleType)]
    count = 0
    for code in itertools.islice(_codes(modules), 3000):
        expected: list[tuple[int, ...]]
        if sys.version_info >= (3, 11):
            expected = [tuple(-1 if x is None else x for x in p) for p in code.co_positions()]
        else:
            expected = _lines(code)
        for unit, position in enumerate(expected):
            seen = st.position(code, unit * 2)
            if position[0] == -1:
                assert seen[0] == code.co_firstlineno
            else:
                assert seen[: len(position)] == position, (code, unit)
            count += 1
    assert count > 20000


def _lines(code: types.CodeType) -> list[tuple[int, ...]]:
    lines: list[tuple[int, ...]] = [(-1,)] * (len(code.co_code) // 2)
    for begin, end, line in code.co_lines():
        for unit in range(begin // 2, end // 2):
            lines[unit] = (-1 if line is None else line,)
    return lines


def _codes(modules: list[types.ModuleType]) -> Iterator[types.CodeType]:
    def below(code: types.CodeType) -> Iterator[types.CodeType]:
        yield code
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                yield from below(constant)

    for module in modules:
        for value in list(vars(module).values()):
            members = vars(value).values() if isinstance(value, type) else [value]
            for member in list(members):
                if isinstance(member, types.FunctionType):
                    yield from below(member.__code__)


# ---- threads


def test_a_thread_without_the_gil_prints_a_stack_while_another_holds_it() -> None:
    """format_without_gil joins a C++ thread and never releases the GIL."""
    text = st.format_without_gil(st.capture())
    assert "in test_a_thread_without_the_gil_prints_a_stack_while_another_holds_it" in text
    assert "    text = st.format_without_gil(st.capture())\n" in text
    if _HAS_COLUMNS:
        assert text.endswith(" " * 33 + "^" * len("st.capture()") + "\n")


def test_a_worker_prints_while_a_thread_sleeps_with_the_gil_for_ever() -> None:
    """No Python code runs any more in the process, which has to be killed afterwards."""
    program = """
import ctypes, stack_testing as st
st.install()
def issue():
    return st.capture()
st.print_later(issue())
ctypes.PyDLL(None).pause()
print("never")
"""
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    watchdog = threading.Timer(60, process.kill)
    watchdog.start()
    try:
        assert process.stdout is not None
        text = "".join(iter(process.stdout.readline, "printed\n"))
        assert process.poll() is None
    finally:
        watchdog.cancel()
        process.kill()
        rest = process.communicate()[0]
    assert [line for line in text.splitlines() if line.startswith("  File")] == [
        '  File "<string>", line 6, in <module>',
        '  File "<string>", line 5, in issue',
    ]
    assert rest == ""


def test_the_printed_stack_is_pythons() -> None:
    """Byte for byte what `traceback` prints, carets included where it prints plain ones."""

    def inner(value: int) -> str:
        return st.current() + str(value)

    def outer() -> tuple[str, list[str]]:
        return (inner(1), traceback.format_stack())

    seen, expected = outer()
    ours = seen[: seen.index("in outer")].splitlines()[:-1]
    theirs = "".join(expected).split("in outer")[0].splitlines()[:-1]
    carets = re.compile(r"^[ ~^]+$")  # format_stack has none; tracebacks mark operators by ~
    assert [line for line in ours if not carets.match(line)] == [
        line for line in theirs if not carets.match(line)
    ]


def _mistakes_of_threads() -> list[object]:
    """What eight threads that capture at once got and should not have got."""
    barrier = threading.Barrier(8)
    wrong: list[object] = []

    def work(index: int) -> None:
        f = function(f"<thread {index}>", "\n" * index + "def f():\n  return st.capture()")
        barrier.wait()
        for _ in range(3000):
            frames = st.resolve(f())
            if frames[-1][:3] != (f"<thread {index}>", "f", index + 2) or frames[-2][1] != "work":
                wrong.append(frames)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return wrong


def test_threads_have_their_own_stacks() -> None:
    """Each gets its own frames."""
    wrong = _mistakes_of_threads()
    assert not wrong, wrong[:1]


def test_one_stack_for_all_threads_is_found_out() -> None:
    """Positive control of the test above."""
    st.plant("one stack for all threads")
    try:
        assert _mistakes_of_threads()
    finally:
        st.plant("")


def test_a_thread_that_is_not_pythons_has_no_stack() -> None:
    """Not even that of the thread that holds the GIL."""
    assert st.capture_without_gil() == 0


# ---- forms of code


def test_generators_and_coroutines_show_their_caller_of_the_moment() -> None:
    """A generator resumed from two lines has two stacks."""

    def generator() -> Iterator[int]:
        while True:
            yield st.capture()

    g = generator()
    first = next(g)
    second = next(g)
    assert first != second
    assert st.resolve(first)[-2][2] + 1 == st.resolve(second)[-2][2]


def test_a_frame_whose_trace_function_runs() -> None:
    """Tracing and profiling change the interpreter's loop, not the answer."""
    seen = []

    def trace(frame: types.FrameType, event: str, arg: object) -> Any:
        seen.append(event)
        return trace

    def inner() -> tuple[int, int]:
        return st.capture(), sys._getframe().f_lineno

    sys.settrace(trace)
    try:
        stack, line = inner()
    finally:
        sys.settrace(None)
    assert seen
    assert last(stack)[1:3] == ("inner", line)


def test_object_finalizers_that_capture() -> None:
    """Run by the collector in the middle of other captures."""
    stacks: list[int] = []

    class Cycle:
        def __init__(self) -> None:
            self.me = self

        def __del__(self) -> None:
            stacks.append(st.capture())

    for _ in range(50):
        Cycle()
        function("<gc>", "def f():\n  return st.capture()")()
        gc.collect()
    assert len(stacks) >= 50
    assert all(last(stack)[1] == "__del__" for stack in stacks)


# ---- leaving


def test_objects_that_capture_while_the_interpreter_ends() -> None:
    """From globals, cycles, sys, builtins and threads' data, with code never seen before."""
    out = run_python(
        """
        import atexit, builtins, sys, threading
        import stack_testing as st
        st.install()
        count = iter(range(1000))
        class Late:
            def __init__(self):
                self.me = self
                names = {"st": st}
                exec(compile("def f(): return st.capture()", f"<{next(count)}>", "exec"), names)
                self.f, self.resolve = names["f"], st.resolve
            def __del__(self):
                if self.resolve(self.f())[-1][1] != "f":
                    raise ValueError
        kept = [Late() for _ in range(10)]
        builtins.late, sys.late, sys.modules["late"] = Late(), Late(), Late()
        local = threading.local()
        local.late = Late()
        atexit.register(lambda late: None, Late())
        print("end")
        """
    )
    assert out == "end\n"


def test_a_stack_is_printed_after_the_interpreter_is_gone() -> None:
    """By a C exit handler, as unread errors are."""
    out = run_python(
        """
        import linecache
        import stack_testing as st
        st.install()
        text = "def gone():\\n  return st.capture()"
        linecache.cache["<cell>"] = (len(text), None, text.splitlines(True), "<cell>")
        names = {"st": st}
        exec(compile(text, "<cell>", "exec"), names)
        st.format_at_exit(names["gone"]())
        """
    )
    assert '  File "<cell>", line 2, in gone\n    return st.capture()\n' in out


# ---- environment


def test_turned_off() -> None:
    """No stack, no text, nothing recorded."""
    code = """
    import stack_testing as st
    st.install()
    print(st.stats()["enabled"], st.capture(), repr(st.current()))
    """
    assert run_python(code, ONEFLOW_PYTHON_STACK_GETTER="0") == "False 0 ''\n"
    on = run_python(code, ONEFLOW_PYTHON_STACK_GETTER="0", ONEFLOW_DEBUG="1")
    assert on.startswith("True 1 ")


def test_installing_is_quick_and_leaves_nothing_behind() -> None:
    """Under 5 ms of processor time; no module and no descriptor stay behind."""
    out = run_python(
        """
        import os, sys, time
        import stack_testing as st
        before = set(sys.modules), os.listdir("/proc/self/fd")
        begin = time.process_time()
        st.install()
        taken = time.process_time() - begin
        after = set(sys.modules), os.listdir("/proc/self/fd")
        print(before == after, taken < 0.005)
        """
    )
    assert out == "True True\n"


def test_no_columns_where_the_interpreter_was_told_to_drop_them() -> None:
    """-X no_debug_ranges: lines only, no carets."""
    out = run_python(
        """
        import stack_testing as st
        st.install()
        print(st.resolve((st.capture()))[-1][2:6])
        """,
        PYTHONNODEBUGRANGES="1",
    )
    assert out == "(4, 4, -1, -1)\n"
