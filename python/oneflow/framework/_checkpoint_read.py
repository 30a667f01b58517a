"""Reads the file that `_checkpoint_format` describes; trusts nothing in it."""

from __future__ import annotations

import errno
import json
import math
import struct
import zipfile
import zlib
from collections import OrderedDict
from typing import Any, BinaryIO

import numpy as np

from oneflow import _oneflow_internal
from oneflow.framework import _torch_read
from oneflow.framework._checkpoint_format import (
    CHUNK,
    FORMAT,
    INDEX,
    MAX_AXES,
    MAX_DEPTH,
    VERSION,
    CheckpointError,
)
from oneflow.framework._raw import DISK_DTYPES, tensor_of
from oneflow.framework.dtype import DTYPES
from oneflow.nn.parameter import Parameter

Size = _oneflow_internal.Size


def read(stream: BinaryIO, name: str, device: Any = None, pytorch: bool = True) -> Any:
    """The object in an archive (PyTorch's, too) or in PyTorch's older stream, its tensors on
    `device`.

    CheckpointError for whatever is wrong with the archive; OSError from reading it.
    """
    try:
        with zipfile.ZipFile(stream, "r") as archive:
            pickled = [entry for entry in archive.namelist() if entry.endswith("data.pkl")]
            entries = _checked_entries(archive, stream)
            if pickled and INDEX not in entries:
                if not pytorch:
                    raise CheckpointError("a file of PyTorch, which it was told not to read")
                return _torch_read.read_archive(archive, pickled[0], device)
            index = _index(archive, entries)
            return _Decoder(archive, entries, index, device).root()
    except (MemoryError, _oneflow_internal.OutOfMemoryError):
        raise
    except OSError as error:
        if error.errno != errno.EINVAL:  # a seek to a place that a damaged archive names
            raise
        reason = "which is damaged: it points outside itself"
    except (
        CheckpointError, EOFError, LookupError, NotImplementedError, OverflowError, RecursionError,
        RuntimeError, TypeError, ValueError, struct.error, zipfile.BadZipFile, zlib.error,
    ) as error:  # fmt: skip
        # Beside BadZipFile, zipfile lets the others out of damaged archives.
        reason = _reason(error)
    raise CheckpointError(f"[load] expects a file of oneflow.save, got {name}, {reason}")


def _reason(error: Exception) -> str:
    if isinstance(error, CheckpointError):
        return f"which is not one: {error}"
    if str(error) == "File is not a zip file":
        return "which is no zip archive"
    return f"which is damaged: {type(error).__name__}: {error}"


def _checked_entries(archive: zipfile.ZipFile, stream: BinaryIO) -> dict[str, zipfile.ZipInfo]:
    """The entries by name, once none is compressed, encrypted or doubled, and all fit the file."""
    stream.seek(0, 2)
    size = stream.tell()
    entries: dict[str, zipfile.ZipInfo] = {}
    for info in archive.infolist():
        if info.filename in entries:
            raise CheckpointError(f"the entry {info.filename!r} occurs twice")
        if info.compress_type != zipfile.ZIP_STORED or info.compress_size != info.file_size:
            raise CheckpointError(f"the entry {info.filename!r} is compressed; none may be")
        if info.flag_bits & 0x1:
            raise CheckpointError(f"the entry {info.filename!r} is encrypted")
        entries[info.filename] = info
    if INDEX not in entries and not any(name.endswith("data.pkl") for name in entries):
        raise CheckpointError(f"an archive without {INDEX}")
    total = sum(info.file_size for info in entries.values())
    if total > size:
        raise CheckpointError(f"its entries have {total} bytes, the file only {size}")
    return entries


