"""Writes the file that `_checkpoint_format` describes."""

from __future__ import annotations

import json
import math
import zipfile
from collections import OrderedDict
from typing import Any

import numpy as np

from oneflow import _oneflow_internal
from oneflow.framework._checkpoint_format import (
    CHUNK,
    FORMAT,
    INDEX,
    MAX_AXES,
    MAX_DEPTH,
    VERSION,
)
from oneflow.framework._raw import DISK_DTYPES, array_of, dtype_name
from oneflow.nn.parameter import Parameter

Size = _oneflow_internal.Size
Tensor = _oneflow_internal.Tensor

_DATE = (1980, 1, 1, 0, 0, 0)  # the same object gives the same bytes


class Encoder:
    """Turns one object into the index and its arrays. Used once, by one thread."""

    def __init__(self) -> None:
        self.arrays: list[Any] = []  # NumPy arrays, and tensors that are copied when written
        self._array_entries: list[dict[str, Any]] = []
        self._tensors: list[dict[str, Any]] = []
        # By id; the object is kept too, so that its id is not given to another.
        self._numbers: dict[int, tuple[int, Any]] = {}

    def index(self, obj: Any) -> bytes:
        """The index; afterwards `arrays` has the arrays in the order of their numbers."""
        root = self._value(obj, "the object", 0)
        index = {
            "format": FORMAT,
            "version": VERSION,
            "arrays": self._array_entries,
            "tensors": self._tensors,
            "root": root,
        }
        return json.dumps(index, separators=(",", ":"), allow_nan=False).encode()

    def _value(self, obj: Any, where: str, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise ValueError(
                f"[save] expects at most {MAX_DEPTH} levels, got more at {where[:200]}; does the "
                "object contain itself?"
            )
        if obj is None or obj is True or obj is False:
            return obj
        if isinstance(obj, Tensor):
            return {"tensor": self._tensor(obj, where)}
        if isinstance(obj, (np.ndarray, np.generic)):
            kind = "array" if isinstance(obj, np.ndarray) else "scalar"
            return {kind: self._array(np.asarray(obj), where)}
        if isinstance(obj, (dict, list, tuple)):
            return self._container(obj, where, depth)
        return self._plain(obj, where)

    def _container(self, obj: Any, where: str, depth: int) -> Any:
        if isinstance(obj, dict):
            pairs = [
                [
                    self._value(key, f"a key of {where}", depth + 1),
                    self._value(value, f"{where}[{key!r}]", depth + 1),
                ]
                for key, value in obj.items()
            ]
            if not isinstance(obj, OrderedDict):
                return {"dict": pairs}
            metadata = getattr(obj, "_metadata", None)
            return {"odict": [pairs, self._value(metadata, f"{where}._metadata", depth + 1)]}
        if isinstance(obj, Size):
            return {"size": list(obj)}
        items = [self._value(item, f"{where}[{i}]", depth + 1) for i, item in enumerate(obj)]
        return items if isinstance(obj, list) else {"tuple": items}

    def _plain(self, obj: Any, where: str) -> Any:
        if isinstance(obj, (str, bool)):
            return str(obj) if isinstance(obj, str) else bool(obj)
        if isinstance(obj, int):
            return int(obj)
        if isinstance(obj, float):
            value = float(obj)
            return value if math.isfinite(value) else {"float": str(value)}
        if isinstance(obj, (bytes, bytearray)):
            return {"bytes": bytes(obj).hex()}
        if isinstance(obj, _oneflow_internal.dtype):
            return {"dtype": dtype_name(obj)}
        if isinstance(obj, _oneflow_internal.device):
            return {"device": f"{obj.type}:{obj.index or 0}"}
        raise TypeError(
            f"[save] expects tensors, arrays, numbers, strings and plain containers, got "
            f"{type(obj).__name__} at {where}; save its state_dict() or parts of it"
        )

    def _tensor(self, tensor: Any, where: str) -> int:
        known = self._numbers.get(id(tensor))
        if known is not None:
            return known[0]
        array = self._array(tensor.detach().cpu(), where)
        parameter = isinstance(tensor, Parameter)
        self._tensors.append(
            {
                "array": array,
                "kind": "parameter" if parameter else "tensor",
                "requires_grad": bool(tensor.requires_grad),
            }
        )
        number = len(self._tensors) - 1
        self._numbers[id(tensor)] = (number, tensor)
        return number

    def _array(self, array: Any, where: str) -> int:
        name = dtype_name(array.dtype)
        if name not in DISK_DTYPES:
            raise TypeError(
                f"[save] expects arrays of {', '.join(DISK_DTYPES)}, got {array.dtype} at {where}"
            )
        if array.ndim > MAX_AXES:
            raise ValueError(f"[save] expects at most {MAX_AXES} axes, got {array.ndim} at {where}")
        self._array_entries.append({"dtype": name, "shape": list(array.shape)})
        self.arrays.append(array)
        return len(self.arrays) - 1


def write(stream: Any, index: bytes, arrays: list[Any]) -> None:
    """Writes the archive to something with `write(bytes)`."""
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        archive.writestr(zipfile.ZipInfo(INDEX, _DATE), index)
        for number, array in enumerate(arrays):
            if isinstance(array, Tensor):
                disk = array_of(array)
            else:
                disk = np.ascontiguousarray(array, dtype=DISK_DTYPES[dtype_name(array.dtype)])
            info = zipfile.ZipInfo(f"data/{number}", _DATE)
            info.file_size = disk.nbytes  # lets zipfile choose the large format by itself
            with archive.open(info, "w") as entry:
                _write_chunks(entry, disk)


def _write_chunks(entry: Any, array: Any) -> None:
    elements = memoryview(array.reshape(-1).view(np.uint8))
    for start in range(0, len(elements), CHUNK):
        entry.write(elements[start : start + CHUNK])
