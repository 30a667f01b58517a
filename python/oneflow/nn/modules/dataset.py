"""What draws for pipelines of training data."""

from __future__ import annotations

from typing import Any

from oneflow import _oneflow_internal
from oneflow.framework import creation
from oneflow.nn.modules.module import Module

_C = _oneflow_internal._C


class CoinFlip(Module):
    """Throws coins: which pictures of a batch are mirrored, for example.

    Args:
        batch_size: how many coins; default 1
        random_seed: an int; None (the default) and -1 take one from the system's entropy
        probability: of a 1, from 0 to 1; default 0.5
        device: of the result; default the CPU
        placement, sbp: of a global result

    Shapes: the result is (batch_size,), int8, of zeros and ones

    Raises:
        ValueError: `batch_size` is negative, or `probability` not from 0 to 1.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.CoinFlip(3, probability=1.0)()
        tensor([1, 1, 1], dtype=oneflow.int8)
    """

    def __init__(
        self,
        batch_size: int = 1,
        random_seed: int | None = None,
        probability: float = 0.5,
        device: Any = None,
        placement: Any = None,
        sbp: Any = None,
    ) -> None:
        super().__init__()
        if batch_size < 0:
            raise ValueError(f"[CoinFlip] expects batch_size of at least 0, got {batch_size}")
        if not 0 <= probability <= 1:
            raise ValueError(f"[CoinFlip] expects probability from 0 to 1, got {probability}")
        self.batch_size, self.probability, self.device = batch_size, probability, device
        self.placement, self.sbp = placement, sbp
        self.generator = _oneflow_internal.Generator()
        if random_seed is None or random_seed == -1:
            self.generator.seed()
        else:
            self.generator.manual_seed(random_seed)

    def extra_repr(self) -> str:
        """The settings."""
        return f"batch_size={self.batch_size}, probability={self.probability}"

    def forward(self) -> Any:
        """The next throw: Tensor (batch_size,)."""
        shape = (self.batch_size,)
        drawn = _C.rand(shape, device=self.device, generator=self.generator)
        coins = _C.cast(drawn < self.probability, _oneflow_internal.int8)
        return creation.placed(coins, False, self.placement, self.sbp)
