"""Runs one measured process to its end and reads the JSON lines that it printed.

The process gets a session of its own, so that everything it started ends with it, at the time
limit and on a normal exit alike. Its output goes to files, so that a grandchild which keeps them
open cannot make the runner wait. Blocks until the process has ended; not thread-safe.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, Any

# Of each output stream; a measured program prints a few lines.
OUTPUT_LIMIT_BYTES = 1 << 20
TAIL_CHARACTERS = 2000
_LARGEST = 2.0**1023

# How a process can fail to deliver.
START, TIMEOUT, SIGNAL, EXIT = "start", "timeout", "signal", "exit"
NO_OUTPUT, BAD_OUTPUT, WRONG_ANSWER = "no output", "bad output", "wrong answer"


@dataclass(frozen=True)
class Failure:
    """Why a process delivered nothing that counts.

    Attributes:
        kind: one of the constants above.
        detail: a sentence, with the end of its standard error.
    """

    kind: str
    detail: str


@dataclass(frozen=True)
class Outcome:
    """What became of a process.

    Attributes:
        seconds: from start to end.
        metrics: the JSON lines by metric; empty after a failure.
        failure: None when all went well.
    """

    seconds: float
    metrics: dict[str, dict[str, Any]] = field(default_factory=dict)
    failure: Failure | None = None


def launch(command: Sequence[str], env: Mapping[str, str], timeout_s: float) -> Outcome:
    """Runs a command and reads its metrics.

    Args:
        command: argument list; no shell is involved.
        env: the whole environment.
        timeout_s: after which it is killed.

    Returns:
        Its metrics, or its failure; it never raises for what the process does.
    """
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        start = time.monotonic()
        try:
            process = subprocess.Popen(
                list(command),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                env=dict(env),
                start_new_session=True,
            )
        except OSError as error:
            return Outcome(0.0, failure=Failure(START, f"{command[0]}: {error.strerror}"))
        ended = _end(process, timeout_s)
        seconds = time.monotonic() - start
        failure = _status_failure(process.returncode, ended, timeout_s, _tail(err))
        if failure is not None:
            return Outcome(seconds, failure=failure)
        metrics = read_metrics(_head(out), _tail(err))
        if isinstance(metrics, Failure):
            return Outcome(seconds, failure=metrics)
        return Outcome(seconds, metrics)


def _end(process: subprocess.Popen[bytes], timeout_s: float) -> bool:
    """Waits, then kills what is left of the session; whether the process ended by itself.

    The wait leaves the process unreaped, so its id, which names the group, cannot be reused.
    """
    ended = False
    try:
        handle = os.pidfd_open(process.pid)
        try:
            poller = select.poll()
            poller.register(handle, select.POLLIN)
            ended = bool(poller.poll(timeout_s * 1000.0))
        finally:
            os.close(handle)
    finally:
        _kill_group(process.pid)
        process.wait()
    return ended


def _kill_group(group: int) -> None:
    try:
        os.killpg(group, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass  # Nothing of it is left.


def _status_failure(status: int, ended: bool, timeout_s: float, tail: str) -> Failure | None:
    if not ended:
        return Failure(TIMEOUT, _with_tail(f"still running after {timeout_s:g} s", tail))
    if status < 0:
        return Failure(SIGNAL, _with_tail(f"died of {_signal_name(-status)}", tail))
    if status > 0:
        return Failure(EXIT, _with_tail(f"exit status {status}", tail))
    return None


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _with_tail(text: str, tail: str) -> str:
    return f"{text}: {tail}" if tail else text


def _head(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read(OUTPUT_LIMIT_BYTES).decode("utf-8", "replace")


def _tail(file: IO[bytes]) -> str:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - 4 * TAIL_CHARACTERS))
    return file.read().decode("utf-8", "replace").strip()[-TAIL_CHARACTERS:]


def read_metrics(text: str, tail: str = "") -> dict[str, dict[str, Any]] | Failure:
    """The metrics among the lines of an output; lines that are no JSON objects are passed over.

    >>> read_metrics('hello')
    Failure(kind='no output', detail='it printed no metric')
    """
    metrics: dict[str, dict[str, Any]] = {}
    for line in text.splitlines():
        if not line.startswith("{"):
            continue
        try:
            value = json.loads(line, parse_constant=_refuse)
        except (ValueError, RecursionError):
            return Failure(BAD_OUTPUT, f"not JSON: {line[:200]}")
        if (fault := metric_fault(value)) is not None:
            return Failure(BAD_OUTPUT, f"{fault}: {line[:200]}")
        if value["metric"] in metrics:
            return Failure(BAD_OUTPUT, f"metric {value['metric']!r} came twice")
        metrics[value["metric"]] = value
    return metrics or Failure(NO_OUTPUT, _with_tail("it printed no metric", tail))


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def metric_fault(value: Mapping[str, Any]) -> str | None:
    """What is wrong with a metric's line, or None.

    >>> metric_fault({"metric": "t", "unit": "s", "samples": [1.0], "check": {}})
    'no result to check'
    """
    if not isinstance(value.get("metric"), str) or not isinstance(value.get("unit"), str):
        return "no metric or unit"
    samples = value.get("samples")
    if not isinstance(samples, list) or not samples:
        return "no samples"
    if not all(_positive(s) for s in samples):
        return "a sample is no positive number"
    if not isinstance(value.get("check"), dict) or not value["check"]:
        return "no result to check"
    for name in ("peak_allocator_bytes", "rss_beyond_import_bytes", "first", "import_s"):
        if name in value and not (_number(value[name]) and value[name] >= 0):
            return f"{name} is no number"
    return None


def _number(value: Any) -> bool:
    """Whether it is a finite float, or an integer that fits into one."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return abs(value) < _LARGEST


def _positive(value: Any) -> bool:
    return _number(value) and value > 0
