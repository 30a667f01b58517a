"""`profile`: times one function in both frameworks while a test method runs.

@profile(torch.add)
def profile_add(test_case):
    torch.add(torch.ones(100, 100), torch.ones(100, 100))
"""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from oneflow.test_utils.automated_test_util import dual_calls

__all__ = ["ProfResult", "profile", "profiled_framework", "set_profiler_hook"]

WARMUP_NUM = int(os.getenv("ONEFLOW_PROFILE_WARMUP_NUM", "10"))
RUN_NUM = int(os.getenv("ONEFLOW_PROFILE_RUN_NUM", "1000"))

profiled_framework: list[str] = ["oneflow", "pytorch"]
_names: list[str] = []


@dataclass
class ProfResult:
    """One function's time in one framework."""

    kind: str
    op_name: str
    num: int
    seconds_per_call: float
    additional_description: str | None = None


def _ignore(results: list[ProfResult]) -> Any:
    return results


_hook: Callable[[list[ProfResult]], Any] = _ignore


def set_profiler_hook(hook: Callable[[list[ProfResult]], Any]) -> None:
    """Says what is done with the results of each call; its result is the call's."""
    global _hook
    _hook = hook


def is_profiled(name: str) -> bool:
    """Whether calls of the function of this name are timed now."""
    return name in _names


def profile_calls(dual: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Times a call in each framework; interleaved, so that both meet the same machine."""
    description = kwargs.pop("profile_description", None)
    spent = dict.fromkeys(profiled_framework, 0.0)
    given = {side: dual_calls.arguments(args, kwargs, side) for side in spent}
    for i in range(WARMUP_NUM + RUN_NUM):
        for side, (positional, keywords) in given.items():
            begin = time.perf_counter()
            getattr(dual, side)(*positional, **keywords)
            spent[side] += time.perf_counter() - begin if i >= WARMUP_NUM else 0.0
    return _hook(
        [ProfResult(s, dual.name, RUN_NUM, t / RUN_NUM, description) for s, t in spent.items()]
    )


def profile(op: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Times `op` wherever the decorated method calls it."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def timed(*args: Any, **kwargs: Any) -> Any:
            _names.append(op.name)
            try:
                return function(*args, **kwargs)
            finally:
                _names.remove(op.name)

        return timed

    return decorate
