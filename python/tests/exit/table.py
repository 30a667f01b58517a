"""What each way out of a program must do: one row for each scenario and case. README.md says what
the columns mean.
"""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path
from signal import SIGABRT, SIGINT, SIGTERM, SIGUSR1

PROGRAMS = Path(__file__).parent / "programs"

# Numbers of the ways out that the project knows today: 54 is about ranks.
NUMBERS = frozenset(range(1, 54))

PYTHON = sys.version_info[:2]

AUTO, QUEUED, DEV, NO_RECORDER = "auto", "queued", "dev", "no_recorder"


@dataclasses.dataclass(frozen=True)
class Scenario:
    """One row. Times are in seconds, statuses as `subprocess` gives them (-2: SIGINT)."""

    number: int
    case: str
    what: str
    status: int | tuple[int, ...] = 0  # several: the moment of a signal decides
    stdout: str = ""
    stderr: str = ""
    stderr_dev: str | None = None  # None: as without -X dev
    stderr_no_recorder: str | None = None  # None: as with the recorder
    wall: float = 6.0  # on a machine that does nothing else; a busy one gets more
    cpu: float = 4.0
    core: bool = False  # True: the program asks for a core dump
    start: str = "file"
    signals: tuple[tuple[str, int], ...] = ()
    environ: tuple[tuple[str, str], ...] = ()
    without: frozenset[str] = frozenset()
    sanitizer: bool = True
    versions: str = ""

    @property
    def name(self) -> str:
        """`14-status_5`: how tests and reports call the row."""
        return f"{self.number:02}" + (f"-{self.case}" if self.case else "")

    @property
    def program(self) -> Path:
        """The script: the one file whose name begins with the number."""
        (path,) = PROGRAMS.glob(f"s{self.number:02}_*.py")
        return path

    @property
    def nightly_repeats(self) -> int:
        """Threads and graphs at the end are where the order of things is least certain."""
        return 1000 if 27 <= self.number <= 33 or 45 <= self.number <= 51 else 200


def traceback_of(error: str) -> str:
    """The pattern of an uncaught exception: its traceback, and nothing after it."""
    return rf"Traceback \(most recent call last\):\n(?:  .*\n)+{error}\n"


def ignored_in_atexit(error: str) -> str:
    """The pattern of what Python prints of an exception in a handler."""
    return rf"Exception ignored in atexit callback.*\n{traceback_of(error)}"


def unread(error: str, stack: bool = True) -> str:
    """The pattern of the report about one error that nobody read."""
    script = r'(?:  .*\n)*  File ".*/s\d\d_\w+\.py", line \d+, in .*\n(?:  .*\n)*'
    lines = rf"Traceback \(most recent call last\):\n{script}" if stack else ""
    hint = "" if stack else r"(?:.*ONEFLOW_PYTHON_STACK_GETTER.*\n)?"
    return f"oneflow: an error was never read by the program:\n{lines}{error}\n{hint}"


THROWN = r"RuntimeError: \[throw_error\] throw error kernel"
INTERRUPTED = traceback_of("KeyboardInterrupt ?")
# The second interrupt may meet Python while it prints the first, or not Python any more. From 3.13
# on it may also cost the heading: that is made with repr(), which looks at signals.
_LINES = r"Traceback \(most recent call last\):\n(?:  .*\n)+"
_HEADING = rf"Exception ignored in.*\n(?:{_LINES})?"
INTERRUPTED_AT_EXIT = (
    rf"(?:(?:{_HEADING}{'|' + _LINES if PYTHON >= (3, 13) else ''})KeyboardInterrupt:? ?\n){{1,2}}"
)
# Python 3.12 warns of any fork beside a thread. (NumPy's own are gone then.)
FORK_WARNING = (
    r"(?:.*DeprecationWarning: This process .* is multi-threaded.*\n(?:  .*\n)?)+"
    if PYTHON >= (3, 12)
    else ""
)
ABORTED_DEV = r"Fatal Python error: Aborted\n\n(?:.*\n)+"
# At exit, Python 3.12 starts no thread.
THREAD_AT_EXIT = "refused\n" if PYTHON == (3, 12) else "started\n"
BROKEN_PIPE = (
    r"Exception ignored "
    + (r"on flushing sys.stdout:" if PYTHON >= (3, 13) else r"in: <_io\.TextIOWrapper .*<stdout>.*")
    + r"\nBrokenPipeError: .*\n"
)
UNCLOSED_LOOP_DEV = r".*ResourceWarning: unclosed event loop.*\n(?:.*\n)*"
SLOW_TASK_DEV = r"(?:Executing .* took .* seconds\n)*"  # asyncio's debug mode, on a busy machine

