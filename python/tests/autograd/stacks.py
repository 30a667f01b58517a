"""Stacks of errors as text."""

from __future__ import annotations

from typing import Any


def text(stack: Any) -> str:
    """An error's stack, as Python prints one."""
    return stack if isinstance(stack, str) else "".join(stack.format())
