"""A learning rate that falls when a figure stops improving."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from oneflow.nn.optimizer.lr_scheduler import check_optimizer


class ReduceLROnPlateau:
    """Multiplies the learning rates by a factor once a figure has not improved for some steps.

    Args:
        optimizer: whose groups' "lr" to set
        mode: "min" if lower figures are better, "max" if higher ones are; default "min"
        factor: below 1; default 0.1
        patience: how many steps without improvement are let pass; default 10
        threshold: by how much a figure must be better; default 1e-4
        threshold_mode: whether that is a part of the best figure, "rel", or a difference, "abs"
        cooldown: steps after a change during which none counts as bad; default 0
        min_lr: a lower bound for the learning rates: one, or a list with one for each group
        eps: changes that are smaller are not made; default 1e-8
        verbose: whether to print each change; default False

    Attributes:
        best: the best figure so far
        num_bad_steps: how many steps in a row were not better
        last_step: how many steps were done

    Raises:
        TypeError: `optimizer` is none.
        ValueError: a factor of 1 or more, an unknown mode, or a wrong number of bounds.

    Example:
        >>> import oneflow as flow
        >>> sgd = flow.optim.SGD([flow.nn.Parameter(flow.ones(1))], lr=1.0)
        >>> schedule = flow.optim.lr_scheduler.ReduceLROnPlateau(sgd, factor=0.5, patience=0)
        >>> for loss in (3.0, 2.0, 2.0):
        ...     schedule.step(loss)
        >>> sgd.param_groups[0]["lr"]
        0.5
    """

    def __init__(
        self,
        optimizer: Any,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: float | Sequence[float] = 0,
        eps: float = 1e-8,
        verbose: bool = False,
    ) -> None:
        check_optimizer("ReduceLROnPlateau", optimizer)
        if factor >= 1.0:
            raise ValueError(f"[ReduceLROnPlateau] expects a factor below 1, got {factor}")
        count = len(optimizer.param_groups)
        bounds = list(min_lr) if isinstance(min_lr, (list, tuple)) else [min_lr] * count
        if len(bounds) != count:
            raise ValueError(
                f"[ReduceLROnPlateau] expects min_lr for {count} groups, got {len(bounds)}"
            )
        self.optimizer = optimizer
        self.factor = factor
        self.min_lrs: list[Any] = bounds
        self.patience = patience
        self.cooldown = cooldown
        self.eps = eps
        self.verbose = verbose
        self.last_step = 0
        self._last_lr = [group["lr"] for group in optimizer.param_groups]
        self._set_mode(mode, threshold, threshold_mode)
        self._reset()

    def _set_mode(self, mode: str, threshold: float, threshold_mode: str) -> None:
        if mode not in ("min", "max"):
            raise ValueError(f"[ReduceLROnPlateau] expects mode min or max, got {mode!r}")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(
                f"[ReduceLROnPlateau] expects threshold_mode rel or abs, got {threshold_mode!r}"
            )
        self.mode = mode
        self.mode_worse = math.inf if mode == "min" else -math.inf
        self.threshold = threshold
        self.threshold_mode = threshold_mode

    def _reset(self) -> None:
        self.best = self.mode_worse
        self.cooldown_counter = 0
        self.num_bad_steps = 0

    @property
    def in_cooldown(self) -> bool:
        """Whether steps that are not better do not count at the moment."""
        return self.cooldown_counter > 0

    def is_better(self, a: float, best: float) -> bool:
        """Whether the figure `a` is better than `best` by more than the threshold."""
        sign = -1 if self.mode == "min" else 1
        if self.threshold_mode == "rel":
            bound = best * (1 + sign * self.threshold)
        else:
            bound = best + sign * self.threshold
        return a < bound if self.mode == "min" else a > bound

    def get_last_lr(self) -> list[float]:
        """The learning rate of each group, after the last step."""
        return self._last_lr

    def step(self, metrics: Any) -> None:
        """Looks at the newest figure, and lowers the learning rates if it is time.

        Args:
            metrics: a number, or a Tensor of one element
        """
        current = float(metrics)
        self.last_step += 1
        if self.is_better(current, self.best):
            self.best = current
            self.num_bad_steps = 0
        else:
            self.num_bad_steps += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_steps = 0
        if self.num_bad_steps > self.patience:
            self._reduce_lr(self.last_step)
            self.cooldown_counter = self.cooldown
            self.num_bad_steps = 0
        self._last_lr = [group["lr"] for group in self.optimizer.param_groups]

    def _reduce_lr(self, step: int) -> None:
        for number, (group, bound) in enumerate(zip(self.optimizer.param_groups, self.min_lrs)):
            old = float(group["lr"])
            new = max(old * self.factor, bound)
            if old - new > self.eps:
                group["lr"] = new
                if self.verbose:
                    print(f"ReduceLROnPlateau: step {step}, group {number}: lr {new:.4e}")

    def state_dict(self) -> dict[str, Any]:
        """Every attribute but the optimizer."""
        return {key: value for key, value in self.__dict__.items() if key != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes over what `state_dict` returned."""
        self.__dict__.update(state_dict)
        self._set_mode(self.mode, self.threshold, self.threshold_mode)
