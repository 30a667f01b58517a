"""The table's memory: eviction, pins, code objects that die, limits."""

from __future__ import annotations

import gc
import pathlib
import re
import sys
import weakref
from collections.abc import Iterator

import pytest
import stack_testing as st
from stack_helpers import function, last, run_python

# A sanitizer keeps what was freed, and memory beside each block.
_SANITIZED = re.search("lib[at]san", pathlib.Path("/proc/self/maps").read_text()) is not None


@pytest.fixture(autouse=True)
def installed() -> Iterator[None]:
    """Installs the recorder; a second time does nothing."""
    st.install()
    yield
    st.hide_below("")


def test_code_objects_that_die_and_whose_addresses_return() -> None:
    """A stack always names the code that ran, whatever lay at that address before."""
    addresses: dict[int, int] = {}
    returned = 0
    for i in range(5000):
        f = function(f"<life {i}>", "\n" * (i % 50) + "def f():\n  return st.capture()")
        stack = f()
        frame = last(stack)
        assert frame[:3] == (f"<life {i}>", "f", i % 50 + 2)
        returned += id(f.__code__) in addresses
        addresses[id(f.__code__)] = i
        del f
        if i % 7 == 0:
            st.evict()
    assert returned > 100, "no address returned, so nothing was tested"


def test_a_table_holds_code_objects_until_it_evicts_them() -> None:
    """One reference for each; given back with the last stack that names it."""
    f = function("<kept>", "def f():\n  return st.capture()")
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
    f = function("<pinned>", "def f():\n  return st.capture()")
    stack = f()
    st.pin(stack)
    del f
    st.evict()
    assert not st.evicted(stack)
    assert last(stack)[:3] == ("<pinned>", "f", 2)
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
    f = function("<dying>", "def f():\n  return st.capture()")
    f()
    watcher = weakref.ref(f.__code__, lambda _: captured.append(st.capture()))
    del f
    gc.collect()
    st.evict()
    assert watcher() is None
    assert len(captured) == 1
    assert last(captured[0])[1] == "<lambda>"


_TREE = """
import stack_testing as st
def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096
def tree(n):
    CAPTURE
    if n:
        tree(n - 1)
        tree(n - 1)
tree(10)
before = resident()
st.install()
for _ in range(2):
    tree(18)
    stats = st.stats()
    print(stats["stacks"], stats["evictions"], stats["bytes"], resident() - before)
"""


def _tree(capture: str) -> list[list[int]]:
    lines = run_python(_TREE.replace("CAPTURE", capture)).splitlines()
    return [[int(word) for word in line.split()] for line in lines]


def test_a_million_distinct_stacks_fit_in_16_mib() -> None:
    """A binary tree of calls 19 deep, every node captured; what the process grows by counts too."""
    first, second = _tree("st.capture()")
    assert first[:3] == second[:3], "the same stacks a second time"
    stacks, evictions, table, _ = first
    assert stacks >= 1_000_000
    assert evictions == 0
    assert table <= 16 << 20
    if not _SANITIZED:
        # Pages are not counted exactly, and the interpreter itself takes some.
        assert table - (1 << 20) < second[3] <= (16 << 20) + (1 << 19)
        assert _tree("None")[1][3] < 1 << 20, "without captures nothing grows"


def test_beyond_the_limit_memory_is_flat() -> None:
    """A small table under many stacks: bounded, and every fresh stack reads right."""
    out = run_python(
        """
        import stack_testing as st
        def resident():
            with open("/proc/self/statm") as file:
                return int(file.read().split()[1]) * 4096
        st.install()
        wrong = 0
        for i in range(30000):
            if i == 10000:
                before = resident()
            names = {"st": st}
            exec(compile("\\n" * (i % 9) + "def f(): return st.capture()", f"<{i}>", "exec"), names)
            wrong += st.resolve(names["f"]())[-1][:3] != (f"<{i}>", "f", i % 9 + 1)
        stats = st.stats()
        print(wrong, stats["evictions"] > 1000, stats["bytes"] <= 2 << 20, stats["codes"] < 5000)
        print(resident() - before)
        """,
        ONEFLOW_TEST_STACK_TABLE_BYTES=str(2 << 20),
    )
    stats, grown = out.splitlines()
    assert stats == "0 True True True"
    assert _SANITIZED or int(grown) < 2 << 20
