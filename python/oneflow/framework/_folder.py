"""The folders that OneFlow up to 0.9 saves to.

`pickled_data` is a pickle of {"protocol_version": 1, "data": object}, in which a tensor's state is
{"path": name}; the folder of that name has the elements, `out`, and `meta`, a message in
protobuf's text form: `shape { dim: 2 dim: 3 } data_type: kFloat`. A folder without the pickle but
with `snapshot_done` has tensors only, each in the folder of its name.
"""

from __future__ import annotations

import os
import pickle
import pickletools
import re
import secrets
import shutil
import struct
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np

from oneflow import _oneflow_internal
from oneflow.framework import _safe_pickle
from oneflow.framework._checkpoint_format import CheckpointError
from oneflow.framework._raw import DISK_DTYPES, array_of, dtype_name, tensor_of
from oneflow.framework.dtype import DTYPES
from oneflow.nn.parameter import Parameter

PICKLE, DATA, META, DONE = "pickled_data", "out", "meta", "snapshot_done"
_VERSION = 1
# Names and numbers of dtypes in the messages.
_PROTO = {
    "float32": ("kFloat", 2), "float64": ("kDouble", 3), "int8": ("kInt8", 4),
    "int32": ("kInt32", 5), "int64": ("kInt64", 6), "uint8": ("kUInt8", 7),
    "float16": ("kFloat16", 9), "bool": ("kBool", 12), "bfloat16": ("kBFloat16", 11),
}  # fmt: skip
_BY_WORD = {word: name for name, (word, _) in _PROTO.items()}
_BY_NUMBER = {number: name for name, (_, number) in _PROTO.items()}
_MESSAGE = re.compile(r"\s*shape\s*\{((?:\s*dim:\s*\d{1,19})*)\s*\}\s*data_type:\s*(\w+)\s*\Z")


class _State:
    """A tensor, a parameter or a dtype while it is being read."""

    def __init__(self) -> None:
        self.state: Any = None

    def __setstate__(self, state: Any) -> None:
        self.state = state


class _TensorState(_State):
    """oneflow.Tensor."""


class _ParameterState(_State):
    """oneflow.nn.Parameter."""


class _DtypeState(_State):
    """oneflow.dtype."""


_NAMES = {
    ("oneflow", "Tensor"): _TensorState,
    ("oneflow._oneflow_internal", "Tensor"): _TensorState,
    ("oneflow.nn", "Parameter"): _ParameterState,
    ("oneflow.nn.parameter", "Parameter"): _ParameterState,
    ("oneflow._oneflow_internal", "dtype"): _DtypeState,
    ("oneflow", "dtype"): _DtypeState,
    ("oneflow", "Size"): type("Size", (tuple,), {}),
    ("oneflow._oneflow_internal", "Size"): type("Size", (tuple,), {}),
}


def read(folder: str, device: Any = None) -> Any:
    """The object in a folder. CheckpointError for whatever is wrong with it."""
    root = Path(folder)
    try:
        if (root / PICKLE).is_file():
            return _read_pickle(root, device)
        if (root / DONE).exists():
            return {
                part.name: _read_tensor(root, part.name, device)
                for part in sorted(root.iterdir())
                if part.is_dir()
            }
    except CheckpointError as error:
        raise CheckpointError(
            f"[load] expects a folder of oneflow.save, got {folder!r}, which is damaged: {error}"
        ) from None
    raise IsADirectoryError(
        f"[load] expects a file or a folder of oneflow.save, got the folder {folder!r} "
        f"without {PICKLE}"
    )


def _read_pickle(root: Path, device: Any) -> Any:
    content = _safe_pickle.loads((root / PICKLE).read_bytes(), _NAMES)
    if not isinstance(content, dict) or content.get("protocol_version") != _VERSION:
        raise CheckpointError(f"{PICKLE} does not say protocol_version {_VERSION}")
    made: dict[int, Any] = {}

    def convert(obj: Any) -> Any:
        if isinstance(obj, _DtypeState):
            if obj.state not in _BY_NUMBER:
                raise CheckpointError(f"it has the unknown dtype {obj.state!r}")
            return DTYPES[_BY_NUMBER[obj.state]]
        if isinstance(obj, _State):
            if id(obj) not in made:
                made[id(obj)] = _from_state(root, obj, device)
            return made[id(obj)]
        if isinstance(obj, tuple):
            return _safe_pickle.size_of(obj)
        return obj

    return _safe_pickle.finished(content.get("data"), convert)


def _from_state(root: Path, obj: _State, device: Any) -> Any:
    path = obj.state.get("path") if isinstance(obj.state, dict) else None
    if not isinstance(path, str):
        raise CheckpointError("it has a tensor without a folder")
    tensor = _read_tensor(root, path, device)
    return Parameter(tensor) if isinstance(obj, _ParameterState) else tensor


def _read_tensor(root: Path, name: str, device: Any) -> Any:
    if not name or "/" in name or "\0" in name or name in (".", ".."):
        raise CheckpointError(f"it points outside itself: {name[:100]!r}")
    try:
        text = (root / name / META).read_text(encoding="utf-8")
        data = (root / name / DATA).read_bytes()
    except (FileNotFoundError, NotADirectoryError, UnicodeDecodeError) as error:
        raise CheckpointError(f"the tensor {name[:100]!r} lacks a file: {error}") from None
    message = _MESSAGE.match(text)
    dtype = _BY_WORD.get(message[2]) if message else None
    if message is None or dtype is None:
        raise CheckpointError(f"{name[:100]}/{META} does not give a shape and a known dtype")
    shape = [int(n) for n in re.findall(r"\d+", message[1])]
    needed = int(np.prod(np.array(shape, dtype=object))) * DISK_DTYPES[dtype].itemsize
    if needed != len(data):
        raise CheckpointError(
            f"{name[:100]} of {dtype} {shape} needs {needed} bytes, got {len(data)}"
        )
    return tensor_of(np.frombuffer(data, DISK_DTYPES[dtype]).reshape(shape), dtype, device)


