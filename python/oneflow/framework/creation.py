"""Tensors from sizes and data: constants, ranges.

Each takes `size` as ints or as one sequence, and the same keywords:

* dtype: default `oneflow.get_default_dtype()`, float32 at first, or as the arguments say
* device: default the CPU
* requires_grad: whether autograd records what is done with the tensor; default False
* placement, sbp: for a global tensor, in place of device; see `framework.global_tensor`
"""

from __future__ import annotations

from typing import Any

import numpy as np

from oneflow import _oneflow_internal

_C = _oneflow_internal._C
Tensor = _oneflow_internal.Tensor
# What needs no look inside: sizes, or ints.
_INTS = frozenset((int,))
_SIZES = frozenset((int, _oneflow_internal.Size))


def sizes_of(caller: str, size: tuple[Any, ...]) -> tuple[int, ...]:
    """The size that `f(2, 3)` or `f((2, 3))` asks for; TypeError in the name of `caller`."""
    if len(size) == 1 and isinstance(size[0], (tuple, list)):
        size = tuple(size[0])
    if _INTS.issuperset(map(type, size)):
        return size
    for value in size:
        if isinstance(value, (bool, float)) or not hasattr(value, "__index__"):
            raise TypeError(f"[{caller}] expects a size of integers, got {value!r} in {size!r}")
    return tuple(value.__index__() for value in size)


def with_grad(tensor: Any, requires_grad: bool) -> Any:
    """The tensor, with `requires_grad` set where asked for."""
    if requires_grad:
        tensor.requires_grad = True
    return tensor


def placed(tensor: Any, requires_grad: bool, placement: Any, sbp: Any) -> Any:
    """The tensor as the keywords that creators share want it."""
    if placement is not None or sbp is not None:
        from oneflow.framework.global_tensor import made_global

        tensor = made_global(tensor, placement, sbp)
    if requires_grad:
        tensor.requires_grad = True
    return tensor


def beside(other: Any, placement: Any, sbp: Any) -> tuple[Any, Any]:
    """(placement, sbp), those of `other` where not given: (None, None) where it is local.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.framework.creation import beside
        >>> beside(flow.ones(1), None, None)
        (None, None)
    """
    if placement is None and other.is_global:
        return other.placement, other.sbp if sbp is None else sbp
    return placement, sbp


def empty(
    *size: Any,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    placement: Any = None,
    sbp: Any = None,
) -> Any:
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
    if len(size) == 1 and type(size[0]) in _SIZES:
        made = _C.empty(size[0], dtype=dtype, device=device)
    elif size and _INTS.issuperset(map(type, size)):
        made = _C.empty(*size, dtype=dtype, device=device)
    else:
        made = _C.empty(sizes_of("empty", size), dtype=dtype, device=device)
    if requires_grad or placement is not None or sbp is not None:
        return placed(made, requires_grad, placement, sbp)
    return made


def full(
    size: Any,
    fill_value: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    placement: Any = None,
    sbp: Any = None,
) -> Any:
    """A tensor filled with one value.

    Args:
        size: an int or a sequence of ints
        fill_value: the number, or a tensor of one element; where no dtype is given, its type says
            it: bool, int64 or the default dtype

    Raises:
        TypeError: a size is not an int, or the value is no number.
        RuntimeError: the value is a tensor of several elements.
        OutOfMemoryError: there is not that much memory.

    Example:
        >>> import oneflow as flow
        >>> flow.full((2,), 1.5)
        tensor([1.5000, 1.5000], dtype=oneflow.float32)
    """
    sizes = size if type(size) in _SIZES else sizes_of("full", (size,))
    if isinstance(fill_value, Tensor):
        dtype = fill_value.dtype if dtype is None else dtype
        if fill_value.numel() != 1:
            raise RuntimeError(
                f"[full] expects a value of one element, got shape {tuple(fill_value.shape)}"
            )
        fill_value = fill_value.item()
    made = _C.full(sizes, fill_value, dtype=dtype, device=device)
    if requires_grad or placement is not None or sbp is not None:
        return placed(made, requires_grad, placement, sbp)
    return made


def zeros(
    *size: Any,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    placement: Any = None,
    sbp: Any = None,
) -> Any:
    """A tensor of zeros; see `full`.

    Example:
        >>> import oneflow as flow
        >>> flow.zeros(2, 2)
        tensor([[0., 0.],
                [0., 0.]], dtype=oneflow.float32)
    """
    if len(size) == 1 and type(size[0]) in _SIZES:
        made = _C.zeros(size[0], dtype=dtype, device=device)
    elif size and _INTS.issuperset(map(type, size)):
        made = _C.zeros(*size, dtype=dtype, device=device)
    else:
        made = _C.zeros(sizes_of("zeros", size), dtype=dtype, device=device)
    if requires_grad or placement is not None or sbp is not None:
        return placed(made, requires_grad, placement, sbp)
    return made


