"""Exits of which the runtime has its own opinion: past the deadline, and in another's process. The
ways out of a program are in `exit/`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

LONG_OP = "y = flow._C.throw_error(flow.ones(1), 60_000)\n"  # a minute
UNREAD = "y = flow._C.throw_error(flow.ones(1), 1)\n"


def leave(program: str, **environ: str) -> tuple[int, str, str]:
    """(status, stdout, stderr) of a program."""
    done = subprocess.run(
        [sys.executable, "-c", "import sys\n" + textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=100,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environ},
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("seconds", ["0.2", "1"])
def test_past_the_deadline_the_process_reports_flushes_and_ends(seconds: str) -> None:
    started = time.monotonic()
    status, stdout, stderr = leave(
        f"import oneflow as flow\n{LONG_OP}print('flushed')",
        ONEFLOW_SHUTDOWN_TIMEOUT_SECONDS=seconds,
    )
    assert (status, stdout) == (1, "flushed\n")
    first, second, *_ = stderr.splitlines()
    assert f"closing did not finish in time (ONEFLOW_SHUTDOWN_TIMEOUT_SECONDS is {seconds}" in first
    assert "subsystem 'vm'" in second and "1 instructions left, running throw_error" in second
    assert time.monotonic() - started < 30


# Where another program embeds the interpreter, its status is its own.
OTHERS = ["sys.executable = '/bin/true'", "sys.executable = None", "sys.orig_argv = []"]


@pytest.mark.parametrize("other", OTHERS)
def test_no_report_where_the_interpreter_is_not_the_program(other: str) -> None:
    assert leave(f"{other}\nimport oneflow as flow\n{UNREAD}") == (0, "", "")


def test_nothing_is_written_to_the_file_that_has_the_number_of_stderr(tmp_path: Path) -> None:
    """What a program that began without stderr opens first."""
    program = f"import os, oneflow as flow\nfd = os.open('data', os.O_CREAT | os.O_RDWR)\n{UNREAD}"
    program += "os.write(1, b'%d' % fd)"
    command = ["/bin/sh", "-c", 'exec "$@" 2>&-', "sh", sys.executable, "-c", program]
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, cwd=tmp_path, env=environ, stdout=subprocess.PIPE, timeout=100)
    assert (done.returncode, done.stdout) == (1, b"2")
    assert (tmp_path / "data").read_bytes() == b""


def test_control() -> None:
    status, _, stderr = leave(f"import oneflow as flow\n{UNREAD}")
    assert status == 1 and "[throw_error]" in stderr
