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
MEMORY = "python/tests/memory/test_out_of_memory.py"
INTERPOSE = "python/tests/faults/test_interpose.py"
STACK = "python/tests/stack/test_stack_faults.py"
PLANTS = "python/tests/vm/test_plants.py"
OP_PROGRAMS = "python/tests/vm/test_op_programs.py"
SIGNALS = "python/tests/vm/test_signals.py"
SOAK = "python/tests/vm/test_soak.py"
AUTOGRAD = "python/tests/autograd/test_plants.py"
GRAPH = "python/tests/graph/test_old_ownership.py"
ARRANGED = "python/tests/graph/test_arranged_weights.py"

EXIT = (
    "python/tests/faults/test_exit_faults.py::test_a_plant_turns_it_red",
    "python/tests/faults/exit_faults.py::EXIT_FAULTS",
)

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
        "a kernel's failure is thrown through the instruction and its stream's thread",
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
        "an integer tensor // 0 raises SIGFPE",
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
        "gather gives zeros where an index is out of range",
        (f"{KILLERS}::test_a_plant_kills", f"{OP_PROGRAMS}::test_a_fault_in_a_kernel_is_noticed"),
    ),
    Row(
        "check_just_in_destructor",
        "destructors throw, which ends in std::terminate",
        "the record of a tensor that failed throws that error when it is destroyed",
        (f"{KILLERS}::test_a_plant_kills",),
    ),
    Row(
        "out_of_memory_wrong_order",
        "an out-of-memory error names no tensor at all, so that nobody knows what to free",
        "its report lists the oldest live tensors instead of the largest",
        (f"{MEMORY}::test_a_wrong_report_is_noticed",),
    ),
    Row(
        "out_of_memory_wrong_line",
        "errors name the line of the latest op of a frame, not of the one that is meant",
        "an out-of-memory report names the failing line for every live tensor",
        (f"{MEMORY}::test_a_wrong_report_is_noticed",),
    ),
    Row(
        "stop_does_not_wake_stream",
        "the process hangs at its exit, in the join of threads that wait for what nobody closed",
        "a stream is joined without being told to stop; the deadline ends the process",
        EXIT,
    ),
    Row(
        "deadline_ignored",
        "a hang at the exit lasts for ever",
        "every deadline is a year away",
        EXIT,
    ),
    Row(
        "unread_error_not_reported",
        "an op that failed in the background and was never read goes unnoticed, with status 0",
        "root failures are not put on the list of unread errors",
        EXIT,
    ),
    Row(
        "frames_read_without_gil",
        "with the stack getter on, each process died at exit: frames were read without the GIL",
        "the C exit handler captures a stack, and the recorder does so without a thread state",
        EXIT,
    ),
    Row(
        "destructor_throws_once_closed",
        "destructors throw when the session or the environment is gone",
        "what frees the memory under a numpy view throws once the runtime is closed",
        EXIT,
    ),
    Row(
        "sync_in_destructor_hangs",
        "a destructor waits for all ops after an abnormal exit, for threads that are gone",
        "__del__ of an object of the package syncs after an uncaught exception, and a sync of the "
        "closed runtime waits for a point that never passes",
        EXIT,
    ),
    Row(
        "loader_worker_not_ended",
        "generators and DataLoader workers are alive at shutdown, and are waited for",
        "a DataLoader does not tell its workers to end, and they are no daemons",
        EXIT,
    ),
    Row(
        "fork_child_waits_for_threads",
        "fork after threads started: the child waits for threads that it does not have",
        "the child keeps its parent's streams",
        EXIT,
    ),
    Row(
        "interrupt_aborts",
        "Ctrl-C ends in an abort",
        "a wait that an interrupt ends calls abort()",
        EXIT,
    ),
    Row(
        "shared_memory_left_behind",
        "shared memory stays in the system after the process",
        "the import makes a block that nobody removes; the package itself uses none yet",
        EXIT,
    ),
    Row(
        "admission_stays_open",
        "threads come back for the GIL while Python finalizes, which ends them inside destructors",
        "a daemon thread comes back for the GIL after the exit hook, when Python is finalizing",
        EXIT,
    ),
    Row(
        "owner_freed_without_gil",
        "Python objects are released by worker threads that do not hold the GIL",
        "the last reference to a numpy array is dropped where it is found, not deferred",
        EXIT,
    ),
    Row(
        "stack_line_overwritten",
        "all ops of a Python frame share one record, which names the line of the latest",
        "the recorder keeps one id for each frame, whose stack each op overwrites",
        (f"{STACK}::test_a_fault_is_noticed",),
    ),
    Row(
        "stack_shared_by_threads",
        "one current frame for all threads, so that their stacks interleave",
        "an op gets the stack that another thread's op left",
        (f"{STACK}::test_a_fault_is_noticed",),
    ),
    Row(
        "stack_names_borrowed",
        "file and function names are borrowed, and read after the code object has died",
        "the recorder keeps borrowed code objects, and reads their names when it prints",
        (f"{STACK}::test_a_fault_is_noticed",),
    ),
    Row(
        "stack_formats_with_gil",
        "a worker that formats a stack waits for the GIL",
        "resolving a stack takes the GIL",
        (f"{STACK}::test_a_fault_is_noticed",),
    ),
    Row(
        "stack_source_from_files_only",
        "source lines come from the file system only: none for notebooks and exec",
        "frames whose file does not exist have no source line",
        (f"{STACK}::test_a_fault_is_noticed",),
    ),
    Row(
        "stack_frame_hook",
        "a PEP 523 hook at each Python call, which also ends the interpreter's inlining of calls",
        "installing the recorder installs a frame evaluation function that does nothing",
        ("python/tests/stack/test_plain_python.py::test_a_frame_hook_is_noticed",),
    ),
    Row(
        "stack_innermost_first",
        "stacks are printed innermost frame first, unlike Python's",
        "a resolved stack is reversed",
        (f"{STACK}::test_a_fault_is_noticed",),
    ),
    Row(
        "stack_backward_line_only",
        "errors in backward show the line of .backward() only; graph errors, which have no stack, "
        "wait for graphs that run",
        "an op that fails in backward loses the lines of its forward op",
        (f"{STACK}::test_a_fault_is_noticed",),
    ),
    Row(
        "visible_not_awaited",
        "none: `y = from_numpy(a) * 2; a[:] = 0` would be a race",
        "an op on memory that Python can see returns before it is complete",
        (f"{PLANTS}::test_random_programs_notice",),
    ),
    Row(
        "freed_serves_at_once",
        "none: other streams, and the host, get a block only after its last use",
        "memory that the host wrote is free for the host again while queued ops read it",
        (f"{PLANTS}::test_random_programs_notice",),
    ),
    Row(
        "last_owner_forgotten",
        "none: the same for memory that its home stream reused at once",
        "who takes memory that queued ops still use does not wait for them",
        (f"{PLANTS}::test_random_programs_notice",),
    ),
    Row(
        "poison_not_spread",
        "none: a value that was never computed must not look like one",
        "what a failed op should have fed is left as it was, without an error",
        (f"{PLANTS}::test_random_programs_notice",),
    ),
    Row(
        "in_place_poisons",
        "none: an op in place that fails leaves its target as it was",
        "a failed op in place poisons its target",
        (f"{PLANTS}::test_random_programs_notice",),
    ),
    Row(
        "failed_memory_leaks",
        "none: shows that the soak notices a leak",
        "the memory of a failed op's result never goes back to the pool",
        (f"{SOAK}::test_a_leak_is_noticed",),
    ),
    Row(
        "waits_ignore_signals",
        "none: Ctrl-C must end a wait",
        "waits never look at pending signals",
        (f"{SIGNALS}::test_a_wait_that_ignores_signals_is_noticed",),
    ),
    Row(
        "backward_names_the_call_only",
        "errors of backward show the line of .backward() and not that of the forward op",
        "an error of an op that backward issues has the stack of that call, and no other",
        (f"{AUTOGRAD}::test_a_plant_turns_it_red",),
    ),
    Row(
        "anomaly_names_a_later_nan",
        "none: there is no anomaly mode",
        "anomaly mode lets the first NaN of a backward pass",
        (f"{AUTOGRAD}::test_a_plant_turns_it_red",),
    ),
    Row(
        "collector_sees_no_hooks",
        "a hook whose closure holds its own tensor is never freed",
        "the garbage collector is not told what the tape owns",
        (f"{AUTOGRAD}::test_a_plant_turns_it_red",),
    ),
    Row(
        "graphs_outlive_threads",
        "a graph made at module level is alive when the environment ends: a crash, or a hang",
        "the environment stops its threads before the session closes the graphs",
        (f"{GRAPH}::test_the_scripts_turn_red",),
    ),
    Row(
        "arranged_taken_for_plain",
        "none: it arranges no tensors between ops",
        "memory that lies in a graph's order is taken for plain, and not brought back",
        (
            "oneflow/vm/arrangement_test.cc::ArrangementRandomTest.ARestoreThatIsLeftOutIsNoticed",
            f"{ARRANGED}::test_a_restore_that_is_left_out_turns_it_red",
        ),
    ),
)
