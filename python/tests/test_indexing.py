"""x[...] as numpy has it, read and written, with gradients."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from tests.support import must_fail, raises, same

import oneflow as flow

VIEWS: list[Any] = [
    0, -1, slice(None), slice(1, None), slice(None, None, 2), slice(2, 0), Ellipsis, None,
    (0, 1), (slice(None), 2), (Ellipsis, -1), (None, 1, slice(0, 2)), (slice(None), None),
    (1, Ellipsis, 0), (0, 1, 2), (), np.int64(1), (np.int32(0), Ellipsis),
]  # fmt: skip
COPIES: list[Any] = [
    [0], [1, 0, 1], [-1], [], ([0, 1], [1, 2]), ([0, 1], slice(None), [1, 2]), ([[0, 1], [1, 0]],),
    (slice(None), [2, 0]), (slice(None), [0, 1], [3, -1]), (Ellipsis, [0, 3, 3]),
    (None, [1, 0]), ([1, 0], None, [2, 1]), (slice(None, None, 2), [1]), ([0, 1], Ellipsis, [1, 2]),
    ([[0], [1]], [0, 2]), np.array([1, 0]), (slice(1, None), np.array([[0, 2], [1, 1]])),
    np.array([True, False]), (slice(None), np.array([True, False, True])), True, False, np.True_,
    (np.ones((2, 3), bool), 1), (0, np.array([False, True, True])), [True, True], (True, 0),
    slice(None, None, -1), (slice(None), slice(2, 0, -1), slice(None, None, -2)),
    (slice(None, None, -1), [0, 2]), (slice(None), slice(0, 3, -1)), np.array([1], np.uint8),
]  # fmt: skip
ARRAY = np.arange(24.0).reshape(2, 3, 4)
MASK = ARRAY % 3 == 0


def as_tensors(key: Any) -> Any:
    """The same key with tensors for lists and arrays."""
    if isinstance(key, tuple):
        return tuple(as_tensors(item) for item in key)
    if isinstance(key, np.ndarray) and key.dtype != np.uint8:
        return flow.tensor(key)
    if isinstance(key, list) and key:
        return flow.tensor(np.array(key))
    return key


def check(key: Any, numpy_key: Any) -> None:
    """Reads, writes and derives one key."""
    tensor = flow.tensor(ARRAY, requires_grad=True)
    wanted = ARRAY[numpy_key]
    got = tensor[key]
    same(got, wanted)
    weights = np.cos(np.arange(wanted.size)).reshape(wanted.shape)
    (got * flow.tensor(weights, dtype=flow.float64)).sum().backward()
    gradient = np.zeros_like(ARRAY)
    np.add.at(gradient, numpy_key, weights)
    np.testing.assert_allclose(tensor.grad.numpy(), gradient, atol=1e-12)
    for value in (7.0, np.float32(3), weights, weights[None]):
        target = tensor.detach().clone()
        array = ARRAY.copy()
        target[key] = value if isinstance(value, float) else flow.tensor(value)
        array[numpy_key] = weights if np.ndim(value) else value
        if not repeats(numpy_key):
            same(target, array)


def repeats(key: Any) -> bool:
    """Whether a key names an element twice: which value stays is not said by numpy."""
    counts = np.zeros_like(ARRAY)
    np.add.at(counts, key, 1)
    return bool((counts > 1).any())


@pytest.mark.parametrize("key", VIEWS, ids=repr)
def test_views(key: Any) -> None:
    check(key, key)
    x = flow.tensor(ARRAY)
    x[key].zero_()
    array = ARRAY.copy()
    array[key] = 0
    same(x, array)


@pytest.mark.parametrize("key", COPIES, ids=repr)
def test_copies(key: Any) -> None:
    numpy_key = np.zeros(0, np.int64) if isinstance(key, list) and not key else key
    check(key, numpy_key)
    check(as_tensors(key), numpy_key)


def test_a_mask_of_the_whole_tensor() -> None:
    check(MASK, MASK)
    check(flow.tensor(MASK), MASK)
    check(flow.tensor(MASK).to(flow.uint8), MASK)
    half = MASK[:, :, 0]
    check((flow.tensor(half), slice(1, None)), (half, slice(1, None)))


def keys(seed: int) -> Iterator[Any]:
    """Random keys for three dims, with at most one kind of place for the indexed dims."""
    rng = np.random.default_rng(seed)
    for _ in range(60):
        key: list[Any] = []
        shape = [(), (3,), (2, 3)][rng.integers(3)]
        for size in ARRAY.shape[: rng.integers(1, 4)]:
            kind = rng.integers(4)
            if kind == 0:
                key.append(int(rng.integers(-size, size)))
            elif kind == 1:
                first, last = rng.integers(-size, size, 2).tolist()
                key.append(slice(first, last, int(rng.integers(1, 3))))
            elif kind == 2 and rng.integers(3) == 0:
                key += [None, slice(None)]
            else:
                key.append(rng.integers(-size, size, shape))
        # With an integer beside arrays numpy may move dims that PyTorch leaves.
        if any(isinstance(k, np.ndarray) for k in key):
            key = [slice(k, k + 1) if isinstance(k, int) and k != -1 else k for k in key]
            key = [slice(-1, None) if isinstance(k, int) else k for k in key]
        yield tuple(key)


@pytest.mark.parametrize("seed", range(4))
def test_random_keys(seed: int) -> None:
    for key in keys(seed):
        check(
            tuple(flow.tensor(k) if isinstance(k, np.ndarray) and k.ndim else k for k in key), key
        )


def test_tensors_without_dims_are_integers() -> None:
    x = flow.tensor(ARRAY)
    same(x[flow.tensor(1), :, flow.tensor(-1)], ARRAY[1, :, -1])
    x[flow.tensor(0)] = 5
    assert x[0].mean().item() == 5
    number = flow.tensor(3.0)
    same(number[None], [3])
    same(number[True], [3])
    assert tuple(number[False].shape) == (0,)
    number[...] = 4
    assert number.item() == 4


def test_a_list_of_lists_is_a_tuple_of_them() -> None:
    """As in OneFlow; numpy makes one array of it."""
    x = flow.tensor(ARRAY)
    same(x[[[0, 1], [0, 1], [1, 0]]], ARRAY[[0, 1], [0, 1], [1, 0]])
    same(x[[slice(None), [0, 1]]], ARRAY[:, [0, 1]])
    same(x[[flow.tensor([0, 1]), flow.tensor([2, 0])]], ARRAY[[0, 1], [2, 0]])
    same(x[[flow.tensor(1), 0]], ARRAY[[1, 0]])


def test_second_derivative_of_a_read() -> None:
    w = flow.tensor([1.0, 2.0, 3.0], requires_grad=True)
    picked = w[[0, 2, 2]]
    (first,) = flow.autograd.grad((picked * picked * picked).sum(), w, create_graph=True)
    same(first, [3, 0, 54])
    (second,) = flow.autograd.grad(first.sum(), w)
    same(second, [6, 0, 36])


def test_gradients_of_a_write() -> None:
    w = flow.tensor([1.0, 2.0, 3.0], requires_grad=True)
    v = flow.tensor([4.0, 5.0], requires_grad=True)
    x = w * 2
    x[[2, 0]] = v * 3
    (x * x).sum().backward()
    same(w.grad, [0, 16, 0])
    same(v.grad, [72, 90])
    mask = flow.tensor([True, False, True])
    y = w * 2
    y[mask] = 1.0
    w.grad = None
    (y * y).sum().backward()
    same(w.grad, [0, 16, 0])


def test_values_are_converted() -> None:
    x = flow.zeros(3, dtype=flow.int64)
    x[[0, 2]] = flow.tensor([1.7, 2.2])
    x[1] = 3.9
    assert x.tolist() == [1, 3, 2]
    x[flow.tensor([False, True, False])] = [9]
    assert 9 in x and 7 not in x
    with raises(TypeError, "contains"):
        _ = "a" in x


def test_a_bad_index_leaves_the_target_alone() -> None:
    x = flow.zeros(3)
    with raises(IndexError, "setitem", r"\[-3, 3\)", "shape", "got 7"):
        x[[0, 7]] = 1.0
        flow._oneflow_internal.eager.Sync()
    same(x, [0, 0, 0])


def test_the_order_of_sums_does_not_depend_on_threads() -> None:
    rng = np.random.default_rng(0)
    index = flow.tensor(rng.integers(0, 50, 40000))
    values = flow.tensor(rng.uniform(-1, 1, (40000, 33)).astype(np.float32))
    before = flow.get_num_threads()
    results = []
    try:
        for threads in (1, 2):
            flow.set_num_threads(threads)
            results.append(flow.zeros(50, 33).index_add_(0, index, values).numpy())
    finally:
        flow.set_num_threads(before)
    assert (results[0] == results[1]).all()


def test_elements_cannot_be_deleted() -> None:
    x = flow.zeros(2)
    with raises(TypeError, "deleted"):
        del x[0]


def test_an_index_of_another_type() -> None:
    x: Any = flow.zeros(2)
    for index in (0.0, "a", 1j):
        with raises(IndexError, "getitem", "as indices, got " + type(index).__name__):
            x[index]


def test_control() -> None:
    """Another place is read, and written, than numpy's."""
    must_fail(check, [1, 0], [0, 1])
    must_fail(check, (slice(None), 2), (slice(None), 1))
