"""Every way out of a program: the status it asked for, in bounded time, and nothing on stderr that
it did not cause.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

# Past it the runtime would end the process by force (ONEFLOW_SHUTDOWN_TIMEOUT_SECONDS).
DEADLINE = 10.0

# Work for minutes, as a single product takes a good part of a second; up to 2,000 can be queued.
MUCH = """
x = flow.ones(3000, 3000)
for _ in range(1000):
    y = x @ x
"""


def leave(program: str, mode: str = "queued") -> tuple[int, str, str]:
    """(status, stdout, stderr) of a program, which must have ended before the deadline."""
    text = "import os, signal, sys, threading, time\nimport oneflow as flow\n"
    environ = {"PYTHONPATH": os.pathsep.join(sys.path), "ONEFLOW_VM_MODE": mode}
    done = subprocess.run(
        [sys.executable, "-c", text + textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=100,
        env={**os.environ, **environ},
    )
    return done.returncode, done.stdout, done.stderr


QUIET = [
    ("x = flow.ones(300, 300)\nfor _ in range(50): y = x @ x\n", 0, ""),
    ("y = flow.ones(300, 300) @ flow.ones(300, 300)\nsys.exit(3)", 3, ""),
    ("y = flow.ones(9) + 1\nos.kill(os.getpid(), signal.SIGTERM)", -signal.SIGTERM, ""),
    ("y = flow.ones(9) + 1\nos._exit(4)", 4, ""),
    # Handlers registered before the import run after the runtime's own.
    (
        "import atexit\nclass Late:\n"
        "    def __del__(self): print('del', flow.ones(4).sum().item())\n"
        "kept = Late()\natexit.register(lambda: print('atexit', flow.ones(3).sum().item()))",
        0,
        "atexit 3.0\ndel 4.0\n",
    ),
    # Python 3.12 warns of any fork beside a thread.
    (
        "import warnings; warnings.simplefilter('ignore')\n"
        "y = flow.ones(300, 300) @ flow.ones(300, 300)\n"
        "if os.fork() == 0:\n    print((y.sum() * 0).item())\n    sys.exit(0)\nos.wait()",
        0,
        "0.0\n",
    ),
    (
        "def work():\n    while True: (flow.ones(99, 99) @ flow.ones(99, 99)).sum().item()\n"
        "for _ in range(3): threading.Thread(target=work, daemon=True).start()\ntime.sleep(0.3)",
        0,
        "",
    ),
    # An error that was read, and one that nobody will ever read.
    ("try: flow._C.throw_error(flow.ones(1)).numpy()\nexcept RuntimeError: pass", 0, ""),
]


@pytest.mark.parametrize("mode", ["auto", "queued"])
@pytest.mark.parametrize(("program", "status", "stdout"), QUIET)
def test_leaving_is_quiet(program: str, status: int, stdout: str, mode: str) -> None:
    assert leave(program, mode) == (status, stdout, "")


def test_an_exception_is_all_that_is_printed() -> None:
    status, _, stderr = leave("y = flow.ones(300, 300) @ flow.ones(300, 300)\nraise ValueError(7)")
    assert status == 1
    assert stderr.endswith("ValueError: 7\n") and stderr.count("\n") == 3, stderr


UNREAD = "y = flow._C.throw_error(flow.ones(1))\nz = y + 1\n"


def test_an_error_that_nobody_read_is_printed_once_and_changes_the_status() -> None:
    status, _, stderr = leave(UNREAD)
    assert status == 1
    assert stderr.count("RuntimeError: [throw_error]") == 1
    assert stderr.startswith("oneflow: an error was never read by the program:\n")
    assert 'File "<string>", line 3' in stderr
    assert leave(UNREAD + "sys.exit(5)")[0] == 5
    environ = "os.environ['ONEFLOW_UNREAD_ERRORS'] = 'warn'\n"
    assert leave(environ + UNREAD)[0] == 0


def interrupted(program: str) -> tuple[int, str, float]:
    """(status, stderr, seconds from the interrupt to the end)."""
    status, stdout, stderr = leave(f"{program}\nprint(time.time(), flush=True)\n{INTERRUPT}")
    return status, stderr, time.time() - float(stdout)


INTERRUPT = "os.kill(os.getpid(), signal.SIGINT)\ntime.sleep(99)"


def check_prompt(program: str) -> None:
    status, stderr, seconds = interrupted(program)
    assert status == -signal.SIGINT, stderr
    assert "oneflow:" not in stderr and stderr.endswith("KeyboardInterrupt\n")
    assert seconds < DEADLINE


def test_an_interrupt_gives_up_what_is_queued() -> None:
    check_prompt(MUCH)


def test_control() -> None:
    """Without the interrupt's mark the same program runs into the deadline."""
    hidden = "import atexit; atexit.register(lambda: sys.__dict__.pop('last_type'))\n"
    with pytest.raises(AssertionError):
        check_prompt(f"os.environ['ONEFLOW_SHUTDOWN_TIMEOUT_SECONDS'] = '1'\n{hidden}{MUCH}")