PLAIN = [
    Scenario(1, "", "import only", cpu=2.0),
    Scenario(2, "", "import and one op, never read"),
    Scenario(
        3, "", "ten thousand queued ops, then the end of the file",
        stdout=r"queued [12]\d{3}\n",
    ),
    Scenario(4, "", "a global tensor alive"),
    Scenario(
        5, "", "a tensor in a reference cycle with __del__",
        stdout="del 3.0\n",
    ),
    Scenario(6, "", "a __del__ that issues an op", stdout="del 4.0\n"),
    Scenario(7, "sys", "a tensor kept on sys"),
    Scenario(7, "builtins", "a tensor kept on builtins"),
    Scenario(
        8, "", "a weakref.finalize callback that issues an op",
        stdout="finalize 4.0\n",
    ),
    Scenario(
        9, "numpy", "a numpy view that outlives its tensor",
        stdout="view 6.0\ndel 6.0\n",
    ),
    Scenario(
        9, "memoryview", "a buffer over a numpy view that outlives both",
        stdout="view 6.0\ndel 6.0\n",
    ),
    Scenario(10, "", "garbage with the collector off"),
]  # fmt: skip

EXIT_ROUTES = [
    Scenario(11, "", "sys.exit(0)"),
    Scenario(12, "", "sys.exit(3)", status=3),
    Scenario(
        13, "", "an uncaught exception whose traceback holds tensors",
        status=1, stderr=traceback_of("ValueError: mine"),
    ),
    Scenario(
        14, "end", "a failed op that nobody read, then the end",
        status=1, stderr=unread(THROWN), stderr_no_recorder=unread(THROWN, stack=False),
    ),
    Scenario(
        14, "status_5", "the same, then sys.exit(5)",
        status=5, stderr=unread(THROWN), stderr_no_recorder=unread(THROWN, stack=False),
    ),
    Scenario(
        14, "warn", "the same with ONEFLOW_UNREAD_ERRORS=warn",
        stderr=unread(THROWN), stderr_no_recorder=unread(THROWN, stack=False),
        environ=(("ONEFLOW_UNREAD_ERRORS", "warn"),),
    ),
    Scenario(14, "read", "a failed op whose error was caught"),
    Scenario(15, "", "os._exit(4) with ops queued", status=4),
    Scenario(
        16, "", "os.abort with ops queued",
        status=-SIGABRT, stderr_dev=ABORTED_DEV, core=True,
        versions="-X dev turns faulthandler on, which prints the stack",
    ),
    Scenario(17, "", "SystemExit in a thread", stdout="thread 1.0\n"),
    Scenario(18, "", "sys.exit(3) inside a backward hook", status=3),
    Scenario(19, "stdin", "the program comes from a pipe that ends",
             start="stdin", stdout="read 4.0\n"),
    Scenario(
        19, "interactive", "python -i, whose input ends",
        start="interactive", stdout="read 4.0\n", stderr=">>> \n?",
    ),
    Scenario(20, "stdout_closed", "no stdout", start="stdout_closed"),
    Scenario(
        20, "stderr_closed", "no stderr, and an error to report",
        status=1, start="stderr_closed", stdout="printed\n",
    ),
    Scenario(
        20, "broken_pipe", "nobody reads stdout",
        status=120, start="broken_pipe", stderr=BROKEN_PIPE,
    ),
]  # fmt: skip

AT_EXIT = [
    Scenario(21, "", "a handler registered before the import issues an op",
             stdout="atexit 3.0\n"),
    Scenario(22, "", "a handler registered after the import issues an op",
             stdout="atexit 3.0\n"),
    Scenario(23, "before", "a handler from before the import syncs",
             stdout="synced 1000.0\n"),
    Scenario(23, "after", "a handler from after the import syncs",
             stdout="synced 1000.0\n"),
    Scenario(24, "before", "a handler from before the import raises",
             stderr=ignored_in_atexit("ValueError: mine")),
    Scenario(24, "after", "a handler from after the import raises",
             stderr=ignored_in_atexit("ValueError: mine")),
    Scenario(
        25, "before", "a handler from before the import starts a thread of ops",
        stdout=THREAD_AT_EXIT, versions="3.12 refuses",
    ),
    Scenario(
        25, "after", "a handler from after the import starts a thread of ops",
        stdout=THREAD_AT_EXIT, versions="3.12 refuses",
    ),
    Scenario(26, "", "a user of threading._register_atexit issues an op",
             stdout="threading 3.0\n"),
]  # fmt: skip

