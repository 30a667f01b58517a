"""The fast case of the calibration: `python -I -S spin.py FACTOR`, about 75 ms.

A step is a number of powers of whole numbers modulo another one, whose result is known; a factor
above 1 does so many more of them, so that the step takes just that much longer. That is arithmetic
in registers, in C: it hardly feels where the process's memory lies, which moves a loop of Python by
some per cent from process to process. Time, first step and memory come out as from any measured
program. It imports as little as it can.

Between samples it sleeps for a moment: the processor's clock wanders, and a process that is over in
a few of its moods has one draw of it, however many steps it takes. On the machine of CALIBRATION.md
neighbouring samples differ by 0.3 % without pauses, by 0.7 % with 3 ms between them and by 1.3 %
with 8. A sample is the least of a few steps, which leaves out what interrupts one of them.
"""

from __future__ import annotations

import sys
import time

SAMPLES, STEPS = 8, 3
PAUSE_S = 0.006
TURNS = 200
BLOCK_BYTES = 8 << 20
_MODULUS = (1 << 256) - 189
_POWER = (1 << 12) - 1


def turn(count: int) -> int:
    """The arithmetic; the result does not depend on the count, unless it is 0."""
    x = 0
    for _ in range(count):
        x = pow(3, _POWER, _MODULUS)
    return x


def timed(count: int) -> float:
    """Seconds of a step."""
    start = time.perf_counter()
    turn(count)
    return time.perf_counter() - start


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
    first = timed(count)
    samples = []
    for _ in range(SAMPLES):
        time.sleep(PAUSE_S)
        samples.append(min(timed(count) for _ in range(STEPS)))
    held = max(0, status("VmHWM:") - before)
    times = ", ".join(map(repr, samples))
    check = f'{{"value": {turn(count) % 1_000_003}, "block": {len(block)}}}'
    print(
        f'{{"metric": "step_time", "unit": "s", "samples": [{times}], "first": {first!r}, '
        f'"rss_beyond_import_bytes": {held}, "check": {check}}}'
    )


if __name__ == "__main__":
    main()