def ones(
    *size: Any,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    placement: Any = None,
    sbp: Any = None,
) -> Any:
    """A tensor of ones; see `full`.

    Example:
        >>> import oneflow as flow
        >>> flow.ones(3)
        tensor([1., 1., 1.], dtype=oneflow.float32)
    """
    if len(size) == 1 and type(size[0]) in _SIZES:
        made = _C.ones(size[0], dtype=dtype, device=device)
    elif size and _INTS.issuperset(map(type, size)):
        made = _C.ones(*size, dtype=dtype, device=device)
    else:
        made = _C.ones(sizes_of("ones", size), dtype=dtype, device=device)
    if requires_grad or placement is not None or sbp is not None:
        return placed(made, requires_grad, placement, sbp)
    return made


def like(caller: str, other: Any, dtype: Any, device: Any) -> tuple[Any, Any, Any]:
    """(size, dtype, device), those of `other` where not given."""
    if not isinstance(other, Tensor):
        raise TypeError(f"[{caller}] expects a Tensor, got {type(other).__name__}")
    dtype = other.dtype if dtype is None else dtype
    return tuple(other.shape), dtype, other.device if device is None else device


def empty_like(
    other: Any,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    placement: Any = None,
    sbp: Any = None,
) -> Any:
    """`empty` with the size, and unless given the dtype and device, of `other`.

    Example:
        >>> import oneflow as flow
        >>> flow.empty_like(flow.arange(3)).dtype
        oneflow.int64
    """
    size, dtype, device = like("empty_like", other, dtype, device)
    made = _C.empty(size, dtype=dtype, device=device)
    return placed(made, requires_grad, *beside(other, placement, sbp))


def full_like(
    other: Any,
    fill_value: Any,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    placement: Any = None,
    sbp: Any = None,
) -> Any:
    """`full` with the size, and unless given the dtype and device, of `other`.

    Example:
        >>> import oneflow as flow
        >>> flow.full_like(flow.zeros(2), 3)
        tensor([3., 3.], dtype=oneflow.float32)
    """
    _, dtype, device = like("full_like", other, dtype, device)
    made = _C.full_like(other, fill_value, dtype=dtype, device=device)
    return placed(made, requires_grad, *beside(other, placement, sbp))


def zeros_like(
    other: Any,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    placement: Any = None,
    sbp: Any = None,
) -> Any:
    """`zeros` with the size, and unless given the dtype and device, of `other`.

    Example:
        >>> import oneflow as flow
        >>> flow.zeros_like(flow.ones(2))
        tensor([0., 0.], dtype=oneflow.float32)
    """
    made = _C.zeros_like(other, dtype=dtype, device=device)
    if requires_grad or placement is not None or sbp is not None:
        return placed(made, requires_grad, placement, sbp)
    return made


def ones_like(
    other: Any,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    placement: Any = None,
    sbp: Any = None,
) -> Any:
    """`ones` with the size, and unless given the dtype and device, of `other`.

    Example:
        >>> import oneflow as flow
        >>> flow.ones_like(flow.arange(2))
        tensor([1, 1], dtype=oneflow.int64)
    """
    made = _C.ones_like(other, dtype=dtype, device=device)
    if requires_grad or placement is not None or sbp is not None:
        return placed(made, requires_grad, placement, sbp)
    return made


def _new(caller: str, other: Any, size: Any) -> tuple[int, ...]:
    if not isinstance(other, Tensor):
        raise TypeError(f"[{caller}] expects a Tensor, got {type(other).__name__}")
    return tuple(other.shape) if size is None else sizes_of(caller, (size,))


def new_empty(
    x: Any,
    size: Any = None,
    dtype: Any = None,
    device: Any = None,
    placement: Any = None,
    sbp: Any = None,
    requires_grad: bool = False,
) -> Any:
    """`empty` with the dtype and device, and without `size` the size, of a tensor.

    Example:
        >>> import oneflow as flow
        >>> flow.new_empty(flow.arange(3), (2, 2)).dtype
        oneflow.int64
    """
    sizes = _new("new_empty", x, size)
    _, dtype, device = like("new_empty", x, dtype, device)
    made = _C.empty(sizes, dtype=dtype, device=device)
    return placed(made, requires_grad, *beside(x, placement, sbp))


def new_full(
    x: Any,
    size: Any,
    fill_value: Any,
    dtype: Any = None,
    device: Any = None,
    placement: Any = None,
    sbp: Any = None,
    requires_grad: bool = False,
) -> Any:
    """`full` with the dtype and device of a tensor.

    Example:
        >>> import oneflow as flow
        >>> flow.new_full(flow.zeros(1), (2,), 3)
        tensor([3., 3.], dtype=oneflow.float32)
    """
    sizes = _new("new_full", x, size)
    _, dtype, device = like("new_full", x, dtype, device)
    placement, sbp = beside(x, placement, sbp)
    return full(sizes, fill_value, dtype=dtype, device=device, requires_grad=requires_grad,
                placement=placement, sbp=sbp)  # fmt: skip


