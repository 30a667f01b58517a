"""An index made of parts, for references."""

from __future__ import annotations

from typing import Any


def at(*parts: Any) -> Any:
    """The index `x[at(i, *rest)]`; mypy takes a bare star in brackets for the syntax of 3.11."""
    return parts
