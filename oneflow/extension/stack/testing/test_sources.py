"""Where source lines come from, and what files are called."""

from __future__ import annotations

import importlib
import linecache
import os
import pathlib
import sys
import zipfile
from collections.abc import Iterator
from typing import Any

import pytest
import stack_testing as st
from stack_helpers import function, last


@pytest.fixture(autouse=True)
def installed() -> Iterator[None]:
    """Installs the recorder; a second time does nothing."""
    st.install()
    yield
    st.hide_below("")


def test_source_from_linecache() -> None:
    """Cells of a notebook: copied from linecache's table when the code is first seen."""
    text = "x = 1\ndef f():\n\n    return  st.capture()\n"
    name = "<ipython-input-7>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    f = function(name, text)
    stack = f()
    del linecache.cache[name]
    assert last(stack)[6] == "    return  st.capture()"


def test_source_of_exec_is_unknown_and_harmless() -> None:
    """No linecache entry, no source; odd entries are left alone."""
    assert last(function("<nowhere>", "def f():\n  return st.capture()")())[6] == ""
    odd = [(1,), (lambda: "text",), (1, None, "text", "x"), None, (1, None, [1, None], "x")]
    for i, entry in enumerate(odd):
        name = f"<odd {i}>"
        linecache.cache[name] = entry  # type: ignore[assignment]
        f = function(name, "def f():\n  return st.capture()")
        assert last(f())[6] == ""
        del linecache.cache[name]


def test_looking_for_source_runs_no_python_code() -> None:
    """Not even the comparison of a key that has the hash of the name that is looked for."""
    calls: list[int] = []

    class Key:
        def __init__(self, name: str) -> None:
            self.name = name

        def __hash__(self) -> int:
            return hash(self.name)

        def __eq__(self, other: object) -> bool:
            calls.append(st.capture())
            return False

    name = "<a cell>"
    text = "def f():\n  return st.capture()\n"
    f = function(name, text)
    tables: list[Any] = [linecache.cache, vars(linecache), sys.modules]
    for table, key in zip(tables, (name, "cache", "linecache"), strict=True):
        value = table.pop(key, None)  # so that the foreign key comes first
        table[Key(key)] = None
        table[key] = value
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    calls.clear()
    try:
        assert last(f())[:3] == (name, "f", 2)
        assert last(f())[6] == "  return st.capture()"
        assert not calls
    finally:
        for table in tables:
            for foreign in [key for key in table if isinstance(key, Key)]:
                del table[foreign]
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
        assert last(stack)[:3] == (str(tmp_path / "lib.zip" / "in_a_zip.py"), "f", 3)
        assert last(stack)[6] == ""
        st.load_sources(stack)
        assert last(stack)[6] == "    return stack_testing.capture()"
    finally:
        sys.path.remove(str(tmp_path / "lib.zip"))
        sys.modules.pop("in_a_zip", None)


def test_loading_sources_keeps_the_exception_that_is_set() -> None:
    """It is called where an error is about to be raised."""
    stack = function("<unknown>", "def f():\n  return st.capture()")()
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
        stack = function("rel.py", pathlib.Path("rel.py").read_text())()
        os.chdir("/")
        assert last(stack)[0] == "rel.py"
        assert last(stack)[6] == "  return st.capture()  # here"
    finally:
        os.chdir(before)


def test_names_that_are_not_utf8() -> None:
    """Bytes that Python could not decode come back as they were; lone surrogates do no harm."""
    name = os.fsdecode(b"/tmp/\xff\xfe.py")
    assert last(function(name, "def f():\n  return st.capture()")())[0] == name
    f = function("<\ud800 ü 表 😀>", "def f():\n  return st.capture()")
    assert last(f())[0] == "<? ü 表 😀>"


def test_frames_can_be_hidden_by_path() -> None:
    """Off by default; a stack that would become empty stays whole."""
    f = function("/hidden/a.py", "def f():\n  return st.capture()")
    stack = f()
    assert last(stack)[0] == "/hidden/a.py"
    whole = len(st.resolve(stack))
    st.hide_below("/hidden/")
    assert len(st.resolve(stack)) == whole - 1
    st.hide_below("/nothing/")
    assert len(st.resolve(stack)) == whole
    st.hide_below("")
    assert len(st.resolve(stack)) == whole
