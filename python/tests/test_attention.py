"""Attention with dropout and in bfloat16: against NumPy in float64, and against itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.support import must_fail, raises, values

import oneflow as flow
from oneflow import nn

attend = nn.functional.scaled_dot_product_attention
checkpoint = flow.utils.checkpoint.checkpoint


def drawn(shape: tuple[int, ...], p: float) -> np.ndarray[Any, Any]:
    """What dropout keeps: queries of zeros weigh all keys alike, and values of unit vectors show
    each weight by itself."""
    *lead, rows, keys = shape
    eye = np.broadcast_to(np.eye(keys, dtype=np.float32), (*lead, keys, keys))
    y = attend(
        flow.zeros(*lead, rows, 4), flow.zeros(*lead, keys, 4), flow.tensor(eye), dropout_p=p
    )
    return values(y) * keys


def reference(
    arrays: list[np.ndarray[Any, Any]], kept: np.ndarray[Any, Any], p: float
) -> list[np.ndarray[Any, Any]]:
    """Attention and its gradients for a gradient of ones times the last array, in float64."""
    q, k, v, dy = (np.asarray(x, np.float64) for x in arrays)
    scale = q.shape[-1] ** -0.5
    scores = scale * q @ k.swapaxes(-1, -2)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    dropped = weights * kept / (1 - p)
    dweights = dy @ v.swapaxes(-1, -2) * kept / (1 - p)
    dscores = weights * (dweights - (weights * dweights).sum(-1, keepdims=True)) * scale
    return [
        dropped @ v,
        dscores @ k,
        dscores.swapaxes(-1, -2) @ q,
        dropped.swapaxes(-1, -2) @ dy,
    ]


def test_dropout_drops_the_part_it_should() -> None:
    flow.manual_seed(0)
    first, second = drawn((2, 3, 64, 80), 0.25), drawn((2, 3, 64, 80), 0.25)
    kept = first != 0
    np.testing.assert_allclose(first[kept], 1 / 0.75, rtol=1e-5)
    # Of 30720 draws; five standard deviations are 0.0124. By head, by query and by key likewise.
    assert abs(kept.mean() - 0.75) < 0.0124
    assert np.abs(kept.mean((2, 3)) - 0.75).max() < 5 * (0.1875 / 5120) ** 0.5
    assert np.abs(kept.mean((0, 1, 3)) - 0.75).max() < 5 * (0.1875 / 480) ** 0.5
    assert np.abs(kept.mean((0, 1, 2)) - 0.75).max() < 5 * (0.1875 / 384) ** 0.5
    # Neighbours, and the next call, are drawn independently of each other.
    for other in (kept[..., 1:], second[..., :-1] != 0, np.roll(kept, 1, 1)[..., :-1]):
        assert abs((kept[..., :-1] & other).mean() - 0.5625) < 0.02


def test_dropout_follows_the_seed() -> None:
    flow.manual_seed(4)
    first, second = drawn((2, 5, 6), 0.5), drawn((2, 5, 6), 0.5)
    flow.manual_seed(4)
    np.testing.assert_array_equal(drawn((2, 5, 6), 0.5), first)
    np.testing.assert_array_equal(drawn((2, 5, 6), 0.5), second)
    assert (first != second).any()
    assert (drawn((2, 5, 6), 1.0) == 0).all()
    assert (drawn((2, 5, 6), 0.0) != 0).all()


def operands(
    shape: tuple[int, ...], keys: int, dtype: Any = flow.float32, seed: int = 0
) -> tuple[list[np.ndarray[Any, Any]], list[flow.Tensor]]:
    """Query, key, value and the gradient of the result, whose heads lie side by side."""
    rng = np.random.default_rng(seed)
    lead, (rows, width) = shape[:-2], shape[-2:]
    sizes = [(lead[0], n, *lead[1:], width) for n in (rows, keys, keys, rows)]
    leaves = [flow.tensor(rng.standard_normal(size).astype(np.float32)).to(dtype) for size in sizes]
    return [values(t.double()).swapaxes(1, 2) for t in leaves], leaves


def gradients(call: Any, leaves: list[flow.Tensor]) -> list[np.ndarray[Any, Any]]:
    """The result and the gradients of query, key and value."""
    q, k, v = (t.detach().requires_grad_() for t in leaves[:3])
    y = call(*(t.transpose(1, 2) for t in (q, k, v)))
    (y * leaves[3].transpose(1, 2)).sum().backward()
    return [values(y.double())] + [values(t.grad.double()).swapaxes(1, 2) for t in (q, k, v)]


def check_values(dtype: Any, tolerance: float, call: Any = attend) -> None:
    """Rows in several blocks; errors as parts of the largest number of each result."""
    p, shape, keys = 0.25, (2, 3, 300, 64), 200
    arrays, leaves = operands(shape, keys, dtype)
    flow.manual_seed(1)
    kept = drawn((2, 3, 300, keys), p) != 0
    flow.manual_seed(1)
    got = gradients(lambda q, k, v: call(q, k, v, dropout_p=p), leaves)
    for mine, want in zip(got, reference(arrays, kept, p)):
        assert np.abs(mine - want).max() <= tolerance * np.abs(want).max()


# Of bfloat16, whose numbers are apart by 2^-8: operands and results are rounded, and in backward
# the weights and their gradients; sums are not. float16 goes through float32.
@pytest.mark.parametrize(
    ("dtype", "tolerance"),
    [("float64", 1e-12), ("float32", 2e-6), ("bfloat16", 2**-7), ("float16", 2**-9)],
)
def test_values_and_gradients(dtype: str, tolerance: float) -> None:
    check_values(getattr(flow, dtype), tolerance)


def test_control_of_values() -> None:
    """The comparison sees one weight in a hundred dropped that should not be, in bfloat16 too."""

    def drops_more(q: Any, k: Any, v: Any, dropout_p: float) -> Any:
        return attend(q, k, v, dropout_p=dropout_p + 0.01)

    must_fail(check_values, flow.float32, 2e-6, drops_more)
    must_fail(check_values, flow.bfloat16, 2**-7, drops_more)


def test_a_mask_that_learns() -> None:
    """It takes the way of other ops, to the same result, with the same draws."""
    _, leaves = operands((2, 3, 9, 8), 7, flow.float64)
    mask = flow.randn(9, 7, dtype=flow.float64)
    learnt = mask.clone().requires_grad_()
    q, k, v, dy = (t.transpose(1, 2) for t in leaves)

    def loss(added: Any) -> Any:
        flow.manual_seed(6)
        return (attend(q, k, v, attn_mask=added, dropout_p=0.5) * dy).sum()

    value = loss(learnt)
    np.testing.assert_allclose(value.item(), loss(mask).item(), rtol=1e-12)
    value.backward()
    step = np.zeros((9, 7))
    step[4, 2] = 1e-6
    rise = loss(mask + flow.tensor(step)).item() - loss(mask - flow.tensor(step)).item()
    np.testing.assert_allclose(values(learnt.grad)[4, 2], rise / 2e-6, rtol=1e-5, atol=1e-6)


def check_no_scores_are_kept(call: Any) -> None:
    """Of 4 x 512 x 512 scores (4 MiB in float32) the tape holds a byte each."""
    q = flow.randn(1, 4, 512, 16).requires_grad_()
    before = flow.cpu.memory_allocated()
    y = call(q)
    assert flow.cpu.memory_allocated() - before < 1.5 * 2**20
    y.sum().backward()


def test_no_scores_are_kept() -> None:
    check_no_scores_are_kept(lambda q: attend(q, q, q, dropout_p=0.1))
    must_fail(
        check_no_scores_are_kept, lambda q: nn.functional.softmax(q @ q.transpose(2, 3), -1) @ q
    )


def test_checkpointed_attention_draws_once() -> None:
    _, leaves = operands((2, 3, 20, 8), 24)

    def plain(q: Any, k: Any, v: Any) -> Any:
        return attend(q, k, v, dropout_p=0.5)

    flow.manual_seed(5)
    want = gradients(plain, leaves)
    flow.manual_seed(5)
    got = gradients(lambda *given: checkpoint(plain, *given), leaves)
    for mine, theirs in zip(got, want):
        np.testing.assert_allclose(mine, theirs, rtol=1e-6, atol=1e-6)


class Layer(nn.Module):
    """A projection, attention with dropout, a projection."""

    def __init__(self) -> None:
        super().__init__()
        self.inner, self.outer = nn.Linear(16, 48), nn.Linear(16, 16)

    def forward(self, x: Any) -> Any:
        n, length, _ = x.shape
        q, k, v = (
            part.reshape(n, length, 4, 4).transpose(1, 2) for part in self.inner(x).chunk(3, -1)
        )
        return self.outer(attend(q, k, v, dropout_p=0.3).transpose(1, 2).reshape(n, length, 16))


@pytest.mark.parametrize("short", [False, True])
def test_graphs_train_as_eager_does(short: bool) -> None:
    class Step(nn.Graph):
        def __init__(self, model: Any, optimizer: Any) -> None:
            super().__init__()
            self.model = model
            self.add_optimizer(optimizer)

        def build(self, x: Any) -> Any:
            with flow.autocast("cpu", dtype=flow.bfloat16, enabled=short):
                loss = (self.model(x) ** 2).mean()
            loss.backward()
            return loss

    x, losses = flow.randn(3, 24, 16), []
    for as_graph in (False, True):
        flow.manual_seed(2)
        model = Layer()
        optimizer = flow.optim.SGD(model.parameters(), lr=0.5)
        step = Step(model, optimizer) if as_graph else None
        flow.manual_seed(3)
        for _ in range(4):
            if step is not None:
                losses.append(step(x).item())
                continue
            with flow.autocast("cpu", dtype=flow.bfloat16, enabled=short):
                loss = (model(x) ** 2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    np.testing.assert_allclose(losses[4:], losses[:4], rtol=2e-2 if short else 1e-5)
    assert len(set(losses[:4])) == 4


def test_autocast_takes_bfloat16() -> None:
    q = flow.randn(2, 3, 5, 8).requires_grad_()
    mask = flow.zeros(5, 5)
    with flow.autocast("cpu", dtype=flow.bfloat16):
        y = attend(q, q.bfloat16(), q, attn_mask=mask, dropout_p=0.5)
    assert y.dtype == flow.bfloat16
    y.float().sum().backward()
    assert q.grad.dtype == flow.float32


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_bad_input(dtype: str) -> None:
    kind = getattr(flow, dtype)
    q, k = flow.zeros(2, 3, 8, dtype=kind), flow.zeros(2, 5, 8, dtype=kind)
    with raises(ValueError, "dropout_p", "1.25"):
        attend(q, k, k, dropout_p=1.25)
    with raises(RuntimeError, "one floating dtype"):
        attend(q, k.double(), k, dropout_p=0.5)
    with raises(RuntimeError, "expects query"):
        attend(q, k[..., :4], k, dropout_p=0.5)
    with raises(RuntimeError, "mask that broadcasts"):
        attend(q, k, k, attn_mask=flow.zeros(3, 4, dtype=kind), dropout_p=0.5)
    given = flow._C.scaled_dot_product_attention_kept
    with raises(RuntimeError, "kept", "(2, 3, 5)", "(2, 3, 4)"):
        given(q, k, k, flow.ones(2, 3, 4, dtype=flow.bool), None, 0.5)
    with raises(RuntimeError, "kept", "float32"):
        given(q, k, k, flow.ones(2, 3, 5), None, 0.5)
