"""The base of distributions."""

from __future__ import annotations

from typing import Any

import oneflow as flow


class Distribution:
    """A distribution of which a batch may be asked at once.

    Args:
        batch_shape: shape of the batch of distributions
        event_shape: shape of one draw of one of them

    Example:
        >>> import oneflow as flow
        >>> flow.distributions.Distribution((2,), (3,))._extended_shape((4,))
        (4, 2, 3)
    """

    def __init__(
        self, batch_shape: Any = (), event_shape: Any = (), validate_args: bool | None = None
    ) -> None:
        self._batch_shape, self._event_shape = tuple(batch_shape), tuple(event_shape)
        self._validate_args = validate_args is not False

    @property
    def batch_shape(self) -> Any:
        """Shape of the batch of distributions."""
        return flow.Size(self._batch_shape)

    @property
    def event_shape(self) -> Any:
        """Shape of one draw of one of them."""
        return flow.Size(self._event_shape)

    def sample(self, sample_shape: Any = ()) -> Any:
        """Draws, without a gradient."""
        with flow.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Draws, so that gradients flow to the parameters."""
        raise NotImplementedError(f"[rsample] {type(self).__name__} draws without gradients only")

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the probability (or its density) at `value`."""
        raise NotImplementedError(f"[log_prob] is not written for {type(self).__name__}")

    def entropy(self) -> Any:
        """The entropy of each distribution of the batch."""
        raise NotImplementedError(f"[entropy] is not written for {type(self).__name__}")

    def _extended_shape(self, sample_shape: Any = ()) -> tuple[int, ...]:
        return (*tuple(sample_shape), *self._batch_shape, *self._event_shape)