THREADS = [
    Scenario(27, "", "daemon threads in a loop of ops", stdout="running\n"),
    Scenario(27, "visible", "the same on memory that numpy sees", stdout="running\n"),
    Scenario(28, "", "a non-daemon thread that ends late",
             stdout="main ends\nthread 8.0\n"),
    Scenario(29, "", "a ThreadPoolExecutor not shut down",
             stdout="submitted\nfinished 32\n"),
    Scenario(30, "hook", "a daemon thread in a backward hook",
             stdout="in a callback\nparked: [123]\n"),
    Scenario(30, "function", "a daemon thread in a conversion that an op calls",
             stdout="in a callback\nparked: [123]\n"),
    Scenario(31, "", "a daemon thread waits for the GIL, which the main thread keeps",
             stdout="computed, not delivered\n"),
    Scenario(
        32, "", "an op fails while the main thread finalizes",
        status=1, stdout="not failed yet\n",
        stderr=unread(THROWN), stderr_no_recorder=unread(THROWN, stack=False),
    ),
    Scenario(
        32, "awaited", "the same, and a daemon thread waits for it",
        status=1, stdout="not failed yet\n",
        stderr=unread(THROWN), stderr_no_recorder=unread(THROWN, stack=False),
    ),
    Scenario(33, "", "thread-local tensors, of living and of ended threads",
             stdout="4 threads\n"),
    Scenario(34, "run", "asyncio.run with a future that nobody resolves",
             stdout="pending\n", stderr_dev=SLOW_TASK_DEV),
    Scenario(34, "left_open", "the same in a loop that is left open",
             stdout="pending\n", stderr_dev=SLOW_TASK_DEV + UNCLOSED_LOOP_DEV,
             versions="-X dev warns of the loop"),
]  # fmt: skip

SIGNALS = [
    Scenario(
        35, "", "SIGINT while the main thread waits for an op",
        status=-SIGINT, stdout="ready\n", stderr=INTERRUPTED, signals=(("ready", SIGINT),),
    ),
    Scenario(
        36, "queue", "SIGINT twice while the exit hook drains a long queue", status=(0, -SIGINT),
        stdout="ready\n", stderr=INTERRUPTED_AT_EXIT,
        signals=(("ready", SIGINT), ("", SIGINT)),
    ),
    Scenario(
        36, "long_op", "SIGINT twice while the exit hook waits for one op of a minute",
        status=1, stdout="ready\n",
        stderr=r"oneflow: closing was interrupted.*\noneflow: .*throw_error.*\n(?:oneflow: .*\n)*",
        signals=(("ready", SIGINT), ("", SIGINT)),
    ),
    Scenario(
        37, "", "SIGTERM with a full queue",
        status=-SIGTERM, stdout=r"queued [12]\d{3}\nready\n", signals=(("ready", SIGTERM),),
    ),
    Scenario(
        38, "waiting", "a signal handler issues an op while the main thread waits for one",
        stdout="ready\nhandler 3.0\nwaited\n", signals=(("ready", SIGUSR1),),
    ),
    Scenario(
        38, "exiting", "a signal handler issues an op while the exit hook waits for one",
        status=1, stdout="ready\nhandler 3.0\n", signals=(("ready", SIGUSR1),),
        stderr=unread(THROWN), stderr_no_recorder=unread(THROWN, stack=False),
    ),
]  # fmt: skip

