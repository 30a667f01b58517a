"""Embedding: a row of a table for each index."""

from __future__ import annotations

from typing import Any

from oneflow import _oneflow_internal
from oneflow.autograd.autograd_mode import no_grad
from oneflow.framework import creation
from oneflow.nn import functional, init
from oneflow.nn.modules.module import Module
from oneflow.nn.modules.utils import check_count
from oneflow.nn.parameter import Parameter

Tensor = _oneflow_internal.Tensor


class Embedding(Module):
    """A table of vectors, looked up by index.

    Args:
        num_embeddings: rows of the table
        embedding_dim: length of each
        padding_idx: a row that is zero at first and gets no gradient; default none
        max_norm: rows that are longer are shortened when they are looked up; default not
        norm_type: the order of that norm; default 2
        scale_grad_by_freq: whether gradients are divided by how often their row was looked up
        sparse: must be False
        _weight: the table: a Tensor (num_embeddings, embedding_dim); default drawn
        device, dtype: of a drawn table

    Parameters:
        weight: (num_embeddings, embedding_dim), at first normal with mean 0 and deviation 1

    Shapes: input (...) of integers, result (..., embedding_dim)

    Raises:
        AssertionError: `padding_idx` is no row.
        ValueError: a number is below 0, or the table has another shape.
        NotImplementedError: `sparse`.
        IndexError: an index is no row (at the next read).

    Example:
        >>> import oneflow as flow
        >>> table = flow.nn.Embedding(3, 2, _weight=flow.tensor([[0.0, 1], [2, 3], [4, 5]]))
        >>> table(flow.tensor([2, 0])).detach()
        tensor([[4., 5.],
                [0., 1.]], dtype=oneflow.float32)
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Any = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        check_count("Embedding", "num_embeddings", num_embeddings, least=0)
        check_count("Embedding", "embedding_dim", embedding_dim, least=0)
        if sparse:
            raise NotImplementedError("[Embedding] expects sparse=False, got True")
        if padding_idx is not None and not -num_embeddings <= padding_idx < num_embeddings:
            raise AssertionError(
                f"[Embedding] expects padding_idx among {num_embeddings} rows, got {padding_idx}"
            )
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.padding_idx = None if padding_idx is None else padding_idx % num_embeddings
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.sparse = sparse
        if _weight is None:
            shape = (num_embeddings, embedding_dim)
            self.weight = Parameter(creation.empty(*shape, device=device, dtype=dtype))
            self.reset_parameters()
        else:
            if tuple(_weight.shape) != (num_embeddings, embedding_dim):
                raise ValueError(
                    f"[Embedding] expects _weight of shape {(num_embeddings, embedding_dim)}, "
                    f"got {tuple(_weight.shape)}"
                )
            self.weight = _weight if isinstance(_weight, Parameter) else Parameter(_weight)

    def reset_parameters(self) -> None:
        """Draws the table anew."""
        init.normal_(self.weight)
        self._fill_padding_idx_with_zero()

    def _fill_padding_idx_with_zero(self) -> None:
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx] = 0

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Any,
        freeze: bool = True,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
    ) -> Embedding:
        """An embedding with a table that exists; its memory is shared.

        Args:
            embeddings: Tensor (num_embeddings, embedding_dim)
            freeze: whether the table is not to be trained; default True
            others: as of the class

        Example:
            >>> import oneflow as flow
            >>> flow.nn.Embedding.from_pretrained(flow.ones(3, 2)).weight.requires_grad
            False
        """
        rows, length = embeddings.shape
        made = cls(
            rows,
            length,
            padding_idx=padding_idx,
            max_norm=max_norm,
            norm_type=norm_type,
            scale_grad_by_freq=scale_grad_by_freq,
            sparse=sparse,
            _weight=embeddings,
        )
        made.weight.requires_grad = not freeze
        return made

    def forward(self, indices: Any) -> Any:
        """Input: Tensor (...) of integers; result: Tensor (..., embedding_dim)."""
        return functional.embedding(
            indices,
            self.weight,
            self.padding_idx,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
        )

    def extra_repr(self) -> str:
        """The settings."""
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        if self.padding_idx is not None:
            text += f", padding_idx={self.padding_idx}"
        if self.max_norm is not None:
            text += f", max_norm={self.max_norm}"
        if self.norm_type != 2:
            text += f", norm_type={self.norm_type}"
        if self.scale_grad_by_freq:
            text += ", scale_grad_by_freq=True"
        return text
