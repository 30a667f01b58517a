"""The safetensors format: eight bytes of length, a JSON header, the elements.

The header maps a tensor's name to {"dtype", "shape", "data_offsets": [begin, end]}; `__metadata__`
maps strings to strings. Offsets count from the end of the header, and cover the rest of the file
without a hole. Format: the safetensors project's description, version 0.4.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping
from typing import Any, BinaryIO

import numpy as np

from oneflow import _oneflow_internal
from oneflow.framework._checkpoint_format import CheckpointError
from oneflow.framework._raw import DISK_DTYPES, array_of, dtype_name, tensor_of

_NAMES = {
    "bool": "BOOL",
    "uint8": "U8",
    "int8": "I8",
    "int16": "I16",
    "int32": "I32",
    "int64": "I64",
    "float16": "F16",
    "bfloat16": "BF16",
    "float32": "F32",
    "float64": "F64",
}
_DTYPES = {short: name for name, short in _NAMES.items() if name in DISK_DTYPES}
_METADATA = "__metadata__"
_LARGEST_HEADER = 100_000_000


def is_safetensors(head: bytes) -> bool:
    """Whether a file that begins like this is one: a length, then an object of JSON."""
    return len(head) >= 9 and head[8:9] == b"{" and 2 <= _length(head) <= _LARGEST_HEADER


def _length(head: bytes) -> int:
    return int(struct.unpack("<Q", head[:8])[0])


def read(stream: BinaryIO, name: str, device: Any = None) -> dict[str, Any]:
    """The tensors by name, in the order of the header. CheckpointError for a damaged file."""
    stream.seek(0, 2)
    size = stream.tell()
    stream.seek(0)
    try:
        return _read(stream, size, device)
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        reason = f"{type(error).__name__}: {error}"
    except CheckpointError as error:
        reason = str(error)
    raise CheckpointError(
        f"[load] expects a safetensors file, got {name}, which is not one: {reason}"
    )


def _read(stream: BinaryIO, size: int, device: Any) -> dict[str, Any]:
    length = _length(stream.read(8))
    if length > min(_LARGEST_HEADER, size - 8):
        raise CheckpointError(f"its header has {length} bytes, the file {size}")
    header = json.loads(stream.read(length).decode("utf-8"), object_pairs_hook=_once)
    if not isinstance(header, dict):
        raise CheckpointError("its header is no object")
    header.pop(_METADATA, None)
    entries = {key: _entry(key, value) for key, value in header.items()}
    position = 0
    for key, (_, _, begin, end) in sorted(entries.items(), key=lambda item: item[1][2:]):
        if begin != position:
            raise CheckpointError(f"the data of {key[:100]!r} begins at {begin}, not {position}")
        position = end
    if position != size - 8 - length:
        raise CheckpointError(f"it has {size - 8 - length} bytes of data, its header {position}")
    start = 8 + length
    return {key: _tensor(stream, start, entry, device) for key, entry in entries.items()}


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise CheckpointError("a name occurs twice")
    return found


def _entry(key: str, value: Any) -> tuple[str, list[int], int, int]:
    """(dtype, shape, begin, end), once they agree."""
    shown = repr(key[:100])
    if not isinstance(value, dict) or set(value) != {"dtype", "shape", "data_offsets"}:
        raise CheckpointError(f"the entry {shown} is no tensor")
    dtype = _DTYPES.get(value["dtype"]) if isinstance(value["dtype"], str) else None
    shape, offsets = value["shape"], value["data_offsets"]
    if dtype is None:
        raise CheckpointError(f"{shown} has the unknown dtype {str(value['dtype'])[:100]!r}")
    for numbers in (shape, offsets):
        if not isinstance(numbers, list) or not all(type(n) is int and n >= 0 for n in numbers):
            raise CheckpointError(f"{shown} has the impossible shape or place {str(numbers)[:100]}")
    if (
        len(offsets) != 2
        or offsets[1] - offsets[0] != math.prod(shape) * DISK_DTYPES[dtype].itemsize
    ):
        raise CheckpointError(f"{shown} of {dtype} {tuple(shape)} does not fit {offsets}")
    return dtype, shape, offsets[0], offsets[1]


def _tensor(
    stream: BinaryIO, start: int, entry: tuple[str, list[int], int, int], device: Any
) -> Any:
    dtype, shape, begin, end = entry
    stream.seek(start + begin)
    data = stream.read(end - begin)
    if len(data) != end - begin:
        raise CheckpointError("it is cut short")
    array = np.frombuffer(data, DISK_DTYPES[dtype]).reshape(shape)
    if dtype == "bool" and array.size and array.view(np.uint8).max() > 1:
        raise CheckpointError("a bool has bytes other than 0 and 1")
    return tensor_of(array, dtype, device)


def write(stream: Any, tensors: Any, metadata: Mapping[str, str] | None = None) -> None:
    """Writes a dict of tensors. TypeError for anything else."""
    if not isinstance(tensors, Mapping):
        kind = type(tensors).__name__
        raise TypeError(f"[save] expects a dict of tensors for safetensors, got {kind}")
    header: dict[str, Any] = {}
    if metadata is not None:
        if not all(isinstance(k, str) and isinstance(v, str) for k, v in metadata.items()):
            raise TypeError("[save] expects metadata to map strings to strings")
        header[_METADATA] = dict(metadata)
    position = 0
    for key, tensor in tensors.items():
        if not isinstance(key, str) or not isinstance(tensor, _oneflow_internal.Tensor):
            raise TypeError(
                f"[save] expects names and tensors for safetensors, got {key!r}: "
                f"{type(tensor).__name__}"
            )
        dtype = dtype_name(tensor.dtype)
        end = position + math.prod(tensor.shape) * DISK_DTYPES[dtype].itemsize
        header[key] = {"dtype": _NAMES[dtype], "shape": list(tensor.shape),
                       "data_offsets": [position, end]}  # fmt: skip
        position = end
    text = json.dumps(header, separators=(",", ":")).encode("utf-8")
    text += b" " * (-len(text) % 8)  # elements begin at a multiple of eight bytes
    stream.write(struct.pack("<Q", len(text)))
    stream.write(text)
    for tensor in tensors.values():
        stream.write(array_of(tensor).reshape(-1).view(np.uint8).data)
