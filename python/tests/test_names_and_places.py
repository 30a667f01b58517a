"""Global tensors of one rank, old constructors, default dtypes, pieces of tensors, mocked torch."""

from __future__ import annotations

import copy
import pickle
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support import must_fail

import oneflow as flow

loose: Any = flow
CPU = flow.placement("cpu", ranks=[0])


def test_global_tensors_of_one_rank() -> None:
    x = flow.tensor([[1.0, 2.0]], requires_grad=True)
    y = x.to_global(CPU, flow.sbp.split(0))
    assert y.is_global and not y.is_local and not x.is_global
    assert y.placement == CPU == flow.placement.all("cpu")
    assert y.sbp == (flow.sbp.split(0),)
    assert y.to_global(sbp=flow.sbp.broadcast).sbp == (flow.sbp.broadcast,)
    back = y.to_local()
    assert back.is_local
    (back * 3).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [[3.0, 3.0]]
    made = flow.zeros(2, placement=CPU, sbp=flow.sbp.broadcast)
    assert made.is_global and "placement" in repr(made)
    assert flow.tensor([1], placement=CPU, sbp=[flow.sbp.broadcast]).is_global
    made.check_meta_consistency()


def test_placements_and_sbps_are_values() -> None:
    for value in (CPU, flow.placement("cpu", [[0, 1]]), flow.sbp.split(1), flow.sbp.partial_sum):
        assert pickle.loads(pickle.dumps(value)) == value == copy.deepcopy(value)
        assert len({value, copy.deepcopy(value)}) == 1
    assert flow.sbp.broadcast() == flow.sbp.broadcast != flow.sbp.split(0)
    assert flow.placement("cpu", np.array([[0, 1], [2, 3]])).hierarchy == (2, 2)


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda: flow.ones(1).to_local(), RuntimeError, "expects a global tensor"),
        (lambda: loose.ones(1).placement, RuntimeError, "expects a global tensor"),
        (lambda: loose.ones(1).sbp, RuntimeError, "expects a global tensor"),
        (lambda: flow.ones(1).to_global(), ValueError, "placement and sbp"),
        (lambda: flow.ones(1).to_global(CPU, flow.sbp.split(1)), RuntimeError, "dim to split"),
        (lambda: flow.ones(1).to_global(CPU, loose.sbp), TypeError, "expects an sbp"),
        (lambda: flow.sbp.split(-1), RuntimeError, "dim to split"),
        (lambda: flow.placement("tpu", [0]), ValueError, "cpu or cuda"),
        (lambda: flow.placement("cpu", []), ValueError, "at least one rank"),
        (lambda: flow.placement("cpu", ["a"]), TypeError, "ints"),
        (lambda: loose.ones(1).to_consistent(), RuntimeError, "new name, to_global"),
        (
            lambda: flow.ones(1).to_global(flow.placement("cpu", [0, 1]), flow.sbp.broadcast),
            NotImplementedError,
            "several ranks",
        ),
        (lambda: flow.comm.broadcast(flow.ones(1), 1), ValueError, "rank 0"),
        (lambda: flow.comm.all_gather([], flow.ones(1)), ValueError, "each of 1 ranks"),
        (lambda: loose.set_default_dtype(flow.int64), TypeError, "floating"),
        (lambda: loose.set_default_tensor_type("oneflow.NoTensor"), TypeError, "type of tensor"),
        (lambda: loose.set_default_tensor_type(flow.LongTensor), TypeError, "floating"),
        (lambda: flow.broadcast_shapes((2,), (3,)), RuntimeError, "broadcast"),
        (lambda: flow.hann_window(-1), RuntimeError, "at least 0"),
        (lambda: flow.hann_window(3, dtype=flow.int64), RuntimeError, "floating"),
        (lambda: flow.meshgrid(flow.ones(2), loose.arange(2)), RuntimeError, "one dtype"),
        (lambda: "a" in flow.ones(1), TypeError, "tensor or a number"),
    ],
)
def test_bad_input(call: Any, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        call()


def test_default_dtype() -> None:
    try:
        flow.set_default_dtype(flow.float64)
        made = [flow.tensor([1.0]), flow.ones(1), flow.rand(1), flow.Tensor(2), flow.eye(1),
                flow.linspace(0, 1, 2), flow.arange(0.5, 2), flow.hann_window(3)]  # fmt: skip
        assert [x.dtype for x in made] == [flow.float64] * len(made)
        assert flow.tensor([1]).dtype == flow.int64
        assert flow.tensor(np.array([1], np.float32)).dtype == flow.float32
    finally:
        flow.set_default_dtype(flow.float32)


def test_old_constructors() -> None:
    assert flow.LongTensor([1.7, 2.0]).tolist() == [1, 2]
    assert flow.HalfTensor(2, 3).shape == (2, 3)
    assert flow.BoolTensor(flow.tensor([0, 2])).tolist() == [False, True]
    assert isinstance(flow.ones(1), flow.FloatTensor)
    assert not isinstance(flow.ones(1), flow.DoubleTensor)
    assert flow.ones(1).type(flow.DoubleTensor).type() == "oneflow.DoubleTensor"
    assert flow.ones(1).type("oneflow.IntTensor").dtype == flow.int32
    assert flow.ones(2, dtype=flow.bfloat16).new_zeros(size=(3,)).dtype == flow.bfloat16


def test_pickling_of_all_dtypes() -> None:
    for dtype in flow.dtypes():
        x = flow.tensor([0, 1], dtype=dtype)
        loose.x = x
        setattr(x, "note", "kept")  # noqa: B010
        again = pickle.loads(pickle.dumps(x))
        assert again.dtype == dtype and again.tolist() == x.tolist() and again.note == "kept"


CUTS: dict[str, Any] = {
    "split": lambda x: flow.split(x, 2),
    "sections": lambda x: flow.split(x, [1, 3, 1]),
    "chunk": lambda x: flow.chunk(x, 3),
    "tensor_split": lambda x: flow.tensor_split(x, [2, 4]),
    "unbind": lambda x: flow.unbind(x),
    "columns": lambda x: flow.unbind(x, 1),
}


def check_history(pieces: Any) -> None:
    """Autograd knows where pieces come from."""
    assert all(piece.requires_grad for piece in pieces)


@pytest.mark.parametrize("name", CUTS)
def test_gradients_of_all_pieces_and_of_some(name: str) -> None:
    values = np.arange(15.0).reshape(5, 3)
    x = flow.tensor(values, requires_grad=True)
    pieces = CUTS[name](x)
    check_history(pieces)
    assert all(np.shares_memory(p.detach().numpy(), x.detach().numpy()) for p in pieces)
    flow.cat([(p * p).reshape(-1) for p in pieces]).sum().backward()
    assert x.grad is not None and np.allclose(x.grad.numpy(), 2 * values)
    x.grad = None
    CUTS[name](x)[-1].sum().backward()
    last = flow.zeros(5, 3)
    CUTS[name](last)[-1].fill_(1)
    assert np.array_equal(x.grad.numpy(), last.numpy())
    # The second derivative of a cube is six times the number.
    cube = sum((p * p * p).sum() for p in CUTS[name](x))
    (first,) = flow.autograd.grad(cube, x, create_graph=True)
    (second,) = flow.autograd.grad(first.sum(), x)
    assert np.allclose(second.numpy(), 6 * values)


def test_cat_of_many() -> None:
    parts = [flow.full((i % 3, 2), i) for i in range(500)]
    joined = flow.cat(parts).numpy()
    assert np.array_equal(joined, np.concatenate([p.numpy() for p in parts]))
    leaves = [flow.ones(2, requires_grad=True) for _ in range(300)]
    (flow.stack(leaves) * flow.arange(300).view(300, 1)).sum().backward()
    assert [leaf.grad.tolist() for leaf in leaves] == [[i, i] for i in range(300)]


def test_mocked_torch() -> None:
    before = {name for name in sys.modules if name.partition(".")[0] == "torch"}
    with flow.mock_torch.enable():
        import torch
        import torch.nn as nn
        from torch.nn import functional

        assert torch.__package__ == "oneflow" and nn.__package__ == "oneflow.nn"
        assert functional.relu(torch.tensor([-1.0])).tolist() == [0.0]
        with pytest.raises(ImportError, match="oneflow.no_such"):
            import torch.no_such  # noqa: F401
        with pytest.raises(AttributeError, match="oneflow.no_such"):
            torch.no_such  # noqa: B018
    assert {name for name in sys.modules if name.partition(".")[0] == "torch"} == before


def _fails(rank: int, folder: str) -> None:
    Path(folder, str(rank)).touch()
    if rank == 1:
        raise ValueError("on purpose")


def test_spawn(tmp_path: Path) -> None:
    spawn = flow.multiprocessing.spawn
    with pytest.raises(flow.multiprocessing.ProcessRaisedException, match="on purpose") as caught:
        spawn(_fails, (str(tmp_path),), 2)
    assert caught.value.error_index == 1
    assert Path(tmp_path, "1").exists()


def test_control_pieces_without_a_history_are_seen() -> None:
    must_fail(check_history, flow.split(flow.ones(2), 1))


def test_ranks_are_an_array() -> None:
    assert flow.placement("cpu", [[0]]).ranks.shape == (1, 1)
    assert flow.placement.all("cpu").ranks.tolist() == [0]


def test_a_generator_of_all_devices() -> None:
    first, second = flow.Generator("auto"), flow.Generator()
    assert first.initial_seed() == second.initial_seed()
    with pytest.raises(RuntimeError, match="got 'autos'"):
        flow.Generator("autos")


def test_tensors_of_another_library() -> None:
    array = np.zeros(2, np.float32)
    x = flow.utils.tensor.from_torch(array)
    x += 1
    assert array.tolist() == [1.0, 1.0]
    with pytest.raises(TypeError, match=r"\[to_torch\] expects a Tensor, got ndarray"):
        flow.utils.tensor.to_torch(array)


def test_what_a_build_can_do() -> None:
    assert flow.sysconfig.with_cuda() == flow.cuda.is_available()
    assert (flow.sysconfig.get_cuda_version() == 0) or flow.sysconfig.with_cuda()
    assert (Path(flow.sysconfig.get_lib()) / "sysconfig.py").exists()
    assert not flow.sysconfig.with_rdma()
