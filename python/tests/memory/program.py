"""Runs small programs with a memory limit, as files, so that their lines have names."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

BEGINNING = "import oneflow as flow\n"


@dataclasses.dataclass(frozen=True)
class Ended:
    """How a program ended."""

    status: int
    stdout: str
    stderr: str
    path: Path
    text: str

    def line_of(self, mark: str) -> int:
        """The number of the line that ends in the comment `# mark`."""
        lines = self.text.splitlines()
        (found,) = (n for n, line in enumerate(lines, 1) if line.endswith(f"# {mark}"))
        return found

    def frame(self, mark: str, function: str = "<module>") -> str:
        """The line with that mark as a stack names it, without carets."""
        number = self.line_of(mark)
        source = self.text.splitlines()[number - 1].strip()
        return f'  File "{self.path}", line {number}, in {function}\n    {source}\n'


def run(
    folder: Path,
    text: str,
    more: Mapping[str, str] | None = None,
    package: str = "",
    timeout: float = 120,
) -> Ended:
    """Runs `text`, which begins after `import oneflow as flow`, as the file `folder`/program.py.

    Args:
        folder: where the file is written
        text: the program
        more: further environment variables
        package: where to find the package first; empty: the one of this process
        timeout: seconds
    """
    path = folder / "program.py"
    path.write_text(BEGINNING + text)
    result = subprocess.run(
        [sys.executable, str(path)],
        capture_output=True,
        text=True,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([package, *sys.path][not package :]),
            **(more or {}),
        },
        timeout=timeout,
    )
    return Ended(result.returncode, result.stdout, result.stderr, path, BEGINNING + text)
