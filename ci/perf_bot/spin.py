"""The fast case of the calibration: `python -I -S spin.py FACTOR`, about 30 ms.

A step is a number of powers of whole numbers modulo another one, whose result is known; a factor
above 1 does so many more of them, so that the step takes just that much longer. That is arithmetic
in registers, in C: it hardly feels where the process's memory lies, which moves a loop of Python by
some per cent from process to process. Time, first step and memory come out as from any measured
program. It imports as little as it can.
"""

from __future__ import annotations

import sys
import time

STEPS = 6
TURNS = 200
BLOCK_BYTES = 8 << 20
_MODULUS = (1 << 256) - 189
_POWER = (1 << 60) - 1


def turn(count: int) -> int:
    """The arithmetic; the result does not depend on the count, unless it is 0."""
    x = 0
    for _ in range(count):
        x = pow(3, _POWER, _MODULUS)
    return x


def status(field: str) -> int:
    """Bytes of a field of /proc/self/status."""
    with open("/proc/self/status", encoding="ascii") as file:
        line = next((line for line in file if line.startswith(field)), "")
    return int(line.split()[1]) * 1024 if line else 0


def main() -> None:
    """Times the steps, prints the line."""
    count = round(float(sys.argv[1]) * TURNS)
    before = status("VmRSS:")
    block = bytearray(BLOCK_BYTES)
    times = []
    value = 0
    for _ in range(1 + STEPS):
        start = time.perf_counter()
        value = turn(count)
        times.append(time.perf_counter() - start)
    held = max(0, status("VmHWM:") - before)
    samples = ", ".join(repr(t) for t in times[1:])
    check = f'{{"value": {value % 1_000_003}, "block": {len(block)}}}'
    print(
        f'{{"metric": "step_time", "unit": "s", "samples": [{samples}], "first": {times[0]!r}, '
        f'"rss_beyond_import_bytes": {held}, "check": {check}}}'
    )


if __name__ == "__main__":
    main()
