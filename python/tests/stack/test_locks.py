"""An op that records its line holds locks of the runtime meanwhile: no Python code may run then.

If it did, and issued an op, the process would wait for itself for ever.
"""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

import oneflow as flow

_START = """
import gc, weakref
import oneflow as flow
flow._oneflow_internal.set_vm_mode("queued")
x = flow.ones(1)
ran = []
def issue(*_):
    ran.append(x + 1)
"""

# Code objects that the recorder's full table gives back, and what dies with them.
_CODES = """
class Issues:
    __del__ = issue
for i in range(4000):
    names = {"x": x}
    exec(compile("def f(): return x + 1", f"<{i}>", "exec"), names)
    f = names["f"]
    f.__code__ = f.__code__.replace(co_consts=(*f.__code__.co_consts, Issues()))
    f()
    weakref.finalize(f.__code__, issue)
    del f, names
"""

# Frame objects that the public API makes, and the garbage collections that they start.
_COLLECTIONS = """
class Cycle:
    def __init__(self):
        self.me = self
    __del__ = issue
def deep(n):
    return deep(n - 1) if n else x + 1
gc.set_threshold(3)
for i in range(1500):
    Cycle()
    deep(i % 30)
"""


def run(program: str, **environment: str) -> tuple[int, str]:
    """Status and output of a program that says how often its code ran in odd places."""
    end = (
        "\ngc.disable()\nn = len(ran)\nassert [t.item() for t in ran] == [2.0] * n\nprint(n > 100)"
    )
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(_START + program + end)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=90,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment},
    )
    return done.returncode, done.stdout


@pytest.mark.parametrize("public", ["0", "1"])
@pytest.mark.parametrize("program", [_CODES, _COLLECTIONS])
def test_code_that_runs_when_others_die_may_issue_ops(program: str, public: str) -> None:
    environment = {
        "ONEFLOW_TEST_STACK_TABLE_BYTES": "500000",
        "ONEFLOW_TEST_STACK_PUBLIC_API": public,
    }
    assert run(program, **environment) == (0, "True\n")


def test_control() -> None:
    """What did not run often enough is noticed."""
    assert run("issue()") == (0, "False\n")
    assert flow.ones(1).item() == 1
