"""What kills the process with OneFlow, as programs: each must be a Python exception here.

A program prints what it caught, goes on to compute, and ends normally. The same programs run with
the fault planted, and must then die as OneFlow's users saw it.
"""

from __future__ import annotations

import signal
from typing import NamedTuple


class Killer(NamedTuple):
    """One way to kill the process.

    Attributes:
        title: for the test's name
        program: Python text after the imports; `expect(kind, function)` prints the exception
        words: what the printed exceptions must hold, in this order
        fault: the fault that makes it what it is in OneFlow
        dies_by: the signal that then ends the program; None: it goes on with wrong values
    """

    title: str
    program: str
    words: tuple[str, ...]
    fault: str
    dies_by: signal.Signals | None


# Runs in front of each program.
PRELUDE = """
def expect(kind, function):
    try:
        function()
    except kind as error:
        print(type(error).__name__, "|", str(error).splitlines()[0])
    else:
        print("no exception")

x = flow.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
"""
# Runs after each: the program goes on, both on this thread and on the vm's.
GOES_ON = """
flow._oneflow_internal.set_vm_mode("queued")
print("goes on:", (flow.ones(200, 200) @ flow.ones(200, 200)).sum().item())
"""
WENT_ON = "goes on: 8000000.0\n"

_QUEUED = "flow._oneflow_internal.set_vm_mode('queued')\n"
_INLINE = "flow._oneflow_internal.set_vm_mode('inline')\n"
_THROW = "expect(RuntimeError, lambda: flow._C.throw_error(x).numpy())"
_DIVIDE = "expect(RuntimeError, lambda: (i // 0).numpy())\nprint((i / 0).tolist())"

KILLERS = (
    Killer(
        "no_memory",
        "expect(flow.OutOfMemoryError, lambda: flow.ones(1 << 44))",
        (
            "OutOfMemoryError | [",
            "64.00 TiB for a tensor of shape (17592186044416,) and dtype float32",
        ),
        "allocation_failure_aborts",
        signal.SIGABRT,
    ),
    Killer(
        "no_memory_for_a_result",
        "e = flow.ones(1).expand(1 << 22, 1 << 22)\nexpect(flow.OutOfMemoryError, lambda: e + e)",
        ("OutOfMemoryError | [add] expects 64.00 TiB for a tensor of shape (4194304, 4194304)",),
        "allocation_failure_aborts",
        signal.SIGABRT,
    ),
    Killer(
        "no_memory_for_a_range",
        "expect(flow.OutOfMemoryError, lambda: flow.linspace(0, 1, 1 << 43))\n"
        "expect(flow.OutOfMemoryError, lambda: flow.eye(1 << 22))",
        ("OutOfMemoryError | [", "(8796093022208,)", "OutOfMemoryError | [", "(4194304, 4194304)"),
        "allocation_failure_aborts",
        signal.SIGABRT,
    ),
    Killer(
        "integer_division_by_zero",
        f"i = flow.tensor([1, -2, 0])\n{_DIVIDE}",
        (
            "RuntimeError | [floor_divide] expects divisors other than 0, got 0 among integers",
            "[inf, -inf, nan]",
        ),
        "division_by_zero_traps",
        signal.SIGFPE,
    ),
    Killer(
        "no_gpu",
        "print(flow.device('cuda'))\n"
        "expect(RuntimeError, lambda: flow.ones(2, device='cuda'))\n"
        "expect(RuntimeError, lambda: x.to('cuda'))",
        ("cuda", "RuntimeError | ", "cuda:0 is not available", "cuda:0 is not available"),
        "missing_gpu_aborts",
        signal.SIGABRT,
    ),
    Killer(
        "index_out_of_range_queued",
        _QUEUED + "t = flow.tensor([[0, 3], [1, 1]])\n"
        "expect(IndexError, lambda: flow.gather(x, 1, t).numpy())",
        ("IndexError | [gather] expects indices in [0, 3) for dim 1 of shape (2, 3), got 3 at",),
        "bad_index_gives_zeros",
        None,
    ),
    Killer(
        "index_out_of_range_inline",
        _INLINE + "t = flow.tensor([[-1, 0]])\n"
        "expect(IndexError, lambda: flow.gather(x, 1, t).numpy())",
        ("IndexError | [gather] expects indices in [0, 3) for dim 1 of shape (2, 3), got -1 at",),
        "bad_index_gives_zeros",
        None,
    ),
    Killer(
        "kernel_error_queued",
        _QUEUED + _THROW,
        ("RuntimeError | [throw_error] throw error kernel",),
        "kernel_error_escapes",
        signal.SIGABRT,
    ),
    Killer(
        "kernel_error_inline",
        _INLINE + _THROW,
        ("RuntimeError | [throw_error] throw error kernel",),
        "kernel_error_escapes",
        signal.SIGABRT,
    ),
    Killer(
        "failed_tensor_freed",
        _QUEUED + "y = flow._C.throw_error(x)\nexpect(RuntimeError, lambda: y.numpy())\ndel y",
        ("RuntimeError | [throw_error] throw error kernel",),
        "check_just_in_destructor",
        signal.SIGABRT,
    ),
)
