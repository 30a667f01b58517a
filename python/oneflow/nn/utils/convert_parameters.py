"""Parameters as one vector, and modules whose parameters are left as they come."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from oneflow import _oneflow_internal

_C = _oneflow_internal._C
Tensor = _oneflow_internal.Tensor


def _checked(caller: str, parameters: Any) -> list[Any]:
    if isinstance(parameters, Tensor) or not isinstance(parameters, Iterable):
        raise TypeError(f"[{caller}] expects an iterable, got {type(parameters).__name__}")
    found = list(parameters)
    for parameter in found:
        if not isinstance(parameter, Tensor):
            raise TypeError(f"[{caller}] expects tensors, got {type(parameter).__name__}")
    return found


def parameters_to_vector(parameters: Iterable[Any]) -> Any:
    """The elements of several tensors, one after the other.

    Args:
        parameters: an iterable of tensors

    Returns:
        Tensor (elements,)

    Raises:
        TypeError: it holds something that is no Tensor.
        ValueError: it holds none.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.utils.parameters_to_vector([flow.ones(1, 2), flow.zeros(1)])
        tensor([1., 1., 0.], dtype=oneflow.float32)
    """
    flat = [_C.reshape(p, (-1,)) for p in _checked("parameters_to_vector", parameters)]
    if not flat:
        raise ValueError("[parameters_to_vector] expects at least one tensor, got none")
    return _C.cat(flat, 0)


def vector_to_parameters(vector: Any, parameters: Iterable[Any]) -> None:
    """Makes each tensor a view of its part of a vector: the reverse of `parameters_to_vector`.

    Args:
        vector: Tensor (elements,)
        parameters: an iterable of tensors, whose data is replaced

    Raises:
        TypeError: no Tensor.
        ValueError: the vector has not as many elements as they have together.

    Example:
        >>> import oneflow as flow
        >>> w = flow.nn.Parameter(flow.zeros(1, 2))
        >>> flow.nn.utils.vector_to_parameters(flow.tensor([1.0, 2.0]), [w])
        >>> w.detach()
        tensor([[1., 2.]], dtype=oneflow.float32)
    """
    if not isinstance(vector, Tensor):
        raise TypeError(f"[vector_to_parameters] expects a Tensor, got {type(vector).__name__}")
    found = _checked("vector_to_parameters", parameters)
    wanted = sum(parameter.numel() for parameter in found)
    if tuple(vector.shape) != (wanted,):
        raise ValueError(
            f"[vector_to_parameters] expects a vector of {wanted} elements, "
            f"got shape {tuple(vector.shape)}"
        )
    begin = 0
    for parameter in found:
        count = parameter.numel()
        part = _C.narrow(vector.detach(), 0, begin, count)
        parameter.data = _C.view(part, tuple(parameter.shape))
        begin += count


def skip_init(module_cls: Any, *args: Any, **kwargs: Any) -> Any:
    """A module as its class makes it, for parameters that will be overwritten anyway.

    Args:
        module_cls: the class; args and kwargs are its

    Returns:
        the module; it is made on the device that is asked for at once, so nothing is saved

    Example:
        >>> import oneflow as flow
        >>> flow.nn.utils.skip_init(flow.nn.Linear, 2, 3)
        Linear(in_features=2, out_features=3, bias=True)
    """
    return module_cls(*args, **kwargs)
