"""Runs programs on the package whose extension module misbehaves on request.

Thread safety: plain functions; each program runs in a process of its own.
"""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

# For PYTHONPATH, in front of everything else: `import oneflow` then finds the package with faults.
PACKAGE = Path(__file__).absolute().parent / "package"
VARIABLE = "ONEFLOW_PLANTED_FAULT"


@dataclasses.dataclass(frozen=True)
class Ended:
    """How a program ended."""

    status: int  # negative: the number of the signal that ended it
    stdout: str
    stderr: str


def environment(fault: str | None, more: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of a program on the package with faults; None: on the one that users get."""
    path = sys.path if fault is None else [str(PACKAGE), *sys.path]
    result = {**os.environ, "PYTHONPATH": os.pathsep.join(path)}
    result.pop(VARIABLE, None)
    if fault is not None:
        result[VARIABLE] = fault
    return {**result, **(more or {})}


def run(
    program: str,
    fault: str | None = None,
    more: Mapping[str, str] | None = None,
    timeout: float = 60,
) -> Ended:
    """Runs `program`, Python text that begins after `import oneflow as flow`.

    Args:
        program: the text
        fault: the name of the fault to plant, "none", or None for the package that users get
        more: further environment variables
        timeout: seconds; a program that takes longer is killed and has status -9

    Example:
        >>> run("raise SystemExit(3)").status
        3
    """
    process = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import os, signal, sys, threading, time\n"
            "import numpy as np\nimport oneflow as flow\n" + program,
        ],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(fault, more),
    )
    try:
        stdout, stderr = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        stdout, stderr = process.communicate()
    return Ended(process.returncode, stdout, stderr)
