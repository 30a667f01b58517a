"""The faults of OneFlow's stack getter, each planted: does the test of what is right notice?

Programs are cells of a notebook: their source is in `linecache` only.
"""

from __future__ import annotations

import dataclasses
import signal
import sys
from typing import Any

import pytest
from tests.faults import faulty
from tests.support import must_fail

_HAS_COLUMNS = sys.version_info >= (3, 11)


@dataclasses.dataclass(frozen=True)
class Case:
    """A program that prints an error's stack, and what it must print.

    Attributes:
        fault: the planted fault that it must notice.
        cell: the program; it prints its errors, or is reported for the one that nobody read.
        stack: what must be printed, from the cell's outermost frame to the error; carets where
            the interpreter knows columns.
        environment: of the process.
        status: its exit status.
        faulty_status: the status with the fault planted.
    """

    fault: str
    cell: str
    stack: str
    environment: dict[str, str] = dataclasses.field(default_factory=dict)
    status: int = 0
    faulty_status: int = 0


_LINES = Case(
    "stack_line_overwritten",
    """
def step(x):
    y = flow._C.throw_error(x)
    z = x + 1
    return y, z
def main():
    y, z = step(flow.ones(1))
    flow.ones(2)
    read(y)
main()
""",
    """\
  File "/cell.py", line 10, in <module>
    main()
  File "/cell.py", line 7, in main
    y, z = step(flow.ones(1))
           ^^^^^^^^^^^^^^^^^^
  File "/cell.py", line 3, in step
    y = flow._C.throw_error(x)
        ^^^^^^^^^^^^^^^^^^^^^^
""",
)

_THREADS = Case(
    "stack_shared_by_threads",
    """
def other():
    flow.ones(3)
def main():
    x = flow.ones(1)
    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    return flow._C.throw_error(x)
read(main())
""",
    """\
  File "/cell.py", line 10, in <module>
    read(main())
         ^^^^^^
  File "/cell.py", line 9, in main
    return flow._C.throw_error(x)
           ^^^^^^^^^^^^^^^^^^^^^^
""",
)

# With an allocator that overwrites what is freed.
_NAMES = Case(
    "stack_names_borrowed",
    """
import gc
names = {"flow": flow}
text = "def dies(x):\\n  return flow._C.throw_error(x)"
exec(compile(text, "/" + "gone.py", "exec"), names)
y = names["dies"](flow.ones(1))
names.clear()
gc.collect()
read(y)
""",
    """\
  File "/cell.py", line 6, in <module>
    y = names["dies"](flow.ones(1))
        ^^^^^^^^^^^^^^^^^^^^^^^^^^^
  File "/gone.py", line 2, in dies
""",
    environment={"PYTHONMALLOC": "pymalloc_debug"},
    faulty_status=-signal.SIGSEGV,
)

# When the exit hook lets go of the GIL, a thread takes it and never gives it back.
_GIL = Case(
    "stack_formats_with_gil",
    """
import atexit, ctypes
closing = False
def hold():
    while not closing:
        time.sleep(0.01)
    ctypes.PyDLL(None).sleep(1000)
threading.Thread(target=hold, daemon=True).start()
close = flow._oneflow_internal.shutdown
def closes():
    global closing
    sys.setswitchinterval(1000)
    closing = True
    y = flow._C.throw_error(flow.ones(1), delay_ms=300)
    close()
atexit.unregister(close)
atexit.register(closes)
""",
    """\
  File "/cell.py", line 14, in closes
    y = flow._C.throw_error(flow.ones(1), delay_ms=300)
        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
RuntimeError: [throw_error]""",
    environment={"ONEFLOW_SHUTDOWN_TIMEOUT_SECONDS": "2"},
    status=1,
    faulty_status=1,
)

_BACKWARD = Case(
    "stack_backward_line_only",
    """
class Fails(flow.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def backward(ctx, dy):
        return flow._C.throw_error(dy)
def main():
    x = flow.ones(3, requires_grad=True)
    y = Fails.apply(x)
    y.sum().backward()
    read(x.grad)
main()
""",
    """\
  File "/cell.py", line 14, in <module>
    main()
  File "/cell.py", line 11, in main
    y = Fails.apply(x)
        ^^^^^^^^^^^^^^
""",
)

_SOURCE = dataclasses.replace(_THREADS, fault="stack_source_from_files_only")
_ORDER = dataclasses.replace(_LINES, fault="stack_innermost_first")

_CASES = [
    pytest.param(case, id=case.fault)
    for case in (_LINES, _THREADS, _NAMES, _GIL, _SOURCE, _ORDER, _BACKWARD)
]

_PROGRAM = """
import linecache
text = {cell!r}
linecache.cache["/cell.py"] = (len(text), None, text.splitlines(True), "/cell.py")
flow._oneflow_internal.set_vm_mode("queued")
def read(y):
    try:
        y.numpy()
    except RuntimeError as error:
        print(error)
names = {{"flow": flow, "read": read, "sys": sys, "threading": threading, "time": time}}
exec(compile(text, "/cell.py", "exec"), names)
"""


def ended(case: Case, fault: str | None) -> faulty.Ended:
    """How the case's program ended."""
    return faulty.run(_PROGRAM.format(cell=case.cell), fault, case.environment)


def check(case: Case, end: faulty.Ended) -> None:
    """It ended as it should, and the stack was printed."""
    assert end.status == case.status, end
    stack = "".join(
        line
        for line in case.stack.splitlines(keepends=True)
        if _HAS_COLUMNS or not set(line) <= set(" ^\n")
    )
    assert stack in end.stdout + end.stderr, end


@pytest.mark.parametrize("case", _CASES)
def test_the_stack_is_right(case: Case) -> None:
    check(case, ended(case, None))


@pytest.mark.parametrize("case", _CASES)
def test_a_fault_is_noticed(case: Case) -> None:
    end: Any = ended(case, case.fault)
    must_fail(check, case, end)
    assert end.status == case.faulty_status, end
