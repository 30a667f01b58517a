"""What the cases print, with what differs from run to run left out; and the page made of it.

`python -m tests.errors.printed` reads numbers of cases from its arguments and writes a JSON list of
what they print: all in one process, started by `printed()`.
"""

from __future__ import annotations

import json
import linecache
import os
import re
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterable
from pathlib import Path

from tests.errors.cases import CASES, SECTIONS, Case

FILE = "train.py"
START = "import oneflow as flow\n\n"

_ENVIRON = {"PYTHONPATH": os.pathsep.join(sys.path), "NO_COLOR": "1", "PYTHON_COLORS": "0"}
_FRAME = re.compile(r'^(?P<bar> *)File "(?P<file>[^"]*)", line \d+(?:, in .*)?$')
_CARETS = re.compile(r"^ *[~^]+$")


def source(case: Case) -> str:
    """The whole program."""
    return START + case.program


def printed(cases: Iterable[Case] = CASES) -> dict[str, str]:
    """By title what each case prints on stderr."""
    together = [case for case in cases if not case.own_process]
    command = [sys.executable, "-m", "tests.errors.printed"]
    numbers = [str(CASES.index(case)) for case in together]
    done = subprocess.run(
        [*command, *numbers], env={**os.environ, **_ENVIRON}, capture_output=True, text=True
    )
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    texts = json.loads(done.stdout.splitlines()[-1])
    result = {case.title: text for case, text in zip(together, texts, strict=True)}
    result.update({case.title: _in_own_process(case) for case in cases if case.own_process})
    return {title: normal(text) for title, text in result.items()}


def _in_own_process(case: Case) -> str:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, FILE).write_text(source(case))
        done = subprocess.run(
            [sys.executable, FILE],
            cwd=folder,
            env={**os.environ, **_ENVIRON, **dict(case.environ)},
            capture_output=True,
            text=True,
            timeout=100,
        )
    return done.stderr


def _run_here(case: Case) -> str:
    text = source(case)
    linecache.cache[FILE] = (len(text), None, text.splitlines(keepends=True), FILE)
    try:
        exec(compile(text, FILE, "exec"), {"__name__": "__main__"})
    except BaseException as error:
        rest = error.__traceback__.tb_next if error.__traceback__ is not None else None
        return "".join(traceback.format_exception(type(error), error, rest))
    return ""


def normal(text: str) -> str:
    """What a run prints, without what differs between runs, machines and versions of the code: the
    frames of other files than the program's, numbers of processes, sizes of memory, lines of C++.
    """
    lines: list[str] = []
    depth = -1  # of the frame that is being left out
    for line in text.splitlines():
        frame = _FRAME.match(line)
        if frame:
            ours = os.path.basename(frame["file"]) == FILE
            depth = -1 if ours else len(frame["bar"])
            line = line.replace(frame["file"], FILE)
        indent = len(line) - len(line.lstrip())
        if depth >= 0 and (frame or indent > depth):
            continue
        depth = -1
        lines.append(line)
    text = "\n".join(lines).strip() + "\n"
    text = re.sub(r"0x[0-9a-f]{6,}", "0x...", text)
    text = re.sub(r"\bprocess \d+", "process 4242", text)
    text = re.sub(r"(\.cc|\.h):\d+: ", r"\1:123: ", text)
    text = re.sub(
        r"^  OneFlow \S+, Python \S+, \S+ \S+ on \S+$",
        "  OneFlow 1.0.0, Python 3.11.2, Linux 6.1.0 on x86_64",
        text,
        flags=re.MULTILINE,
    )
    text = re.sub(r"/tmp/\w+", "/tmp/file", text)
    return re.sub(r"\b\d+(?:\.\d+)? (bytes|[KMGTP]iB)\b", r"n \1", text)


def without_carets(text: str) -> str:
    """For comparisons between versions of Python, which mark different things."""
    return "".join(line + "\n" for line in text.splitlines() if not _CARETS.match(line))


PREFACE = """\
# Errors

This page is made of programs that fail and of what they print; a test runs them and compares
(`bazel run //python/tests/errors:update` renews the page). Frames of other files than the
program's are left out, and sizes of memory are written as `n`.

A message begins with the op in brackets, and says what it expects and what it got. The exception
is the one that a failure at the line would have raised: TypeError, ValueError, IndexError,
RuntimeError, NotImplementedError, `oneflow.OutOfMemoryError` (a RuntimeError and a MemoryError),
OSError for what the machine lacks, `oneflow.InternalError` (a RuntimeError) for a bug of ours.

For programs, the exception of an op has

* `e.op`: the op's name, a str;
* `e.stack`: the lines that issued it, oldest first, a `traceback.StackSummary` (a list of
  `FrameSummary`, with `filename`, `lineno`, `name`, `line` and from Python 3.11 on columns). It
  holds no frame, and nothing of the program, alive. Empty if the recorder is off;
* `e.backward_stack`: for an op that backward issued, the call of backward; else empty;
* `e.forward_stack`: for an op in a function that backward called (a hook, `autograd.Function`),
  the op that the function was called for; else empty.

Exceptions that come from no op (a file, an option) have none of these: `getattr(e, "op", None)`.
Every read of a failed tensor raises a new exception with the same text. It can be pickled and
copied.

An op that ran in the background, or in backward, has its own line beneath the message, under
"Related Python stack trace:", since Python's traceback ends where the result was read. Beneath a
stack of a screen and more the message is said again. An op that is made of others says what they
refuse in its own name; what a kernel says carries the name of the op whose kernel it is.

The text is plain. On a terminal the error's name and the headings are coloured when an uncaught
exception, or an error that nobody read, is printed. PYTHON_COLORS=0 or 1, NO_COLOR, FORCE_COLOR
and TERM=dumb are honoured, in this order. For uncaught exceptions `sys.excepthook` and
`threading.excepthook` are replaced, only if they are Python's own when oneflow is imported, and
only if stderr is then a terminal (or colour is forced); other exceptions than those of ops are
left to Python.
"""


def document(texts: dict[str, str]) -> str:
    """The page docs/errors.md."""
    parts = [PREFACE]
    for section, cases in SECTIONS.items():
        parts.append(f"## {section}\n")
        for case in cases:
            parts.append(f"### {case.title}\n")
            if case.words:
                parts.append(f"{_wrapped(case.words)}\n")
            parts.append(f"```python\n{case.program}```\n\n```text\n{texts[case.title]}```\n")
    return "\n".join(parts)


def _wrapped(words: str) -> str:
    import textwrap

    return textwrap.fill(words, 100, break_long_words=False, break_on_hyphens=False)


if __name__ == "__main__":
    import oneflow as flow

    texts = []
    for number in sys.argv[1:]:
        texts.append(_run_here(CASES[int(number)]))
        flow._oneflow_internal.forget_unread_errors()
    print("\n" + json.dumps(texts))
