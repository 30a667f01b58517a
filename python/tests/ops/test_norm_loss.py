"""Norms, losses, dropout and embeddings: what one comparison with numpy does not show."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.ops.reference_loss import ctc_loss
from tests.ops.reference_norm import embedding_renorm
from tests.support import must_fail

import oneflow as flow

_C = flow._C


def floats(*shape: int, seed: int = 0) -> np.ndarray:
    """Normal numbers in float64."""
    return np.random.default_rng(seed).normal(size=shape)


# ---- batch norm ---------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(6, 3), (4, 3, 5), (2, 3, 4, 5)])
def test_batch_norm_moves_running_statistics_in_place(shape: tuple[int, ...]) -> None:
    x = floats(*shape)
    mean, var = flow.tensor(np.full(3, 2.0)), flow.tensor(np.full(3, 3.0))
    _C.normalization(flow.tensor(x), mean, var, None, None, 1, 1e-5, 0.25, True)
    axes = tuple(d for d in range(x.ndim) if d != 1)
    np.testing.assert_allclose(mean.numpy(), 0.75 * 2 + 0.25 * x.mean(axes))
    np.testing.assert_allclose(var.numpy(), 0.75 * 3 + 0.25 * x.var(axes, ddof=1))


def test_batch_norm_of_an_empty_batch_moves_nothing() -> None:
    mean, var = flow.tensor([1.0]), flow.tensor([4.0])
    y = _C.normalization(flow.tensor(np.zeros((0, 1), np.float32)), mean, var, is_training=True)
    assert y.shape == (0, 1)
    assert (mean.item(), var.item()) == (1.0, 4.0)


def test_batch_norm_in_inference_leaves_statistics_alone() -> None:
    mean, var = flow.tensor([1.0]), flow.tensor([4.0])
    y = _C.normalization(flow.tensor([[5.0], [1.0]]), mean, var, epsilon=0.0)
    assert y.numpy().tolist() == [[2.0], [0.0]]
    assert (mean.item(), var.item()) == (1.0, 4.0)


def test_instance_norm_moves_running_statistics_by_the_mean_over_samples() -> None:
    x = floats(2, 3, 5)
    mean, var = flow.tensor(np.zeros(3)), flow.tensor(np.ones(3))
    _C.instance_norm(flow.tensor(x), mean, var, momentum=0.5)
    np.testing.assert_allclose(mean.numpy(), 0.5 * x.mean(2).mean(0))
    np.testing.assert_allclose(var.numpy(), 0.5 + 0.5 * x.var(2, ddof=1).mean(0))


@pytest.mark.parametrize("shape", [(40, 3, 7), (3000, 3)])
def test_batch_norm_of_numbers_far_from_zero(shape: tuple[int, ...]) -> None:
    x = (floats(*shape) + 1000.0).astype(np.float32)
    y = _C.normalization(flow.tensor(x), is_training=True, epsilon=0.0).numpy()
    axes = tuple(d for d in range(x.ndim) if d != 1)
    wide = x.astype(np.float64)
    want = (wide - wide.mean(axes, keepdims=True)) / wide.std(axes, keepdims=True)
    np.testing.assert_allclose(y, want, atol=2e-4)


def test_mixed_dtypes_keep_parameters_and_gradients_in_float32() -> None:
    x = flow.tensor(floats(4, 3), dtype=flow.bfloat16)
    weight = flow.ones(3)
    weight.requires_grad = True
    y = _C.layer_norm(x, (3,), weight)
    assert y.dtype == flow.bfloat16
    _C.cast(y, flow.float32).sum().backward()
    assert weight.grad is not None
    assert weight.grad.dtype == flow.float32


# ---- softmax and losses -------------------------------------------------------------------------


def test_softmax_of_large_and_infinite_numbers() -> None:
    rows = flow.tensor([[1e30, 1e30], [-1e30, 0.0], [-np.inf, 0.0]])
    assert _C.softmax(rows, 1).numpy().tolist() == [[0.5, 0.5], [0.0, 1.0], [0.0, 1.0]]
    assert np.isnan(_C.softmax(flow.tensor([-np.inf, -np.inf]), 0).numpy()).all()


def test_softmax_in_another_dtype() -> None:
    y = _C.softmax(flow.tensor([1, 1]), 0, dtype=flow.float64)
    assert y.dtype == flow.float64
    assert y.numpy().tolist() == [0.5, 0.5]


def test_cross_entropy_where_all_targets_are_ignored() -> None:
    x, t = flow.tensor(floats(2, 3)), flow.tensor([1, 1])
    x.requires_grad = True
    assert np.isnan(_C.cross_entropy(x, t, ignore_index=1).item())
    loss = _C.cross_entropy(x, t, ignore_index=1, reduction="sum")
    assert loss.item() == 0.0
    loss.backward()
    assert x.grad is not None
    assert not x.grad.numpy().any()


def test_cross_entropy_of_an_empty_batch() -> None:
    x, t = flow.tensor(floats(0, 3)), flow.tensor(np.zeros(0, np.int64))
    assert np.isnan(_C.cross_entropy(x, t).item())
    assert _C.cross_entropy(x, t, reduction="none").shape == (0,)


def test_cross_entropy_of_large_logits_is_exact() -> None:
    x = flow.tensor([[10000.0, 10000.5]], requires_grad=True)
    loss = _C.cross_entropy(x, flow.tensor([0]))
    assert abs(loss.item() - np.log1p(np.exp(0.5))) < 1e-6
    loss.backward()
    assert x.grad is not None
    share = 1 / (1 + np.exp(-0.5))
    np.testing.assert_allclose(x.grad.numpy(), [[-share, share]], rtol=1e-6)


CTC = {
    "targets": np.array([[1, 2, 2], [3, 1, 0]]),
    "input_lengths": np.array([7, 5]),
    "target_lengths": np.array([3, 2]),
}


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("joined", [False, True])
def test_ctc_loss(reduction: str, joined: bool) -> None:
    log_probs = -np.abs(floats(7, 2, 4))
    arguments = dict(CTC, targets=np.array([1, 2, 2, 3, 1])) if joined else CTC
    tensors = [flow.tensor(a) for a in arguments.values()]
    got = _C.ctc_loss(flow.tensor(log_probs), *tensors, 3, reduction=reduction)
    reference: Any = ctc_loss
    want = reference(log_probs, *arguments.values(), 0, False, reduction)
    np.testing.assert_allclose(got.numpy(), want, rtol=1e-10)


def test_ctc_loss_that_cannot_be_aligned() -> None:
    log_probs = flow.tensor(-np.abs(floats(2, 1, 3)), requires_grad=True)
    same, two = flow.tensor([[1, 1]]), flow.tensor([2])
    assert _C.ctc_loss(log_probs, same, two, two, 2, reduction="sum").item() == np.inf
    loss = _C.ctc_loss(log_probs, same, two, two, 2, zero_infinity=True)
    assert loss.item() == 0.0
    loss.backward()
    assert log_probs.grad is not None
    assert not log_probs.grad.numpy().any()


def test_ctc_loss_has_the_gradient_of_a_softmax_before_it() -> None:
    x = floats(7, 2, 4)
    tensors = [flow.tensor(a) for a in CTC.values()]

    def loss(leaf: flow.Tensor) -> flow.Tensor:
        return _C.ctc_loss(_C.log_softmax(leaf, 2), *tensors, 3)

    leaf = flow.tensor(x, requires_grad=True)
    loss(leaf).backward()
    assert leaf.grad is not None
    got = leaf.grad.numpy()
    for index in np.ndindex(*x.shape):
        step = np.zeros_like(x)
        step[index] = 1e-6
        above, below = loss(flow.tensor(x + step)), loss(flow.tensor(x - step))
        want = (above.item() - below.item()) / 2e-6
        assert abs(got[index] - want) < 1e-7, index


# ---- dropout ------------------------------------------------------------------------------------


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_dropout_keeps_its_share_and_the_mean(p: float) -> None:
    count = 100_000
    y = _C.dropout(flow.ones(count), p).numpy()
    kept = np.count_nonzero(y)
    assert abs(kept - count * (1 - p)) < 5 * np.sqrt(count * p * (1 - p))
    np.testing.assert_allclose(y[y != 0], 1 / (1 - p), rtol=1e-6)


def test_dropout_of_one_generator_repeats_itself() -> None:
    x = flow.ones(1000)
    first, second = flow.Generator(), flow.Generator()
    first.manual_seed(5)
    second.manual_seed(5)
    one = _C.dropout(x, 0.5, generator=first).numpy()
    assert one.tolist() == _C.dropout(x, 0.5, generator=second).numpy().tolist()
    assert one.tolist() != _C.dropout(x, 0.5, generator=second).numpy().tolist()


def test_dropout_gives_gradients_to_what_it_kept() -> None:
    x = flow.ones(64, requires_grad=True)
    y = _C.dropout(x, 0.25)
    y.sum().backward()
    assert x.grad is not None
    assert x.grad.numpy().tolist() == y.detach().numpy().tolist()


def test_dropout_in_place() -> None:
    x = flow.ones(8)
    assert _C.dropout(x, 1.0, inplace=True) is x
    assert not x.numpy().any()


def test_dropout_drops_whole_channels() -> None:
    y = _C.dropout2d(flow.ones(50, 40, 2, 3), 0.5).numpy()
    sums = y.reshape(2000, 6).sum(1)
    assert set(sums.tolist()) == {0.0, 12.0}
    assert abs(np.count_nonzero(sums) - 1000) < 5 * np.sqrt(500)


# ---- embedding ----------------------------------------------------------------------------------


def test_embedding_gives_a_padding_row_no_gradient() -> None:
    table = flow.ones(3, 2, requires_grad=True)
    _C.embedding(table, flow.tensor([0, 1, 1]), padding_idx=-2).sum().backward()
    assert table.grad is not None
    assert table.grad.numpy().tolist() == [[1.0, 1.0], [0.0, 0.0], [0.0, 0.0]]


def test_embedding_divides_gradients_by_frequency() -> None:
    table = flow.ones(3, 1, requires_grad=True)
    y = _C.embedding(table, flow.tensor([0, 1, 1]), scale_grad_by_freq=True)
    (y * flow.tensor([[4.0], [2.0], [6.0]])).sum().backward()
    assert table.grad is not None
    assert table.grad.numpy().tolist() == [[4.0], [4.0], [0.0]]


def test_embedding_out_of_range_names_index_size_and_line() -> None:
    with pytest.raises(IndexError, match=r"\[0, 3\).*got 7 at index \(1, 0\)") as caught:
        _C.embedding(flow.ones(3, 2), flow.tensor([[0], [7]])).numpy()
    assert "test_norm_loss.py" in str(caught.value) + repr(caught.traceback)


@pytest.mark.parametrize(("most", "kind"), [(0.5, 2.0), (0.5, 1.0), (100.0, 3.0), (0.5, np.inf)])
def test_rows_are_scaled_to_a_norm(most: float, kind: float) -> None:
    table = floats(5, 3)
    indices = np.array([4, 0, 4])
    got = _C.embedding_renorm_(flow.tensor(table), flow.tensor(indices), most, kind)
    np.testing.assert_allclose(got.numpy(), embedding_renorm(table, indices, most, kind))


def test_renormalisation_that_fails_changes_nothing() -> None:
    table = flow.tensor([[3.0, 4.0]])
    with pytest.raises(IndexError, match="got 1"):
        _C.embedding_renorm_(table, flow.tensor([0, 1]), 1.0).numpy()


# ---- gumbel softmax -----------------------------------------------------------------------------


def test_gumbel_softmax_draws_each_class_as_often_as_its_probability() -> None:
    logits = np.log(np.array([0.2, 0.3, 0.5]))
    rows = flow.tensor(np.broadcast_to(logits, (20000, 3)).copy())
    drawn = _C.gumbel_softmax(rows, 0.5, 1, hard=True).numpy()
    assert set(np.unique(drawn)) == {0.0, 1.0}
    assert (drawn.sum(1) == 1).all()
    assert np.abs(drawn.mean(0) - [0.2, 0.3, 0.5]).max() < 5 * np.sqrt(0.25 / 20000)


def test_gumbel_softmax_has_the_gradient_of_the_soft_draw() -> None:
    x = flow.tensor(floats(4, 3), requires_grad=True)
    source = flow.Generator()
    weights = flow.tensor(floats(4, 3, seed=1))
    grads = []
    for hard in (False, True):
        source.manual_seed(3)
        x.grad = None
        (_C.gumbel_softmax(x, 0.7, 1, hard, source) * weights).sum().backward()
        assert x.grad is not None
        grads.append(x.grad.numpy().copy())
    np.testing.assert_allclose(grads[0], grads[1], atol=1e-12)


# ---- synchronised batch norm --------------------------------------------------------------------


def test_running_statistics_of_several_processes_are_those_of_all_their_data() -> None:
    x = floats(10, 3)
    parts = [x[:4], x[4:]]
    moments = [_C.batch_norm_stats(flow.tensor(p), 1, 0.1) for p in parts]
    stack = [np.stack([m[i].numpy() for m in moments]) for i in (0, 1)]
    mean, var = flow.tensor(np.zeros(3)), flow.tensor(np.ones(3))
    counts = flow.tensor([4.0, 6.0])
    _C.batch_norm_gather_stats_with_counts(
        flow.tensor(x), flow.tensor(stack[0]), flow.tensor(stack[1]), mean, var, 0.5, 0.1, counts
    )
    np.testing.assert_allclose(mean.numpy(), 0.5 * x.mean(0))
    np.testing.assert_allclose(var.numpy(), 0.5 + 0.5 * x.var(0, ddof=1))


def test_control(monkeypatch: pytest.MonkeyPatch) -> None:
    """A norm of sums of squares, which loses the digits of numbers far from zero; statistics that
    do not move."""
    right = _C.normalization

    def careless(x: flow.Tensor, *args: Any, **keywords: Any) -> flow.Tensor:
        if args:
            return right(x, args[0].clone(), args[1].clone(), *args[2:], **keywords)
        axes = [d for d in range(x.ndim) if d != 1]
        mean, square = x.mean(axes, True), (x * x).mean(axes, True)
        return (x - mean) / (square - mean * mean).sqrt()

    monkeypatch.setattr(_C, "normalization", careless)
    must_fail(test_batch_norm_of_numbers_far_from_zero, (40, 3, 7))
    must_fail(test_batch_norm_moves_running_statistics_in_place, (6, 3))
