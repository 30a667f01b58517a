"""Tensor's methods that say what a tensor is, and those that fill it by a scheme of `nn.init`."""

from __future__ import annotations

from typing import Any

from oneflow import _oneflow_internal

_C = _oneflow_internal._C
Tensor = _oneflow_internal.Tensor


def contains(self: Any, element: Any) -> bool:
    """What `element in tensor` is: whether some element equals it.

    Raises:
        TypeError: `element` is neither a tensor nor a number.

    Example:
        >>> import oneflow as flow
        >>> 2 in flow.tensor([1, 2]), 3 in flow.tensor([1, 2])
        (True, False)
    """
    if not isinstance(element, (Tensor, bool, int, float)) and not hasattr(element, "dtype"):
        kind = type(element).__name__
        raise TypeError(f"[contains] expects a tensor or a number, got {kind}")
    return bool((self == element).any().item())


def get_device(self: Any) -> int:
    """The index of the GPU that the tensor lies on.

    Raises:
        RuntimeError: it lies in host memory.

    Example:
        >>> import oneflow as flow
        >>> try:
        ...     flow.ones(1).get_device()
        ... except RuntimeError as error:
        ...     print(error)
        [get_device] expects a tensor on a GPU, got one on cpu:0
    """
    if self.device.type != "cuda":
        raise RuntimeError(f"[get_device] expects a tensor on a GPU, got one on {self.device}")
    return int(self.device.index)


def ndimension(self: Any) -> int:
    """The number of dimensions; the same as `dim()`.

    Example:
        >>> import oneflow as flow
        >>> flow.ones(2, 3).ndimension()
        2
    """
    return int(self.ndim)


def to_numpy(self: Any) -> Any:
    """The same as `numpy()`.

    Example:
        >>> import oneflow as flow
        >>> flow.ones(2).to_numpy().tolist()
        [1.0, 1.0]
    """
    return self.numpy()


def pin_memory(self: Any) -> Any:
    """The tensor in memory that a GPU can copy from directly; without a GPU, itself.

    Example:
        >>> import oneflow as flow
        >>> flow.ones(2).pin_memory().tolist()
        [1.0, 1.0]
    """
    return self


def is_pinned(self: Any) -> bool:
    """Whether the tensor lies in memory that `pin_memory` gives: never, without a GPU.

    Example:
        >>> import oneflow as flow
        >>> flow.ones(2).is_pinned()
        False
    """
    return False


def is_lazy(self: Any) -> bool:
    """Whether it was made in the `build` of a graph: it has no value."""
    return bool(_oneflow_internal.graph.is_lazy(self))


def contiguous_(self: Any) -> Any:
    """Makes the tensor itself contiguous: a copy of its elements takes their place.

    Raises:
        RuntimeError: the tensor has a history, which would not fit its new memory.

    Example:
        >>> import oneflow as flow
        >>> x = flow.ones(2, 3).t()
        >>> x.contiguous_().is_contiguous(), x.is_contiguous()
        (True, True)
    """
    if not self.is_contiguous():
        self.data = _C.copy(self.detach())
    return self


def setstate(self: Any, state: dict[str, Any]) -> None:
    """What `pickle` calls for the attributes that a program gave a tensor."""
    self.__dict__.update(state)


def _by_init(name: str) -> Any:
    def fill(self: Any, *args: Any, **kwargs: Any) -> Any:
        from oneflow.nn import init

        return getattr(init, name)(self, *args, **kwargs)

    fill.__name__ = name
    fill.__doc__ = f"The same as `oneflow.nn.init.{name}(tensor, ...)`."
    return fill


def methods() -> dict[str, Any]:
    """What Tensor gets of this module.

    Example:
        >>> from oneflow.framework.tensor_more import methods
        >>> "ndimension" in methods()
        True
    """
    by_init = ("kaiming_normal_", "kaiming_uniform_", "orthogonal_", "trunc_normal_",
               "xavier_normal_", "xavier_uniform_")  # fmt: skip
    return {
        "__contains__": contains,
        "__setstate__": setstate,
        "get_device": get_device,
        "ndimension": ndimension,
        "to_numpy": to_numpy,
        "pin_memory": pin_memory,
        "is_pinned": is_pinned,
        "contiguous_": contiguous_,
        "is_lazy": property(is_lazy, doc="Whether it has no value yet, in a graph."),
        "is_eager": property(
            lambda self: not is_lazy(self), doc="Whether it is computed as it is asked for."
        ),
        **{name: _by_init(name) for name in by_init},
    }
