"""The old constructors, one for each dtype: `FloatTensor(2, 3)`, `LongTensor([1, 2])`.

They are also the names of types for `Tensor.type`, `set_default_tensor_type` and `isinstance`.
"""

from __future__ import annotations

from typing import Any

from oneflow import _oneflow_internal
from oneflow.framework.dtype import DTYPES

_C = _oneflow_internal._C
Tensor = _oneflow_internal.Tensor


class _TypeOfTensor(type):
    """Makes `isinstance(x, oneflow.FloatTensor)` ask for the dtype."""

    dtype: Any
    place: str  # type of device

    def __instancecheck__(cls, instance: Any) -> bool:
        same = isinstance(instance, Tensor) and instance.dtype == cls.dtype
        return same and instance.device.type == cls.place

    def __call__(cls, *args: Any, device: Any = None) -> Any:
        if len(args) == 1 and isinstance(args[0], Tensor):
            made = _C.cast(args[0], cls.dtype)
        elif len(args) == 1 and not isinstance(args[0], (int, _oneflow_internal.Size)):
            made = _oneflow_internal.tensor(args[0], dtype=cls.dtype)
        else:
            made = _C.cast(Tensor(*args), cls.dtype)
        return made.to(cls.place if device is None else device)


_NAMES = {
    "BoolTensor": "bool", "ByteTensor": "uint8", "CharTensor": "int8", "ShortTensor": "int16",
    "IntTensor": "int32", "LongTensor": "int64", "HalfTensor": "float16",
    "BFloat16Tensor": "bfloat16", "FloatTensor": "float32", "DoubleTensor": "float64",
}  # fmt: skip


def _make(name: str, dtype: Any, place: str = "cpu") -> Any:
    doc = f"""Makes tensors of {dtype}, of sizes or of data; float numbers are cut to integers.

    Example:
        >>> import oneflow as flow
        >>> flow.{name}(2, 3).dtype
        {dtype}
    """
    members = {"dtype": dtype, "place": place, "__doc__": doc, "__module__": "oneflow"}
    return _TypeOfTensor(name, (), members)


TYPES: dict[str, Any] = {
    name: _make(name, DTYPES[dtype]) for name, dtype in _NAMES.items() if dtype in DTYPES
}


# The same for tensors in a GPU's memory: `oneflow.cuda.FloatTensor` and so on.
CUDA_TYPES: dict[str, Any] = {name: _make(name, one.dtype, "cuda") for name, one in TYPES.items()}


def dtype_of_type(name: Any) -> Any:
    """The dtype that a type of tensor, or its name, stands for; None if it is none.

    Example:
        >>> from oneflow.framework.type_tensor import dtype_of_type
        >>> dtype_of_type("oneflow.LongTensor")
        oneflow.int64
    """
    if isinstance(name, str):
        name = TYPES.get(name.removeprefix("oneflow.").removeprefix("cuda."))
    return getattr(name, "dtype", None) if isinstance(name, _TypeOfTensor) else None


def set_default_tensor_type(tensor_type: Any) -> None:
    """Sets the default dtype by a type of tensor, or its name.

    Args:
        tensor_type: `oneflow.FloatTensor`, `"oneflow.DoubleTensor"` or the like

    Raises:
        TypeError: it is no type of tensor, or one of integers.

    Example:
        >>> import oneflow as flow
        >>> flow.set_default_tensor_type("oneflow.DoubleTensor")
        >>> flow.ones(1).dtype
        oneflow.float64
        >>> flow.set_default_tensor_type(flow.FloatTensor)
    """
    dtype = dtype_of_type(tensor_type)
    if dtype is None:
        raise TypeError(f"[set_default_tensor_type] expects a type of tensor, got {tensor_type!r}")
    set_default_dtype(dtype)


def set_default_dtype(dtype: Any) -> None:
    """Sets the dtype of floating-point tensors that are given none; float32 at first.

    Args:
        dtype: a floating-point `oneflow.dtype`

    Raises:
        TypeError: it is none.

    Example:
        >>> import oneflow as flow
        >>> flow.set_default_dtype(flow.float64)
        >>> flow.tensor([1.0]).dtype
        oneflow.float64
        >>> flow.set_default_dtype(flow.float32)
    """
    _oneflow_internal.set_default_dtype(dtype)


def get_default_dtype() -> Any:
    """The dtype of floating-point tensors that are given none.

    Example:
        >>> import oneflow as flow
        >>> flow.get_default_dtype()
        oneflow.float32
    """
    return _oneflow_internal.get_default_dtype()
