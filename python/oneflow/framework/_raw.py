"""Elements as bytes: tensors of every dtype to and from NumPy arrays that can be written to disk.

NumPy has no bfloat16: its elements are the upper halves of float32's, as uint16.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from oneflow import _oneflow_internal
from oneflow.framework.dtype import DTYPES

# How NumPy spells the element types on disk.
DISK_DTYPES: dict[str, np.dtype[Any]] = {
    name: np.dtype(name).newbyteorder("<")
    for name in (
        "bool",
        "uint8",
        "int8",
        "int16",
        "int32",
        "int64",
        "float16",
        "float32",
        "float64",
    )
    if name in DTYPES
}
DISK_DTYPES["bfloat16"] = np.dtype("<u2")


def dtype_name(dtype: Any) -> str:
    """The name of a dtype of NumPy or oneflow, without its byte order or package."""
    if isinstance(dtype, np.dtype):
        return dtype.newbyteorder("=").name
    return str(dtype).removeprefix("oneflow.")


def tensor_of(array: np.ndarray[Any, Any], name: str, device: Any = None) -> Any:
    """A tensor of elements as they are on disk; `name` is that of their dtype."""
    if name != "bfloat16":
        native = array.astype(array.dtype.newbyteorder("="), copy=False)
        return _oneflow_internal.tensor(native, device=device)
    wide = (array.astype(np.uint32) << np.uint32(16)).view(np.float32)
    return _oneflow_internal.tensor(wide, dtype=DTYPES["bfloat16"], device=device)


def array_of(tensor: Any) -> np.ndarray[Any, Any]:
    """A tensor's elements as they are on disk, dense."""
    name = dtype_name(tensor.dtype)
    detached = tensor.detach().cpu()
    if name == "bfloat16":
        wide = _oneflow_internal._C.cast(detached, DTYPES["float32"]).numpy()
        return (np.array(wide, order="C").view(np.uint32) >> np.uint32(16)).astype("<u2")
    # A copy: a tensor's own memory would count as shared with NumPy ever after.
    array = _oneflow_internal._C.copy(detached).numpy()
    return np.asarray(array, DISK_DTYPES[name], order="C")
