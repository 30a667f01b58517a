"""Python code that issues no op pays nothing for the recorder: no hook is installed, and it is as
fast as with the recorder off.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
from typing import Any

from tests.faults import faulty
from tests.support import must_fail

# Says which of the interpreter's hooks are set, after ops that recorded their lines.
_HOOKS = """
import ctypes
api = ctypes.pythonapi
api.PyInterpreterState_Get.restype = ctypes.c_void_p
get = api._PyInterpreterState_GetEvalFrameFunc
get.restype, get.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
default = ctypes.cast(api._PyEval_EvalFrameDefault, ctypes.c_void_p).value
flow._oneflow_internal.set_vm_mode("queued")
x = flow.ones(3)
for _ in range(1000):
    x = x + 1
assert "line" in flow._oneflow_internal.get_current_stack()
monitoring = getattr(sys, "monitoring", None)
print("frame evaluation", get(api.PyInterpreterState_Get()) != default)
print("trace", sys.gettrace() is not None, threading.gettrace() is not None)
print("profile", sys.getprofile() is not None, threading.getprofile() is not None)
print("tools", any(monitoring and monitoring.get_tool(i) for i in range(6)))
"""
_NONE = """\
frame evaluation False
trace False False
profile False False
tools False
"""

# Times a loop that calls functions, once for each line of its input.
_LOOP = """
def add(a, b=1):
    return a + b
class Adds:
    def add(self, a):
        return add(a)
def loop(adds=Adds(), turns=20000):
    value = 0
    for _ in range(turns):
        value = adds.add(value)
    assert value == turns
for _ in sys.stdin:
    begin = time.thread_time_ns()
    loop()
    print(time.thread_time_ns() - begin, flush=True)
"""


def hooks(fault: str | None) -> str:
    """Which hooks are set in a program with this fault."""
    ended = faulty.run(_HOOKS, fault)
    assert (ended.status, ended.stderr) == (0, "")
    return ended.stdout


class Timer:
    """A process that runs the loop when asked."""

    def __init__(self, fault: str | None, recorder: str) -> None:
        more = {"ONEFLOW_PYTHON_STACK_GETTER": recorder}
        program = "import sys, threading, time\nimport oneflow as flow\n" + _LOOP
        self.process = subprocess.Popen(
            [sys.executable, "-c", program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=faulty.environment(fault, more),
        )

    def __enter__(self) -> Timer:
        return self

    def __exit__(self, *error: object) -> None:
        self.process.communicate()

    def nanoseconds(self) -> int:
        """Of processor time, for one run of the loop."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())


def ratio(fault: str | None) -> float:
    """Recorder on against off, in turns; of each the quickest quarter, as other work only slows."""
    on, off = [], []
    with Timer(fault, "1") as with_recorder, Timer(fault, "0") as without:
        for _ in range(60):
            on.append(with_recorder.nanoseconds())
            off.append(without.nanoseconds())
    return statistics.mean(sorted(on)[:15]) / statistics.mean(sorted(off)[:15])


def check_ratio(value: float) -> None:
    """Within what two equal programs differ by on a busy machine; a hook costs far more."""
    assert 0.9 < value < 1.1


def test_no_hook_is_installed() -> None:
    assert hooks(None) == _NONE


def test_plain_python_is_as_fast_with_the_recorder() -> None:
    check_ratio(ratio(None))


def test_a_frame_hook_is_noticed() -> None:
    """The planted fault: OneFlow's way, a function that evaluates each frame."""
    must_fail(_same, hooks("stack_frame_hook"), _NONE)
    assert hooks("stack_frame_hook").startswith("frame evaluation True\n")
    if sys.version_info >= (3, 11):  # where it also ends the inlining of calls
        must_fail(check_ratio, ratio("stack_frame_hook"))


def _same(a: Any, b: Any) -> None:
    assert a == b