PROCESSES = [
    Scenario(39, "", "fork before the first op",
             stdout="child 3.0\nparent 4.0\n"),
    Scenario(40, "_exit", "fork after threads started, the child leaves by os._exit",
             stdout="parent 4.0\n", stderr=FORK_WARNING, versions="3.12 warns"),
    Scenario(40, "sys_exit", "the same, the child leaves by sys.exit",
             stdout="parent 4.0\n", stderr=FORK_WARNING, versions="3.12 warns"),
    Scenario(41, "fork", "the child of os.fork uses the library",
             stdout="child 150.0\nparent 150.0\n", stderr=FORK_WARNING, versions="3.12 warns"),
    Scenario(41, "process", "a multiprocessing.Process made by fork uses it",
             stdout="child 150.0\nparent 150.0\n", stderr_dev=FORK_WARNING,
             versions="3.12 warns, where the fork is another module's only with -X dev"),
    Scenario(41, "unread", "the parent's unread error is not the child's",
             status=1, stdout="child 150.0\nparent 150.0\n", stderr=FORK_WARNING + unread(THROWN),
             stderr_no_recorder=FORK_WARNING + unread(THROWN, stack=False), versions="3.12 warns"),
    Scenario(42, "killed", "a DataLoader worker killed in mid-batch",
             stdout="ended with signal 9\n"),
    Scenario(42, "alive", "a DataLoader's iterator alive at exit",
             stdout="first batch\n"),
    Scenario(42, "persistent", "the same with persistent workers",
             stdout="first batch\n"),
]  # fmt: skip

EMBEDDING = [
    Scenario(
        43, "twice", "the interpreter initialised and finalised twice", start="embed",
        stdout="round 1: sum 4.0\nround 2: (?:sum 4.0|ImportError: .*)\n",
        versions="the second round works, or says by an ImportError that it cannot",
    ),
    Scenario(
        43, "unread", "an error that nobody read: the host program keeps its status",
        start="embed", stdout="round 1: issued\n",
    ),
    Scenario(
        43, "subinterpreter", "import in a subinterpreter", start="embed",
        stdout="main: sum 4.0\nsubinterpreter: (?:sum 4.0|ImportError: .*)\nmain again: sum 4.0\n",
    ),
]  # fmt: skip

GRAPHS = [
    Scenario(45, "", "a graph made and run at module level", stdout="384.0\n"),
    Scenario(45, "unread", "the same with runs that nobody reads"),
    Scenario(46, "", "the same, run first inside a unittest", stdout="passed\n",
             stderr=r"-+\nRan 1 test in \S+\n\nOK\n"),
    Scenario(47, "", "a graph made at module level, never run", stdout="False\n"),
    Scenario(47, "compiled", "the same, compiled", stdout="True\n"),
    Scenario(48, "", "sixty graphs", stdout="60\n", cpu=8.0, wall=12.0),
    Scenario(49, "", "a graph in a reference cycle, alive at the end",
             stdout="(?:refused\n)?"),
    Scenario(49, "collected", "the same, collected before", stdout="ran 4.0\n"),
    Scenario(50, "", "a graph deleted while runs are in flight"),
    Scenario(50, "read", "the same, and the last result is read", stdout="300.0\n"),
    Scenario(50, "closed", "a graph closed while runs are in flight"),
    Scenario(51, "", "a small training graph run ten thousand times", cpu=12.0, wall=16.0),
    Scenario(51, "read", "the same, and the loss is read", stdout="True\n", cpu=12.0, wall=16.0),
    Scenario(52, "", "session.close() with graphs alive, then del, and a new graph",
             stdout="closed\n6.0\n"),
]  # fmt: skip

NEIGHBOURS = [
    # torch and pyarrow are not among the project's packages: they are imported too where the
    # interpreter has them, which is for the nightly run.
    # A sanitizer would judge what others have built without one.
    Scenario(44, "before", "large extensions imported before: numpy, scipy, scikit-learn",
             sanitizer=False, stdout="8.0 2.0 2\n", cpu=12.0, wall=20.0),
    Scenario(44, "after", "the same imported after", sanitizer=False,
             stdout="8.0 2.0 2\n", cpu=12.0, wall=20.0),
    Scenario(53, "", "the package's import fails half-way: only that error is shown",
             status=1,
             stderr=r"Traceback \(most recent call last\):\n(?:  .*\n)+SyntaxError: .*\n"),
]  # fmt: skip

SCENARIOS: list[Scenario] = [
    *PLAIN, *EXIT_ROUTES, *AT_EXIT, *THREADS, *SIGNALS, *PROCESSES, *EMBEDDING, *GRAPHS,
    *NEIGHBOURS,
]  # fmt: skip
