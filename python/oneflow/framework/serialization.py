"""save and load: tensors and plain containers in one file, safely.

The file is a zip archive without compression: `oneflow.json` describes the object and its arrays,
and `data/0`, `data/1`, ... are the arrays' elements, little-endian, row by row. Nothing in it is
code, and loading runs none: only the types below come back. Each entry has a checksum, and every
number is checked against the size of the file before memory is taken.

Saved: Tensor and nn.Parameter (one that occurs twice is the same object again after loading),
NumPy arrays and scalars, dict and OrderedDict (with `_metadata`), list, tuple, Size, str, bytes,
int, float, bool, None, dtype, device. Subclasses of these come back as the plain type.
"""

from __future__ import annotations

import os
from typing import Any

from oneflow import _oneflow_internal
from oneflow.framework import _atomic_file, _checkpoint_read, _checkpoint_write
from oneflow.framework._checkpoint_format import CheckpointError


def save(obj: Any, path_or_buffer: Any) -> None:
    """Writes an object to a file.

    The file is complete or not there: it is written beside its place and then moved, so that a full
    disk or a lost power supply leaves the old one as it was.

    Args:
        obj: tensors and plain containers; see the module
        path_or_buffer: a path, or an object with `write(bytes)`

    Raises:
        TypeError: something in `obj` cannot be saved; the message says where.
        ValueError: it is nested too deep, or contains itself.
        OSError: the file cannot be written: no space, no permission, a folder.

    Example:
        >>> import oneflow as flow, os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "model.of")
        >>> flow.save({"weight": flow.ones(2), "epoch": 3}, path)
        >>> flow.load(path)
        {'weight': tensor([1., 1.], dtype=oneflow.float32), 'epoch': 3}
    """
    encoder = _checkpoint_write.Encoder()
    index = encoder.index(obj)
    if hasattr(path_or_buffer, "write"):
        _checkpoint_write.write(path_or_buffer, index, encoder.arrays)
        return
    path = _path("save", path_or_buffer)
    _atomic_file.write(path, lambda stream: _checkpoint_write.write(stream, index, encoder.arrays))


def load(path_or_buffer: Any, map_location: Any = None) -> Any:
    """Reads what `save` wrote. No code of the file is run.

    Args:
        path_or_buffer: a path, or an object with `read`, `seek` and `tell`
        map_location: the device that tensors come to; default the CPU

    Returns:
        the object

    Raises:
        FileNotFoundError, IsADirectoryError, PermissionError: the file cannot be read.
        CheckpointError: it is damaged, cut short, hostile, or no file of `save`; a RuntimeError.

    Example: see `save`.
        >>> import io, oneflow as flow
        >>> try:
        ...     flow.load(io.BytesIO(b"text"))
        ... except RuntimeError as error:
        ...     print(error)
        [load] expects a file of oneflow.save, got the buffer, which is no zip archive
    """
    device = None if map_location is None else _location(map_location)
    if hasattr(path_or_buffer, "read"):
        return _checkpoint_read.read(path_or_buffer, "the buffer", device)
    path = _path("load", path_or_buffer)
    if os.path.isdir(path):
        raise IsADirectoryError(f"[load] expects a file of oneflow.save, got the folder {path!r}")
    with open(path, "rb") as stream:
        return _checkpoint_read.read(stream, repr(path), device)


def _path(caller: str, value: Any) -> str:
    try:
        path = os.fspath(value)
    except TypeError:
        raise TypeError(
            f"[{caller}] expects a path or a file object, got {type(value).__name__}"
        ) from None
    return os.fsdecode(path)


def _location(value: Any) -> Any:
    if isinstance(value, _oneflow_internal.device):
        return value
    if isinstance(value, str):
        return _oneflow_internal.device(value)
    raise TypeError(f"[load] expects a device as map_location, got {type(value).__name__}")


__all__ = ["CheckpointError", "load", "save"]
