"""Runs one program to its end, and sees how it ended and what it left behind.

The calling process becomes the reaper of all that its programs leave (PR_SET_CHILD_SUBREAPER), so
it must have no children of its own beside them. One program at a time.
"""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import os
import random
import re
import resource
import select
import signal
import subprocess
import time
from pathlib import Path

_PR_SET_CHILD_SUBREAPER = 36
_CORE_BYTES = 1 << 20  # a short dump is a dump
_GRACE = 5.0  # for workers that notice by a closed pipe that their program is gone
# Shared memory and semaphores that Python, or a framework, makes. The library's own has a process
# in its name; the rest may be another program's, which will take it away within a moment.
_SHARED = re.compile(r"psm_|pym-|sem\.|torch_|wnsm_|oneflow-(\d+)")
_PATIENCE = 5.0
# How much longer than its limit a program may take on a busy machine.
MAX_SLOWNESS = 8.0


@dataclasses.dataclass(frozen=True)
class Launch:
    """How a program starts. `start` is the column of the table."""

    command: list[str]
    environ: dict[str, str]
    folder: Path
    start: str = "file"
    text: str = ""  # for start == "stdin"
    signals: tuple[tuple[str, int], ...] = ()
    limit: float = 60.0
    leaks: bool = (
        False  # on purpose: shared memory, which other tests' programs would be blamed for
    )


@dataclasses.dataclass
class Ended:
    """How a program ended. `hung` describes its threads when the limit was over."""

    status: int = 0
    core: bool = False
    stdout: str = ""
    stderr: str = ""
    wall: float = 0.0
    cpu: float = 0.0
    hung: str = ""
    orphans: list[str] = dataclasses.field(default_factory=list)
    shared: list[str] = dataclasses.field(default_factory=list)


def run(launch: Launch, rng: random.Random) -> Ended:
    """Runs a program; kills it, and what it started, where it hangs."""
    _prepare()
    ended = Ended()
    shared = shared_memory()
    started = time.monotonic()
    process = _spawn(launch)
    ended.hung = _drive(process.pid, launch, started, rng)
    _, status, usage = os.wait4(process.pid, 0)
    ended.wall = time.monotonic() - started
    ended.status = process.returncode = os.waitstatus_to_exitcode(status)
    ended.core = os.WCOREDUMP(status) or any(launch.folder.glob("core*"))
    ended.cpu = usage.ru_utime + usage.ru_stime
    ended.orphans, more = _reap(_GRACE)
    ended.cpu += more
    ended.shared = left_in_shared_memory(shared, process.pid, _PATIENCE)
    ended.stdout = (launch.folder / "stdout").read_text(errors="replace")
    ended.stderr = (launch.folder / "stderr").read_text(errors="replace")
    return ended


def _prepare() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    # What a shell has put into its background ignores interrupts, and hands that on.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    allowed = _CORE_BYTES if hard == resource.RLIM_INFINITY else min(_CORE_BYTES, hard)
    resource.setrlimit(resource.RLIMIT_CORE, (allowed, hard))


def _spawn(launch: Launch) -> subprocess.Popen[bytes]:
    command = launch.command
    closed = {"stdout_closed": ">&-", "stderr_closed": "2>&-"}.get(launch.start)
    if closed:
        command = ["/bin/sh", "-c", f'exec "$@" {closed}', "sh", *command]
    (launch.folder / "stdin").write_text(launch.text)
    with (
        open(launch.folder / "stdout", "wb") as stdout,
        open(launch.folder / "stderr", "wb") as stderr,
    ):
        output: int = stdout.fileno()
        if launch.start == "broken_pipe":
            reader, output = os.pipe()
            os.close(reader)
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=stderr,
            cwd=launch.folder,
            env=launch.environ,
            start_new_session=True,
        )
        if launch.start == "broken_pipe":
            os.close(output)
    assert process.stdin is not None
    try:
        process.stdin.write(launch.text.encode())
        process.stdin.close()
    except BrokenPipeError:  # it has ended already
        pass
    return process


