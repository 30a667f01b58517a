"""Uncaught errors of ops in colour, on a terminal.

The text of an exception is plain. What a terminal shows of an uncaught one has the error's name and
the headings of its stacks in colour, so that they are found in a screen full of lines.

Python prints uncaught exceptions through `sys.excepthook` and `threading.excepthook`. They are
replaced only if Python's own stand there, and only where colour will be wanted: a program whose
stderr is no terminal finds everything as it was, and so does one that has a hook of its own. An
exception without an op goes to Python's own hook as it came, and so does one that cannot be printed
in colour for whatever reason.
"""

from __future__ import annotations

import re
import sys
import threading
from types import TracebackType
from typing import Any

from oneflow import _oneflow_internal

HEADINGS = (
    "Related Python stack trace:",
    "During backward, called at:",
    "In the backward of the op at:",
)
_ERROR, _HEADING, _PLAIN = "\x1b[1;31m", "\x1b[1;33m", "\x1b[0m"
_PAINTS_ITSELF = sys.version_info >= (3, 13)  # all but our headings


def wants_color(stream: Any) -> bool:
    """Whether what is written to the stream may be coloured; the rules are Python's of 3.13.

    Example:
        >>> import io
        >>> from oneflow.framework._report import wants_color
        >>> wants_color(io.StringIO())
        False
    """
    return bool(_oneflow_internal.wants_color(bool(stream.isatty())))


def install() -> None:
    """Takes the place of Python's own hooks, where stderr is a terminal.

    Example:
        >>> import sys
        >>> from oneflow.framework._report import install
        >>> hook = sys.excepthook
        >>> install()  # a test's output is no terminal
        >>> sys.excepthook is hook
        True
    """
    try:
        if not wants_color(sys.stderr):
            return
    except Exception:  # closed, None, or no stream at all
        return
    if sys.excepthook is sys.__excepthook__:
        sys.excepthook = _excepthook
    if threading.excepthook is threading.__excepthook__:
        threading.excepthook = _threading_excepthook


def _excepthook(
    kind: type[BaseException], error: BaseException, traceback: TracebackType | None
) -> None:
    if not _print("", kind, error, traceback):
        sys.__excepthook__(kind, error, traceback)


def _threading_excepthook(args: threading.ExceptHookArgs) -> None:
    error = args.exc_value
    name = args.thread.name if args.thread is not None else threading.get_ident()
    first = f"Exception in thread {name}:\n"
    if error is None or not _print(first, args.exc_type, error, args.exc_traceback):
        threading.__excepthook__(args)


def _print(
    first: str, kind: type[BaseException], error: BaseException, traceback: TracebackType | None
) -> bool:
    """Prints an error in colour; False if it was not, and nothing was printed."""
    try:
        stream = sys.stderr
        names = _names_of_ops(error)
        if not names or not wants_color(stream):
            return False
        text = first + colored(_formatted(kind, error, traceback), names)
        stream.write(text)
    except Exception:  # closed meanwhile, an encoding that lacks a letter, a __str__ that raises
        return False
    try:
        stream.flush()
    except Exception:
        return True  # it has been written; Python's hook would write it again
    return True


def _formatted(
    kind: type[BaseException], error: BaseException, traceback: TracebackType | None
) -> str:
    import traceback as formatter

    options: dict[str, Any] = {"colorize": True} if _PAINTS_ITSELF else {}
    report = formatter.TracebackException(kind, error, traceback, compact=True)
    return "".join(report.format(**options))


def _names_of_ops(error: BaseException) -> set[str]:
    """How Python names the exceptions of ops in the chain; empty if none is one."""
    import traceback

    names: set[str] = set()
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        next_ = waiting.pop()
        if next_ is None or id(next_) in seen:
            continue
        seen.add(id(next_))
        if isinstance(getattr(next_, "stack", None), traceback.StackSummary):
            module = type(next_).__module__
            prefix = "" if module in ("builtins", "__main__") else module + "."
            names.add(prefix + type(next_).__qualname__)
        waiting += [next_.__cause__, next_.__context__, *getattr(next_, "exceptions", ())]
    return names


def colored(text: str, names: set[str]) -> str:
    """A traceback with the names of errors, where a line begins with one, and our headings in
    colour.

    Example:
        >>> from oneflow.framework._report import colored
        >>> colored("ValueError: [add] x", {"ValueError"})
        '\\x1b[1;31mValueError\\x1b[0m: [add] x'
    """
    bar = r"((?: *\| )?)"  # in front of the lines of an ExceptionGroup
    end = _PLAIN if _PAINTS_ITSELF else ""  # of the colour that the message has
    headings = "|".join(map(re.escape, HEADINGS))
    text = re.sub(
        rf"^{bar}({headings})$", rf"\1{end}{_HEADING}\2{_PLAIN}", text, flags=re.MULTILINE
    )
    errors = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    return re.sub(rf"^{bar}({errors})(?=:|$)", rf"\1{_ERROR}\2{_PLAIN}", text, flags=re.MULTILINE)
