"""What the recorder's tests share."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable

import stack_testing as st


def last(stack: int) -> tuple:
    """The innermost frame."""
    return st.resolve(stack)[-1]


def run_python(code: str, **environment: str) -> str:
    """What a new interpreter prints that runs `code`; it must print no error and end well."""
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


def function(name: str, text: str) -> Callable[[], int]:
    """The function `f` of a module that was compiled from `text` under the file name `name`."""
    namespace: dict[str, Callable[[], int]] = {"st": st}
    exec(compile(text, name, "exec"), namespace)
    return namespace["f"]
