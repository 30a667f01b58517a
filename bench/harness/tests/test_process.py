"""The helper inside the measured process."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bench.harness import process
from bench.harness.launch import read_metrics

ROOT = str(Path(process.__file__).parents[2])


class Clock:
    """A clock that moves only when a step says so: the machine's load cannot fail a test."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def pass_by(self, seconds: float) -> None:
        """Time goes by."""
        self.now += seconds


@pytest.fixture(name="clock")
def fixture_clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Takes the place of the monotonic clock."""
    clock = Clock()
    monkeypatch.setattr(time, "perf_counter", clock)
    return clock


def test_a_step_of_known_length_is_timed(clock: Clock) -> None:
    timing = process.measure(lambda: clock.pass_by(0.002), batches=3, timings=5)
    assert timing.samples == [pytest.approx(0.002)] * 3
    assert (timing.loops, timing.first) == (1, pytest.approx(0.002))
    assert clock.now == pytest.approx(0.002 * (1 + 100 + 3 + 3 * 5), abs=0.003)


def test_loops_grow_until_the_clock_can_resolve_them(clock: Clock) -> None:
    timing = process.measure(lambda: clock.pass_by(1e-7), warmup_s=0.0)
    assert timing.loops == 512
    assert timing.samples == [pytest.approx(1e-7)] * 5


def test_the_warm_up_is_not_in_the_samples(clock: Clock) -> None:
    lengths = iter([0.05, 0.03, 0.01])
    timing = process.measure(lambda: clock.pass_by(next(lengths, 0.001)), warmup_s=0.04)
    assert (timing.first, max(timing.samples)) == (pytest.approx(0.05), pytest.approx(0.001))


def test_what_a_step_leaves_running_is_waited_for(clock: Clock) -> None:
    pending: list[float] = []

    def finish() -> None:
        clock.pass_by(sum(pending))
        pending.clear()

    timing = process.measure(
        lambda: pending.append(0.001), batches=1, timings=3, warmup_s=0.0, finish=finish, loops=4
    )
    assert timing.samples == [pytest.approx(0.001)]


def test_a_delay_in_a_batch_does_not_move_its_median(clock: Clock) -> None:
    lengths = iter([0.001] * 10 + [0.5] + [0.001] * 100)
    timing = process.measure(
        lambda: clock.pass_by(next(lengths)), batches=1, timings=21, warmup_s=0.0, loops=1
    )
    assert timing.samples == [pytest.approx(0.001)]


def test_the_real_clock_is_read() -> None:
    timing = process.measure(lambda: time.sleep(0.002), batches=1, timings=3, warmup_s=0.0)
    assert timing.samples[0] >= 0.002


def test_a_report_needs_a_result_to_check() -> None:
    with pytest.raises(ValueError, match="result to check"):
        process.Reporter().report("t", [1.0], check={})


def run(code: str, **env: str) -> dict[str, dict[str, object]]:
    """The metrics of a program that uses the helper, in a process of its own."""
    text = f"import sys; sys.path.insert(0, {ROOT!r})\nfrom bench.harness.process import *\n{code}"
    done = subprocess.run(
        [sys.executable, "-S", "-c", text], capture_output=True, text=True, env=env, check=True
    )
    metrics = read_metrics(done.stdout)
    assert isinstance(metrics, dict), metrics
    return metrics


def test_memory_is_counted_beyond_the_import() -> None:
    """Peaks are kept: 64 MiB of the "import" do not count, 32 MiB that are freed again do."""
    code = """
reporter = Reporter(allocator_peak=lambda: 7)
big = bytearray(64 << 20); del big
reporter.imported()
data = bytearray(32 << 20); del data
reporter.report("t", [1.0], check={"x": 1})
"""
    line = run(code)["t"]
    beyond = line["rss_beyond_import_bytes"]
    assert isinstance(beyond, int) and 30 << 20 < beyond < 50 << 20
    assert line["peak_allocator_bytes"] == 7
    assert isinstance(line["import_s"], float)


def test_the_order_of_rows_follows_the_seed() -> None:
    code = """
import json
Reporter().report("t", [1.0], check={"order": shuffled(range(20))})
"""
    orders = [json.dumps(run(code, ONEFLOW_BENCH_SEED=s)["t"]["check"]) for s in "112"]
    assert orders[0] == orders[1] != orders[2]


def test_the_helper_needs_nothing_but_the_standard_library() -> None:
    """It is imported by interpreters that have neither numpy nor this project."""
    code = """
wanted = {m for m in sys.modules if m.split(".")[0] in ("numpy", "oneflow", "torch")}
Reporter().report("t", [1.0], check={"found": sorted(wanted)})
"""
    assert run(code)["t"]["check"] == {"found": []}
