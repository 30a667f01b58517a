"""DLPack: shared memory, lifetimes, what is refused."""

from __future__ import annotations

import gc
import threading
from typing import Any

import numpy as np
import pytest
from tests.support import must_fail, raises, same

import oneflow as flow

DTYPES = ["uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "bool"]


@pytest.mark.parametrize("name", DTYPES)
def test_memory_is_shared_both_ways(name: str) -> None:
    array = np.arange(6).reshape(2, 3).T.astype(name)
    tensor = flow.from_dlpack(array)
    assert tensor.dtype == getattr(flow, name)
    assert tensor.data_ptr() == array.ctypes.data
    assert tensor.stride() == tuple(s // array.itemsize for s in array.strides)
    same(tensor, array)
    back = np.from_dlpack(tensor)
    assert np.shares_memory(back, array) and back.dtype == array.dtype


def test_bfloat16_comes_back() -> None:
    x = flow.tensor([1.5, -2.0]).to(flow.bfloat16)
    y = flow.from_dlpack(flow.to_dlpack(x))
    assert y.dtype == flow.bfloat16 and y.data_ptr() == x.data_ptr()
    assert y.tolist() == [1.5, -2.0]


def test_a_change_is_seen_on_the_other_side_at_once() -> None:
    x = flow.zeros(3)
    array = np.from_dlpack(x)
    x.add_(2)
    assert array.tolist() == [2, 2, 2]
    y = x * 2
    if array.flags.writeable:
        array[:] = 0
    same(y, [4, 4, 4])


def test_memory_outlives_its_maker() -> None:
    x = flow.from_dlpack(np.full(100000, 3.0))
    gc.collect()
    assert x.sum().item() == 300000
    array = np.from_dlpack(flow.ones(100000))
    gc.collect()
    assert array.sum() == 100000


def test_what_was_imported_is_released_once_nobody_uses_it() -> None:
    class Watched(np.ndarray):
        """An array that is told apart by its death."""

    dead = threading.Event()
    import weakref

    array = np.zeros(4).view(Watched)
    weakref.finalize(array, dead.set)
    tensor = flow.from_dlpack(array)
    view = tensor[1:]
    del array, tensor
    gc.collect()
    assert not dead.is_set()
    view = view * 1
    flow._oneflow_internal.eager.Sync()
    gc.collect()
    _ = flow.zeros(1) + 1  # what a stream's thread let go of is dropped with the next op
    assert dead.wait(5)


def test_read_only_memory_stays_so() -> None:
    array = np.arange(3.0)
    array.flags.writeable = False
    tensor = flow.from_dlpack(array)
    same(tensor, [0, 1, 2])
    with raises(RuntimeError, "read-only"):
        tensor.add_(1)
    with raises(BufferError, "read-only"):
        flow.to_dlpack(tensor)


def test_a_copy_is_one() -> None:
    x = flow.zeros(2)
    array = np.from_dlpack(x, copy=True) if np.lib.NumpyVersion(np.__version__) >= "2.1.0" else None
    if array is not None:
        x.add_(1)
        assert array.tolist() == [0, 0]
    capsule = x.__dlpack__(copy=True)
    assert flow.from_dlpack(capsule).data_ptr() != x.data_ptr()
    assert x.__dlpack_device__() == (1, 0)


def test_versions_of_the_capsule() -> None:
    x = flow.ones(2)
    assert '"dltensor"' in repr(x.__dlpack__())
    assert '"dltensor_versioned"' in repr(x.__dlpack__(max_version=(1, 0)))
    assert '"dltensor"' in repr(x.__dlpack__(max_version=(0, 8)))
    same(flow.from_dlpack(x.__dlpack__(max_version=(1, 0))), [1, 1])


class Old:
    """A producer from before versions."""

    def __dlpack__(self, stream: Any = None) -> Any:
        return flow.ones(2).__dlpack__(stream=stream)


class Foreign:
    """A producer that fails."""

    def __dlpack__(self, **_: Any) -> Any:
        raise ZeroDivisionError("on purpose")


def test_other_producers() -> None:
    same(flow.from_dlpack(Old()), [1, 1])
    same(flow.from_dlpack(flow.ones(2)), [1, 1])
    with raises(ZeroDivisionError, "on purpose"):
        flow.from_dlpack(Foreign())


def test_what_is_refused() -> None:
    with raises(TypeError, "from_dlpack", "list"):
        flow.from_dlpack([1])
    with raises(TypeError, "to_dlpack", "int"):
        loose: Any = flow
        loose.to_dlpack(1)
    capsule = flow.to_dlpack(flow.ones(2))
    flow.from_dlpack(capsule)
    with raises(RuntimeError, "nobody has used"):
        flow.from_dlpack(capsule)
    with raises(BufferError, "requires? grad", "detach"):
        flow.ones(2, requires_grad=True).__dlpack__()
    with raises(TypeError, "dtype"):
        flow.from_dlpack(np.zeros(2, np.complex64))
    with raises((RuntimeError, BufferError), ""):
        flow.from_dlpack(np.arange(4.0)[::-1])
    unused = flow.to_dlpack(flow.ones(2))
    del unused
    gc.collect()


def test_control(monkeypatch: pytest.MonkeyPatch) -> None:
    """An import that copies."""
    right = flow.from_dlpack
    monkeypatch.setattr(flow, "from_dlpack", lambda x: right(x).clone())
    must_fail(test_memory_is_shared_both_ways, "float32")
    must_fail(test_bfloat16_comes_back)
