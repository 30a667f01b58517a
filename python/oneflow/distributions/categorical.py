"""The distribution over a number of categories."""

from __future__ import annotations

from typing import Any

import oneflow as flow
from oneflow.distributions.distribution import Distribution


class Categorical(Distribution):
    """Categories 0 to n - 1, each with its probability.

    Args:
        probs: tensor (..., n), not negative; the probabilities, up to a factor for each row
        logits: in their place, their logarithms, up to a summand for each row

    Raises:
        ValueError: both, or neither, of probs and logits; or a tensor without dims.

    Example:
        >>> import oneflow as flow
        >>> flow.distributions.Categorical(flow.tensor([0.0, 2.0])).sample((3,)).tolist()
        [1, 1, 1]
    """

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        if (probs is None) == (logits is None):
            raise ValueError("[Categorical] expects either probs or logits, got both or neither")
        given = logits if probs is None else probs
        if given.ndim < 1:
            raise ValueError("[Categorical] expects a tensor of at least one dim, got ()")
        if probs is not None:
            self.probs = probs / probs.sum(-1, True)
        else:
            self.probs = flow.softmax(logits, -1)
        self._given_logits = logits
        self._num_events = given.shape[-1]
        super().__init__(given.shape[:-1], (), validate_args)

    @property
    def logits(self) -> Any:
        """The logarithms of the probabilities; of 0, that of the smallest step above it."""
        if self._given_logits is not None:
            return flow.log_softmax(self._given_logits, -1)
        return flow.log(self.probs.clamp(flow.finfo(self.probs.dtype).eps))

    def sample(self, sample_shape: Any = ()) -> Any:
        """Draws categories: int64 of shape sample_shape + batch_shape."""
        shape = self._extended_shape(sample_shape)
        count = 1
        for size in tuple(sample_shape):
            count *= size
        rows = self.probs.detach().reshape(-1, self._num_events)
        drawn = flow.multinomial(rows, max(count, 1), True)
        return drawn.t().reshape(shape)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the probability of each category of `value`."""
        index = value.to(flow.int64).unsqueeze(-1)
        shape = (*index.shape[:-1], self._num_events)
        return flow.gather(self.logits.expand(*shape), -1, index).squeeze(-1)

    def entropy(self) -> Any:
        """The entropy of each row."""
        return -(self.probs * self.logits).sum(-1)
