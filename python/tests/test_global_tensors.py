"""Global tensors of one rank: results, gradients, copies and modules lie as they should."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from tests.support import must_fail

import oneflow as flow

loose: Any = flow
CPU = flow.placement("cpu", ranks=[0])
GRID = flow.placement("cpu", ranks=[[0]])
S0, S1, B, P = flow.sbp.split(0), flow.sbp.split(1), flow.sbp.broadcast, flow.sbp.partial_sum


def placed(sbp: Any, *shape: int, where: Any = CPU) -> Any:
    return flow.arange(np.prod(shape)).reshape(*shape).float().to_global(where, sbp)


RESULTS: list[tuple[str, Any, Any, Any]] = [
    ("add", S0, lambda x: x + 1, S0),
    ("relu", S1, lambda x: x.relu(), S1),
    ("of a partial sum", P, lambda x: x.neg(), P),
    ("sum of the split dim", S0, lambda x: x.sum(0), P),
    ("sum of the other", S0, lambda x: x.sum(1), S0),
    ("transpose", S0, lambda x: x.T, S1),
    ("matmul by rows", S0, lambda x: flow.matmul(x, placed(B, 4, 2)), S0),
    ("matmul by the inner dim", S1, lambda x: flow.matmul(x, placed(S0, 4, 2)), P),
    ("softmax", S0, lambda x: x.softmax(1), S0),
    ("an index that takes the split dim", S0, lambda x: x[0], B),
    ("zeros_like", S1, flow.zeros_like, S1),
    ("full_like", S1, lambda x: flow.full_like(x, 2.0), S1),
    ("empty_like", S1, flow.empty_like, S1),
    ("randn_like", S1, flow.randn_like, S1),
    ("new_ones", S1, lambda x: x.new_ones((3, 4)), S1),
    ("new_full", S1, lambda x: flow.new_full(x, (3, 4), 1.0), S1),
    ("detach", S1, lambda x: x.detach(), S1),
    ("clone", S1, lambda x: x.clone(), S1),
    ("deepcopy", S1, copy.deepcopy, S1),
    ("pickle", S1, lambda x: pickle.loads(pickle.dumps(x)), S1),
]  # fmt: skip


def check(sbp: Any, call: Any, want: Any) -> None:
    result = call(placed(sbp, 3, 4))
    assert result.is_global and not result.is_local
    assert result.placement == CPU
    assert result.sbp == (want,)


@pytest.mark.parametrize(
    ("sbp", "call", "want"), [r[1:] for r in RESULTS], ids=[r[0] for r in RESULTS]
)
def test_results(sbp: Any, call: Any, want: Any) -> None:
    check(sbp, call, want)


def test_planted_fault_is_caught() -> None:
    must_fail(check, S0, lambda x: x.to_local() + 1, S0)
    must_fail(check, S0, lambda x: x.T, S0)


def test_results_of_several_tensors() -> None:
    top, at = flow.topk(placed(S0, 3, 4), 2)
    pieces = placed(B, 3, 4).chunk(2, 1)
    assert all(piece.is_global for piece in (top, at, *pieces))


def test_a_grid_of_ranks_has_an_sbp_for_each_dim() -> None:
    x = placed([B, S1], 3, 4, where=GRID)
    assert (x * 2).sbp == (B, S1)
    assert x.sum(1).sbp == (B, P)
    assert (x + placed(B, 3, 4)).placement == GRID  # the same ranks in another grid


def test_local_operands_count_as_broadcast_and_stay_local() -> None:
    local = flow.ones(3, 4)
    assert (placed(S0, 3, 4) + local).sbp == (S0,)
    assert (local + placed(S0, 3, 4)).sbp == (S0,)
    assert local.is_local
    assert flow._C.view(local, [12]).is_local


def test_gradients_are_global() -> None:
    x = placed(S0, 3, 4).requires_grad_()
    (x * x).sum().backward()
    assert x.grad.sbp == (S0,) and x.grad.placement == CPU
    assert np.array_equal(x.grad.numpy(), 2 * x.detach().numpy())
    y = placed(S1, 3, 4).requires_grad_()
    y.sum().backward()  # made of shapes alone
    assert y.grad.sbp == (S1,)
    seen: list[bool] = []
    z = placed(S1, 3, 4).requires_grad_()
    w = z * 2
    w.register_hook(lambda grad: seen.append(grad.is_global))
    w.to_local().sum().backward()
    assert z.grad.is_global and len(seen) == 1


def test_modules_and_optimizers_keep_parameters_global() -> None:
    layer = flow.nn.Linear(4, 2).to_global(CPU, B)
    optimizer = flow.optim.Adam(layer.parameters(), lr=0.1)
    out = layer(placed(S0, 3, 4))
    assert out.sbp == (S0,)
    out.sum().backward()
    optimizer.step()
    assert layer.weight.is_global and layer.weight.grad.is_global
    assert all(p.is_local for p in layer.to_local().parameters())


def test_setting_data_and_in_place_ops() -> None:
    x = placed(S0, 3, 4)
    x += 1
    assert x.sbp == (S0,)
    x[0] = 5.0
    assert x.sbp == (S0,)
    x.data = flow.ones(3, 4)
    assert x.is_local


@pytest.mark.parametrize(
    ("place", "error"),
    [(("cpu", ["B"]), ValueError), (("cpu:[0]", []), ValueError), (("cpu:[0]", ["Q"]), ValueError),
     (("cpu:[0]", [1]), TypeError), ("cpu:[0]", TypeError), (("cpu:[0]",), TypeError)],
)  # fmt: skip
def test_bad_places(place: Any, error: type[Exception]) -> None:
    x = loose.ones(2)
    with pytest.raises(error):
        x._global = place
    assert x.is_local


def test_where_with_a_condition_alone() -> None:
    rows, columns = loose.where(flow.tensor([[0, 1], [2, 0]]))
    assert rows.tolist() == [0, 1] and columns.tolist() == [1, 0]
    assert all(x.is_global for x in loose.where(placed(B, 3, 4)))
