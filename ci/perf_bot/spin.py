"""The fast case of the calibration: `python -I -S spin.py FACTOR`, about 40 ms.

A step is a loop of integer arithmetic whose result is known, and, for a factor above 1, more of the
same thrown away: a step that takes just that much longer. Time, first step and memory come out as
from any measured program. It imports as little as it can.
"""

from __future__ import annotations

import sys
import time

STEPS = 7
TURNS = 100_000
BLOCK_BYTES = 8 << 20
_MASK = (1 << 30) - 1


def turn(count: int, x: int = 1) -> int:
    """The arithmetic."""
    for _ in range(count):
        x = (x * 1664525 + 1013904223) & _MASK
    return x


def status(field: str) -> int:
    """Bytes of a field of /proc/self/status."""
    with open("/proc/self/status", encoding="ascii") as file:
        line = next((line for line in file if line.startswith(field)), "")
    return int(line.split()[1]) * 1024 if line else 0


def main() -> None:
    """Times the steps, prints the line."""
    more = round((float(sys.argv[1]) - 1.0) * TURNS)
    before = status("VmRSS:")
    block = bytearray(BLOCK_BYTES)
    times = []
    value = 0
    for _ in range(1 + STEPS):
        start = time.perf_counter()
        value = turn(TURNS)
        turn(more)
        times.append(time.perf_counter() - start)
    held = max(0, status("VmHWM:") - before)
    samples = ", ".join(repr(t) for t in times[1:])
    print(
        f'{{"metric": "step_time", "unit": "s", "samples": [{samples}], "first": {times[0]!r}, '
        f'"rss_beyond_import_bytes": {held}, "check": {{"value": {value}, "block": {len(block)}}}}}'
    )


if __name__ == "__main__":
    main()
