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


def test_a_step_of_known_length_is_timed() -> None:
    timing = process.measure(lambda: time.sleep(0.002), batches=3, timings=5, warmup_s=0.0)
    assert len(timing.samples) == 3
    assert all(0.002 <= s < 0.01 for s in timing.samples)
    assert (timing.loops, timing.first >= 0.002) == (1, True)


def test_loops_grow_until_the_clock_can_resolve_them() -> None:
    timing = process.measure(lambda: None, batches=1, timings=3, warmup_s=0.0)
    assert timing.loops > 100
    assert 1e-9 < timing.samples[0] < 1e-5


def test_a_slow_first_step_is_not_in_the_samples() -> None:
    slow = iter([0.05])
    timing = process.measure(
        lambda: time.sleep(next(slow, 0.0)), batches=2, timings=5, warmup_s=0.01
    )
    assert timing.first >= 0.05 > 10.0 * max(timing.samples)


def test_what_a_step_leaves_running_is_waited_for() -> None:
    pending: list[float] = []

    def finish() -> None:
        time.sleep(sum(pending))
        pending.clear()

    timing = process.measure(
        lambda: pending.append(0.001), batches=1, timings=3, warmup_s=0.0, finish=finish, loops=4
    )
    assert timing.samples[0] >= 0.001


def test_a_delay_in_a_batch_hardly_moves_its_median() -> None:
    delays = iter([0.0] * 10 + [0.05] + [0.0] * 1000)
    timing = process.measure(
        lambda: time.sleep(next(delays)), batches=1, timings=21, warmup_s=0.0, loops=1
    )
    assert timing.samples[0] < 0.01


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