def slowness(pid: int) -> float:
    """How many times longer the main thread of a process took, for what it computed, than it would
    on a machine that does nothing else; at most MAX_SLOWNESS.
    """
    ran, waited, _ = map(int, Path(f"/proc/{pid}/schedstat").read_text().split())
    return min(MAX_SLOWNESS, 1.0 + waited / max(ran, 1))


def _drive(pid: int, launch: Launch, started: float, rng: random.Random) -> str:
    """Sends the signals and waits for the end; kills the program past the limit, which is for a
    machine that does nothing else, and then says what its threads were doing.
    """
    deadline = started + launch.limit
    pending = list(launch.signals)
    watched = select.poll()
    descriptor = os.pidfd_open(pid)
    watched.register(descriptor, select.POLLIN)
    try:
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                deadline = started + launch.limit * slowness(pid)
                if deadline > time.monotonic():
                    continue
                threads = _threads(pid)
                os.killpg(pid, signal.SIGKILL)
                return threads
            if watched.poll(2 if pending else left * 1e3):
                return ""
            if pending and _seen(launch.folder / "stdout", pending[0][0]):
                time.sleep(rng.uniform(0.01, 0.06))
                with contextlib.suppress(ProcessLookupError):  # it has ended meanwhile
                    os.kill(pid, pending.pop(0)[1])
    finally:
        os.close(descriptor)


def _seen(path: Path, mark: str) -> bool:
    return not mark or f"{mark}\n" in path.read_text()


def _threads(pid: int) -> str:
    lines = []
    for task in sorted(Path(f"/proc/{pid}/task").glob("*")):
        try:
            name = (task / "comm").read_text().strip()
            state = (task / "stat").read_text().rsplit(")", 1)[1].split()[0]
            where = (task / "wchan").read_text()
        except OSError:
            continue
        lines.append(f"{name} {state} {where}")
    return ", ".join(lines)


def _children() -> dict[int, str]:
    """The processes whose parent is this one, with their commands."""
    found = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = stat.read_text().rsplit(")", 1)[1].split()[:2]
            if int(parent) == os.getpid() and state != "Z":
                found[int(stat.parent.name)] = (stat.parent / "cmdline").read_text()
        except OSError:
            continue
    return {pid: command.replace("\0", " ").strip() for pid, command in found.items()}


def _reap(grace: float) -> tuple[list[str], float]:
    """What the program left running and is still there after `grace`, now killed; and the
    processor time of all that it left.
    """
    cpu = 0.0
    orphans: list[str] = []
    end = time.monotonic() + grace
    while True:
        try:
            pid, _, usage = os.wait4(-1, os.WNOHANG)
        except ChildProcessError:
            return orphans, cpu
        if pid:
            cpu += usage.ru_utime + usage.ru_stime
            continue
        if time.monotonic() > end:
            for child, command in _children().items():
                orphans.append(f"{child} {command}")
                os.kill(child, signal.SIGKILL)
        time.sleep(0.005)


def shared_memory() -> set[str]:
    """The names of what is in shared memory now."""
    try:
        return {name for name in os.listdir("/dev/shm") if _SHARED.match(name)}
    except FileNotFoundError:
        return set()


def left_in_shared_memory(before: set[str], pid: int, patience: float) -> list[str]:
    """New names: those of process `pid`, and those without a process that stay for `patience`
    seconds while nobody has them open.
    """
    end = time.monotonic() + patience
    while True:
        left = {name: _SHARED.match(name) for name in shared_memory() - before}
        own = [name for name, found in left.items() if found and found.group(1) == str(pid)]
        others = [name for name, found in left.items() if found and found.group(1) is None]
        if own or not others or time.monotonic() > end:
            return sorted(own + [name for name in others if not _in_use(f"/dev/shm/{name}")])
        time.sleep(0.05)


def _in_use(path: str) -> bool:
    for maps in Path("/proc").glob("[0-9]*/maps"):
        try:
            if path in maps.read_text():
                return True
        except OSError:
            continue
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        try:
            if os.readlink(link).startswith(path):
                return True
        except OSError:
            continue
    return False
