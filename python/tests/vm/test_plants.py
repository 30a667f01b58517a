"""Faults planted in the vm: the random programs must notice each."""

from __future__ import annotations

import pytest
from tests.faults import faulty

PROGRAM = """
from tests.vm.generator import Generator
from tests.vm.runner import MODES, Mismatch, check

for seed in range(1, {seeds} + 1):
    try:
        check(Generator(seed).generate(300), f"program {{seed}}", MODES[1:3])
    except Mismatch as why:
        print("noticed at seed", seed)
        print(why, file=sys.stderr)
        break
else:
    print("nothing noticed")
"""


def noticed(fault: str | None, seeds: int) -> str:
    ended = faulty.run(PROGRAM.format(seeds=seeds), fault, timeout=300)
    assert ended.status == 0, ended.stderr
    return ended.stdout


def test_random_programs_pass_without_a_fault() -> None:
    assert noticed(None, 10) == "nothing noticed\n"


@pytest.mark.parametrize(
    "fault",
    [
        "visible_not_awaited",
        "freed_serves_at_once",
        "last_owner_forgotten",
        "poison_not_spread",
        "in_place_poisons",
    ],
)
def test_random_programs_notice(fault: str) -> None:
    assert noticed(fault, 400).startswith("noticed at seed")