def _index(archive: zipfile.ZipFile, entries: dict[str, zipfile.ZipInfo]) -> dict[str, Any]:
    text = archive.read(entries[INDEX]).decode("utf-8")
    index = json.loads(text, parse_constant=_no_constant)
    if not isinstance(index, dict) or index.get("format") != FORMAT:
        raise CheckpointError(f"{INDEX} does not say {FORMAT!r}")
    if index.get("version") != VERSION:
        raise CheckpointError(
            f"format version {index.get('version')!r}; this version of oneflow reads {VERSION}"
        )
    for key, kind in (("arrays", list), ("tensors", list)):
        if not isinstance(index.get(key), kind):
            raise CheckpointError(f"{INDEX} lacks {key}")
    expected = {INDEX} | {f"data/{i}" for i in range(len(index["arrays"]))}
    if set(entries) != expected:
        odd = sorted(set(entries) ^ expected)[:3]
        raise CheckpointError(f"its entries do not match {INDEX}: {odd}")
    return index


def _no_constant(name: str) -> Any:
    raise CheckpointError(f"it has the impossible number {name}")


class _Decoder:
    """Turns the index of one archive back into the object. Used once, by one thread."""

    def __init__(
        self,
        archive: zipfile.ZipFile,
        entries: dict[str, zipfile.ZipInfo],
        index: dict[str, Any],
        device: Any,
    ) -> None:
        self._device = device
        self._archive = archive
        self._entries = entries
        self._index = index
        self._tensors: dict[int, Any] = {}
        # (dtype, shape) of each; a dtype by its name.
        self._arrays = [self._checked_array(i, entry) for i, entry in enumerate(index["arrays"])]

    def root(self) -> Any:
        """The object."""
        if "root" not in self._index:
            raise CheckpointError(f"{INDEX} lacks root")
        return self._value(self._index["root"], 0)

    def _checked_array(self, number: int, entry: Any) -> tuple[str, tuple[int, ...]]:
        """(dtype, shape) of an array, once they agree with the size of its data."""
        dtype = DISK_DTYPES.get(_field(entry, "dtype", str))
        shape = _field(entry, "shape", list)
        if dtype is None:
            raise CheckpointError(f"array {number} has the unknown dtype {entry['dtype']!r}")
        if len(shape) > MAX_AXES or not all(type(n) is int and 0 <= n < 2**63 for n in shape):
            raise CheckpointError(f"array {number} has the impossible shape {str(shape)[:100]}")
        needed, found = math.prod(shape) * dtype.itemsize, self._entries[f"data/{number}"].file_size
        if needed != found:
            raise CheckpointError(
                f"array {number} of shape {tuple(shape)} needs {needed} bytes, got {found}"
            )
        return entry["dtype"], tuple(shape)

    def _read_array(self, number: Any) -> np.ndarray[Any, Any]:
        """An array, its elements as they are on disk."""
        name, shape = self._arrays[_number(number, len(self._arrays), "array")]
        dtype = DISK_DTYPES[name]
        array: Any = np.empty(shape, dtype=dtype)
        target = memoryview(array.reshape(-1).view(np.uint8))
        position = 0
        with self._archive.open(self._entries[f"data/{number}"]) as entry:
            # The read at the end, which gives nothing, is the one that compares the checksum.
            while chunk := entry.read(CHUNK):
                target[position : position + len(chunk)] = chunk
                position += len(chunk)
        if position != len(target):
            raise CheckpointError(f"array {number} is cut short")
        if dtype == np.dtype(bool) and array.size and array.view(np.uint8).max() > 1:
            raise CheckpointError(f"array {number} of bool has bytes other than 0 and 1")
        return array

    def _value(self, value: Any, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise CheckpointError(f"it is nested deeper than {MAX_DEPTH} levels")
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        if isinstance(value, list):
            return [self._value(item, depth + 1) for item in value]
        kind = next(iter(value), None)
        decode = getattr(self, f"_decode_{kind}", None) if kind in _KINDS else None
        if decode is None:
            raise CheckpointError(f"it has a value of the unknown kind {str(kind)[:100]!r}")
        return decode(value[kind], depth)

    def _items(self, value: Any, depth: int) -> list[Any]:
        if not isinstance(value, list):
            raise CheckpointError("a container is no list")
        return [self._value(item, depth + 1) for item in value]

    def _pairs(self, value: Any, depth: int) -> list[Any]:
        pairs = []
        for pair in value:
            if not isinstance(pair, list) or len(pair) != 2:
                raise CheckpointError("an entry of a dict is no pair")
            key = self._value(pair[0], depth + 1)
            hash(key)
            pairs.append((key, self._value(pair[1], depth + 1)))
        return pairs

    def _decode_tuple(self, value: Any, depth: int) -> Any:
        return tuple(self._items(value, depth))

    def _decode_dict(self, value: Any, depth: int) -> Any:
        return dict(self._pairs(value, depth))

    def _decode_odict(self, value: Any, depth: int) -> Any:
        pairs, metadata = value
        result = OrderedDict(self._pairs(pairs, depth))
        metadata = self._value(metadata, depth + 1)
        if metadata is not None:
            result._metadata = metadata  # type: ignore[attr-defined]
        return result

    def _decode_tensor(self, value: Any, depth: int) -> Any:
        number = _number(value, len(self._index["tensors"]), "tensor")
        if number not in self._tensors:
            self._tensors[number] = self._make_tensor(self._index["tensors"][number])
        return self._tensors[number]

    def _make_tensor(self, entry: Any) -> Any:
        kind = _field(entry, "kind", str)
        requires_grad = _field(entry, "requires_grad", bool)
        number = _field(entry, "array", int)
        tensor = tensor_of(self._read_array(number), self._arrays[number][0], self._device)
        if kind == "parameter":
            return Parameter(tensor, requires_grad=requires_grad)
        if kind != "tensor":
            raise CheckpointError(f"it has a tensor of the unknown kind {kind[:100]!r}")
        if requires_grad:
            tensor.requires_grad = True
        return tensor

    def _decode_array(self, value: Any, depth: int) -> Any:
        array = self._read_array(value)
        if self._arrays[value][0] == "bfloat16":
            raise CheckpointError("it has a NumPy array of bfloat16, which NumPy has not")
        return array.astype(array.dtype.newbyteorder("="), copy=False)

    def _decode_scalar(self, value: Any, depth: int) -> Any:
        array = self._decode_array(value, depth)
        if array.ndim != 0:
            raise CheckpointError("a scalar has axes")
        return array[()]

    def _decode_size(self, value: Any, depth: int) -> Any:
        sizes = self._items(value, depth)
        if not all(type(n) is int for n in sizes):
            raise CheckpointError("a size has something else than whole numbers")
        return Size(sizes)

    def _decode_bytes(self, value: Any, depth: int) -> Any:
        return bytes.fromhex(value)

    def _decode_float(self, value: Any, depth: int) -> Any:
        if value not in ("nan", "inf", "-inf"):
            raise CheckpointError(f"it has the impossible number {str(value)[:100]!r}")
        return float(value)

    def _decode_dtype(self, value: Any, depth: int) -> Any:
        if value not in DTYPES:
            raise CheckpointError(f"it has the unknown dtype {str(value)[:100]!r}")
        return DTYPES[value]

    def _decode_device(self, value: Any, depth: int) -> Any:
        kind, _, index = str(value).partition(":")
        return _oneflow_internal.device(kind, int(index))


_KINDS = frozenset(
    (
        "tuple",
        "dict",
        "odict",
        "tensor",
        "array",
        "scalar",
        "size",
        "bytes",
        "float",
        "dtype",
        "device",
    )
)


def _field(entry: Any, name: str, kind: type) -> Any:
    value = entry.get(name) if isinstance(entry, dict) else None
    if type(value) is not kind:
        raise CheckpointError(f"a description lacks {name!r}")
    return value


def _number(value: Any, count: int, what: str) -> int:
    if type(value) is not int or not 0 <= value < count:
        raise CheckpointError(f"it names the {what} {str(value)[:100]!r}, but has {count}")
    return value
