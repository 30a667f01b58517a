"""The recorder: ids, eviction, threads, sources, forms of code, environment."""

from __future__ import annotations

import gc
import importlib
import itertools
import linecache
import os
import pathlib
import re
import subprocess
import sys
import textwrap
import threading
import traceback
import types
import weakref
import zipfile
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import stack_testing as st

_HAS_COLUMNS = sys.version_info >= (3, 11)
_PUBLIC = os.environ.get("ONEFLOW_TEST_STACK_PUBLIC_API") == "1"


@pytest.fixture(autouse=True)
def installed() -> Iterator[None]:
    """Installs the recorder; a second time does nothing."""
    st.install()
    yield
    st.hide_below("")


def _last(stack: int) -> tuple:
    return st.resolve(stack)[-1]


def _run_python(code: str, **environment: str) -> str:
    path = os.pathsep.join(sys.path)
    result = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**os.environ, "PYTHONPATH": path, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    return result.stdout


# ---- ids


def test_the_way_that_the_interpreter_allows_is_used() -> None:
    """The declared layout passes its check, and layouts that are wrong do not."""
    checks = st.layout_checks()
    assert checks.pop("declared")
    assert len(checks) == 4
    assert not any(checks.values()), checks
    assert st.stats()["enabled"]
    assert st.stats()["public_api"] == _PUBLIC


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


def test_threads_have_their_own_stacks() -> None:
    """Many threads capture at once; each gets its own frames."""
    barrier = threading.Barrier(8)
    wrong: list[object] = []

    def work(index: int) -> None:
        namespace: dict[str, Callable[[], int]] = {}
        text = "\n" * index + "def f():\n  return st.capture()"
        exec(compile(text, f"<thread {index}>", "exec"), {"st": st}, namespace)
        barrier.wait()
        for _ in range(3000):
            frames = st.resolve(namespace["f"]())
            if frames[-1][:3] != (f"<thread {index}>", "f", index + 2) or frames[-2][1] != "work":
                wrong.append(frames)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong, wrong[:1]


def test_a_thread_that_is_not_pythons_has_no_stack() -> None:
    """Not even that of the thread that holds the GIL."""
    assert st.capture_without_gil() == 0


def test_subinterpreters_are_not_recorded() -> None:
    """Their code objects may die with them."""
    out = _run_python(
        """
        import sys
        import stack_testing as st
        st.install()
        name = "_xxsubinterpreters" if sys.version_info < (3, 13) else "_interpreters"
        interpreters = __import__(name)
        print(st.capture() > 0, flush=True)
        print(st.stats()["codes"])
        """
    )
    assert out == "True\n1\n"


def test_fork() -> None:
    """A child captures and resolves, old and new stacks."""
    before = st.capture()
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            frames = st.resolve(before)[-1][1], st.resolve(st.capture())[-1][1]
            os.write(write, repr(frames).encode())
            status = 0
        finally:
            os._exit(status)
    os.close(write)
    assert os.waitpid(child, 0)[1] == 0
    assert os.read(read, 1000).decode() == repr(("test_fork", "test_fork"))
    os.close(read)


# ---- memory


def _function(name: str, text: str) -> Callable[[], int]:
    namespace: dict[str, Callable[[], int]] = {"st": st}
    exec(compile(text, name, "exec"), namespace)
    return namespace["f"]


def test_code_objects_that_die_and_whose_addresses_return() -> None:
    """A stack always names the code that ran, whatever lay at that address before."""
    addresses: dict[int, int] = {}
    returned = 0
    for i in range(5000):
        f = _function(f"<life {i}>", "\n" * (i % 50) + "def f():\n  return st.capture()")
        stack = f()
        frame = _last(stack)
        assert frame[:3] == (f"<life {i}>", "f", i % 50 + 2)
        returned += id(f.__code__) in addresses
        addresses[id(f.__code__)] = i
        del f
        if i % 7 == 0:
            st.evict()
    assert returned > 100, "no address returned, so nothing was tested"


def test_a_table_holds_code_objects_until_it_evicts_them() -> None:
    """One reference for each; given back with the last stack that names it."""
    f = _function("<kept>", "def f():\n  return st.capture()")
    stack = f()
    f()
    watcher = weakref.ref(f.__code__)
    references = sys.getrefcount(f.__code__)
    assert references == 3, "the function's, the table's and the argument's"
    del f
    gc.collect()
    assert watcher() is not None
    st.evict()
    assert watcher() is None
    assert st.evicted(stack)
    assert st.format_without_gil(stack) == "  (stack evicted)\n"