def new_ones(
    x: Any,
    size: Any = None,
    dtype: Any = None,
    device: Any = None,
    placement: Any = None,
    sbp: Any = None,
    requires_grad: bool = False,
) -> Any:
    """`ones` with the dtype and device, and without `size` the size, of a tensor.

    Example:
        >>> import oneflow as flow
        >>> flow.new_ones(flow.arange(3), (2,))
        tensor([1, 1], dtype=oneflow.int64)
    """
    sizes = _new("new_ones", x, size)
    _, dtype, device = like("new_ones", x, dtype, device)
    made = _C.ones(sizes, dtype=dtype, device=device)
    return placed(made, requires_grad, *beside(x, placement, sbp))


def new_zeros(
    x: Any,
    size: Any = None,
    dtype: Any = None,
    device: Any = None,
    placement: Any = None,
    sbp: Any = None,
    requires_grad: bool = False,
) -> Any:
    """`zeros` with the dtype and device, and without `size` the size, of a tensor.

    Example:
        >>> import oneflow as flow
        >>> flow.new_zeros(flow.arange(3))
        tensor([0, 0, 0], dtype=oneflow.int64)
    """
    sizes = _new("new_zeros", x, size)
    _, dtype, device = like("new_zeros", x, dtype, device)
    made = _C.zeros(sizes, dtype=dtype, device=device)
    return placed(made, requires_grad, *beside(x, placement, sbp))


def zero_(input: Any) -> Any:
    """Sets all elements of a tensor to zero, in place.

    Raises:
        RuntimeError: the tensor is a leaf that requires grad.

    Example:
        >>> import oneflow as flow
        >>> flow.zero_(flow.ones(2))
        tensor([0., 0.], dtype=oneflow.float32)
    """
    return _C.zero_(input)


def arange(
    start: Any,
    end: Any = None,
    step: Any = 1,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    placement: Any = None,
    sbp: Any = None,
) -> Any:
    """The numbers from `start` on, `step` apart, before `end`; `arange(end)` starts at 0.

    Returns:
        Tensor (ceil((end - start) / step),); int64 if every argument is an int, else the default
        dtype

    Raises:
        ValueError: `step` is 0, or leads away from `end`.

    Example:
        >>> import oneflow as flow
        >>> flow.arange(1, 8, 3)
        tensor([1, 4, 7], dtype=oneflow.int64)
    """
    if end is None:
        start, end = 0, start
    made = _C.arange(start, end, step, dtype=dtype, device=device)
    if requires_grad or placement is not None or sbp is not None:
        return placed(made, requires_grad, placement, sbp)
    return made


def linspace(
    start: float,
    end: float,
    steps: int,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    placement: Any = None,
    sbp: Any = None,
) -> Any:
    """`steps` numbers from `start` to `end`, both included, at equal distances.

    Returns:
        Tensor (steps,), of the default dtype unless `dtype` says otherwise

    Raises:
        ValueError: `steps` is negative.
        OutOfMemoryError: there is not that much memory.

    Example:
        >>> import oneflow as flow
        >>> flow.linspace(0, 1, 3)
        tensor([0.0000, 0.5000, 1.0000], dtype=oneflow.float32)
    """
    (count,) = sizes_of("linspace", (steps,))
    made = _C.linspace(float(start), float(end), count, dtype=dtype, device=device)
    return placed(made, requires_grad, placement, sbp)


def logspace(
    start: float,
    end: float,
    steps: int,
    base: float = 10.0,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    placement: Any = None,
    sbp: Any = None,
) -> Any:
    """`base` to the power of each of `linspace(start, end, steps)`.

    Returns:
        Tensor (steps,), of the default dtype unless `dtype` says otherwise

    Raises:
        ValueError: `steps` is negative.

    Example:
        >>> import oneflow as flow
        >>> flow.logspace(0, 2, 3)
        tensor([  1.,  10., 100.], dtype=oneflow.float32)
    """
    (count,) = sizes_of("logspace", (steps,))
    made = _C.logspace(float(start), float(end), count, float(base), dtype=dtype, device=device)
    return placed(made, requires_grad, placement, sbp)


def eye(
    n: int,
    m: int | None = None,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    placement: Any = None,
    sbp: Any = None,
) -> Any:
    """The identity matrix: ones on the diagonal, zeros elsewhere.

    Args:
        n: rows
        m: columns; default `n`

    Returns:
        Tensor (n, m), of the default dtype unless `dtype` says otherwise

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
    made = _C.eye(rows, columns, dtype=dtype, device=device)
    if requires_grad or placement is not None or sbp is not None:
        return placed(made, requires_grad, placement, sbp)
    return made


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
