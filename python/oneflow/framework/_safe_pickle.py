"""Reads pickles of checkpoints without running their code.

A pickle names functions and classes, and calls them. Here a name stands for one of a short list of
stand-ins below, or the file is refused: nothing is imported, and nothing else is called.
"""

from __future__ import annotations

import io
import pickle
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO

import numpy as np

from oneflow import _oneflow_internal
from oneflow.framework._checkpoint_format import CheckpointError

Names = Mapping[tuple[str, str], Any]

_NUMPY_KINDS = "biuf"


class SafeUnpickler(pickle.Unpickler):
    """An unpickler that knows the given names, those of plain containers and NumPy's arrays."""

    def __init__(
        self, stream: BinaryIO, names: Names, persistent: Callable[[Any], Any] | None = None
    ) -> None:
        super().__init__(stream, encoding="utf-8")
        self._names = {**_COMMON, **names}
        self._persistent = persistent

    def find_class(self, module: str, name: str) -> Any:
        """What a name stands for."""
        found = self._names.get((module, name))
        if found is None:
            raise CheckpointError(
                f"it names {module[:100]}.{name[:100]}, which would have to run code of the file; "
                "tensors, numbers, strings and plain containers are read"
            )
        return found

    def persistent_load(self, pid: Any) -> Any:
        """What an object outside the pickle stands for."""
        if self._persistent is None:
            raise CheckpointError("it refers to objects outside itself")
        return self._persistent(pid)


def loads(data: bytes, names: Names, persistent: Callable[[Any], Any] | None = None) -> Any:
    """The object in a pickle. CheckpointError for whatever is wrong with it."""
    return load(io.BytesIO(data), names, persistent)


def load(stream: BinaryIO, names: Names, persistent: Callable[[Any], Any] | None = None) -> Any:
    """The next object of a stream of pickles."""
    try:
        return SafeUnpickler(stream, names, persistent).load()
    except (CheckpointError, MemoryError):
        raise
    except Exception as error:  # a damaged pickle raises nearly anything
        raise CheckpointError(f"its pickle is damaged: {type(error).__name__}: {error}") from error


class _Array:
    """numpy.ndarray while it is being read: `_reconstruct` makes it, its state fills it."""

    def __init__(self) -> None:
        self.value: np.ndarray[Any, Any] | None = None

    def __setstate__(self, state: Any) -> None:
        _, shape, dtype, fortran, data = state
        if not isinstance(data, bytes) or not isinstance(dtype, _Dtype):
            raise CheckpointError("it has an array of objects")
        array = np.frombuffer(data, dtype.value)
        self.value = array.reshape(shape, order="F" if fortran else "C").copy()


class _Dtype:
    """numpy.dtype of plain numbers."""

    def __init__(self, name: Any, *_: Any) -> None:
        self.value = np.dtype(name) if isinstance(name, str) and len(name) < 8 else np.dtype(object)
        if self.value.kind not in _NUMPY_KINDS:
            raise CheckpointError(f"it has an array of the dtype {str(name)[:100]!r}")

    def __setstate__(self, state: Any) -> None:
        if isinstance(state, tuple) and len(state) > 1 and state[1] in ("<", ">"):
            self.value = self.value.newbyteorder(state[1])


def _reconstruct(*_: Any) -> _Array:
    return _Array()


def _scalar(dtype: Any, data: Any) -> Any:
    if not isinstance(dtype, _Dtype) or not isinstance(data, bytes):
        raise CheckpointError("it has a NumPy scalar of an object")
    return np.frombuffer(data, dtype.value)[0]


def _latin1(text: Any, encoding: Any) -> bytes:
    if not isinstance(text, str) or encoding != "latin1":
        raise CheckpointError("it has bytes in an unknown encoding")
    return text.encode("latin1")


_COMMON: dict[tuple[str, str], Any] = {
    ("collections", "OrderedDict"): OrderedDict,
    ("collections", "defaultdict"): lambda *_: {},
    # Protocol 2 says __builtin__, as Python 2 did.
    **{
        (module, kind.__name__): kind
        for module in ("builtins", "__builtin__")
        for kind in (set, list, dict, complex)
    },
    ("_codecs", "encode"): _latin1,
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): _Dtype,
    **{(f"numpy.{core}.multiarray", "_reconstruct"): _reconstruct for core in ("core", "_core")},
    **{(f"numpy.{core}.multiarray", "scalar"): _scalar for core in ("core", "_core")},
}


def finished(obj: Any, convert: Callable[[Any], Any], depth: int = 0) -> Any:
    """The object with its stand-ins replaced: arrays by themselves, the rest by `convert`."""
    if depth > 100:
        raise CheckpointError("it is nested deeper than 100 levels")
    if isinstance(obj, _Array):
        if obj.value is None:
            raise CheckpointError("it has an array without elements")
        return obj.value
    if isinstance(obj, OrderedDict):
        made = OrderedDict((key, finished(value, convert, depth + 1)) for key, value in obj.items())
        for name, value in vars(obj).items():  # `_metadata` of a state_dict
            setattr(made, name, finished(value, convert, depth + 1))
        return made
    if isinstance(obj, dict):
        return {key: finished(value, convert, depth + 1) for key, value in obj.items()}
    if isinstance(obj, (list, set)):
        return type(obj)(finished(item, convert, depth + 1) for item in obj)
    if type(obj) is tuple:
        return tuple(finished(item, convert, depth + 1) for item in obj)
    if isinstance(obj, (_Dtype, type)) or callable(obj):
        raise CheckpointError(f"it has a {type(obj).__name__}, which is no value")
    return convert(obj)


def size_of(numbers: Any) -> Any:
    """A Size of whole numbers."""
    if not all(type(n) is int for n in numbers):
        raise CheckpointError("a size has something else than whole numbers")
    return _oneflow_internal.Size(list(numbers))
