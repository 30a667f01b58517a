"""Shared memory in which the batches of a worker process travel.

A worker puts large tensors into buffers that the reader sees as well, and sends only where they
are. A buffer serves again once the reader has dropped what was in it, and says so with its next
request: pages are made once, not for each batch. Where there is no memory to share, tensors go
through the pipe.

Ownership: a buffer is an anonymous file. Both sides keep it mapped, neither keeps it open, and it
goes with the last mapping: nothing is left however the processes end. Threads: one at a time on
each side; what the reader drops may be dropped on any thread.
"""

from __future__ import annotations

import ctypes
import io
import math
import mmap
import os
import pickle
import weakref
from collections import deque
from collections.abc import Sequence
from multiprocessing import reduction
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

import numpy as np

from oneflow import _oneflow_internal

Tensor = _oneflow_internal.Tensor
# Below this the pipe is as fast.
LEAST_BYTES = 1 << 16
# Buffers that nobody uses and a worker keeps all the same.
_MOST_FREE = 8

NUMPY_DTYPES = {
    getattr(_oneflow_internal, ours): np.dtype(theirs)
    for ours, theirs in (
        ("bool", "bool"), ("uint8", "uint8"), ("int8", "int8"), ("int16", "int16"),
        ("int32", "int32"), ("int64", "int64"), ("float16", "float16"), ("float32", "float32"),
        ("float64", "float64"),
    )
}  # fmt: skip


_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_int64]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


class _Memory:
    """The mapping of a shared file, which may be closed; Python's own class keeps it open."""

    def __init__(self, file: int, size: int) -> None:
        self.size = size
        access = mmap.PROT_READ | mmap.PROT_WRITE
        self.address = _libc.mmap(None, size, access, mmap.MAP_SHARED, file, 0)
        if self.address == ctypes.c_void_p(-1).value:
            error = ctypes.get_errno()
            self.address = None
            raise OSError(error, os.strerror(error))

    def array(self, shape: tuple[int, ...], dtype: Any) -> np.ndarray[Any, Any]:
        """Its beginning, as an array that keeps it."""
        return np.asarray(_Part(self, shape, np.dtype(dtype).str))

    def __del__(self, unmap: Any = _libc.munmap) -> None:
        if self.address is not None:
            unmap(self.address, self.size)


class _Part:
    """What NumPy reads an array from, and then keeps."""

    def __init__(self, memory: _Memory, shape: tuple[int, ...], dtype: str) -> None:
        self.memory = memory
        self.__array_interface__ = {
            "version": 3, "data": (memory.address, False), "shape": shape, "typestr": dtype,
        }  # fmt: skip


class Packed(NamedTuple):
    """A batch on its way: the pickle of what is no large tensor, and news of buffers.

    The open files of new ones follow on the pipe, in this order.
    """

    pickle: bytes
    new: list[tuple[int, int]]  # number and bytes
    gone: list[int]  # the worker has given them up


class _Buffer:
    """A worker's side of a buffer."""

    def __init__(self, number: int, size: int) -> None:
        self.number = number
        self.size = size
        self.known = False  # to the reader
        self.away = False  # at the reader
        self.user: Any = None  # weak: the array that was last given out here
        self.file = os.memfd_create("oneflow-batch", os.MFD_CLOEXEC)
        try:
            os.ftruncate(self.file, size)
            self.memory = _Memory(self.file, size)
        except BaseException:
            self.close()
            raise

    def free(self) -> bool:
        """Whether neither side uses it."""
        return not self.away and (self.user is None or self.user() is None)

    def array(self, shape: tuple[int, ...], dtype: Any) -> np.ndarray[Any, Any]:
        """Its beginning, as an array that keeps it from being free."""
        made = self.memory.array(shape, dtype)
        self.user = weakref.ref(made)
        return made

    def close(self) -> None:
        """Closes the file; the memory stays."""
        file, self.file = self.file, -1
        if file >= 0:
            os.close(file)

    __del__ = close


