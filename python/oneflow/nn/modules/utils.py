"""Settings that have one number for each spatial axis, and the checks that modules share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def ntuple(caller: str, name: str, value: Any, n: int, least: int | None = None) -> tuple[int, ...]:
    """`value` as n integers; one integer stands for all.

    Raises:
        TypeError: it is no int, and no list of ints.
        ValueError: the list has another length, or an integer is below `least`.

    Example:
        >>> from oneflow.nn.modules.utils import ntuple
        >>> ntuple("Conv2d", "stride", 2, 2), ntuple("Conv2d", "stride", [1, 2], 2)
        ((2, 2), (1, 2))
    """
    if isinstance(value, bool) or not isinstance(value, (int, Iterable)) or isinstance(value, str):
        raise TypeError(f"[{caller}] expects {name} as an int or {n} of them, got {value!r}")
    numbers = (value,) * n if isinstance(value, int) else tuple(value)
    if not all(isinstance(one, int) and not isinstance(one, bool) for one in numbers):
        raise TypeError(f"[{caller}] expects {name} as an int or {n} of them, got {value!r}")
    if len(numbers) == 1:
        numbers *= n
    if len(numbers) != n:
        raise ValueError(f"[{caller}] expects {n} numbers as {name}, got {value!r}")
    if least is not None and min(numbers) < least:
        raise ValueError(f"[{caller}] expects {name} of at least {least}, got {value!r}")
    return numbers


def _single(x: Any) -> tuple[int, ...]:
    return ntuple("module", "a setting", x, 1)


def _pair(x: Any) -> tuple[int, ...]:
    return ntuple("module", "a setting", x, 2)


def _triple(x: Any) -> tuple[int, ...]:
    return ntuple("module", "a setting", x, 3)


def _quadruple(x: Any) -> tuple[int, ...]:
    return ntuple("module", "a setting", x, 4)


def check_count(caller: str, name: str, value: Any, least: int = 1) -> None:
    """ValueError in the name of `caller`, unless `value` is an int of at least `least`.

    Example:
        >>> from oneflow.nn.modules.utils import check_count
        >>> check_count("GroupNorm", "num_groups", 0)
        Traceback (most recent call last):
        ValueError: [GroupNorm] expects num_groups as an int of at least 1, got 0
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError(f"[{caller}] expects {name} as an int of at least {least}, got {value!r}")


def check_reduction(caller: str, reduction: Any, more: tuple[str, ...] = ()) -> None:
    """ValueError in the name of `caller`, unless `reduction` is none, mean, sum, or one of `more`.

    Example:
        >>> from oneflow.nn.modules.utils import check_reduction
        >>> check_reduction("L1Loss", "max")
        Traceback (most recent call last):
        ValueError: [L1Loss] expects reduction none, mean or sum, got 'max'
    """
    known = ("none", "mean", "sum", *more)
    if reduction not in known:
        names = f"{', '.join(known[:-1])} or {known[-1]}"
        raise ValueError(f"[{caller}] expects reduction {names}, got {reduction!r}")
