"""How much of the machine others used while a process was measured.

A loaded host is fair to both sides, for rounds are interleaved in random order: the control agrees
with itself there, and the figures are of a contended machine all the same. So the share of the
usable cores' time that went to *others* is measured around each process: what the kernel counts as
busy, less the processor time of the measured process and of this one. Where it is beyond
:class:`Limits`, "host invalid" is the answer, whatever the figures say.

Everything is read from /proc; what a machine does not tell is None and makes nobody invalid.
"""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bench.harness import host
from bench.harness.launch import Outcome

Launch = Callable[[Sequence[str], Mapping[str, str], float], Outcome]
Json = dict[str, Any]

FIELD = "machine"  # of a metric's line: what `watched` adds


@dataclass(frozen=True)
class Limits:
    """Where a host is too busy to be measured on.

    Attributes:
        foreign: share of the usable cores' time that others may use.
        cores: the same in whole cores, for large machines: one core lost holds up all threads.
        steal: share of the time that the hypervisor may give to other machines.
    """

    foreign: float = 0.05
    cores: float = 0.5
    steal: float = 0.03


@dataclass(frozen=True)
class Moment:
    """The clocks at one moment, in seconds.

    Attributes:
        total, busy, steal: of the usable cores since boot.
        own: processor time of this process and of its children that have ended.
    """

    total: float
    busy: float
    steal: float
    own: float


def moment(root: Path = Path("/")) -> Moment | None:
    """The clocks now; None where the kernel does not tell."""
    try:
        text = (root / "proc/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    clocks = parse_stat(text, host.usable_cpus(), os.sysconf("SC_CLK_TCK"))
    if clocks is None:
        return None
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return Moment(*clocks, sum(usage.ru_utime + usage.ru_stime for usage in used))


def parse_stat(
    text: str, cpus: Sequence[int], ticks_per_second: int
) -> tuple[float, float, float] | None:
    """(total, busy, steal) in seconds, summed over these cores; None if one is missing.

    >>> parse_stat("cpu0 10 0 10 60 10 0 5 5 0 0", [0], 100)
    (1.0, 0.25, 0.05)
    """
    lines = {line.split()[0]: line.split()[1:9] for line in text.splitlines() if line[:3] == "cpu"}
    total = busy = steal = 0
    for cpu in cpus:
        fields = [int(x) for x in lines.get(f"cpu{cpu}", [])]
        if len(fields) < 8:
            return None
        total += sum(fields)
        busy += fields[0] + fields[1] + fields[2] + fields[5] + fields[6]
        steal += fields[7]
    return total / ticks_per_second, busy / ticks_per_second, steal / ticks_per_second


def between(before: Moment | None, after: Moment | None) -> Json | None:
    """What passed between two moments, as JSON; None if unknown."""
    if before is None or after is None:
        return None
    return {
        "total": after.total - before.total,
        "busy": after.busy - before.busy,
        "steal": after.steal - before.steal,
        "own": after.own - before.own,
    }


def watched(launcher: Launch, now: Callable[[], Moment | None] = moment) -> Launch:
    """A launcher that notes in each metric's line what the machine did meanwhile."""

    def run(command: Sequence[str], env: Mapping[str, str], timeout_s: float) -> Outcome:
        before = now()
        outcome = launcher(command, env, timeout_s)
        passed = between(before, now())
        if passed is None:
            return outcome
        lines = {name: line | {FIELD: passed} for name, line in outcome.metrics.items()}
        return replace(outcome, metrics=lines)

    return run


@dataclass(frozen=True)
class Shares:
    """Of the usable cores' time, summed over processes: what others used, and what was stolen."""

    foreign: float | None
    steal: float | None


def shares(rounds: Iterable[Json], programs: Iterable[str]) -> Shares:
    """Over all processes of these programs. Sums, since one process spans few clock ticks."""
    wanted, sums = set(programs), dict.fromkeys(("total", "busy", "steal", "own"), 0.0)
    for item in rounds:
        if item["program"] in wanted:
            for run in item["runs"].values():
                line: Json = next(iter(run["metrics"].values()), {})
                for name, value in (line.get(FIELD) or {}).items():
                    sums[name] += value
    return _shares(sums)


def _shares(sums: Mapping[str, float]) -> Shares:
    if sums["total"] <= 0.0:
        return Shares(None, None)
    foreign = min(1.0, max(0.0, sums["busy"] - sums["own"]) / sums["total"])
    return Shares(foreign, min(1.0, max(0.0, sums["steal"] / sums["total"])))


def wait_until_quiet(
    limit_s: float,
    window_s: float = 1.0,
    *,
    now: Callable[[], Moment | None] = moment,
    limits: Limits = Limits(),
) -> str | None:
    """Waits until others have used little of the machine for a moment.

    The load average tells the last minute's story, so it is not asked.

    Args:
        limit_s: seconds to wait at most; 0 looks once.
        window_s: the moment.
        now: the clocks.
        limits: what little is.

    Returns:
        What still speaks against measuring, or None. Sleeps meanwhile.
    """
    end = time.monotonic() + limit_s
    while True:
        before = now()
        time.sleep(window_s)
        passed = between(before, now())
        found = _shares(passed) if passed else Shares(None, None)
        text = complaint(found, len(host.usable_cpus()), limits)
        if text is None or time.monotonic() >= end:
            return text


def complaint(found: Shares, usable: int, limits: Limits = Limits()) -> str | None:
    """Why figures taken then do not hold, or None.

    >>> complaint(Shares(foreign=0.5, steal=0.0), usable=2)
    'others used 50 % of the 2 usable cores while it was measured'
    """
    if found.foreign is not None:
        if found.foreign > limits.foreign or found.foreign * usable > limits.cores:
            share = f"{100.0 * found.foreign:.0f} %"
            return f"others used {share} of the {usable} usable cores while it was measured"
    if found.steal is not None and found.steal > limits.steal:
        return f"the hypervisor took {100.0 * found.steal:.0f} % of the machine's time"
    return None
