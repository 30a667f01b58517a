"""Reads what `torch.save` wrote, archives and the older streams, without running code.

An archive (from PyTorch 1.6 on) has `<name>/data.pkl`, a pickle whose tensors refer to storages,
and the storages' bytes as `<name>/data/<key>`. The older form is a stream: a magic number, a
version, facts of the machine, the pickle, the list of keys, and for each key a count and the bytes.
"""

from __future__ import annotations

import struct
import zipfile
from typing import Any, BinaryIO

import numpy as np

from oneflow.framework import _safe_pickle
from oneflow.framework._checkpoint_format import CheckpointError
from oneflow.framework._raw import DISK_DTYPES, tensor_of
from oneflow.framework.dtype import DTYPES
from oneflow.nn.parameter import Parameter

_MAGIC = 0x1950A86A20F9469CFC6C
_STREAM_VERSION = 1001
_KINDS = {
    "Double": "float64", "Float": "float32", "Half": "float16", "BFloat16": "bfloat16",
    "Long": "int64", "Int": "int32", "Short": "int16", "Char": "int8", "Byte": "uint8",
    "Bool": "bool",
}  # fmt: skip
_DTYPE_NAMES = {"float": "float32", "double": "float64", "half": "float16", "long": "int64",
                "int": "int32", "short": "int16"}  # fmt: skip


class _StorageType:
    """torch.FloatStorage and its kin; as an object, the dtype of a storage."""

    def __init__(self, dtype: str) -> None:
        self.dtype = dtype


class _Storage:
    """A storage: its dtype, and its elements once they are read."""

    def __init__(self, dtype: str, count: int) -> None:
        self.dtype, self.count = dtype, count
        self.elements: np.ndarray[Any, Any] | None = None

    def fill(self, data: bytes) -> None:
        """Takes the bytes."""
        if len(data) != self.count * DISK_DTYPES[self.dtype].itemsize:
            raise CheckpointError(f"a storage of {self.count} {self.dtype} has {len(data)} bytes")
        self.elements = np.frombuffer(data, DISK_DTYPES[self.dtype])


class _Tensor:
    """A tensor: a part of a storage."""

    def __init__(self, storage: Any, offset: Any, size: Any, stride: Any, grad: bool) -> None:
        numbers = (offset, *size, *stride)
        if not isinstance(storage, _Storage) or not all(
            type(n) is int and 0 <= n < 2**62 for n in numbers
        ):
            raise CheckpointError("it has a tensor of an impossible shape")
        if len(size) != len(stride) or len(size) > 32:
            raise CheckpointError(f"it has a tensor of shape {size} and strides {stride}")
        self.storage, self.offset, self.size, self.stride = storage, offset, size, stride
        self.grad = grad
        self.parameter = False

    def array(self) -> np.ndarray[Any, Any]:
        """Its elements, once every one is known to lie in the storage."""
        elements = self.storage.elements
        if elements is None:
            raise CheckpointError("a storage is missing")
        if 0 in self.size:
            return np.empty(self.size, elements.dtype)
        last = self.offset + sum((n - 1) * s for n, s in zip(self.size, self.stride))
        if last >= len(elements):
            raise CheckpointError(f"a tensor of shape {self.size} reaches outside its storage")
        strides = [s * elements.itemsize for s in self.stride]
        view = np.lib.stride_tricks.as_strided(elements[self.offset :], self.size, strides)
        return np.array(view, order="C")


def _rebuild_tensor(storage: Any, offset: Any, size: Any, stride: Any, *rest: Any) -> _Tensor:
    return _Tensor(storage, offset, tuple(size), tuple(stride), bool(rest and rest[0] is True))


def _rebuild_parameter(tensor: Any, requires_grad: Any = True, *_: Any) -> _Tensor:
    if not isinstance(tensor, _Tensor):
        raise CheckpointError("it has a parameter that is no tensor")
    tensor.parameter, tensor.grad = True, bool(requires_grad)
    return tensor


def _names() -> dict[tuple[str, str], Any]:
    names: dict[tuple[str, str], Any] = {
        ("torch._utils", "_rebuild_tensor"): _rebuild_tensor,
        ("torch._utils", "_rebuild_tensor_v2"): _rebuild_tensor,
        ("torch._utils", "_rebuild_parameter"): _rebuild_parameter,
        ("torch", "Size"): _safe_pickle.size_of,
        ("torch", "device"): lambda *words: ":".join(str(w) for w in words),
    }
    for short, dtype in _KINDS.items():
        if dtype in DISK_DTYPES:
            names["torch", f"{short}Storage"] = _StorageType(dtype)
            names["torch", dtype] = DTYPES[dtype]
    for short, dtype in _DTYPE_NAMES.items():
        if dtype in DTYPES:
            names["torch", short] = DTYPES[dtype]
    return names