def test_pinned_stacks_survive() -> None:
    """Until they are unpinned as often as they were pinned."""
    f = _function("<pinned>", "def f():\n  return st.capture()")
    stack = f()
    st.pin(stack)
    del f
    st.evict()
    assert not st.evicted(stack)
    assert _last(stack)[:3] == ("<pinned>", "f", 2)
    st.unpin(stack)
    st.evict()
    assert st.evicted(stack)
    assert st.resolve(stack) == []


def test_evicted_ids_never_come_back() -> None:
    """Ids of 2,000 lives of the same line are all different."""
    seen = set()
    for _ in range(2000):
        seen.add(st.capture())
        st.evict()
    assert len(seen) == 2000
    assert all(st.evicted(stack) for stack in seen)


def test_code_that_runs_when_a_code_object_dies_may_capture() -> None:
    """Eviction drops the last reference; a weak reference's callback then runs Python."""
    captured: list[int] = []
    f = _function("<dying>", "def f():\n  return st.capture()")
    f()
    watcher = weakref.ref(f.__code__, lambda _: captured.append(st.capture()))
    del f
    gc.collect()
    st.evict()
    assert watcher() is None
    assert len(captured) == 1
    assert _last(captured[0])[1] == "<lambda>"


def test_a_million_distinct_stacks_fit_in_16_mib() -> None:
    """A binary tree of calls 19 deep, every node captured."""
    out = _run_python(
        """
        import stack_testing as st
        st.install()
        def tree(n):
            st.capture()
            if n:
                tree(n - 1)
                tree(n - 1)
        for _ in range(2):
            tree(18)
            stats = st.stats()
            print(stats["stacks"], stats["evictions"], stats["bytes"] <= 16 << 20)
        """
    )
    first, second = out.splitlines()
    assert first == second, "the same stacks a second time"
    stacks, evictions, within = first.split()
    assert int(stacks) >= 1_000_000
    assert (evictions, within) == ("0", "True")


def test_beyond_the_limit_memory_is_flat() -> None:
    """A small table under many stacks: bounded, and every fresh stack reads right."""
    out = _run_python(
        """
        import stack_testing as st
        st.install()
        wrong = 0
        for i in range(30000):
            names = {"st": st}
            exec(compile("\\n" * (i % 9) + "def f(): return st.capture()", f"<{i}>", "exec"), names)
            wrong += st.resolve(names["f"]())[-1][:3] != (f"<{i}>", "f", i % 9 + 1)
        stats = st.stats()
        print(wrong, stats["evictions"] > 1000, stats["bytes"] <= 2 << 20, stats["codes"] < 5000)
        """,
        ONEFLOW_TEST_STACK_TABLE_BYTES=str(2 << 20),
    )
    assert out == "0 True True True\n"


# ---- sources


def test_source_from_linecache() -> None:
    """Cells of a notebook: copied from linecache's table when the code is first seen."""
    text = "x = 1\ndef f():\n\n    return  st.capture()\n"
    name = "<ipython-input-7>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    f = _function(name, text)
    stack = f()
    del linecache.cache[name]
    assert _last(stack)[6] == "    return  st.capture()"


def test_source_of_exec_is_unknown_and_harmless() -> None:
    """No linecache entry, no source; odd entries are left alone."""
    assert _last(_function("<nowhere>", "def f():\n  return st.capture()")())[6] == ""
    odd = [(1,), (lambda: "text",), (1, None, "text", "x"), None, (1, None, [1, None], "x")]
    for i, entry in enumerate(odd):
        name = f"<odd {i}>"
        linecache.cache[name] = entry  # type: ignore[assignment]
        f = _function(name, "def f():\n  return st.capture()")
        assert _last(f())[6] == ""
        del linecache.cache[name]


