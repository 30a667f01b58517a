"""The watch over whoever ends the process catches our code, and nobody else."""

from __future__ import annotations

import signal

import pytest
from tests.faults import interpose
from tests.faults.interpose import Call

# What the fault does at the import, the status that this ends in, and the function that is seen.
ENDINGS = [
    ("calls_abort", -signal.SIGABRT, "abort"),
    ("calls_exit", 7, "exit"),
    ("calls__exit", 7, "_exit"),
    ("calls_quick_exit", 7, "quick_exit"),
    ("calls_terminate", -signal.SIGABRT, "terminate"),
]


@pytest.mark.parametrize(("fault", "status", "function"), ENDINGS)
def test_control(fault: str, status: int, function: str) -> None:
    ended, calls = interpose.run("print('imported')", fault)
    assert (ended.status, ended.stdout) == (status, "")
    assert [call.function for call in calls] == [function]
    assert interpose.forbidden(calls) == [f"{function} by {calls[0].by()}"]
    assert "EndAtOnce" in calls[0].by() or "CheckPlantedFault" in calls[0].by()


@pytest.mark.parametrize(
    ("program", "status", "function"),
    [
        ("sys.exit(3)", 3, "exit"),
        ("os._exit(4)", 4, "_exit"),
        ("os.abort()", -signal.SIGABRT, "abort"),
        ("import ctypes; ctypes.CDLL(None).quick_exit(5)", 5, "quick_exit"),
        ("import ctypes; ctypes.CDLL(None)._ZSt9terminatev()", -signal.SIGABRT, "terminate"),
        ("import ctypes; ctypes.CDLL(None).__getattr__('raise')(6)", -signal.SIGABRT, "raise"),
    ],
)
def test_the_user_may_end_the_process(program: str, status: int, function: str) -> None:
    ended, calls = interpose.run(program)
    assert (ended.status, ended.stderr) == (status, "")
    assert function in [call.function for call in calls]
    assert interpose.forbidden(calls) == []


def test_a_normal_end_calls_nothing() -> None:
    ended, calls = interpose.run("print(flow.ones(2).sum().item())")
    assert (ended.status, ended.stdout, calls) == (0, "2.0\n", [])


def test_an_unread_error_ends_it_in_the_one_place() -> None:
    ended, calls = interpose.run("flow._C.throw_error(flow.ones(1), 1)\n")
    assert ended.status == 1
    assert [(call.function, call.by()) for call in calls] == [
        ("_exit", f"{interpose.ALLOWED}(int)")
    ]
    assert interpose.forbidden(calls) == []


def test_the_deadline_ends_it_in_the_one_place() -> None:
    more = {"ONEFLOW_SHUTDOWN_TIMEOUT_SECONDS": "0.2"}
    ended, calls = interpose.run("flow._C.throw_error(flow.ones(1), 3000)\n", None, more)
    assert (ended.status, "did not finish in time" in ended.stderr) == (1, True)
    assert [call.by() for call in calls] == [f"{interpose.ALLOWED}(int)"]


def test_parse() -> None:
    """Frames of other modules do not count; of the extension, in whatever package, they do."""
    log = "exit\t/usr/bin/python3+12\nabort\t/lib/libc.so.6+5\t/p/oneflow/_oneflow_internal.so+77\n"
    calls = interpose.parse(log)
    assert [call.ours() for call in calls] == [False, True]
    assert calls[0] == Call("exit", (("/usr/bin/python3", 12),))