def _pid(pid: Any) -> tuple[str, str, int]:
    """(dtype, key, count) of a reference to a storage."""
    if not isinstance(pid, tuple) or len(pid) < 5 or pid[0] != "storage":
        raise CheckpointError("it refers to something that is no storage")
    _, kind, key, _, count = pid[:5]
    if not isinstance(kind, _StorageType) or not isinstance(key, str) or type(count) is not int:
        raise CheckpointError("it refers to a storage of an unknown kind")
    if count < 0:
        raise CheckpointError("it has a storage of less than nothing")
    if len(pid) > 5 and pid[5] is not None:
        raise CheckpointError("it refers to a part of a storage, as only old versions did")
    return kind.dtype, key, count


def read_archive(archive: zipfile.ZipFile, pickle_name: str, device: Any) -> Any:
    """The object in an archive; `pickle_name` is the entry that ends in data.pkl."""
    folder = pickle_name.removesuffix("data.pkl")
    names = set(archive.namelist())
    if f"{folder}byteorder" in names and archive.read(f"{folder}byteorder") != b"little":
        raise CheckpointError("its numbers are big-endian")
    storages: dict[str, _Storage] = {}

    def storage(pid: Any) -> _Storage:
        dtype, key, count = _pid(pid)
        if key not in storages:
            entry = f"{folder}data/{key}"
            if entry not in names:
                raise CheckpointError(f"the storage {key[:100]!r} is missing")
            made = _Storage(dtype, count)
            made.fill(archive.read(entry))
            storages[key] = made
        if storages[key].dtype != dtype:
            raise CheckpointError("a storage has two dtypes")
        return storages[key]

    data = archive.read(pickle_name)
    return _finish(_safe_pickle.loads(data, _names(), storage), device)


def is_stream(head: bytes) -> bool:
    """Whether a file that begins like this is of the older form: a pickle of the magic number."""
    return head[:2] in (b"\x80\x02", b"\x80\x03", b"\x80\x04") and (
        _MAGIC.to_bytes(10, "little") in head
    )


def read_stream(stream: BinaryIO, device: Any) -> Any:
    """The object in a file of the older form."""
    none: dict[tuple[str, str], Any] = {}
    if _safe_pickle.load(stream, none) != _MAGIC:
        raise CheckpointError("its magic number is another")
    if _safe_pickle.load(stream, none) != _STREAM_VERSION:
        raise CheckpointError("its version is another")
    machine = _safe_pickle.load(stream, none)
    if isinstance(machine, dict) and machine.get("little_endian") is not True:
        raise CheckpointError("its numbers are big-endian")
    storages: dict[str, _Storage] = {}

    def storage(pid: Any) -> _Storage:
        dtype, key, count = _pid(pid)
        return storages.setdefault(key, _Storage(dtype, count))

    root = _safe_pickle.load(stream, _names(), storage)
    keys = _safe_pickle.load(stream, none)
    if not isinstance(keys, list) or sorted(map(str, keys)) != sorted(storages):
        raise CheckpointError("its list of storages does not match its tensors")
    for key in keys:
        _fill_from(stream, storages[key])
    return _finish(root, device)


def _fill_from(stream: BinaryIO, storage: _Storage) -> None:
    count = stream.read(8)
    if len(count) != 8 or struct.unpack("<q", count)[0] != storage.count:
        raise CheckpointError("a storage has another size than its tensors say")
    storage.fill(stream.read(storage.count * DISK_DTYPES[storage.dtype].itemsize))


def _finish(root: Any, device: Any) -> Any:
    made: dict[int, Any] = {}

    def convert(obj: Any) -> Any:
        if isinstance(obj, _Tensor):
            if id(obj) not in made:
                made[id(obj)] = _tensor(obj, device)
            return made[id(obj)]
        if isinstance(obj, (_Storage, _StorageType)):
            raise CheckpointError("it has a storage that belongs to no tensor")
        return obj

    return _safe_pickle.finished(root, convert)


def _tensor(part: _Tensor, device: Any) -> Any:
    tensor = tensor_of(part.array(), part.storage.dtype, device)
    if part.parameter:
        return Parameter(tensor, requires_grad=part.grad)
    if part.grad:
        tensor.requires_grad = True
    return tensor