def test_source_from_a_zip(tmp_path: pathlib.Path) -> None:
    """Line numbers at once; the text after Python's loader was asked."""
    with zipfile.ZipFile(tmp_path / "lib.zip", "w") as archive:
        archive.writestr(
            "in_a_zip.py", "import stack_testing\ndef f():\n    return stack_testing.capture()\n"
        )
    sys.path.insert(0, str(tmp_path / "lib.zip"))
    try:
        module = importlib.import_module("in_a_zip")
        stack = module.f()
        assert _last(stack)[:3] == (str(tmp_path / "lib.zip" / "in_a_zip.py"), "f", 3)
        assert _last(stack)[6] == ""
        st.load_sources(stack)
        assert _last(stack)[6] == "    return stack_testing.capture()"
    finally:
        sys.path.remove(str(tmp_path / "lib.zip"))
        sys.modules.pop("in_a_zip", None)


def test_loading_sources_keeps_the_exception_that_is_set() -> None:
    """It is called where an error is about to be raised."""
    stack = _function("<unknown>", "def f():\n  return st.capture()")()
    try:
        raise KeyError("mine")
    except KeyError:
        st.load_sources(stack)
        assert sys.exc_info()[0] is KeyError


def test_relative_file_names_hold_after_chdir(tmp_path: pathlib.Path) -> None:
    """The directory of the moment when the code was first seen counts."""
    before = os.getcwd()
    os.chdir(tmp_path)
    try:
        pathlib.Path("rel.py").write_text("def f():\n  return st.capture()  # here\n")
        stack = _function("rel.py", pathlib.Path("rel.py").read_text())()
        os.chdir("/")
        assert _last(stack)[0] == "rel.py"
        assert _last(stack)[6] == "  return st.capture()  # here"
    finally:
        os.chdir(before)


def test_names_that_are_not_utf8() -> None:
    """Bytes that Python could not decode come back as they were; lone surrogates do no harm."""
    name = os.fsdecode(b"/tmp/\xff\xfe.py")
    assert _last(_function(name, "def f():\n  return st.capture()")())[0] == name
    f = _function("<\ud800 ü 表 😀>", "def f():\n  return st.capture()")
    assert _last(f())[0] == "<? ü 表 😀>"


def test_frames_can_be_hidden_by_path() -> None:
    """Off by default; a stack that would become empty stays whole."""
    f = _function("/hidden/a.py", "def f():\n  return st.capture()")
    stack = f()
    assert _last(stack)[0] == "/hidden/a.py"
    whole = len(st.resolve(stack))
    st.hide_below("/hidden/")
    assert len(st.resolve(stack)) == whole - 1
    st.hide_below("/nothing/")
    assert len(st.resolve(stack)) == whole
    st.hide_below("")
    assert len(st.resolve(stack)) == whole


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
    assert _last(stack)[1:3] == ("inner", line)


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
        _function("<gc>", "def f():\n  return st.capture()")()
        gc.collect()
    assert len(stacks) >= 50
    assert all(_last(stack)[1] == "__del__" for stack in stacks)


# ---- environment


def test_turned_off() -> None:
    """No stack, no text, nothing recorded."""
    code = """
    import stack_testing as st
    st.install()
    print(st.stats()["enabled"], st.capture(), repr(st.current()))
    """
    assert _run_python(code, ONEFLOW_PYTHON_STACK_GETTER="0") == "False 0 ''\n"
    on = _run_python(code, ONEFLOW_PYTHON_STACK_GETTER="0", ONEFLOW_DEBUG="1")
    assert on.startswith("True 1 ")


def test_installing_is_quick_and_leaves_nothing_behind() -> None:
    """Under 5 ms, even on a busy machine; no module, no name, no descriptor."""
    out = _run_python(
        """
        import os, sys, time
        import stack_testing as st
        before = set(sys.modules), os.listdir("/proc/self/fd")
        begin = time.perf_counter()
        st.install()
        taken = time.perf_counter() - begin
        after = set(sys.modules), os.listdir("/proc/self/fd")
        print(before == after, taken < 0.005)
        """
    )
    assert out == "True True\n"


def test_no_columns_where_the_interpreter_was_told_to_drop_them() -> None:
    """-X no_debug_ranges: lines only, no carets."""
    out = _run_python(
        """
        import stack_testing as st
        st.install()
        print(st.resolve((st.capture()))[-1][2:6])
        """,
        PYTHONNODEBUGRANGES="1",
    )
    assert out == "(4, 4, -1, -1)\n"
