"""Tensors: made from sizes and data, indexed, converted, printed, copied."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from typing import Any

import numpy as np
import pytest
from tests.support import must_fail, raises, same, values

import oneflow as flow
from oneflow.framework import tensor_str

NUMPY_DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float32", "float64"]


# Creation.


def test_constants() -> None:
    for made in (
        flow.zeros(2, 3),
        flow.zeros((2, 3)),
        flow.zeros([2, 3]),
        flow.zeros(flow.Size([2, 3])),
    ):
        same(made, np.zeros((2, 3)))
        assert made.dtype == flow.float32
    same(flow.ones(2, dtype=flow.int64), [1, 1])
    same(flow.full((2,), 7), [7, 7])
    same(flow.full(2, 1.5), [1.5, 1.5])
    assert flow.full((1,), True).dtype == flow.bool
    assert flow.full((1,), 3).dtype == flow.int64
    assert flow.empty(0, 5).numel() == 0
    assert flow.zeros().shape == ()
    assert flow.ones(2, requires_grad=True).requires_grad


def test_like() -> None:
    x = flow.arange(3)
    for maker, value in ((flow.zeros_like, 0), (flow.ones_like, 1)):
        same(maker(x), [value] * 3)
        assert maker(x).dtype == flow.int64
        assert maker(x, dtype=flow.float64).dtype == flow.float64
    same(flow.full_like(x, 9), [9] * 3)
    assert flow.empty_like(x).shape == (3,)
    assert flow.randn_like(flow.zeros(4, 5)).shape == (4, 5)
    y = flow.ones(2, dtype=flow.float64)
    assert y.new_zeros(3).dtype == flow.float64
    same(y.new_full((2,), 4), [4, 4])
    same(y.new_tensor([1]), [1])
    assert y.new_empty(2, 2).shape == (2, 2)
    assert y.new_ones((1,), dtype=flow.int64).dtype == flow.int64


@pytest.mark.parametrize(
    "args", [(5,), (1, 6), (1, 8, 3), (5, 0, -2), (0.5, 2), (0, 1, 0.25), (3, 3)]
)
def test_arange(args: Any) -> None:
    expected = np.arange(*args)
    made = flow.arange(*args)
    same(made, expected)
    assert made.dtype == (flow.int64 if expected.dtype.kind == "i" else flow.float32)


def test_linspace_and_eye() -> None:
    for start, end in ((-1.0, 1.0), (3.7, -2.5), (0.0, 1e-300), (5.0, 5.0), (-1e300, 1e308)):
        for steps in (0, 1, 2, 3, 1001):
            made = flow.linspace(start, end, steps, dtype=flow.float64)
            assert np.array_equal(made.numpy(), np.linspace(start, end, steps)), (start, steps)
    assert flow.linspace(0, 10, 5, dtype=flow.int64).tolist() == [0, 2, 5, 7, 10]
    assert flow.linspace(0, 1, 2).dtype == flow.float32
    for rows, columns in ((0, 0), (0, 3), (3, 0), (1, 1), (2, 3), (3, 3), (5, 2)):
        for dtype in (flow.float32, flow.int64, flow.bool):
            made = flow.eye(rows, columns, dtype=dtype)
            assert made.dtype == dtype and made.is_contiguous()
            same(made, np.eye(rows, columns))
    same(flow.eye(2), np.eye(2))


@pytest.mark.parametrize("name", NUMPY_DTYPES)
def test_tensor_of_numpy_and_back(name: str) -> None:
    array = np.array([[0, 1, 2], [1, 0, 1]]).astype(name)
    made = flow.tensor(array)
    assert made.dtype == getattr(flow, name)
    np.testing.assert_array_equal(made.numpy(), array)
    assert made.numpy().dtype == array.dtype
    array[0, 0] = 1
    assert made.tolist()[0][0] == 0, "tensor() copies"
    assert flow.convert_numpy_dtype_to_oneflow_dtype(array.dtype) == made.dtype
    assert flow.convert_oneflow_dtype_to_numpy_dtype(made.dtype) == array.dtype


def test_tensor_of_python() -> None:
    assert flow.tensor(3).dtype == flow.int64
    assert flow.tensor(3.0).dtype == flow.float32
    assert flow.tensor(True).dtype == flow.bool
    assert flow.tensor([[1, 2], [3, 4]]).tolist() == [[1, 2], [3, 4]]
    assert flow.tensor([]).shape == (0,)
    assert flow.tensor([1, 2], dtype=flow.float64).dtype == flow.float64
    source = flow.ones(2)
    made = flow.tensor(source)
    source.zero_()
    same(made, [1, 1])


def test_sharing_with_numpy() -> None:
    array = np.zeros(3, dtype=np.float32)
    shared = flow.from_numpy(array)
    array[0] = 5
    same(shared, [5, 0, 0])
    shared.fill_(2)
    assert array.tolist() == [2, 2, 2]
    again = shared.numpy()
    again[1] = 9
    same(shared, [2, 9, 2])
    assert flow.as_tensor(array).data_ptr() == shared.data_ptr()
    assert flow.as_tensor(shared) is shared
    assert flow.as_tensor(array, dtype=flow.float64).dtype == flow.float64
    same(flow.as_tensor([1.0]), [1])
    # No race between an op and what Python does to the memory next.
    for _ in range(100):
        result = flow.from_numpy(array) * 2
        expected = array * 2
        array[:] = array + 1
        same(result, expected)


def test_numpy_outlives_its_tensor() -> None:
    array = flow.ones(1000).numpy()
    gc.collect()
    flow.zeros(1000)
    assert array.sum() == 1000


# Random numbers.


def check_uniform(draw: Any) -> None:
    """Mean, variance, range, and no value much more frequent than another."""
    x = values(draw(100_000)).astype(np.float64)
    assert x.min() >= 0 and x.max() < 1
    assert abs(x.mean() - 0.5) < 6 * np.sqrt(1 / 12 / len(x))
    assert abs(x.var() - 1 / 12) < 0.003
    counts = np.histogram(x, bins=50, range=(0, 1))[0]
    assert np.abs(counts - 2000).max() < 6 * np.sqrt(2000)
    assert abs(np.corrcoef(x[1:], x[:-1])[0, 1]) < 6 / np.sqrt(len(x))


def test_uniform() -> None:
    check_uniform(flow.rand)
    check_uniform(lambda n: flow.rand(n, dtype=flow.float64))
    check_uniform(lambda n: (flow.zeros(n).uniform_(2, 4) - 2) * 0.5)


def test_normal() -> None:
    x = values(flow.randn(100_000)).astype(np.float64)
    assert abs(x.mean()) < 6 / np.sqrt(len(x))
    assert abs(x.std() - 1) < 0.02
    assert abs((x**3).mean()) < 0.06
    assert abs((x**4).mean() - 3) < 0.2
    y = values(flow.zeros(100_000).normal_(5, 0.1))
    assert abs(y.mean() - 5) < 0.005


def test_seeds() -> None:
    def draws() -> list[Any]:
        return [
            flow.rand(3).tolist(), flow.randn(2, 2).tolist(), flow.randint(0, 9, (4,)).tolist(),
            flow.randperm(5).tolist(),
        ]  # fmt: skip

    flow.manual_seed(3)
    first = draws()
    flow.manual_seed(3)
    assert draws() == first
    assert draws() != first
    assert flow.initial_seed() == 3
    state = flow.get_rng_state()
    after = draws()
    flow.set_rng_state(state)
    assert draws() == after
    assert flow.manual_seed(-1).initial_seed() == 2**64 - 1
    assert flow.seed() == flow.initial_seed() != flow.seed()
    generator = flow.Generator()
    generator.manual_seed(1)
    other = flow.Generator().manual_seed(1)
    assert flow.rand(2, generator=generator).tolist() == flow.rand(2, generator=other).tolist()


def test_generator_state_is_a_tensor() -> None:
    generator = flow.Generator().manual_seed(5)
    flow.rand(1000, generator=generator)
    state = generator.get_state()
    assert state.dtype == flow.uint8
    assert flow.default_generator.get_state().tolist() == flow.get_rng_state().tolist()
    first = flow.rand(3, generator=generator).tolist()
    assert generator.get_state().tolist() != state.tolist()
    other = flow.Generator("cpu:0")
    other.set_state(state)
    assert flow.rand(3, generator=other).tolist() == first
    assert other.initial_seed() == 5
    assert other.device == flow.device("cpu")
    assert other.seed() == other.initial_seed() != 5
    with pytest.raises(RuntimeError, match="uint8 and shape"):
        generator.set_state(flow.zeros(3))
    with pytest.raises(RuntimeError, match="expects 'cpu'"):
        flow.Generator("tpu")


def test_randint_and_randperm() -> None:
    x = flow.randint(-2, 3, (5000,))
    assert x.dtype == flow.int64
    counts = np.bincount(values(x) + 2)
    assert len(counts) == 5
    assert np.abs(counts - 1000).max() < 6 * np.sqrt(1000)
    assert flow.randint(4, (2, 3)).shape == (2, 3)
    assert sorted(flow.randperm(100).tolist()) == list(range(100))
    assert flow.randperm(0).shape == (0,)
    assert flow.randperm(3, dtype=flow.int32).dtype == flow.int32


# Attributes, indexing, numbers.


def test_attributes() -> None:
    x = flow.zeros(2, 3, 4)
    assert x.shape == x.size() == flow.Size([2, 3, 4])
    assert (x.size(1), x.dim(), x.ndim, x.numel(), x.nelement(), len(x)) == (3, 3, 3, 24, 24, 2)
    assert flow.numel(x) == 24
    assert x.stride() == (12, 4, 1)
    assert x.is_contiguous()
    assert not x.transpose(0, 1).is_contiguous()
    assert x.element_size() == 4
    assert (x.device.type, x.is_cuda) == ("cpu", False)
    assert x.is_floating_point() and not flow.arange(2).is_floating_point()
    assert flow.is_tensor(x) and not flow.is_tensor([])
    assert flow.zeros(2, 3).T.shape == (3, 2)
    x.note = "attributes may be added"
    assert x.__dict__ == {"note": "attributes may be added"}


def test_size() -> None:
    size = flow.zeros(2, 3).shape
    assert isinstance(size, tuple)
    assert tuple(size) == (2, 3)
    assert repr(size) == "oneflow.Size([2, 3])"
    assert flow.zeros(2, 3).shape.numel() == 6
    assert isinstance(size[:1], flow.Size)
    assert pickle.loads(pickle.dumps(size)) == size


def test_weak_references_and_collection() -> None:
    x = flow.ones(1)
    ref = weakref.ref(x)
    del x
    assert ref() is None
    y = flow.ones(1)
    y.me = y
    ref = weakref.ref(y)
    del y
    gc.collect()
    assert ref() is None


def test_iteration_and_numbers() -> None:
    assert [row.tolist() for row in flow.tensor([[1, 2], [3, 4]])] == [[1, 2], [3, 4]]
    one = flow.tensor([2.5])
    assert (float(one), int(one), bool(one), one.item()) == (2.5, 2, True, 2.5)
    assert [10, 20, 30][flow.tensor(1)] == 20
    assert f"{flow.tensor(3.14159):.2f}" == "3.14"
    assert flow.is_nonzero(flow.tensor([0])) is False


def test_arithmetic_with_numbers_on_both_sides() -> None:
    x = flow.tensor([1.0, 2.0])
    same(2 - x, [1, 0])
    same(2 / x, [2, 1])
    same(3 + x * 2 - 1, [4, 6])
    same(-x, [-1, -2])
    same(x == 2, [False, True])
    x += 1
    x *= 2
    x -= 1
    same(x, [3, 5])


def test_conversions() -> None:
    x = flow.tensor([1.7, -2.2])
    assert x.to(flow.int64).tolist() == [1, -2]
    assert x.long().tolist() == [1, -2]
    assert x.double().dtype == flow.float64
    assert x.float() is x
    assert x.to("cpu") is x
    assert x.to(flow.device("cpu"), flow.float64).dtype == flow.float64
    assert x.to(flow.arange(1)).dtype == flow.int64
    assert x.to("cpu", copy=True) is not x
    assert x.type_as(flow.arange(1)).dtype == flow.int64
    assert x.type() == "oneflow.FloatTensor"
    assert x.type(flow.float64).type() == "oneflow.DoubleTensor"
    assert x.cpu() is x
    assert x.bool().tolist() == [True, True]


def test_finfo_and_iinfo() -> None:
    assert flow.finfo(flow.float32).max == float(np.finfo(np.float32).max)
    assert flow.finfo().bits == 32
    assert flow.iinfo(flow.int8).min == -128
    assert "int8" in repr(flow.iinfo(flow.int8))
    assert "float64" in repr(flow.finfo(flow.float64))
    wanted = {flow.float16: 1e-3, flow.bfloat16: 1e-2, flow.float32: 1e-6, flow.float64: 1e-15}
    for dtype, resolution in wanted.items():
        info = flow.finfo(dtype)
        assert info.resolution == resolution
        one = flow.tensor([1.0], dtype=dtype)
        assert (one + info.eps != one).item()
        assert not (one + info.eps / 2 != one).item()
        assert flow.tensor([info.max], dtype=dtype).item() == info.max == -info.min
    short = flow.finfo(flow.bfloat16)
    assert (short.bits, short.dtype, short.tiny) == (16, "bfloat16", 2.0**-126)
    assert flow.float is flow.float32
    assert flow.long is flow.int64
    assert flow.int64 in flow.dtypes()


def test_in_place_methods() -> None:
    x = flow.zeros(2, 2)
    assert x.fill_(3) is x
    assert x.zero_() is x
    x.copy_(flow.tensor([1, 2]))
    same(x, [[1, 2], [1, 2]])
    x.copy_(np.full((2, 2), 5.0))
    same(x, [[5, 5], [5, 5]])
    x.copy_(4)
    same(x, [[4, 4], [4, 4]])
    same(flow.arange(4).view_as(x), [[0, 1], [2, 3]])
    same(flow.arange(4).reshape_as(x), [[0, 1], [2, 3]])


# Copies.


def check_copy(copied: Any) -> None:
    """Equal, with the same class and flags, but in memory of its own."""
    for x in (flow.randn(2, 3, requires_grad=True), flow.nn.Parameter(flow.ones(2))):
        other = copied(x)
        assert type(other) is type(x)
        assert other.requires_grad and other.is_leaf
        same(other, values(x))
        with flow.no_grad():
            other.zero_()
        assert values(x).any()


@pytest.mark.parametrize(
    "copied", [copy.deepcopy, copy.copy, lambda x: pickle.loads(pickle.dumps(x))]
)
def test_copies(copied: Any) -> None:
    check_copy(copied)


def test_numpy_of_what_requires_grad() -> None:
    x = flow.ones(2, requires_grad=True)
    for array in (x.numpy(), (x * 2).numpy() / 2, np.asarray(x)):
        np.testing.assert_array_equal(array, [1, 1])
    assert x.requires_grad


def test_deepcopy_keeps_gradients_attributes_and_identity() -> None:
    x = flow.ones(2, requires_grad=True)
    (x * 3).sum().backward()
    x.tag = ["a"]
    first, second = copy.deepcopy([x, x])
    assert first is second
    same(first.grad, [3, 3])
    assert first.tag == ["a"] and first.tag is not x.tag
    with raises(RuntimeError, "deepcopy", "detach"):
        copy.deepcopy(x * 2)
    with raises(RuntimeError, "pickle", "detach"):
        pickle.dumps(x * 2)


# Printing.


PRINTED: list[tuple[Any, str]] = [
    (lambda: flow.tensor([1.0, 2.5]), "tensor([1.0000, 2.5000], dtype=oneflow.float32)"),
    (lambda: flow.tensor([1.0, -2.0]), "tensor([ 1., -2.], dtype=oneflow.float32)"),
    (lambda: flow.tensor(3), "tensor(3, dtype=oneflow.int64)"),
    (lambda: flow.tensor([10, 2]), "tensor([10,  2], dtype=oneflow.int64)"),
    (lambda: flow.tensor([True]), "tensor([True], dtype=oneflow.bool)"),
    (lambda: flow.zeros(0), "tensor([], dtype=oneflow.float32)"),
    (lambda: flow.zeros(2, 0), "tensor([], size=(2, 0), dtype=oneflow.float32)"),
    (lambda: flow.zeros(0, 1 << 62), f"tensor([], size=(0, {1 << 62}), dtype=oneflow.float32)"),
    (
        lambda: flow.tensor([float("nan"), float("inf"), 1.5]),
        "tensor([   nan,    inf, 1.5000], dtype=oneflow.float32)",
    ),
    (lambda: flow.tensor([1e-6, 1.0]), "tensor([1.0000e-06, 1.0000e+00], dtype=oneflow.float32)"),
    (
        lambda: flow.ones(1, requires_grad=True),
        "tensor([1.], dtype=oneflow.float32, requires_grad=True)",
    ),
    (
        lambda: flow.arange(2000),
        "tensor([   0,    1,    2,  ..., 1997, 1998, 1999], dtype=oneflow.int64)",
    ),
]


@pytest.mark.parametrize(("make", "text"), PRINTED)
def test_printing(make: Any, text: str) -> None:
    assert repr(make()) == str(make()) == text


def test_printing_of_results_and_parameters() -> None:
    result = flow.ones(1, requires_grad=True) * 2
    assert "grad_fn=<" in repr(result)
    assert "requires_grad" not in repr(result)
    assert repr(flow.nn.Parameter(flow.ones(1))).startswith("Parameter containing:\ntensor([1.]")


def test_print_options() -> None:
    before = tensor_str.PRINT_OPTS
    try:
        flow.set_printoptions(precision=2, threshold=5, edgeitems=1)
        assert repr(flow.tensor([0.123])) == "tensor([0.12], dtype=oneflow.float32)"
        assert repr(flow.arange(9)) == "tensor([0,  ..., 8], dtype=oneflow.int64)"
        text = repr(flow.zeros(4, 4))
        assert text.count("...") == 3
        flow.set_printoptions(profile="full")
        assert "..." not in repr(flow.arange(5000))
        flow.set_printoptions(sci_mode=True)
        assert "e+00" in repr(flow.ones(1))
        wrongs: list[Any] = [{"profile": "loud"}, {"precision": -1}, {"linewidth": "wide"}]
        wrongs += [{"precision": 1 << 40}, {"sci_mode": flow.ones(2)}, {"threshold": 1 << 70}]
        for wrong in wrongs:
            with raises(ValueError, "set_printoptions"):
                flow.set_printoptions(**wrong)
    finally:
        tensor_str.PRINT_OPTS = before


def test_printing_leaves_the_tensor_its_own() -> None:
    """To print must not count as sharing memory with Python: later ops would be waited for."""
    x = flow.ones(3)
    repr(x)
    version = x._version
    repr(x)
    assert x._version == version


# Memory.


def test_memory_stats() -> None:
    flow.cpu.synchronize()
    gc.collect()
    before = flow.cpu.memory_allocated()
    flow.cpu.reset_peak_memory_stats()
    x = flow.ones(1 << 20)
    assert flow.cpu.memory_allocated() - before >= 4 << 20
    del x
    flow.cpu.synchronize()
    assert flow.cpu.memory_allocated() - before < 1 << 20
    assert flow.cpu.max_memory_allocated() - before >= 4 << 20
    flow.cpu.empty_cache()
    assert flow.cpu.memory_stats()["reserved"] >= 0


# Positive controls.


def test_controls() -> None:
    must_fail(check_uniform, lambda n: flow.rand(n) * 0.98)
    must_fail(check_uniform, lambda n: flow.tensor(np.linspace(0, 1, n, endpoint=False)))
    must_fail(check_copy, lambda x: x)


def test_sizes() -> None:
    size = flow.ones(1, 2, 3).shape
    assert type(size + (4,)) is flow.Size and size + (4,) == (1, 2, 3, 4)
    assert type(size * 2) is flow.Size and (size * 2).numel() == 36
    assert type(size[:2] + size[1:]) is flow.Size
    assert (4,) + size == (4, 1, 2, 3)
    items: list[Any] = [flow.tensor(2), np.int64(3), True]
    made = flow.Size(items)
    assert made == (2, 3, 1) and {type(item) for item in made} == {int}
    with raises(TypeError, r"\[Size\] expects ints, got str as item 1"):
        flow.Size([1, "a"])  # type: ignore[list-item]
    with raises(TypeError, r"\[Size\] expects ints, got float as item 0"):
        flow.Size([1.0])  # type: ignore[list-item]
