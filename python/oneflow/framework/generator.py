"""The state of random numbers.

An op that draws takes its numbers from a `oneflow.Generator`, in the order in which the program
issues such ops; so a seed fixes every number, whatever the number of threads.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from oneflow import _oneflow_internal

default_generator = _oneflow_internal.default_generator
Tensor = _oneflow_internal.Tensor

# A state is the seed, and how many blocks of numbers were drawn since.
_STATE = np.dtype("<u8")


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


def get_state(self: Any) -> Any:
    """What `Generator.get_state()` is: the generator's state, as a uint8 tensor, for `set_state`.

    Example:
        >>> import oneflow as flow
        >>> generator = flow.Generator().manual_seed(7)
        >>> state = generator.get_state()
        >>> first = flow.rand(1, generator=generator).item()
        >>> generator.set_state(state)
        >>> flow.rand(1, generator=generator).item() == first
        True
    """
    return _oneflow_internal.tensor(np.array(self._get_state(), _STATE).view(np.uint8))


def set_state(self: Any, state: Any) -> None:
    """What `Generator.set_state(state)` is: goes on from a state that `get_state()` gave.

    Raises:
        TypeError: it is no tensor.
        RuntimeError: it is of another dtype or size.

    Example:
        >>> import oneflow as flow
        >>> generator = flow.Generator()
        >>> generator.set_state(flow.Generator().manual_seed(7).get_state())
        >>> generator.initial_seed()
        7
    """
    if not isinstance(state, Tensor):
        kind = type(state).__name__
        raise TypeError(f"[set_state] expects a tensor that get_state() returned, got {kind}")
    size = 2 * _STATE.itemsize
    if state.dtype != _oneflow_internal.uint8 or state.numel() != size:
        raise RuntimeError(
            f"[set_state] expects uint8 and shape ({size},), got {state.dtype} and "
            f"{tuple(state.shape)}"
        )
    self._set_state(tuple(np.ascontiguousarray(state.numpy()).view(_STATE).tolist()))


def _seed(self: Any) -> int:
    """Takes a seed from the system's entropy, and returns it."""
    value = int.from_bytes(os.urandom(8), "little")
    self.manual_seed(value)
    return value


for _name, _method in (("get_state", get_state), ("set_state", set_state), ("seed", _seed)):
    setattr(_oneflow_internal.Generator, _name, _method)


def seed() -> int:
    """Seeds the default generator from the system's entropy, and returns the seed.

    Example:
        >>> import oneflow as flow
        >>> flow.seed() == flow.initial_seed()
        True
    """
    return _seed(default_generator)


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
        TypeError, RuntimeError: it is something else.

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
