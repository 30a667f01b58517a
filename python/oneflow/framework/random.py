"""Tensors of random numbers.

Each takes `size` as ints or as one sequence, a `generator` (default the default generator), and the
keywords of `creation`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from oneflow import _oneflow_internal
from oneflow.framework.creation import like, sizes_of, with_grad

_C = _oneflow_internal._C
Size = _oneflow_internal.Size


def rand(
    *size: Any,
    generator: Any = None,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Any:
    """Random numbers, uniform in [0, 1).

    Args:
        generator: an `oneflow.Generator`; default the default generator

    Raises:
        TypeError: `dtype` is no floating-point dtype.

    Example:
        >>> import oneflow as flow
        >>> x = flow.rand(100)
        >>> bool(x.numpy().min() >= 0), bool(x.numpy().max() < 1)
        (True, True)
    """
    tensor = _C.rand(sizes_of("rand", size), dtype=dtype, device=device, generator=generator)
    return with_grad(tensor, requires_grad)


def randn(
    *size: Any,
    generator: Any = None,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Any:
    """Random numbers of the standard normal distribution.

    Args:
        generator: an `oneflow.Generator`; default the default generator

    Raises:
        TypeError: `dtype` is no floating-point dtype.

    Example:
        >>> import oneflow as flow
        >>> flow.randn(2, 3).shape
        oneflow.Size([2, 3])
    """
    tensor = _C.randn(sizes_of("randn", size), dtype=dtype, device=device, generator=generator)
    return with_grad(tensor, requires_grad)


def randn_like(
    other: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Any:
    """`randn` with the size, and unless given the dtype and device, of `other`.

    Example:
        >>> import oneflow as flow
        >>> flow.randn_like(flow.zeros(2, 3)).shape
        oneflow.Size([2, 3])
    """
    size, dtype, device = like("randn_like", other, dtype, device)
    return randn(size, dtype=dtype, device=device, requires_grad=requires_grad)


def _uniform_floats(count: int, generator: Any) -> np.ndarray[Any, Any]:
    """`count` float64 numbers of [0, 1), in host memory."""
    numbers = _C.rand((count,), dtype=_oneflow_internal.float64, generator=generator)
    return np.asarray(numbers.numpy())


def randint(
    low: int,
    high: Any = None,
    size: Any = None,
    *,
    generator: Any = None,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Any:
    """Random integers, uniform in [low, high); `randint(high, size)` starts at 0.

    Args:
        size: a sequence of ints
        generator: an `oneflow.Generator`; default the default generator

    Returns:
        Tensor of `size`, int64 unless `dtype` says otherwise

    Raises:
        ValueError: `high` is not above `low`, or they are 2**53 or more apart.

    Example:
        >>> import oneflow as flow
        >>> set(flow.randint(2, 4, (50,)).tolist()) == {2, 3}
        True
    """
    if size is None:
        low, high, size = 0, low, high
    if not isinstance(size, (tuple, list)):
        raise TypeError(f"[randint] expects a size in a tuple or list, got {size!r}")
    low, high = sizes_of("randint", (low, high))
    if not 0 < high - low < 2**53:
        raise ValueError(f"[randint] expects low < high < low + 2**53, got {low} and {high}")
    sizes = sizes_of("randint", (tuple(size),))
    values = low + np.floor(_uniform_floats(Size(sizes).numel(), generator) * (high - low))
    dtype = _oneflow_internal.int64 if dtype is None else dtype
    integers = values.astype(np.int64).reshape(sizes)
    return with_grad(_oneflow_internal.tensor(integers, dtype=dtype, device=device), requires_grad)


def randperm(
    n: int,
    *,
    generator: Any = None,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Any:
    """The numbers 0 to n - 1 in random order.

    Args:
        generator: an `oneflow.Generator`; default the default generator

    Returns:
        Tensor (n,), int64 unless `dtype` says otherwise

    Raises:
        ValueError: `n` is negative.

    Example:
        >>> import oneflow as flow
        >>> sorted(flow.randperm(4).tolist())
        [0, 1, 2, 3]
    """
    (count,) = sizes_of("randperm", (n,))
    if count < 0:
        raise ValueError(f"[randperm] expects n of at least 0, got {count}")
    order = np.argsort(_uniform_floats(count, generator), kind="stable").astype(np.int64)
    dtype = _oneflow_internal.int64 if dtype is None else dtype
    return with_grad(_oneflow_internal.tensor(order, dtype=dtype, device=device), requires_grad)
