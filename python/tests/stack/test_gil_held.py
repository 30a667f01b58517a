"""Reports of failed ops while another thread holds the GIL, and never gives it back.

`ctypes.PyDLL` calls C without letting go of the GIL, so such a call that sleeps is a thread that
holds it for ever.
"""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest

_TIMEOUT = 2.0
# What this machine may take for a Python, an import and what is below.
_SLOW = 30.0

_FAILED = """\
import ctypes, sys, threading, time
import oneflow as flow
flow._oneflow_internal.set_vm_mode("queued")
def issue(x):
    return flow._C.throw_error(
        x)
y = issue(flow.ones(1))
"""
_STACK = """\
Traceback (most recent call last):
  File "{0}", line 7, in <module>
    y = issue(flow.ones(1)){1}
  File "{0}", line 5, in issue
    return flow._C.throw_error({2}
RuntimeError: [throw_error]"""

# The C library's exit(), called with the GIL held: C exit handlers run, and Python never again.
_C_EXIT = """
threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
while flow._oneflow_internal.unread_error_report() == "":
    time.sleep(0.01)
ctypes.PyDLL(None).exit(0)
"""

# A thread that takes the GIL when the exit hook lets go of it for the first time.
_HOLD = """
import atexit, os
closing = False
def hold():
    while not closing:
        time.sleep(0.01)
    os.write(2, b"held\\n")
    ctypes.PyDLL(None).sleep(1000)
threading.Thread(target=hold, daemon=True).start()
close = flow._oneflow_internal.shutdown
def closes():
    global closing
    sys.setswitchinterval(1000)  # from here on the GIL moves only when it is let go of
    closing = True
    close()
atexit.unregister(close)
atexit.register(closes)
"""
_MINUTES_OF_WORK = """
x = flow.ones(3000, 3000)
for _ in range(1000):
    z = x @ x
"""
_A_MOMENT_OF_WORK = """
z = flow._C.throw_error(flow.ones(1), delay_ms=300)
"""


def end_of(program: str, path: str) -> tuple[int, str]:
    """Status and stderr of a program, which must end by itself."""
    with open(path, "w", encoding="utf-8") as file:
        file.write(program)
    environment = {
        "PYTHONPATH": os.pathsep.join(sys.path),
        "ONEFLOW_SHUTDOWN_TIMEOUT_SECONDS": str(_TIMEOUT),
    }
    done = subprocess.run(
        [sys.executable, path],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        timeout=_TIMEOUT + _SLOW,
        env={**os.environ, **environment},
    )
    return done.returncode, done.stderr


def stack_in(path: str) -> str:
    """What must be printed of the op that failed."""
    columns = sys.version_info >= (3, 11)
    outer = "\n        " + "^" * len("issue(flow.ones(1))") if columns else ""
    inner = "\n           " + "^" * len("flow._C.throw_error(") if columns else ""
    return _STACK.format(path, outer, inner)


@pytest.mark.parametrize(
    ("rest", "printed"),
    [
        (_C_EXIT, []),
        (_HOLD + _MINUTES_OF_WORK, ["held\n", "oneflow: not finished: subsystem 'vm'"]),
        (_HOLD + _A_MOMENT_OF_WORK, ["held\n", "a thread does not let go of the host's lock"]),
    ],
)
def test_a_failed_op_is_reported_without_the_gil(
    rest: str, printed: list[str], tmp_path: pathlib.Path
) -> None:
    """The whole stack of the op, in bounded time, and the status says that something failed."""
    path = str(tmp_path / "program.py")
    status, stderr = end_of(_FAILED + rest, path)
    assert status == 1, stderr
    for text in [*printed, stack_in(path)]:
        assert text in stderr, stderr


def test_control(tmp_path: pathlib.Path) -> None:
    """A report that names another line is not taken for the right one."""
    path = str(tmp_path / "program.py")
    _, stderr = end_of("\n" + _FAILED + _C_EXIT, path)
    assert "in issue" in stderr
    assert stack_in(path) not in stderr