class Arena:
    """A worker's buffers."""

    def __init__(self) -> None:
        self._buffers: list[_Buffer] = []
        self._made = 0
        self._gone: list[int] = []
        self._placed: dict[int, _Buffer] = {}  # of the next batch, by address

    def array(self, shape: tuple[int, ...], dtype: Any) -> np.ndarray[Any, Any] | None:
        """A new array in shared memory, of no defined value; None if it is small."""
        size = math.prod(shape) * np.dtype(dtype).itemsize
        buffer = self._buffer_of(size) if size >= LEAST_BYTES else None
        if buffer is None:
            return None
        made = buffer.array(shape, dtype)
        self._placed[_address(made)] = buffer
        return made

    def _buffer_of(self, size: int) -> _Buffer | None:
        free = [buffer for buffer in self._buffers if buffer.free()]
        fitting = [buffer for buffer in free if size <= buffer.size <= 2 * size]
        if fitting:
            return min(fitting, key=lambda buffer: buffer.size)
        for buffer in free[_MOST_FREE:]:
            self._buffers.remove(buffer)
            if buffer.known:
                self._gone.append(buffer.number)
        try:
            made = _Buffer(self._made, -(-size // mmap.PAGESIZE) * mmap.PAGESIZE)
        except (OSError, AttributeError, ValueError):  # no more files or memory; a system without
            return None
        self._made += 1
        self._buffers.append(made)
        return made

    def take_back(self, numbers: Sequence[int]) -> None:
        """The reader has dropped what was in these."""
        for buffer in self._buffers if numbers else ():
            buffer.away = buffer.away and buffer.number not in numbers

    def pack(self, batch: Any) -> tuple[Packed, list[_Buffer]]:
        """The batch as it is sent, and the new buffers, whose files follow it."""
        stream = io.BytesIO()
        packer = _Packer(stream, self)
        try:
            packer.dump(batch)
        except BaseException:
            self.take_back([buffer.number for buffer in packer.used])
            raise
        self._placed.clear()
        new = [buffer for buffer in packer.used if not buffer.known]
        for buffer in new:
            buffer.known = True
        gone, self._gone = self._gone, []
        return Packed(stream.getvalue(), [(b.number, b.size) for b in new], gone), new

    def place(self, tensor: Any) -> tuple[_Buffer, tuple[int, ...], str] | None:
        """The buffer that holds a tensor's elements, its from here on; None if there is none."""
        dtype = NUMPY_DTYPES.get(tensor.dtype)
        small = tensor.numel() * tensor.element_size() < LEAST_BYTES
        if dtype is None or small or tensor.is_cuda or tensor.is_global:
            return None
        values = tensor.detach().numpy()
        buffer = self._placed.pop(_address(values), None) if values.flags.c_contiguous else None
        if buffer is None or buffer.size < values.nbytes:
            copy = self.array(values.shape, values.dtype)
            if copy is None:
                return None
            np.copyto(copy, values)
            buffer = self._placed.pop(_address(copy))
        buffer.away = True
        return buffer, values.shape, values.dtype.str


class _Packer(reduction.ForkingPickler):
    """Pickles a batch; of large tensors only where they are."""

    def __init__(self, stream: io.BytesIO, arena: Arena) -> None:
        super().__init__(stream, pickle.HIGHEST_PROTOCOL)
        self.used: list[_Buffer] = []
        self._arena = arena
        self._names: dict[
            int, tuple[Any, Any]
        ] = {}  # by id; holds the tensor, which keeps the id its

    def persistent_id(self, obj: Any) -> Any:
        """What stands for a large tensor; None for everything else."""
        if type(obj) is not Tensor:
            return None
        if id(obj) not in self._names:
            self._names[id(obj)] = (obj, self._name_of(obj))
        return self._names[id(obj)][1]

    def _name_of(self, tensor: Any) -> Any:
        plain = tensor.is_leaf and not tensor.__dict__
        placed = self._arena.place(tensor) if plain else None
        if placed is None:
            return None
        buffer, shape, dtype = placed
        self.used.append(buffer)
        return buffer.number, shape, dtype, tensor.requires_grad


class Window:
    """The reader's view of one worker's buffers."""

    def __init__(self) -> None:
        self._mapped: dict[int, _Memory] = {}
        self._dropped: deque[int] = deque()

    def take_news(self, packed: Packed, pipe: Connection) -> None:
        """Maps new buffers. REQUIRES that `packed` has just come through `pipe`."""
        for number in packed.gone:
            del self._mapped[number]
        for number, size in packed.new:
            file = reduction.recv_handle(pipe)
            try:
                self._mapped[number] = _Memory(file, size)
            finally:
                os.close(file)

    def open(self, packed: Packed) -> Any:
        """The batch; its news has been taken."""
        return _Unpacker(packed.pickle, self).load()

    def dropped(self) -> list[int]:
        """The buffers that the worker may use again: those dropped since the last call."""
        return [self._dropped.popleft() for _ in range(len(self._dropped))]

    def tensor(self, number: int, shape: tuple[int, ...], dtype: str, requires_grad: bool) -> Any:
        """The tensor that a buffer holds."""
        array = self._mapped[number].array(shape, dtype)
        weakref.finalize(array, self._dropped.append, number).atexit = False
        made = _oneflow_internal.adopt_array(array)
        if requires_grad:
            made.requires_grad = True
        return made


class _Unpacker(pickle.Unpickler):
    """Reads what a _Packer wrote."""

    def __init__(self, data: bytes, window: Window) -> None:
        super().__init__(io.BytesIO(data))
        self._window = window
        self._tensors: dict[int, Any] = {}  # by buffer: the same tensor where it came twice

    def persistent_load(self, pid: Any) -> Any:
        """The tensor for a name."""
        number = pid[0]
        if number not in self._tensors:
            self._tensors[number] = self._window.tensor(*pid)
        return self._tensors[number]


def _address(array: np.ndarray[Any, Any]) -> int:
    address: int = array.__array_interface__["data"][0]
    return address
