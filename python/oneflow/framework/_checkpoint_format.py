"""The file of `oneflow.save`, byte by byte; see `serialization` for what it promises.

`oneflow.json` is {"format": "oneflow checkpoint", "version": 1, "arrays": [{"dtype", "shape"},
...], "tensors": [{"array", "kind", "requires_grad"}, ...], "root": value}. A value is null, true,
false, a string, a whole number, a finite float, a list, or an object with one key that says what
it is:

    {"tuple": [value, ...]}    {"dict": [[key, value], ...]}
    {"tensor": number}         {"odict": [[[key, value], ...], metadata]}
    {"array": number}          {"bytes": "hex digits"}
    {"scalar": number}         {"float": "nan", "inf" or "-inf"}
    {"size": [int, ...]}       {"dtype": "float32"}    {"device": "cpu:0"}
"""

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
from oneflow.framework.dtype import DTYPES
from oneflow.nn.parameter import Parameter

Size = _oneflow_internal.Size
Tensor = _oneflow_internal.Tensor

INDEX = "oneflow.json"
FORMAT = "oneflow checkpoint"
VERSION = 1
MAX_DEPTH = 100
MAX_AXES = 32
_DATE = (1980, 1, 1, 0, 0, 0)  # the same object gives the same bytes
_CHUNK = 1 << 20
# How NumPy spells the element types on disk.
_DISK_DTYPES = {
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
}


class CheckpointError(RuntimeError):
    """A file that `oneflow.load` cannot take: damaged, cut short, hostile, or of another kind."""


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
            return {"dtype": _dtype_name(obj)}
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
        name = _dtype_name(array.dtype)
        if name not in _DISK_DTYPES:
            raise TypeError(
                f"[save] expects arrays of {', '.join(_DISK_DTYPES)}, got {array.dtype} at {where}"
            )
        if array.ndim > MAX_AXES:
            raise ValueError(f"[save] expects at most {MAX_AXES} axes, got {array.ndim} at {where}")
        self._array_entries.append({"dtype": name, "shape": list(array.shape)})
        self.arrays.append(array)
        return len(self.arrays) - 1


def _dtype_name(dtype: Any) -> str:
    if isinstance(dtype, np.dtype):
        return dtype.newbyteorder("=").name
    return str(dtype).removeprefix("oneflow.")


def write(stream: Any, index: bytes, arrays: list[Any]) -> None:
    """Writes the archive to something with `write(bytes)`."""
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        archive.writestr(zipfile.ZipInfo(INDEX, _DATE), index)
        for number, array in enumerate(arrays):
            if isinstance(array, Tensor):
                # A copy: a tensor's own memory would count as shared with NumPy ever after.
                array = _oneflow_internal._C.copy(array).numpy()
            info = zipfile.ZipInfo(f"data/{number}", _DATE)
            info.file_size = array.nbytes  # lets zipfile choose the large format by itself
            disk = np.ascontiguousarray(
                array, dtype=_DISK_DTYPES[array.dtype.newbyteorder("=").name]
            )
            with archive.open(info, "w") as entry:
                _write_chunks(entry, disk)


def _write_chunks(entry: Any, array: Any) -> None:
    elements = memoryview(array.reshape(-1).view(np.uint8))
    for start in range(0, len(elements), _CHUNK):
        entry.write(elements[start : start + _CHUNK])


def read(stream: BinaryIO, name: str, device: Any = None) -> Any:
    """The object in an archive, its tensors on `device`.

    CheckpointError for whatever is wrong with the archive; OSError from reading it.
    """
    try:
        with zipfile.ZipFile(stream, "r") as archive:
            entries = _checked_entries(archive, stream)
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
    if INDEX not in entries:
        pickled = any(name.endswith("data.pkl") for name in entries)
        raise CheckpointError(
            "a checkpoint of another framework that holds pickled code, which is never run"
            if pickled
            else f"an archive without {INDEX}"
        )
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
        self._arrays = [self._checked_array(i, entry) for i, entry in enumerate(index["arrays"])]

    def root(self) -> Any:
        """The object."""
        if "root" not in self._index:
            raise CheckpointError(f"{INDEX} lacks root")
        return self._value(self._index["root"], 0)

    def _checked_array(self, number: int, entry: Any) -> tuple[Any, tuple[int, ...]]:
        """(dtype, shape) of an array, once they agree with the size of its data."""
        dtype = _DISK_DTYPES.get(_field(entry, "dtype", str))
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
        return dtype, tuple(shape)

    def _read_array(self, number: Any) -> np.ndarray[Any, Any]:
        dtype, shape = self._arrays[_number(number, len(self._arrays), "array")]
        array: Any = np.empty(shape, dtype=dtype)
        target = memoryview(array.reshape(-1).view(np.uint8))
        position = 0
        with self._archive.open(self._entries[f"data/{number}"]) as entry:
            # The read at the end, which gives nothing, is the one that compares the checksum.
            while chunk := entry.read(_CHUNK):
                target[position : position + len(chunk)] = chunk
                position += len(chunk)
        if position != len(target):
            raise CheckpointError(f"array {number} is cut short")
        if dtype == np.dtype(bool) and array.size and array.view(np.uint8).max() > 1:
            raise CheckpointError(f"array {number} of bool has bytes other than 0 and 1")
        return array.astype(dtype.newbyteorder("="), copy=False)

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
        array = self._read_array(_field(entry, "array", int))
        tensor = _oneflow_internal.tensor(array, device=self._device)
        if kind == "parameter":
            return Parameter(tensor, requires_grad=requires_grad)
        if kind != "tensor":
            raise CheckpointError(f"it has a tensor of the unknown kind {kind[:100]!r}")
        if requires_grad:
            tensor.requires_grad = True
        return tensor

    def _decode_array(self, value: Any, depth: int) -> Any:
        return self._read_array(value)

    def _decode_scalar(self, value: Any, depth: int) -> Any:
        array = self._read_array(value)
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
