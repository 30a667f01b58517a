"""Runs the fuzzer's programs: from files, as modules, from a zip, from a notebook's cell, ..."""

from __future__ import annotations

import ast
import importlib
import linecache
import pathlib
import py_compile
import random
import sys
import zipfile
from types import CodeType

import fuzz_support
from _pytest.assertion.rewrite import rewrite_asserts
from fuzz_programs import Program, Writer

_WAYS = (
    *("file", "file", "file", "notebook", "notebook", "exec", "exec"),
    *("module", "zip", "pyc", "rewritten"),
)
# Where the source is known without asking a loader.
HAS_SOURCE = ("file", "module", "notebook", "rewritten")


class Runner:
    """Writes and runs programs in `folder`."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder

    def write(self, seed: int) -> tuple[str, Program]:
        """A program, and by which way it will run."""
        way = random.Random(seed).choice(_WAYS)
        names = {
            "exec": f"<program {seed}>",
            "file": str(self.folder / f"program_{seed}.py"),
            "module": str(self.folder / f"module_{seed}.py"),
            "notebook": f"/tmp/ipykernel_1/{seed}.py",
            "pyc": str(self.folder / "gone" / f"compiled_{seed}.py"),
            "rewritten": str(self.folder / f"test_{seed}.py"),
            "zip": str(self.folder / f"zip_{seed}.zip" / f"zipped_{seed}.py"),
        }
        return way, Writer(seed, names[way]).program()

    def run(self, program: Program, seed: int, way: str) -> None:
        """Runs it; what it raises is raised."""
        text = program.files[program.main]
        fuzz_support.SOURCES.update(program.files)
        path = pathlib.Path(program.main)
        if way in ("file", "module", "rewritten"):
            path.write_text(text, encoding="utf-8")
        if way == "notebook":
            linecache.cache[program.main] = (len(text), None, text.splitlines(True), program.main)
        if way == "zip":
            with zipfile.ZipFile(path.parent, "w") as archive:
                archive.writestr(path.name, text)
        if way == "pyc":
            self._compile(path, text)
        if way in ("module", "zip"):
            self._import(path.parent, path.stem)
        elif way == "pyc":
            self._import(self.folder, path.stem)
        else:
            exec(_code(text, program.main, way), {"__name__": "program"})

    def forget(self, program: Program) -> None:
        """Gives back what a program left in the process."""
        linecache.cache.pop(program.main, None)
        for name in program.files:
            fuzz_support.SOURCES.pop(name, None)

    def _compile(self, path: pathlib.Path, text: str) -> None:
        source = self.folder / path.name
        source.write_text(text, encoding="utf-8")
        target = str(source.with_suffix(".pyc"))
        py_compile.compile(str(source), target, str(path), doraise=True)
        source.unlink()

    def _import(self, folder: pathlib.Path, name: str) -> None:
        sys.path.insert(0, str(folder))
        importlib.invalidate_caches()
        try:
            importlib.import_module(name)
        finally:
            sys.path.remove(str(folder))
            sys.modules.pop(name, None)


def _code(text: str, name: str, way: str) -> CodeType:
    if way != "rewritten":
        return compile(text, name, "exec")
    tree = ast.parse(text)
    rewrite_asserts(tree, text.encode())
    return compile(tree, name, "exec")
