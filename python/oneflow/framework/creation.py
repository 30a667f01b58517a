"""Tensors from sizes and data: constants, ranges.

Each takes `size` as ints or as one sequence, and the same keywords:

* dtype: default float32, or as the arguments say
* device: default the CPU
* requires_grad: whether autograd records what is done with the tensor; default False
"""

from __future__ import annotations

from typing import Any

import numpy as np

from oneflow import _oneflow_internal

_C = _oneflow_internal._C
Tensor = _oneflow_internal.Tensor


def sizes_of(caller: str, size: tuple[Any, ...]) -> tuple[int, ...]:
    """The size that `f(2, 3)` or `f((2, 3))` asks for; TypeError in the name of `caller`."""
    if len(size) == 1 and isinstance(size[0], (tuple, list)):
        size = tuple(size[0])
    for value in size:
        if isinstance(value, (bool, float)) or not hasattr(value, "__index__"):
            raise TypeError(f"[{caller}] expects a size of integers, got {value!r} in {size!r}")
    return tuple(value.__index__() for value in size)


def with_grad(tensor: Any, requires_grad: bool) -> Any:
    """The tensor, with `requires_grad` set where asked for."""
    if requires_grad:
        tensor.requires_grad = True
    return tensor


def empty(*size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Any:
    """A tensor whose elements have no defined value yet.

    Returns:
        Tensor of the given size

    Raises:
        TypeError: a size is not an int.
        ValueError, RuntimeError: a size is negative.
        OutOfMemoryError: there is not that much memory.

    Example:
        >>> import oneflow as flow
        >>> flow.empty(2, 3).shape
        oneflow.Size([2, 3])
    """
    return with_grad(_C.empty(sizes_of("empty", size), dtype=dtype, device=device), requires_grad)


def full(
    size: Any,
    fill_value: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Any:
    """A tensor filled with one value.

    Args:
        size: an int or a sequence of ints
        fill_value: the number; where no dtype is given, its type says it: bool, int64 or float32

    Raises:
        TypeError: a size is not an int, or the value is no number.
        OutOfMemoryError: there is not that much memory.

    Example:
        >>> import oneflow as flow
        >>> flow.full((2,), 1.5)
        tensor([1.5000, 1.5000], dtype=oneflow.float32)
    """
    sizes = sizes_of("full", (size,))
    return with_grad(_C.full(sizes, fill_value, dtype=dtype, device=device), requires_grad)


def zeros(*size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Any:
    """A tensor of zeros; see `full`.

    Example:
        >>> import oneflow as flow
        >>> flow.zeros(2, 2)
        tensor([[0., 0.],
                [0., 0.]], dtype=oneflow.float32)
    """
    return with_grad(_C.zeros(sizes_of("zeros", size), dtype=dtype, device=device), requires_grad)


def ones(*size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Any:
    """A tensor of ones; see `full`.

    Example:
        >>> import oneflow as flow
        >>> flow.ones(3)
        tensor([1., 1., 1.], dtype=oneflow.float32)
    """
    return with_grad(_C.ones(sizes_of("ones", size), dtype=dtype, device=device), requires_grad)


def like(caller: str, other: Any, dtype: Any, device: Any) -> tuple[Any, Any, Any]:
    """(size, dtype, device), those of `other` where not given."""
    if not isinstance(other, Tensor):
        raise TypeError(f"[{caller}] expects a Tensor, got {type(other).__name__}")
    dtype = other.dtype if dtype is None else dtype
    return tuple(other.shape), dtype, other.device if device is None else device


def empty_like(
    other: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Any:
    """`empty` with the size, and unless given the dtype and device, of `other`.

    Example:
        >>> import oneflow as flow
        >>> flow.empty_like(flow.arange(3)).dtype
        oneflow.int64
    """
    size, dtype, device = like("empty_like", other, dtype, device)
    return with_grad(_C.empty(size, dtype=dtype, device=device), requires_grad)


def full_like(
    other: Any,
    fill_value: Any,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Any:
    """`full` with the size, and unless given the dtype and device, of `other`.

    Example:
        >>> import oneflow as flow
        >>> flow.full_like(flow.zeros(2), 3)
        tensor([3., 3.], dtype=oneflow.float32)
    """
    _, dtype, device = like("full_like", other, dtype, device)
    return with_grad(_C.full_like(other, fill_value, dtype=dtype, device=device), requires_grad)


def zeros_like(
    other: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Any:
    """`zeros` with the size, and unless given the dtype and device, of `other`.

    Example:
        >>> import oneflow as flow
        >>> flow.zeros_like(flow.ones(2))
        tensor([0., 0.], dtype=oneflow.float32)
    """
    _, dtype, device = like("zeros_like", other, dtype, device)
    return with_grad(_C.zeros_like(other, dtype=dtype, device=device), requires_grad)


def ones_like(
    other: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Any:
    """`ones` with the size, and unless given the dtype and device, of `other`.

    Example:
        >>> import oneflow as flow
        >>> flow.ones_like(flow.arange(2))
        tensor([1, 1], dtype=oneflow.int64)
    """
    _, dtype, device = like("ones_like", other, dtype, device)
    return with_grad(_C.ones_like(other, dtype=dtype, device=device), requires_grad)


def arange(
    start: Any,
    end: Any = None,
    step: Any = 1,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Any:
    """The numbers from `start` on, `step` apart, before `end`; `arange(end)` starts at 0.

    Returns:
        Tensor (ceil((end - start) / step),); int64 if every argument is an int, else float32

    Raises:
        ValueError: `step` is 0, or leads away from `end`.

    Example:
        >>> import oneflow as flow
        >>> flow.arange(1, 8, 3)
        tensor([1, 4, 7], dtype=oneflow.int64)
    """
    if end is None:
        start, end = 0, start
    return with_grad(_C.arange(start, end, step, dtype=dtype, device=device), requires_grad)


def linspace(
    start: float,
    end: float,
    steps: int,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Any:
    """`steps` numbers from `start` to `end`, both included, at equal distances.

    Returns:
        Tensor (steps,), float32 unless `dtype` says otherwise

    Raises:
        ValueError: `steps` is negative.
        OutOfMemoryError: there is not that much memory.

    Example:
        >>> import oneflow as flow
        >>> flow.linspace(0, 1, 3)
        tensor([0.0000, 0.5000, 1.0000], dtype=oneflow.float32)
    """
    (count,) = sizes_of("linspace", (steps,))
    if count < 0:
        raise ValueError(f"[linspace] expects steps of at least 0, got {count}")
    dtype = _oneflow_internal.float32 if dtype is None else dtype
    # In the steps of NumPy's function, but out of memory that is asked for first.
    values = _C.arange(0, count, 1, dtype=_oneflow_internal.float64, device=device)
    start, end = float(start), float(end)
    if count > 1:
        step = (end - start) / (count - 1)
        if step == 0:  # too small for a number, unless the ends are equal
            values = values.div_(count - 1).mul_(end - start).add_(start)
        else:
            values = values.mul_(step).add_(start)
        values[-1] = end
    else:
        values = values.add_(start)
    return with_grad(values.to(dtype), requires_grad)


def eye(
    n: int,
    m: int | None = None,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Any:
    """The identity matrix: ones on the diagonal, zeros elsewhere.

    Args:
        n: rows
        m: columns; default `n`

    Returns:
        Tensor (n, m), float32 unless `dtype` says otherwise

    Raises:
        ValueError: a size is negative.
        OutOfMemoryError: there is not that much memory.

    Example:
        >>> import oneflow as flow
        >>> flow.eye(2)
        tensor([[1., 0.],
                [0., 1.]], dtype=oneflow.float32)
    """
    rows, columns = sizes_of("eye", (n, n if m is None else m))
    if rows < 0 or columns < 0:
        raise ValueError(f"[eye] expects sizes of at least 0, got ({rows}, {columns})")
    dtype = _oneflow_internal.float32 if dtype is None else dtype
    values = _C.zeros((rows, columns), dtype=dtype, device=device)
    ones = min(rows, columns)
    if ones > 0:
        values.view(rows * columns)[: ones * (columns + 1) : columns + 1] = 1
    return with_grad(values, requires_grad)


def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Any:
    """`data` as a tensor, without a copy where that is possible.

    Args:
        data: a Tensor, a NumPy array (whose memory is then shared), a number, or nested sequences

    Raises:
        TypeError, ValueError: it is nothing that `oneflow.tensor` takes.

    Example:
        >>> import numpy as np, oneflow as flow
        >>> array = np.zeros(2, dtype=np.float32)
        >>> shared = flow.as_tensor(array)
        >>> array[0] = 1
        >>> shared
        tensor([1., 0.], dtype=oneflow.float32)
    """
    if isinstance(data, np.ndarray):
        data = _oneflow_internal.from_numpy(data)
    if isinstance(data, Tensor):
        moved = data if device is None else data.to(device)
        return moved if dtype is None or moved.dtype == dtype else _C.cast(moved, dtype)
    return _oneflow_internal.tensor(data, dtype=dtype, device=device)
