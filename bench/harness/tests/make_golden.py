"""Makes the golden report anew, from simulated processes: run it after a change of the format.

python -m bench.harness.tests.make_golden
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.harness import launch, render
from bench.harness.plan import Plan, Program, Row, standard_versus
from bench.harness.result import write_json
from bench.harness.runner import run_plan
from bench.harness.verdict import Policy

MEANS = {"base": 1.0e-3, "head": 1.05e-3, "base again": 1.0e-3, "pytorch": 1.6e-3}


def simulate(command: Sequence[str], env: Mapping[str, str], timeout_s: float) -> launch.Outcome:
    """A process that takes no time."""
    draw = random.Random(command[0] + env["ONEFLOW_BENCH_SEED"])
    cost = MEANS[command[0]] * draw.lognormvariate(0.0, 0.01)
    metrics = {
        name: {
            "metric": name,
            "unit": "s",
            "samples": [cost * scale, cost * scale * 1.01],
            "check": {"loss": 0.5},
            "peak_allocator_bytes": 3 << 20,
            "rss_beyond_import_bytes": 5 << 20,
        }
        for name, scale in (("step_time", 1.0), ("add", 1e-3))
    }
    return launch.Outcome(cost, metrics)


def main() -> None:
    """Writes golden.json, golden.txt and golden.md beside this file."""
    rows = [Row("step_time", "a training step", target=1.3), Row("add", "x + x", target=1.0)]
    program = Program("example", {name: [name] for name in MEANS}, rows)
    labels = {"head": "v2", "base": "v1", "pytorch": "PyTorch 2.13.0"}
    policy = Policy(looks=1, resamples=500)
    plan = Plan([program], standard_versus(list(MEANS)), policy, labels, "bench/run.sh example")
    result = run_plan(plan, launcher=simulate)
    quiet = {"load": 0.1, "ticks": None, "mhz": 2000.0, "governor": None, "cpus": [0, 1]}
    machine = {"model": "a made-up processor", "cores": 2, "memory_bytes": 8 << 30}
    result["host"] |= {
        "identity": machine | {"quota": None, "kernel": "6.1", "python": "3.11.7"},
        "env": {},
        "before": quiet,
        "after": quiet | {"load": 0.3},
        "concerns": ["load average 3.00 on 2 cores before the run"],
    }
    result |= {"started": "2026-11-30T12:00:00Z", "seconds": 12.0}
    for item in result["rounds"]:
        item |= {"load": 0.1, "mhz": 2000.0, "steal": 0.0}
    folder = Path(__file__).parent
    write_json(folder / "golden.json", result)
    for style, suffix in (("terminal", "txt"), ("markdown", "md")):
        (folder / f"golden.{suffix}").write_text(render.render(result, style), encoding="utf-8")


if __name__ == "__main__":
    main()
