"""Families of the op table as files of generated code: who declares what, and who needs whom.

Each family has a header and a source of its own, so that a changed row rebuilds its family and
those whose formulas call it, and no other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tools.gen.table import Family


def by_name(families: Iterable[Family]) -> list[Family]:
    """In the order in which generated code names them."""
    return sorted(families, key=lambda family: family.name)


def identifiers(text: str) -> set[str]:
    """The identifiers in a piece of C++."""
    return set("".join(c if c.isalnum() or c == "_" else " " for c in text).split())


def includes(headers: Iterable[str]) -> list[str]:
    """Lines that include these headers, sorted, each once."""
    return [f'#include "{header}"' for header in sorted(set(headers))]


def callees(text: str, families: Sequence[Family]) -> list[str]:
    """The families whose functions are called, as `functional::f(`, in a piece of C++."""
    called = {part.split("(", 1)[0] for part in text.split("functional::")[1:] if "(" in part}
    found = []
    for family in families:
        names = {row.name for row in family.rows}
        names |= {f"{row.name}_" for row in family.rows if row.inplace_name}
        if names & called:
            found.append(family.name)
    return found
