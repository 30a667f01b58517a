"""Embedding, as a function."""

from __future__ import annotations

from typing import Any

from oneflow import _oneflow_internal
from oneflow.autograd.autograd_mode import no_grad

_C = _oneflow_internal._C


def embedding(
    input: Any,
    weight: Any,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Any:
    """Rows of a table; see `nn.Embedding`.

    Args:
        input: Tensor (...) of integers
        weight: Tensor (rows, D), the table
        padding_idx: a row that gets no gradient; default none
        max_norm: rows that are longer are shortened, in the table; default not
        norm_type: the order of that norm
        scale_grad_by_freq: whether gradients are divided by how often their row was looked up
        sparse: must be False

    Returns:
        Tensor (..., D)

    Raises:
        AssertionError: `padding_idx` is no row.
        NotImplementedError: `sparse`.
        IndexError: an index is no row (at the next read).

    Example:
        >>> import oneflow as flow
        >>> table = flow.tensor([[0.0, 1.0], [2.0, 3.0]])
        >>> flow.nn.functional.embedding(flow.tensor([1]), table)
        tensor([[2., 3.]], dtype=oneflow.float32)
    """
    rows = weight.shape[0]
    if sparse:
        raise NotImplementedError("[embedding] expects sparse=False, got True")
    if padding_idx is not None:
        if not -rows <= padding_idx < rows:
            raise AssertionError(f"[embedding] expects padding_idx among {rows}, got {padding_idx}")
        padding_idx %= rows
    if max_norm is not None:
        with no_grad():
            weight = _C.embedding_renorm_(weight, input, max_norm, norm_type)
    return _C.embedding(weight, input, padding_idx, scale_grad_by_freq)
