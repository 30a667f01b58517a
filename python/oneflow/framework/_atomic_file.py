"""Writes a file so that it is complete or not there."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Callable
from typing import BinaryIO, cast


def write(path: str, fill: Callable[[BinaryIO], None]) -> None:
    """Calls `fill(stream)` for a new file beside `path`, and moves it there.

    A link is followed. What is no regular file (a pipe, a device) is written directly. Raises
    OSError with the reason; a file that was there is then unchanged.
    """
    target = os.path.realpath(path)
    try:
        mode = _mode_of(target)
        if mode is not None and not stat.S_ISREG(mode):
            with open(target, "wb") as stream:
                fill(cast(BinaryIO, _Forward(stream)))
            return
        _replace(target, mode, fill)
    except OSError as error:
        raise _explained(error, path) from error


def make_folder_of(path: str) -> None:
    """Makes the folder that `path` lies in, and those above it, where they are not there."""
    try:
        os.makedirs(os.path.dirname(os.path.realpath(path)), exist_ok=True)
    except OSError as error:
        raise _explained(error, path) from error


class _Forward:
    """A stream that can only go on: what a pipe or a device tells of its position means nothing."""

    def __init__(self, stream: BinaryIO) -> None:
        self.write = stream.write
        self.flush = stream.flush


def _mode_of(target: str) -> int | None:
    """The mode of what is there; None if nothing is."""
    try:
        mode = os.stat(target).st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    return mode


def _replace(target: str, mode: int | None, fill: Callable[[BinaryIO], None]) -> None:
    folder, name = os.path.split(target)
    temporary = os.path.join(folder, f".{name[:100]}.{secrets.token_hex(8)}.tmp")
    descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        with os.fdopen(descriptor, "w+b") as stream:
            if mode is not None:
                os.fchmod(stream.fileno(), stat.S_IMODE(mode))
            fill(stream)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise
    _sync_folder(folder)


def _sync_folder(folder: str) -> None:
    """Makes the move itself durable."""
    descriptor = os.open(folder or ".", os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _explained(error: OSError, path: str) -> OSError:
    reasons = {
        errno.ENOSPC: "no space left on the device",
        errno.EDQUOT: "the disk quota is used up",
        errno.EFBIG: "the file would be larger than is allowed",
        errno.EISDIR: "it is a folder; expects a file name",
        errno.ENOENT: "its folder is not there and cannot be made",
    }
    reason = reasons.get(error.errno or 0, error.strerror or str(error))
    # OSError picks the subclass (PermissionError, ...) from the number.
    return OSError(
        error.errno, f"[save] could not write: {reason}; what was there is unchanged", path
    )
