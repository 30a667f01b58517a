"""Colour on a terminal, and nowhere else: uncaught exceptions, and errors that nobody read."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from typing import Any

import pytest

from oneflow.framework import _report

RED, YELLOW, PLAIN = "\x1b[1;31m", "\x1b[1;33m", "\x1b[0m"
HEADING = "Related Python stack trace:"
PAINTS_ITSELF = sys.version_info >= (3, 13)

START = "import sys, threading, oneflow as flow\nflow._oneflow_internal.set_vm_mode('queued')\n"
FAILS = "y = flow._C.throw_error(flow.ones(1))\n"
READS = FAILS + "y.numpy()\n"
UNREAD = FAILS
BOTH = "z = flow._C.throw_error(flow.ones(2))\n" + READS


def run(program: str, terminal: bool = True, **environ: str) -> str:
    """What a program prints on stderr, which is a terminal or a pipe."""
    env = {k: v for k, v in os.environ.items() if not k.endswith("_COLOR") and k != "TERM"}
    env.update(PYTHONPATH=os.pathsep.join(sys.path), **environ)
    command = [sys.executable, "-c", START + program]
    if not terminal:
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=100)
        return done.stderr
    ours, theirs = pty.openpty()
    with subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stderr=theirs) as process:
        os.close(theirs)
        printed = b""
        try:
            while chunk := os.read(ours, 4096):
                printed += chunk
        except OSError:  # how a terminal says that nobody writes to it any more
            pass
        process.wait(100)
    os.close(ours)
    return printed.decode().replace("\r\n", "\n")


def plain(text: str) -> str:
    """The text without colours."""
    return re.sub(r"\x1b\[[\d;]*m", "", text)


def test_an_uncaught_error_on_a_terminal() -> None:
    text = run(READS)
    assert f"{YELLOW}{HEADING}{PLAIN}\n" in text
    if not PAINTS_ITSELF:
        assert f"\n{RED}RuntimeError{PLAIN}: [throw_error] throw error kernel\n" in text
    assert plain(text) == run(READS, terminal=False)


def test_the_text_of_the_exception_is_plain() -> None:
    text = run(FAILS + "try: y.numpy()\nexcept RuntimeError as e: sys.stderr.write(str(e))\n")
    assert HEADING in text
    assert "\x1b" not in text


@pytest.mark.parametrize(
    ("environ", "terminal", "expected"),
    [
        ({"NO_COLOR": "1"}, True, False),
        ({"TERM": "dumb"}, True, False),
        ({"PYTHON_COLORS": "0"}, True, False),
        ({"TERM": "xterm"}, False, False),
        ({"FORCE_COLOR": "1"}, False, True),
        ({"PYTHON_COLORS": "1", "NO_COLOR": "1"}, False, True),
    ],
)
def test_what_the_user_asks_for(environ: dict[str, str], terminal: bool, expected: bool) -> None:
    text = run(BOTH, terminal, **environ)
    assert text.count("throw error kernel") == 2
    assert text.count(YELLOW) == (2 if expected else 0)


def test_an_unread_error_on_a_terminal() -> None:
    text = run(UNREAD)
    assert text.startswith(f"{YELLOW}oneflow: an error was never read by the program:{PLAIN}\n")
    assert text.endswith(f"{RED}RuntimeError{PLAIN}: [throw_error] throw error kernel\n")
    assert plain(text) == run(UNREAD, terminal=False)


def test_an_error_in_a_thread() -> None:
    program = FAILS + "t = threading.Thread(target=y.numpy, name='reader')\nt.start(); t.join()\n"
    text = run(program)
    assert text.startswith("Exception in thread reader:\n")
    assert f"{YELLOW}{HEADING}{PLAIN}\n" in text
    assert plain(text) == run(program, terminal=False)


def test_chains_and_groups() -> None:
    chained = (
        f"try:\n    {FAILS}    y.numpy()\nexcept RuntimeError as e: raise KeyError(2) from e\n"
    )
    assert f"{YELLOW}{HEADING}{PLAIN}\n" in run(chained)
    if sys.version_info >= (3, 11):
        grouped = chained.replace("raise KeyError(2)", "raise ExceptionGroup('g', [e])")
        assert f"{YELLOW}{HEADING}{PLAIN}\n" in run(grouped)


# Python's own hooks are touched only where colour is wanted and nobody else stands there.
@pytest.mark.parametrize("name", ["sys.excepthook", "threading.excepthook"])
def test_a_hook_of_the_program_stays(name: str) -> None:
    module, _, hook = name.partition(".")
    same = f"sys.stderr.write(str({name} is {module}.__{hook}__))\n"
    assert run(same, terminal=False) == "True"
    assert run(same) == "False"
    mine = f"import sys, threading\nmine = {name} = lambda *args: sys.stderr.write('mine')\n"
    program = mine + f"import oneflow\nsys.stderr.write(str({name} is mine))\n"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "FORCE_COLOR": "1"},
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.stderr == "True"


@pytest.mark.parametrize(
    "stream", ["None", "open('/dev/null', 'w')", "__import__('io').StringIO()", "object()"]
)
def test_an_odd_stderr_is_no_second_error(stream: str) -> None:
    text = run(f"sys.stderr = {stream}\n{READS}")
    assert "_report" not in text


@pytest.mark.parametrize(
    "program",
    [
        "raise ValueError('plain')",  # of no op
        "raise KeyboardInterrupt",
        "class Odd(ValueError):\n    op, stack = 'x', 1\n"
        "    def __str__(self): raise KeyError\nraise Odd\n",
    ],
)
def test_other_errors_are_printed_as_python_does(program: str) -> None:
    text = run(program)
    assert RED not in text
    last = ("ValueError: plain", "KeyboardInterrupt", "Odd: <exception str() failed>")
    # Python 3.10 names the module of the last one.
    assert plain(text).splitlines()[-1].strip().removeprefix("__main__.") in last
    assert "_report" not in text


def test_control() -> None:
    """Text that is not coloured is told from text that is."""
    names: Any = {"ValueError"}
    text = f"Traceback:\nValueError: x\n{HEADING}\n  ValueError: inside\n"
    painted = _report.colored(text, names)
    assert painted != text and plain(painted) == text
    assert painted.count(RED) == 1 and painted.count(YELLOW) == 1
    assert _report.colored(text, {"KeyError"}).count(RED) == 0
