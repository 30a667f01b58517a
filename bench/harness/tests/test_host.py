"""The host's state, from made-up files and from this machine; the guard."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.harness import host


@pytest.fixture(name="root")
def fixture_root(tmp_path: Path) -> Path:
    """A made-up /proc and /sys."""
    files = {
        "proc/loadavg": "1.25 0.80 0.60 2/120 4242\n",
        "proc/stat": "cpu  100 0 50 800 10 0 5 35 0 0\ncpu0 1 2 3\n",
        "proc/cpuinfo": "model name\t: Made-up\ncpu MHz\t\t: 2000.0\ncpu MHz\t\t: 3000.0\n",
        "proc/meminfo": "MemTotal:  1024 kB\nMemAvailable:  512 kB\n",
        "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "performance\n",
        "sys/fs/cgroup/cpu.max": "200000 100000\n",
        "sys/fs/cgroup/cpu.stat": "nr_periods 10\nnr_throttled 4\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="ascii")
    return tmp_path


def test_a_snapshot_reads_what_the_kernel_says(root: Path) -> None:
    state = host.snapshot(root)
    assert (state["load"], state["mhz"], state["governor"]) == (1.25, 2500.0, "performance")
    assert state["ticks"] == {"total": 1000, "steal": 35}
    assert (state["available_bytes"], state["throttled"]) == (512 * 1024, 4)
    machine = host.identity(root)
    assert (machine["model"], machine["quota"]) == ("Made-up", "200000 100000")
    assert machine["memory_bytes"] == 1024 * 1024


def test_a_machine_that_tells_nothing_is_no_error(tmp_path: Path) -> None:
    state = host.snapshot(tmp_path)
    assert all(state[name] is None for name in ("load", "ticks", "mhz", "governor", "throttled"))
    assert host.concerns(state, state) == []
    assert "memory unknown" in host.describe(host.identity(tmp_path))


def test_this_machine_can_be_read() -> None:
    state = host.snapshot()
    assert state["cpus"]
    assert state["load"] is not None and state["load"] >= 0.0


@pytest.fixture(name="calm")
def fixture_calm(root: Path) -> host.State:
    """A state without a concern."""
    return host.snapshot(root) | {"load": 0.1, "cpus": [0, 1]}


def test_a_calm_host_raises_no_concern(calm: host.State) -> None:
    later = calm | {"ticks": {"total": 2000, "steal": 40}, "mhz": 2600.0}
    assert host.steal_share(calm, later) == pytest.approx(0.005)
    assert host.concerns(calm, later) == []


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ({"load": 1.5}, {}, "load average 1.50 on 2 cores"),
        ({}, {"ticks": {"total": 2000, "steal": 235}}, "hypervisor took 20.0%"),
        ({}, {"mhz": 1500.0}, "frequency moved by -40%"),
        ({}, {"cpus": [0]}, "usable cores changed"),
        ({}, {"throttled": 7}, "quota ran out 3 times"),
    ],
)
def test_each_concern_is_raised(
    calm: host.State, before: host.State, after: host.State, words: str
) -> None:
    found = host.concerns(calm | before, calm | before | after)
    assert len(found) == 1 and words in found[0]
