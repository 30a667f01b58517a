"""Element types: their names, their NumPy counterparts, their limits."""

from __future__ import annotations

from typing import Any

import numpy as np

from oneflow import _oneflow_internal

_NAMES = (
    "bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64",
)  # fmt: skip
_SHORT_NAMES = {
    "char": "int8",
    "short": "int16",
    "int": "int32",
    "long": "int64",
    "half": "float16",
    "float": "float32",
    "double": "float64",
}


def _existing() -> dict[str, Any]:
    internal = vars(_oneflow_internal)
    return {
        name: internal[name]
        for name in _NAMES
        if isinstance(internal.get(name), _oneflow_internal.dtype)
    }


DTYPES: dict[str, Any] = _existing()
_TO_NUMPY = {dtype: np.dtype(name) for name, dtype in DTYPES.items() if name != "bfloat16"}
_FROM_NUMPY = {numpy_dtype: dtype for dtype, numpy_dtype in _TO_NUMPY.items()}


def names() -> dict[str, Any]:
    """Every dtype by its names, `float32` and `float` both; what `oneflow.<name>` is.

    Example:
        >>> from oneflow.framework.dtype import names
        >>> names()["float"]
        oneflow.float32
    """
    short = {short: DTYPES[full] for short, full in _SHORT_NAMES.items() if full in DTYPES}
    return {**DTYPES, **short}


def dtypes() -> list[Any]:
    """The dtypes that tensors can have.

    Example:
        >>> import oneflow as flow
        >>> flow.float32 in flow.dtypes()
        True
    """
    return list(DTYPES.values())


def convert_oneflow_dtype_to_numpy_dtype(dtype: Any) -> Any:
    """The NumPy scalar type whose elements are those of `dtype`.

    Args:
        dtype: an `oneflow.dtype`

    Raises:
        TypeError: not an `oneflow.dtype`, or NumPy has none like it (bfloat16).

    Example:
        >>> import oneflow as flow
        >>> flow.convert_oneflow_dtype_to_numpy_dtype(flow.float32).__name__
        'float32'
    """
    if dtype not in _TO_NUMPY:
        raise TypeError(f"[dtype] expects an oneflow.dtype that NumPy has too, got {dtype!r}")
    return _TO_NUMPY[dtype].type


def convert_numpy_dtype_to_oneflow_dtype(dtype: Any) -> Any:
    """The `oneflow.dtype` whose elements are those of a NumPy dtype.

    Args:
        dtype: anything that `numpy.dtype()` takes

    Raises:
        TypeError: tensors cannot have such elements (complex, strings, objects).

    Example:
        >>> import numpy as np, oneflow as flow
        >>> flow.convert_numpy_dtype_to_oneflow_dtype(np.int64)
        oneflow.int64
    """
    found = _FROM_NUMPY.get(np.dtype(dtype))
    if found is None:
        raise TypeError(f"[dtype] expects one of {sorted(DTYPES)}, got NumPy's {np.dtype(dtype)}")
    return found


def is_floating_point(input: Any) -> bool:
    """Whether a tensor's elements, or those of a dtype, are floating-point numbers.

    Example:
        >>> import oneflow as flow
        >>> flow.is_floating_point(flow.float64), flow.is_floating_point(flow.arange(3))
        (True, False)
    """
    dtype = input if isinstance(input, _oneflow_internal.dtype) else input.dtype
    return dtype in _FLOATING


_FLOATING = frozenset(
    DTYPES[name] for name in ("float16", "bfloat16", "float32", "float64") if name in DTYPES
)


class finfo:
    """The limits of a floating-point dtype, as `numpy.finfo` gives them; of bfloat16 too.

    Args:
        dtype: a floating-point `oneflow.dtype`; default float32

    Attributes: `bits`, `eps`, `max`, `min`, `tiny`, `smallest_normal`, `resolution`, and `dtype`,
    its name.

    Raises:
        TypeError: not a floating-point dtype.

    Example:
        >>> import oneflow as flow
        >>> flow.finfo(flow.float32).eps, flow.finfo(flow.bfloat16).eps
        (1.1920928955078125e-07, 0.0078125)
    """

    def __init__(self, dtype: Any = None) -> None:
        dtype = DTYPES["float32"] if dtype is None else dtype
        if dtype not in _FLOATING:
            raise TypeError(f"[finfo] expects a floating-point dtype, got {dtype!r}")
        if dtype == DTYPES["bfloat16"]:
            # What a float32 is without the last 16 of its bits.
            self.bits, self.eps, self.max = 16, 2.0**-7, (2.0 - 2.0**-7) * 2.0**127
            self.min, self.tiny, digits = -self.max, 2.0**-126, 2
        else:
            info = np.finfo(convert_oneflow_dtype_to_numpy_dtype(dtype))
            self.bits = int(info.bits)
            self.eps, self.max, self.min = float(info.eps), float(info.max), float(info.min)
            self.tiny, digits = float(info.tiny), int(info.precision)
        self.smallest_normal = self.tiny
        self.resolution = float(f"1e-{digits}")
        self.dtype = str(dtype).removeprefix("oneflow.")

    def __repr__(self) -> str:
        return f"finfo(dtype={self.dtype}, eps={self.eps}, max={self.max}, min={self.min})"


class iinfo:
    """The limits of an integer dtype.

    Args:
        dtype: an integer `oneflow.dtype`

    Attributes: `bits`, `max`, `min`, `dtype` (its name).

    Raises:
        TypeError: not an integer dtype.

    Example:
        >>> import oneflow as flow
        >>> flow.iinfo(flow.int64).max
        9223372036854775807
    """

    def __init__(self, dtype: Any) -> None:
        numpy_dtype = _TO_NUMPY.get(dtype)
        if numpy_dtype is None or numpy_dtype.kind not in "iu":
            raise TypeError(f"[iinfo] expects an integer dtype, got {dtype!r}")
        info = np.iinfo(numpy_dtype)
        self.bits, self.max, self.min = int(info.bits), int(info.max), int(info.min)
        self.dtype = str(info.dtype)

    def __repr__(self) -> str:
        return f"iinfo(dtype={self.dtype}, max={self.max}, min={self.min})"