def write(obj: Any, folder: str) -> None:
    """Writes a folder that OneFlow 0.9 reads. It appears whole: it is made beside its place.

    A folder that is there must be empty, or one of OneFlow's, which is replaced.
    """
    root = Path(os.path.realpath(folder))
    names = set(os.listdir(root)) if root.is_dir() else set()
    if names and not names & {PICKLE, DONE}:
        raise FileExistsError(
            f"[save] expects an empty folder or one of oneflow.save, got {folder!r} with "
            f"{len(names)} other files"
        )
    temporary = root.with_name(f".{root.name[:100]}.{secrets.token_hex(8)}.tmp")
    temporary.mkdir()
    try:
        writer = _Writer(temporary)
        (temporary / PICKLE).write_bytes(
            writer.pickled({"protocol_version": _VERSION, "data": obj})
        )
        if root.is_dir():
            old = root.with_name(f"{temporary.name}.old")
            root.rename(old)
            temporary.rename(root)
            shutil.rmtree(old)
        else:
            temporary.rename(root)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


class _Writer:
    """Writes the pickle by hand: its classes are those of another program."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._out = bytearray()
        self._memo: dict[int, tuple[int, Any]] = {}
        self._tensors = 0

    def pickled(self, obj: Any) -> bytes:
        """The pickle of an object; tensors go to folders of their own."""
        self._out = bytearray(pickle.PROTO + b"\x02")
        self._value(obj, "the object", 0)
        return bytes(self._out + pickle.STOP)

    def _value(self, obj: Any, where: str, depth: int) -> None:
        if depth > 100:
            raise ValueError(f"[save] expects at most 100 levels, got more at {where[:200]}")
        if isinstance(obj, _oneflow_internal.Tensor):
            self._tensor(obj)
        elif isinstance(obj, _oneflow_internal.dtype):
            self._new("oneflow._oneflow_internal", "dtype")
            self._plain(_PROTO[dtype_name(obj)][1])
            self._out += pickle.BUILD
        elif isinstance(obj, _oneflow_internal.Size):
            self._out += b"coneflow\nSize\n"
            self._plain((tuple(obj),))
            self._out += pickle.NEWOBJ
        elif isinstance(obj, dict):
            self._dict(obj, where, depth)
        elif isinstance(obj, (list, tuple)):
            self._out += pickle.MARK
            for i, item in enumerate(obj):
                self._value(item, f"{where}[{i}]", depth + 1)
            self._out += pickle.LIST if isinstance(obj, list) else pickle.TUPLE
        elif obj is None or isinstance(obj, (bool, int, float, str, bytes)):
            self._plain(obj)
        else:
            raise TypeError(
                f"[save] expects tensors, numbers, strings and plain containers, got "
                f"{type(obj).__name__} at {where}"
            )

    def _plain(self, obj: Any) -> None:
        # Without the header and the end; protocol 2 writes no frames, and these need no memo.
        self._out += pickletools.optimize(pickle.dumps(obj, protocol=2))[2:-1]

    def _new(self, module: str, name: str) -> None:
        self._out += f"c{module}\n{name}\n".encode() + pickle.EMPTY_TUPLE + pickle.NEWOBJ

    def _dict(self, obj: dict[Any, Any], where: str, depth: int) -> None:
        if isinstance(obj, OrderedDict):
            self._out += b"ccollections\nOrderedDict\n" + pickle.EMPTY_TUPLE + pickle.REDUCE
        else:
            self._out += pickle.EMPTY_DICT
        self._out += pickle.MARK
        for key, value in obj.items():
            self._value(key, f"a key of {where}", depth + 1)
            self._value(value, f"{where}[{key!r}]", depth + 1)
        self._out += pickle.SETITEMS
        metadata = getattr(obj, "_metadata", None)
        if metadata is not None:
            self._dict({"_metadata": metadata}, where, depth + 1)
            self._out += pickle.BUILD

    def _tensor(self, tensor: Any) -> None:
        known = self._memo.get(id(tensor))
        if known is not None:
            self._out += pickle.LONG_BINGET + struct.pack("<I", known[0])
            return
        name = f"tensor_{self._tensors}"
        self._tensors += 1
        parameter = isinstance(tensor, Parameter)
        self._new("oneflow.nn" if parameter else "oneflow", "Parameter" if parameter else "Tensor")
        number = (1 << 16) + len(self._memo)  # clear of the numbers that `_plain` uses
        self._memo[id(tensor)] = (number, tensor)
        self._out += pickle.LONG_BINPUT + struct.pack("<I", number)
        self._dict({"path": name}, name, 0)
        self._out += pickle.BUILD
        folder = self._root / name
        folder.mkdir()
        dims = "".join(f"  dim: {n}\n" for n in tensor.shape)
        word = _PROTO[dtype_name(tensor.dtype)][0]
        (folder / META).write_text(f"shape {{\n{dims}}}\ndata_type: {word}\n", encoding="utf-8")
        (folder / DATA).write_bytes(array_of(tensor).tobytes())
