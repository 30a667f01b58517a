"""The state of random numbers.

An op that draws takes its numbers from a `oneflow.Generator`, in the order in which the program
issues such ops; so a seed fixes every number, whatever the number of threads.
"""

from __future__ import annotations

import os
from typing import Any

from oneflow import _oneflow_internal

default_generator = _oneflow_internal.default_generator


def manual_seed(seed: int) -> Any:
    """Seeds the default generator.

    Args:
        seed: an int from -2**63 to 2**64 - 1

    Returns:
        the default generator

    Raises:
        TypeError: `seed` is not an int.
        ValueError: it does not fit 64 bits.

    Example:
        >>> import oneflow as flow
        >>> _ = flow.manual_seed(0)
        >>> first = flow.rand(1).item()
        >>> _ = flow.manual_seed(0)
        >>> flow.rand(1).item() == first
        True
    """
    default_generator.manual_seed(checked_seed("manual_seed", seed))
    return default_generator


def checked_seed(caller: str, seed: Any) -> int:
    """`seed` as an unsigned number of 64 bits; TypeError or ValueError in the name of `caller`."""
    if isinstance(seed, bool) or not hasattr(seed, "__index__"):
        raise TypeError(f"[{caller}] expects an int as seed, got {type(seed).__name__}")
    value = seed.__index__()
    if not -(2**63) <= value < 2**64:
        raise ValueError(f"[{caller}] expects a seed from -2**63 to 2**64 - 1, got {value}")
    return value % 2**64


def seed() -> int:
    """Seeds the default generator from the system's entropy, and returns the seed.

    Example:
        >>> import oneflow as flow
        >>> flow.seed() == flow.initial_seed()
        True
    """
    value = int.from_bytes(os.urandom(8), "little")
    default_generator.manual_seed(value)
    return value


def initial_seed() -> int:
    """The seed that the default generator started from.

    Example:
        >>> import oneflow as flow
        >>> flow.manual_seed(7).initial_seed()
        7
    """
    return int(default_generator.initial_seed())


def get_rng_state() -> Any:
    """The state of the default generator, for `set_rng_state`.

    Example:
        >>> import oneflow as flow
        >>> state = flow.get_rng_state()
        >>> first = flow.rand(1).item()
        >>> flow.set_rng_state(state)
        >>> flow.rand(1).item() == first
        True
    """
    return default_generator.get_state()


def set_rng_state(state: Any) -> None:
    """Puts the default generator back into a state that `get_rng_state` gave.

    Args:
        state: what `get_rng_state` returned

    Raises:
        TypeError, ValueError: it is something else.

    Example: see `get_rng_state`.
        >>> import oneflow as flow
        >>> flow.set_rng_state(flow.get_rng_state())
    """
    default_generator.set_state(state)


def create_generator(device: str = "cpu", seed: int | None = None) -> Any:
    """A new generator.

    Args:
        device: where its numbers are drawn
        seed: an int; default from the system's entropy

    Example:
        >>> from oneflow.framework.generator import create_generator
        >>> create_generator(seed=3).initial_seed()
        3
    """
    generator = _oneflow_internal.Generator(device)
    if seed is not None:
        generator.manual_seed(checked_seed("create_generator", seed))
    return generator
