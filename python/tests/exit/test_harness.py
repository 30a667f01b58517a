"""The table is complete, and each check of the harness catches what it is for."""

from __future__ import annotations

import os
import resource
import signal
from pathlib import Path

import pytest
from tests.exit.failure_rate import at_most, upper_bound
from tests.exit.harness import CHECKS, VARIANTS, Variant, Verdict, rows, run_row, run_scenario
from tests.exit.process import (
    MAX_SLOWNESS,
    left_in_shared_memory,
    shared_memory,
    slowness,
)
from tests.exit.table import NUMBERS, PROGRAMS, SCENARIOS, Scenario

CONTROLS = Path(__file__).parent / "controls"
# 1 to 44, and 53; the others are about graphs and ranks.
KNOWN = 53


def missing(scenarios: list[Scenario], programs: set[Path]) -> list[str]:
    """What keeps the table from being complete."""
    found = [f"no row for {number}" for number in NUMBERS - {s.number for s in scenarios}]
    found += [f"no number {s.number}" for s in scenarios if s.number not in NUMBERS]
    for path in sorted(programs - {s.program for s in scenarios}):
        found.append(f"no row for {path.name}")
    names = [s.name for s in scenarios]
    return found + [f"two rows {name}" for name in set(names) if names.count(name) > 1]


def test_every_scenario_has_a_row_and_every_row_a_script() -> None:
    assert len(NUMBERS) == KNOWN
    assert missing(SCENARIOS, set(PROGRAMS.glob("s[0-9]*.py"))) == []


def test_the_completeness_test_finds_what_is_missing() -> None:
    programs = set(PROGRAMS.glob("s[0-9]*.py"))
    assert missing(SCENARIOS[1:], programs) == ["no row for 1", "no row for s01_import_only.py"]
    assert missing(SCENARIOS + SCENARIOS[:1], programs) == ["two rows 01"]
    assert missing(SCENARIOS, programs | {Path("s99_new.py")}) == ["no row for s99_new.py"]
    with pytest.raises(ValueError):
        Scenario(99, "", "no script").program  # noqa: B018


def test_repeats_take_every_variant() -> None:
    five = VARIANTS[:5]
    for words in ({"auto"}, {"queued"}, {"dev"}, {"no_recorder"}):
        assert any(words <= variant.words() for variant in five)
    assert any(variant.pause for variant in five) and VARIANTS[0] == Variant()


def control(name: str, status: int = 0) -> Verdict:
    wall = 2.0 if name == "hangs" else 60.0
    row = Scenario(0, name, "a control", status=status, stdout="good\n", wall=wall, cpu=0.5)
    return run_row(row, Variant(), "0", program=CONTROLS / f"{name}.py")


CAN_DUMP = {"core"} if resource.getrlimit(resource.RLIMIT_CORE)[1] != 0 else set()
FAULTS = [
    ("good", 0, set()),
    ("hangs", 0, {"wall"}),
    ("crashes", 0, {"status"} | CAN_DUMP),
    ("crashes", -signal.SIGSEGV, CAN_DUMP),
    ("prints", 0, {"stderr"}),
    ("wrong_status", 0, {"status"}),
    ("silent", 0, {"stdout"}),
    ("orphan", 0, {"orphan"}),
    ("shared_memory", 0, {"shared memory"}),
    ("burns", 0, {"cpu"}),
]


@pytest.mark.parametrize(("name", "status", "checks"), FAULTS)
def test_each_check_catches_what_it_is_for(name: str, status: int, checks: set[str]) -> None:
    verdict = control(name, status)
    for left in verdict.ended.shared:
        (Path("/dev/shm") / left).unlink()
    assert verdict.checks() == checks, verdict
    assert verdict.ok == (not checks)
    assert ("threads: " in str(verdict)) == (name == "hangs")


def test_shared_memory_without_a_process_in_its_name() -> None:
    before = shared_memory()
    path = Path(f"/dev/shm/psm_{os.getpid():x}")
    with path.open("wb"):
        assert path.name not in left_in_shared_memory(before, 0, 0.1), "somebody has it open"
    assert path.name in left_in_shared_memory(before, 0, 0.1)
    path.unlink()
    assert path.name not in left_in_shared_memory(before, 0, 0.1)


def test_a_busy_machine_gives_a_program_more_time() -> None:
    assert 1.0 <= slowness(os.getpid()) <= MAX_SLOWNESS


def test_every_check_has_a_control() -> None:
    caught = {check for _, _, checks in FAULTS for check in checks}
    assert caught | {"core"} == set(CHECKS)


def test_one_scenario_with_another_environment() -> None:
    verdict = run_scenario(14, "warn", env={"ONEFLOW_UNREAD_ERRORS": "fail"})
    assert verdict.checks() == {"status"} and verdict.ended.status == 1
    assert run_scenario(14, "warn").ok
    assert [row.case for row in rows(14)] == ["end", "status_5", "warn", "read"]


def test_the_upper_bound() -> None:
    assert upper_bound(0, 200) == pytest.approx(1 - 0.05 ** (1 / 200))
    assert upper_bound(1, 10) == pytest.approx(0.394163, abs=1e-6)  # tables of Clopper and Pearson
    assert upper_bound(3, 3) == 1.0
    assert at_most(2, 50, upper_bound(2, 50)) == pytest.approx(0.05)
    for bad in ((1, 0), (-1, 3), (4, 3)):
        with pytest.raises(ValueError, match="expects 0 <= failures <= runs"):
            upper_bound(*bad)
