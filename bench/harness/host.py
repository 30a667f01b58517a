"""The state of the machine, and whether it looks fit to measure on.

Everything is read from /proc and /sys; what a machine does not tell is None. Nothing here changes
the machine. A concern is a sentence for the reader; whether the figures hold is decided by the
control, not by this guard, unless the caller asks for a strict one.
"""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

State = dict[str, Any]


@dataclass(frozen=True)
class Limits:
    """Where the guard starts to complain.

    Attributes:
        load: load average of the last minute before the run, for each usable core.
        steal: share of the machine's time that the hypervisor gave to others during the run.
        frequency: relative change of the mean core frequency during the run.
    """

    load: float = 0.5
    steal: float = 0.01
    frequency: float = 0.10


def snapshot(root: Path = Path("/")) -> State:
    """What there is to know now, as a JSON object. Takes less than a millisecond."""
    return {
        "load": _load(root),
        "ticks": _ticks(root),
        "mhz": _frequency(root),
        "governor": _text(root, "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "cpus": usable_cpus(),
        "available_bytes": _memory(root, "MemAvailable"),
        "throttled": _throttled(root),
    }


def identity(root: Path = Path("/")) -> State:
    """What does not change during a run: processor, memory, kernel, interpreter."""
    info = _text(root, "proc/cpuinfo") or ""
    model = re.search(r"^model name\s*:\s*(.*)$", info, re.MULTILINE)
    return {
        "model": model.group(1) if model else platform.machine(),
        "cores": os.cpu_count(),
        "memory_bytes": _memory(root, "MemTotal"),
        "quota": _text(root, "sys/fs/cgroup/cpu.max"),
        "kernel": platform.release(),
        "python": platform.python_version(),
    }


def concerns(before: State, after: State, limits: Limits = Limits()) -> list[str]:
    """What speaks against figures taken between two snapshots; empty when nothing does."""
    found = list(concerns_before(before, limits))
    steal = steal_share(before, after)
    if steal is not None and steal > limits.steal:
        found.append(f"the hypervisor took {steal:.1%} of the machine's time")
    if before["mhz"] and after["mhz"]:
        change = after["mhz"] / before["mhz"] - 1.0
        if abs(change) > limits.frequency:
            found.append(f"the mean core frequency moved by {change:+.0%}")
    if before["cpus"] != after["cpus"]:
        found.append("the set of usable cores changed")
    if before["throttled"] is not None and after["throttled"] is not None:
        periods = after["throttled"] - before["throttled"]
        if periods > 0:
            found.append(f"the processor quota ran out {periods} times")
    return found


def concerns_before(before: State, limits: Limits = Limits()) -> list[str]:
    """What speaks against starting now."""
    load, cores = before["load"], len(before["cpus"])
    if load is not None and load > limits.load * cores:
        return [f"load average {load:.2f} on {cores} cores before the run"]
    return []


def steal_share(before: State, after: State) -> float | None:
    """The share of time stolen by the hypervisor between two snapshots; None if unknown."""
    if before["ticks"] is None or after["ticks"] is None:
        return None
    total = after["ticks"]["total"] - before["ticks"]["total"]
    stolen: int = after["ticks"]["steal"] - before["ticks"]["steal"]
    return stolen / total if total > 0 else 0.0


def usable_cpus() -> list[int]:
    """The cores that this process may run on, in order."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def describe(machine: Mapping[str, Any]) -> str:
    """One line for a report.

    >>> describe({"model": "Z80", "cores": 2, "memory_bytes": 8 << 30, "python": "3.11.7"})
    'Z80, 2 cores, 8 GiB, Python 3.11.7'
    """
    memory = machine.get("memory_bytes")
    size = f"{memory / 2**30:.0f} GiB" if memory else "memory unknown"
    return f"{machine['model']}, {machine['cores']} cores, {size}, Python {machine['python']}"


def _text(root: Path, name: str) -> str | None:
    try:
        return (root / name).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None


def _load(root: Path) -> float | None:
    text = _text(root, "proc/loadavg")
    return float(text.split()[0]) if text else None


def _ticks(root: Path) -> dict[str, int] | None:
    """Clock ticks of all cores since boot; guest time is part of user time already."""
    text = _text(root, "proc/stat")
    if not text or not text.startswith("cpu "):
        return None
    fields = [int(x) for x in text.splitlines()[0].split()[1:9]]
    return {"total": sum(fields), "steal": fields[7] if len(fields) > 7 else 0}


def _frequency(root: Path) -> float | None:
    found = re.findall(r"^cpu MHz\s*:\s*([0-9.]+)", _text(root, "proc/cpuinfo") or "", re.MULTILINE)
    return round(sum(map(float, found)) / len(found), 1) if found else None


def _memory(root: Path, field: str) -> int | None:
    found = re.search(rf"^{field}:\s*(\d+) kB", _text(root, "proc/meminfo") or "", re.MULTILINE)
    return int(found.group(1)) * 1024 if found else None


def _throttled(root: Path) -> int | None:
    found = re.search(r"nr_throttled (\d+)", _text(root, "sys/fs/cgroup/cpu.stat") or "")
    return int(found.group(1)) if found else None
