"""What the recorder's tests share."""

from __future__ import annotations

import itertools
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable
from types import FrameType

import stack_testing as st

HAS_COLUMNS = sys.version_info >= (3, 11)

# File, function, line, end line, column, end column; -1 for what a version does not know.
Position = tuple[str, str, int, int, int, int]


def last(stack: int) -> tuple:
    """The innermost frame."""
    return st.resolve(stack)[-1]


def true_position(frame: FrameType) -> Position:
    """Where a frame is, as the interpreter's own objects say it."""
    code = frame.f_code
    if sys.version_info < (3, 11):
        line = code.co_firstlineno if frame.f_lineno is None else frame.f_lineno
        return code.co_filename, code.co_name, line, -1, -1, -1
    positions = itertools.islice(code.co_positions(), frame.f_lasti // 2, None)
    first, last_line, column, end_column = (-1 if x is None else x for x in next(positions))
    line = code.co_firstlineno if first < 0 else first
    return code.co_filename, code.co_name, line, last_line, column, end_column


def true_stack(frame: FrameType | None) -> list[Position]:
    """Where a frame and its callers are, oldest first."""
    stack = []
    while frame is not None:
        stack.append(true_position(frame))
        frame = frame.f_back
    return stack[::-1]


def check(stack: int, frame: FrameType) -> int:
    """The id was captured on the line on which `frame` still is: `check(capture(), getframe())`."""
    seen = [f[:6] if HAS_COLUMNS else (*f[:3], -1, -1, -1) for f in st.resolve(stack)]
    expected = true_stack(frame)
    assert seen[:-1] == expected[:-1]
    assert seen[-1][:3] == expected[-1][:3]
    return stack


def run_python(code: str, *, as_file: bool = False, **environment: str) -> str:
    """What a new interpreter prints that runs `code`; it must print no error and end well."""
    path = os.pathsep.join(sys.path)
    with tempfile.TemporaryDirectory() as folder:
        words = ["-c", textwrap.dedent(code)]
        if as_file:
            file = pathlib.Path(folder) / "program.py"
            file.write_text(words[1], encoding="utf-8")
            words = [str(file)]
        result = subprocess.run(
            [sys.executable, *words],
            env={**os.environ, "PYTHONPATH": path, **environment},
            capture_output=True,
            text=True,
            timeout=120,
        )
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    return result.stdout


def function(name: str, text: str) -> Callable[[], int]:
    """The function `f` of a module that was compiled from `text` under the file name `name`."""
    namespace: dict[str, Callable[[], int]] = {"st": st}
    exec(compile(text, name, "exec"), namespace)
    return namespace["f"]
