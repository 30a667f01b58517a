"""What a calibration says: shares of verdicts against what was promised. Pure, but for reading."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, Protocol

from ci.perf_bot import budget, decide
from ci.perf_bot.schema import (
    FASTER,
    FIGURES,
    HOST_INVALID,
    INCONCLUSIVE,
    SAME,
    SLOWER,
    TIME,
)

Json = dict[str, Any]

DRAWS = 1000


class KindLike(Protocol):
    """What the report needs to know of a kind."""

    @property
    def factor(self) -> float:
        """Head's time over base's."""

    @property
    def load(self) -> bool:
        """Whether a core was kept busy."""


def read(path: Path) -> list[Json]:
    """The lines of a file of comparisons; none when there is no file. A last line that was cut off
    in the middle is left out.

    Raises:
        ValueError: another line is no comparison.
    """
    if not path.exists():
        return []
    found = []
    lines = path.read_text(encoding="utf-8").split("\n")
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                found.append(json.loads(line))
            except ValueError:
                if number < len(lines):
                    raise ValueError(f"{path}:{number}: is no comparison") from None
    return found


def share_interval(count: int, total: int, confidence: float = 0.95) -> tuple[float, float]:
    """The exact (Clopper-Pearson) interval of a share, by bisection of the binomial law.

    >>> [round(x, 4) for x in share_interval(0, 200)]
    [0.0, 0.0183]
    """
    tail = (1.0 - confidence) / 2.0
    low = 0.0 if count == 0 else _bisect(lambda p: at_least(count, total, p) < tail)
    high = 1.0 if count == total else _bisect(lambda p: 1.0 - at_least(count + 1, total, p) > tail)
    return low, high


def _bisect(below: Any) -> float:
    """Where a statement that is true near 0 turns false."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2.0
        low, high = (middle, high) if below(middle) else (low, middle)
    return low


def at_least(count: int, total: int, share: float) -> float:
    """The chance of `count` successes or more.

    >>> at_least(1, 2, 0.5)
    0.75
    """
    terms = (
        math.comb(total, k) * share**k * (1.0 - share) ** (total - k)
        for k in range(count, total + 1)
    )
    return min(1.0, sum(terms))


def counts(lines: Sequence[Json], figures: Sequence[str] = (TIME,)) -> dict[str, int]:
    """How many comparisons gave each verdict to any of these figures."""
    names = (SLOWER, FASTER, SAME, INCONCLUSIVE, HOST_INVALID)
    return {
        name: sum(any(line["verdicts"][f] == name for f in figures) for line in lines)
        for name in names
    }


def undisturbed(lines: Sequence[Json], kinds: Mapping[str, KindLike]) -> list[Json]:
    """Without what others disturbed: whether they did does not depend on what was compared."""
    return [line for line in lines if kinds[line["kind"]].load or not line["busy"]]


def pooled_noise(lines: Sequence[Json], kinds: Mapping[str, KindLike]) -> list[float]:
    """The log ratios of all controls on the quiet machine: pairs that have no difference."""
    quiet = [line for line in lines if not kinds[line["kind"]].load]
    return [x for line in quiet for x in line["noise"]]


def report(lines: Sequence[Json], kinds: Mapping[str, KindLike]) -> str:
    """Tables in Markdown: verdicts by kind, promises, noise."""
    kept = undisturbed(lines, kinds)
    noise = pooled_noise(kept, kinds)
    parts = [_verdicts(kept, kinds)]
    if noise:
        parts += [_promises(kept, kinds, noise), _noise(kept, kinds, noise)]
    lost = [line for line in lines if line not in kept]
    found = counts(lost)
    parts.append(
        f"Others used the machine during {len(lost)} further comparisons, which were made again: "
        f"{found[HOST_INVALID]} of them were called host invalid, {found[SLOWER]} slower, "
        f"{found[FASTER]} faster.\n"
    )
    return "\n".join(parts)


def _of(lines: Sequence[Json], kind: str) -> list[Json]:
    return [line for line in lines if line["kind"] == kind]


def _verdicts(lines: Sequence[Json], kinds: Mapping[str, KindLike]) -> str:
    """For each kind: the verdicts of the time, alarms of any figure, what others used."""
    rows = [
        "| head | comparisons | slower | faster | same | inconclusive | host invalid | any figure "
        "called | any figure undecided | pairs | others' share |",
        "|" + " --- |" * 11,
    ]
    for name in kinds:
        mine = _of(lines, name)
        if not mine:
            continue
        time, every = counts(mine), counts(mine, FIGURES)
        called = sum(any(line["verdicts"][f] in (SLOWER, FASTER) for f in FIGURES) for line in mine)
        shares = [line["foreign"] for line in mine if line["foreign"] is not None]
        cells = [name, len(mine), *time.values(), called, every[INCONCLUSIVE]]
        cells += [f"{median(line['pairs'] for line in mine):g}"]
        cells += [f"{100.0 * median(shares):.1f} %" if shares else "unknown"]
        rows.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(rows) + "\n"


def _promises(lines: Sequence[Json], kinds: Mapping[str, KindLike], noise: Sequence[float]) -> str:
    """For each slowed kind on the quiet machine: the share called slower, and the promised one."""
    rows = ["| head | called slower | 95 % interval | promised | chance of this or less |"]
    rows.append("|" + " --- |" * 5)
    size = len(FIGURES)
    schedule = budget.fit_schedule(decide.POLICY, size, None)
    assert schedule is not None
    for name, kind in kinds.items():
        mine = _of(lines, name)
        if kind.load or kind.factor == 1.0 or not mine:
            continue
        found = counts(mine)[SLOWER]
        low, high = share_interval(found, len(mine))
        promised = budget.power(
            noise,
            math.log(kind.factor),
            decide.POLICY,
            schedule,
            size,
            math.log1p(mine[0]["tolerance"]),
            DRAWS,
        ).slower
        chance = 1.0 - at_least(found + 1, len(mine), promised)
        cells = [name, f"{found} of {len(mine)} ({found / len(mine):.0%})"]
        cells += [f"{low:.0%} to {high:.0%}", f"{promised:.1%}", f"{chance:.2f}"]
        rows.append("| " + " | ".join(cells) + " |")
    return "\n".join(rows) + "\n"


def _noise(lines: Sequence[Json], kinds: Mapping[str, KindLike], noise: Sequence[float]) -> str:
    ordered = sorted(abs(x) for x in noise)
    quiet = [line for line in lines if not kinds[line["kind"]].load]
    spreads = {f: median(line["spread"][f] for line in quiet) for f in FIGURES}
    shown = ", ".join(f"{f} {100.0 * s:.2f} %" for f, s in spreads.items())
    places = [ordered[int(q * (len(ordered) - 1))] for q in (0.5, 0.9, 0.99)]
    off = ", ".join(f"{100.0 * x:.2f} %" for x in places)
    seconds = sum(line["seconds"] for line in lines)
    return (
        f"Tolerance of the time: {100.0 * lines[0]['tolerance']:g} %. Spread of a pair's log ratio "
        f"(median over comparisons): {shown}. Pairs of the control "
        f"are off by {off} (median, 90th, 99th percentile; {len(noise)} pairs). Measured for "
        f"{seconds / 60.0:.0f} min; {sum(line['failures'] for line in lines)} processes failed.\n"
    )
