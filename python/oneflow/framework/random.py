"""Tensors of random numbers.

Each takes `size` as ints or as one sequence, a `generator` (default the default generator), and the
keywords of `creation`.
"""

from __future__ import annotations

from typing import Any

from oneflow import _oneflow_internal
from oneflow.framework._out import check_out
from oneflow.framework.creation import _SIZES, beside, like, placed, sizes_of

_C = _oneflow_internal._C


def _size(caller: str, size: tuple[Any, ...], also: dict[str, Any]) -> tuple[Any, ...]:
    """The size, which may be given by keyword, too."""
    if not also:
        return size
    other = set(also) - {"size"}
    if other or size:
        raise TypeError(f"[{caller}] got an unexpected keyword {min(other or also)!r}")
    return (also["size"],)


def rand(
    *size: Any,
    generator: Any = None,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    placement: Any = None,
    sbp: Any = None,
    **also: Any,
) -> Any:
    """Random numbers, uniform in [0, 1).

    Args:
        generator: an `oneflow.Generator`; default the default generator

    Raises:
        NotImplementedError: `dtype` is no floating-point dtype.

    Example:
        >>> import oneflow as flow
        >>> x = flow.rand(100)
        >>> bool(x.numpy().min() >= 0), bool(x.numpy().max() < 1)
        (True, True)
    """
    if len(size) == 1 and type(size[0]) in _SIZES and not also:
        sizes = size[0]
    else:
        sizes = sizes_of("rand", _size("rand", size, also) if also else size)
    made = _C.rand(sizes, dtype=dtype, device=device, generator=generator)
    if requires_grad or placement is not None or sbp is not None:
        return placed(made, requires_grad, placement, sbp)
    return made


def randn(
    *size: Any,
    generator: Any = None,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    placement: Any = None,
    sbp: Any = None,
    **also: Any,
) -> Any:
    """Random numbers of the standard normal distribution.

    Args:
        generator: an `oneflow.Generator`; default the default generator

    Raises:
        NotImplementedError: `dtype` is no floating-point dtype.

    Example:
        >>> import oneflow as flow
        >>> flow.randn(2, 3).shape
        oneflow.Size([2, 3])
    """
    if len(size) == 1 and type(size[0]) in _SIZES and not also:
        sizes = size[0]
    else:
        sizes = sizes_of("randn", _size("randn", size, also) if also else size)
    made = _C.randn(sizes, dtype=dtype, device=device, generator=generator)
    if requires_grad or placement is not None or sbp is not None:
        return placed(made, requires_grad, placement, sbp)
    return made


def rand_like(
    other: Any,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    generator: Any = None,
) -> Any:
    """`rand` with the size, and unless given the dtype and device, of `other`.

    Example:
        >>> import oneflow as flow
        >>> flow.rand_like(flow.zeros(2, 3)).shape
        oneflow.Size([2, 3])
    """
    size, dtype, device = like("rand_like", other, dtype, device)
    made = _C.rand(size, dtype=dtype, device=device, generator=generator)
    return placed(made, requires_grad, *beside(other, None, None))


def randn_like(
    other: Any,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    generator: Any = None,
    placement: Any = None,
    sbp: Any = None,
) -> Any:
    """`randn` with the size, and unless given the dtype and device, of `other`.

    Example:
        >>> import oneflow as flow
        >>> flow.randn_like(flow.zeros(2, 3)).shape
        oneflow.Size([2, 3])
    """
    size, dtype, device = like("randn_like", other, dtype, device)
    made = _C.randn(size, dtype=dtype, device=device, generator=generator)
    return placed(made, requires_grad, *beside(other, placement, sbp))


def normal(
    mean: float,
    std: float,
    *size: Any,
    out: Any = None,
    generator: Any = None,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    placement: Any = None,
    sbp: Any = None,
    **also: Any,
) -> Any:
    """Random numbers of a normal distribution.

    Args:
        mean, std: numbers; std is not negative
        out: a tensor of the size to draw into, in place of a new one

    Raises:
        TypeError: `out` is no tensor.
        RuntimeError: std is negative, or `out` is of another size, or not of `dtype` where both are
            given.

    Example:
        >>> import oneflow as flow
        >>> flow.normal(5.0, 0.0, size=(2,))
        tensor([5., 5.], dtype=oneflow.float32)
    """
    sizes = sizes_of("normal", _size("normal", size, also))
    if out is not None:
        check_out("normal", out, sizes, getattr(out, "dtype", None) if dtype is None else dtype)
        return _C.normal_(out, float(mean), float(std), generator=generator)
    made = _C.normal(
        float(mean), float(std), sizes, dtype=dtype, device=device, generator=generator
    )
    return placed(made, requires_grad, placement, sbp)


def randint(
    *args: Any,
    generator: Any = None,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    placement: Any = None,
    sbp: Any = None,
    **named: Any,
) -> Any:
    """Random integers, uniform in [low, high): `randint(low, high, size)`, `randint(high, size)`.

    Args:
        size: a sequence of ints
        generator: an `oneflow.Generator`; default the default generator

    Returns:
        Tensor of `size`, int64 unless `dtype` says otherwise

    Raises:
        RuntimeError: `high` is not above `low`.
        TypeError: an argument is no integer.

    Example:
        >>> import oneflow as flow
        >>> set(flow.randint(2, 4, (50,)).tolist()) == {2, 3}
        True
    """
    made = _C.randint(*args, dtype=dtype, device=device, generator=generator, **named)
    return placed(made, requires_grad, placement, sbp)


def randint_like(
    input: Any,
    low: int,
    high: int | None = None,
    *,
    generator: Any = None,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    placement: Any = None,
    sbp: Any = None,
) -> Any:
    """`randint` with the size, and unless given the device, of `input`.

    Example:
        >>> import oneflow as flow
        >>> flow.randint_like(flow.zeros(2), 3, 4)
        tensor([3, 3], dtype=oneflow.int64)
    """
    low, high = (0, low) if high is None else (low, high)
    made = _C.randint_like(input, low, high, dtype=dtype, device=device, generator=generator)
    return placed(made, requires_grad, placement, sbp)


def randperm(
    n: int,
    *,
    generator: Any = None,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    placement: Any = None,
    sbp: Any = None,
) -> Any:
    """The numbers 0 to n - 1 in random order.

    Args:
        generator: an `oneflow.Generator`; default the default generator

    Returns:
        Tensor (n,), int64 unless `dtype` says otherwise

    Raises:
        ValueError: `n` is negative, or 2**31 or more.

    Example:
        >>> import oneflow as flow
        >>> sorted(flow.randperm(4).tolist())
        [0, 1, 2, 3]
    """
    if type(n) is not int:
        (n,) = sizes_of("randperm", (n,))
    made = _C.randperm(n, generator=generator, dtype=dtype, device=device)
    if requires_grad or placement is not None or sbp is not None:
        return placed(made, requires_grad, placement, sbp)
    return made
