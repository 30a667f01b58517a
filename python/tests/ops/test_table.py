"""The op table as a whole: which rows are compared, and what concerns rows together."""

from __future__ import annotations

import pytest
from tests.ops.samples import table

import oneflow as flow

ROWS = [row for row in table() if row.places]


@pytest.mark.parametrize("first", ["float32", "float64"])
@pytest.mark.parametrize("second", ["float32", "float64", "int64"])
def test_gradients_have_the_dtype_of_their_operand(first: str, second: str) -> None:
    x = flow.tensor([1.0, 2.0], dtype=getattr(flow, first), requires_grad=True)
    y = flow.tensor([3, 4], dtype=getattr(flow, second))
    y.requires_grad = second != "int64"
    flow._C.mul(x, y).sum().backward()
    assert x.grad is not None
    assert x.grad.dtype == x.dtype
    assert x.grad.numpy().tolist() == [3.0, 4.0]
    if y.requires_grad:
        assert y.grad is not None
        assert y.grad.dtype == y.dtype


def test_every_row_that_python_sees_is_compared_or_says_why_not() -> None:
    """A row without `numpy` draws random numbers, writes in place, or fails on purpose; ctc_loss
    has the gradient of a softmax before it, and tests of its own."""
    silent = {row.name for row in ROWS if not row.numpy}
    assert silent == {
        "bernoulli",
        "bernoulli_",
        "bernoulli_p",
        "bernoulli_p_",
        "clamp_max_",
        "clamp_min_",
        "clip_",
        "copy_",
        "ctc_loss",
        "embedding_renorm",
        "empty",
        "exponential_",
        "eye_",
        "fill_",
        "fill_with_",
        "gt_",
        "multi_tensor_adadelta_update",
        "multi_tensor_adagrad_update",
        "multi_tensor_adam_update",
        "multi_tensor_clamp",
        "multi_tensor_clip",
        "multi_tensor_lamb_update",
        "multi_tensor_momentum_update",
        "multi_tensor_norm",
        "multi_tensor_rmsprop_update",
        "multi_tensor_scale",
        "multi_tensor_sgd_update",
        "gumbel_softmax",
        "multinomial",
        "normal",
        "normal_",
        "rand",
        "randint",
        "randint_below",
        "randint_like",
        "randint_like_below",
        "randn",
        "randn_like",
        "randperm",
        "scalar_gt_",
        "scalar_masked_fill_",
        "scalar_sub_",
        "sum_to_shape",
        "throw_error",
        "throw_error_in_backward",
        "uniform_",
        "zero_",
    }
