"""What losses share."""

from __future__ import annotations

from typing import Any

from oneflow.nn.modules.module import Module
from oneflow.nn.modules.utils import check_reduction


class _Loss(Module):
    """What losses share: they show the settings that `_settings` names, and the reduction."""

    _settings: tuple[str, ...] = ()
    _more_reductions: tuple[str, ...] = ()

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__()
        check_reduction(type(self).__name__, reduction, self._more_reductions)
        self.reduction = reduction

    def extra_repr(self) -> str:
        """The settings."""
        return ", ".join(
            f"{name}={getattr(self, name)!r}" for name in (*self._settings, "reduction")
        )


class _WeightedLoss(_Loss):
    """A loss with a weight for each class, or each element, as a buffer."""

    def __init__(self, weight: Any = None, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.register_buffer("weight", weight)
