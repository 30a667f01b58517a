"""save and load: tensors and plain containers in one file, safely.

The file is a zip archive without compression: `oneflow.json` describes the object and its arrays,
and `data/0`, `data/1`, ... are the arrays' elements, little-endian, row by row. Nothing in it is
code, and loading runs none: only the types below come back. Each entry has a checksum, and every
number is checked against the size of the file before memory is taken.

Saved: Tensor and nn.Parameter (one that occurs twice is the same object again after loading),
NumPy arrays and scalars, dict and OrderedDict (with `_metadata`), list, tuple, Size, str, bytes,
int, float, bool, None, dtype, device. Subclasses of these come back as the plain type.

Read and written, too: safetensors, and the folders of OneFlow up to 0.9. Read: what `torch.save`
wrote, of tensors, numbers and plain containers. Their pickles are read by a reader that knows the
few names which these need, and calls nothing else.
"""

from __future__ import annotations

import os
from typing import Any

from oneflow import _oneflow_internal
from oneflow.framework import (
    _atomic_file,
    _checkpoint_read,
    _checkpoint_write,
    _folder,
    _safetensors,
    _torch_read,
)
from oneflow.framework._checkpoint_format import CheckpointError


def save(
    obj: Any,
    path_or_buffer: Any,
    global_dst_rank: int | None = None,
    save_as_external_data: bool = False,
    *,
    metadata: dict[str, str] | None = None,
) -> None:
    """Writes an object to a file.

    The file is complete or not there: it is written beside its place and then moved, so that a full
    disk or a lost power supply leaves the old one as it was. Folders on the way to it are made. A
    path that ends in `.safetensors` gets that format. A folder that exists gets the form of
    OneFlow 0.9, which that version reads.

    Args:
        obj: tensors and plain containers; see the module
        path_or_buffer: a path, or an object with `write(bytes)`
        global_dst_rank: the rank that writes; there is one, 0
        save_as_external_data: whether to make a folder in OneFlow 0.9's form
        metadata: strings by name, for safetensors

    Raises:
        TypeError: something in `obj` cannot be saved; the message says where.
        ValueError: it is nested too deep, or contains itself.
        OSError: the file cannot be written: no space, no permission, a folder of other files.

    Example:
        >>> import oneflow as flow, os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "model.of")
        >>> flow.save({"weight": flow.ones(2), "epoch": 3}, path)
        >>> flow.load(path)
        {'weight': tensor([1., 1.], dtype=oneflow.float32), 'epoch': 3}
    """
    _check_rank("save", global_dst_rank)
    if hasattr(path_or_buffer, "write"):
        encoder = _checkpoint_write.Encoder()
        index = encoder.index(obj)
        _checkpoint_write.write(path_or_buffer, index, encoder.arrays)
        return
    path = _path("save", path_or_buffer)
    _atomic_file.make_folder_of(path)
    if save_as_external_data or os.path.isdir(path):
        _folder.write(obj, path)
    elif path.endswith(".safetensors"):
        _atomic_file.write(path, lambda stream: _safetensors.write(stream, obj, metadata))
    else:
        encoder = _checkpoint_write.Encoder()
        index = encoder.index(obj)
        arrays = encoder.arrays
        _atomic_file.write(path, lambda stream: _checkpoint_write.write(stream, index, arrays))


def load(
    path_or_buffer: Any,
    global_src_rank: int | None = None,
    map_location: Any = None,
    *,
    support_pytorch_format: bool = True,
) -> Any:
    """Reads what `save` wrote, safetensors, OneFlow 0.9's folders, and what `torch.save` wrote.

    No code of the file is run. What a pickle of PyTorch or OneFlow 0.9 holds beside tensors,
    numbers, strings, NumPy arrays and plain containers is an error, not an object.

    Args:
        path_or_buffer: a path, or an object with `read`, `seek` and `tell`
        global_src_rank: the rank that reads; there is one, 0
        map_location: the device that tensors come to; default the CPU
        support_pytorch_format: whether files of PyTorch are read

    Returns:
        the object; of a safetensors file, a dict of tensors

    Raises:
        FileNotFoundError, IsADirectoryError, PermissionError: the file cannot be read.
        CheckpointError: it is damaged, cut short, hostile, or of another kind; a RuntimeError.

    Example: see `save`.
        >>> import io, oneflow as flow
        >>> try:
        ...     flow.load(io.BytesIO(b"text"))
        ... except RuntimeError as error:
        ...     print(error)
        [load] expects a file of oneflow.save, got the buffer, which is no zip archive
    """
    if global_src_rank is not None and not isinstance(global_src_rank, int):
        map_location, global_src_rank = global_src_rank, None  # load(path, "cpu")
    _check_rank("load", global_src_rank)
    device = None if map_location is None else _location(map_location)
    if hasattr(path_or_buffer, "read"):
        return _read(path_or_buffer, "the buffer", device, support_pytorch_format)
    path = _path("load", path_or_buffer)
    if os.path.isdir(path):
        return _folder.read(path, device)
    with open(path, "rb") as stream:
        return _read(stream, repr(path), device, support_pytorch_format)


def _read(stream: Any, name: str, device: Any, pytorch: bool) -> Any:
    """Reads a file of whichever kind it is."""
    try:
        start = stream.tell()
        head = stream.read(64)
        stream.seek(start)
    except ValueError as error:  # a closed stream
        raise CheckpointError(
            f"[load] expects a file of oneflow.save, got {name}, which is damaged: "
            f"ValueError: {error}"
        ) from None
    if _safetensors.is_safetensors(head):
        return _safetensors.read(stream, name, device)
    if pytorch and _torch_read.is_stream(head):
        try:
            return _torch_read.read_stream(stream, device)
        except CheckpointError as error:
            raise CheckpointError(
                f"[load] expects a file of torch.save, got {name}, which is damaged: {error}"
            ) from None
    return _checkpoint_read.read(stream, name, device, pytorch)


def _check_rank(caller: str, rank: Any) -> None:
    if rank not in (None, 0):
        raise ValueError(f"[{caller}] expects a rank, of which there is one, 0; got {rank!r}")


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
