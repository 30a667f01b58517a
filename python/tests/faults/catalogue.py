"""Every planted fault: what OneFlow does, what our code does when it is planted, what turns red.

`test_catalogue.py` checks that the table and oneflow/common/planted_fault.h name the same faults,
that each is planted somewhere, and that what should turn red exists.
"""

from __future__ import annotations

from typing import NamedTuple


class Row(NamedTuple):
    """One fault.

    Attributes:
        name: as in planted_fault.h
        oneflow: the fault of OneFlow, as its users meet it; of the watch over the tests where it is
            planted for that only
        planted: what our code does instead of the right thing
        red: the tests that notice, `path::name` (of C++, `path::Suite.Name`)
    """

    name: str
    oneflow: str
    planted: str
    red: tuple[str, ...]


KILLERS = "python/tests/faults/test_killers.py"
INTERPOSE = "python/tests/faults/test_interpose.py"

_WATCH = "none: shows that whoever ends the process from our code is caught"

CATALOGUE = (
    Row("calls_abort", _WATCH, "the import calls abort()", (f"{INTERPOSE}::test_control",)),
    Row("calls_exit", _WATCH, "the import calls exit()", (f"{INTERPOSE}::test_control",)),
    Row("calls__exit", _WATCH, "the import calls _exit()", (f"{INTERPOSE}::test_control",)),
    Row(
        "calls_quick_exit", _WATCH, "the import calls quick_exit()", (f"{INTERPOSE}::test_control",)
    ),
    Row("calls_terminate", _WATCH, "the import calls terminate()", (f"{INTERPOSE}::test_control",)),
    Row(
        "kernel_error_escapes",
        "an error in a kernel on a thread of the vm ends in std::terminate",
        "a kernel's failure leaves RunKernel as a C++ exception",
        (f"{KILLERS}::test_a_plant_kills",),
    ),
    Row(
        "allocation_failure_aborts",
        "flow.ones(1 << 44), no memory for it, aborts the process",
        "the pool aborts where it would return an out-of-memory error",
        (f"{KILLERS}::test_a_plant_kills",),
    ),
    Row(
        "division_by_zero_traps",
        "an integer tensor // 0 ends in SIGFPE",
        "an integer tensor / 0 raises SIGFPE; the op table has no integer division yet",
        (f"{KILLERS}::test_a_plant_kills",),
    ),
    Row(
        "missing_gpu_aborts",
        "an op on device='cuda' without a GPU aborts, while flow.device('cuda') is accepted",
        "asking for the memory pool of a device that is not there aborts",
        (f"{KILLERS}::test_a_plant_kills",),
    ),
    Row(
        "bad_index_gives_zeros",
        "an embedding index out of range gives zeros and no error",
        "nll_loss gives zeros for a target out of range; no other kernel takes indices yet",
        (f"{KILLERS}::test_a_plant_kills",),
    ),
    Row(
        "check_just_in_destructor",
        "destructors throw, which ends in std::terminate",
        "the record of a tensor that failed throws that error when it is destroyed",
        (f"{KILLERS}::test_a_plant_kills",),
    ),
)
