"""Cuts a failing program down: statements are taken out as long as it still fails."""

from __future__ import annotations

from collections.abc import Callable

from tests.vm.program import AnyLine, without_orphans


def shrink(
    program: list[AnyLine],
    fails: Callable[[list[AnyLine]], bool],
    given: tuple[str, ...] = (),
    tries: int = 400,
) -> list[AnyLine]:
    """A part of the program that fails too, and from which little more can be taken.

    Args:
        program: one that fails
        fails: does a program fail; asked several times, since a race does not show each time
        given: variables that exist before the program
        tries: how many programs are tried at most
    """
    size = max(1, len(program) // 2)
    while size >= 1 and tries > 0:
        start = 0
        while start < len(program) and tries > 0:
            shorter = without_orphans(program[:start] + program[start + size :], given)
            tries -= 1
            if len(shorter) < len(program) and fails(shorter):
                program = shorter
            else:
                start += size
        size //= 2
    return program
