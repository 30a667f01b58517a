"""Learning rates that are a function of the number of steps."""

from __future__ import annotations

import bisect
import math
from collections.abc import Sequence
from typing import Any

from oneflow.nn.optimizer.lr_scheduler import LRScheduler, check_between, check_positive_int


class StepLR(LRScheduler):
    """lr = base_lr * gamma ** (step // step_size).

    Args:
        step_size: steps between two changes, at least 1
        gamma: above 0; default 0.1
        optimizer, last_step, verbose: see `LRScheduler`

    Raises:
        ValueError: `step_size` is below 1, or `gamma` not above 0.

    Example:
        >>> import oneflow as flow
        >>> sgd = flow.optim.SGD([flow.nn.Parameter(flow.ones(1))], lr=1.0)
        >>> schedule = flow.optim.lr_scheduler.StepLR(sgd, step_size=2, gamma=0.5)
        >>> for _ in range(2):
        ...     schedule.step()
        >>> schedule.get_last_lr()
        [0.5]
    """

    def __init__(
        self,
        optimizer: Any,
        step_size: int,
        gamma: float = 0.1,
        last_step: int = -1,
        verbose: bool = False,
    ) -> None:
        check_positive_int("StepLR", "step_size", step_size)
        _check_gamma("StepLR", gamma)
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_step, verbose)

    def get_lr(self, base_lr: float, step: int) -> float:
        """The learning rate after `step` steps."""
        return base_lr * self.gamma ** (step // self.step_size)


class MultiStepLR(LRScheduler):
    """lr = base_lr * gamma ** (how many of the milestones were reached).

    Args:
        milestones: numbers of steps, increasing
        gamma: above 0; default 0.1
        optimizer, last_step, verbose: see `LRScheduler`

    Raises:
        ValueError: the milestones do not increase, or `gamma` is not above 0.

    Example:
        >>> import oneflow as flow
        >>> sgd = flow.optim.SGD([flow.nn.Parameter(flow.ones(1))], lr=1.0)
        >>> schedule = flow.optim.lr_scheduler.MultiStepLR(sgd, [1, 5], gamma=0.5)
        >>> schedule.step()
        >>> schedule.get_last_lr()
        [0.5]
    """

    def __init__(
        self,
        optimizer: Any,
        milestones: Sequence[int],
        gamma: float = 0.1,
        last_step: int = -1,
        verbose: bool = False,
    ) -> None:
        if any(later <= earlier for earlier, later in zip(milestones, milestones[1:])):
            raise ValueError(f"[MultiStepLR] expects increasing milestones, got {milestones}")
        _check_gamma("MultiStepLR", gamma)
        self.milestones = list(milestones)
        self.gamma = gamma
        super().__init__(optimizer, last_step, verbose)

    def get_lr(self, base_lr: float, step: int) -> float:
        """The learning rate after `step` steps."""
        return float(base_lr * self.gamma ** bisect.bisect_right(self.milestones, step))


class ExponentialLR(LRScheduler):
    """lr = base_lr * gamma ** step.

    Args:
        gamma: above 0
        optimizer, last_step, verbose: see `LRScheduler`

    Raises:
        ValueError: `gamma` is not above 0.

    Example:
        >>> import oneflow as flow
        >>> sgd = flow.optim.SGD([flow.nn.Parameter(flow.ones(1))], lr=1.0)
        >>> schedule = flow.optim.lr_scheduler.ExponentialLR(sgd, gamma=0.5)
        >>> schedule.step()
        >>> schedule.get_last_lr()
        [0.5]
    """

    def __init__(
        self, optimizer: Any, gamma: float, last_step: int = -1, verbose: bool = False
    ) -> None:
        _check_gamma("ExponentialLR", gamma)
        self.gamma = gamma
        super().__init__(optimizer, last_step, verbose)

    def get_lr(self, base_lr: float, step: int) -> float:
        """The learning rate after `step` steps."""
        return base_lr * float(self.gamma**step)


class ConstantLR(LRScheduler):
    """lr = base_lr * factor for the first steps, then base_lr.

    Args:
        factor: from 0 to 1; default 1/3
        total_iters: how many steps; default 5
        optimizer, last_step, verbose: see `LRScheduler`

    Raises:
        ValueError: `factor` is not from 0 to 1.

    Example:
        >>> import oneflow as flow
        >>> sgd = flow.optim.SGD([flow.nn.Parameter(flow.ones(1))], lr=1.0)
        >>> flow.optim.lr_scheduler.ConstantLR(sgd, factor=0.25).get_last_lr()
        [0.25]
    """

    def __init__(
        self,
        optimizer: Any,
        factor: float = 1.0 / 3,
        total_iters: int = 5,
        last_step: int = -1,
        verbose: bool = False,
    ) -> None:
        check_between("ConstantLR", "factor", factor, 0, 1)
        self.factor = factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_step, verbose)

    def get_lr(self, base_lr: float, step: int) -> float:
        """The learning rate after `step` steps."""
        return base_lr * self.factor if step < self.total_iters else base_lr


class LinearLR(LRScheduler):
    """lr = base_lr * a factor that goes in a straight line from one value to another, and stays.

    Args:
        start_factor: the first factor, from 0 to 1; default 1/3
        end_factor: the last one, from 0 to 1; default 1
        total_iters: after how many steps the last factor is reached; default 5
        optimizer, last_step, verbose: see `LRScheduler`

    Raises:
        ValueError: a factor is not from 0 to 1.

    Example:
        >>> import oneflow as flow
        >>> sgd = flow.optim.SGD([flow.nn.Parameter(flow.ones(1))], lr=1.0)
        >>> schedule = flow.optim.lr_scheduler.LinearLR(sgd, 0.5, 1.0, total_iters=2)
        >>> schedule.step()
        >>> schedule.get_last_lr()
        [0.75]
    """

    def __init__(
        self,
        optimizer: Any,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_step: int = -1,
        verbose: bool = False,
    ) -> None:
        check_between("LinearLR", "start_factor", start_factor, 0, 1)
        check_between("LinearLR", "end_factor", end_factor, 0, 1)
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_step, verbose)

    def get_lr(self, base_lr: float, step: int) -> float:
        """The learning rate after `step` steps."""
        if step >= self.total_iters:
            return base_lr * self.end_factor
        rise = (self.end_factor - self.start_factor) * (step / self.total_iters)
        return base_lr * (self.start_factor + rise)


class PolynomialLR(LRScheduler):
    """lr = (base_lr - end) * (1 - step / decay_batch) ** power + end, then end.

    Args:
        decay_batch: after how many steps the end is reached, at least 1
        end_learning_rate: default 0.0001
        power: default 1
        cycle: whether to begin anew, over twice, three times ... as many steps; default False
        optimizer, last_step, verbose: see `LRScheduler`

    Raises:
        ValueError: `decay_batch` is below 1.

    Example:
        >>> import oneflow as flow
        >>> sgd = flow.optim.SGD([flow.nn.Parameter(flow.ones(1))], lr=1.0)
        >>> schedule = flow.optim.lr_scheduler.PolynomialLR(sgd, 4, end_learning_rate=0.0)
        >>> schedule.step()
        >>> schedule.get_last_lr()
        [0.75]
    """

    def __init__(
        self,
        optimizer: Any,
        decay_batch: int,
        end_learning_rate: float = 0.0001,
        power: float = 1.0,
        cycle: bool = False,
        last_step: int = -1,
        verbose: bool = False,
    ) -> None:
        check_positive_int("PolynomialLR", "decay_batch", decay_batch)
        self.max_decay_steps = decay_batch
        self.end_learning_rate = end_learning_rate
        self.power = power
        self.cycle = cycle
        super().__init__(optimizer, last_step, verbose)

    def get_lr(self, base_lr: float, step: int) -> float:
        """The learning rate after `step` steps."""
        span = self.max_decay_steps
        if self.cycle:
            step = max(step, 1)
            span *= math.ceil(step / span)
        left = 1 - min(step, span) / span
        return float((base_lr - self.end_learning_rate) * left**self.power + self.end_learning_rate)


class CosineDecayLR(LRScheduler):
    """lr = base_lr * ((1 - alpha) * (1 + cos(pi * step / decay_steps)) / 2 + alpha), then alpha.

    Args:
        decay_steps: after how many steps the last factor, alpha, is reached; at least 1
        alpha: default 0
        optimizer, last_step, verbose: see `LRScheduler`

    Raises:
        ValueError: `decay_steps` is below 1.

    Example:
        >>> import oneflow as flow
        >>> sgd = flow.optim.SGD([flow.nn.Parameter(flow.ones(1))], lr=1.0)
        >>> schedule = flow.optim.lr_scheduler.CosineDecayLR(sgd, decay_steps=2)
        >>> schedule.step()
        >>> schedule.get_last_lr()
        [0.5]

    Source: Loshchilov and Hutter, "SGDR", 2017, without its restarts.
    """

    def __init__(
        self,
        optimizer: Any,
        decay_steps: int,
        alpha: float = 0.0,
        last_step: int = -1,
        verbose: bool = False,
    ) -> None:
        check_positive_int("CosineDecayLR", "decay_steps", decay_steps)
        self.decay_steps = decay_steps
        self.alpha = alpha
        super().__init__(optimizer, last_step, verbose)

    def get_lr(self, base_lr: float, step: int) -> float:
        """The learning rate after `step` steps."""
        if step >= self.decay_steps:
            return base_lr * self.alpha
        return base_lr * ((1 - self.alpha) * _cosine(step / self.decay_steps) + self.alpha)


class CosineAnnealingLR(LRScheduler):
    """lr = eta_min + (base_lr - eta_min) * (1 + cos(pi * step / T_max)) / 2, down and up for ever.

    Args:
        T_max: after how many steps eta_min is reached
        eta_min: default 0
        optimizer, last_step, verbose: see `LRScheduler`

    Raises:
        ValueError: `T_max` is below 1.

    Example:
        >>> import oneflow as flow
        >>> sgd = flow.optim.SGD([flow.nn.Parameter(flow.ones(1))], lr=1.0)
        >>> schedule = flow.optim.lr_scheduler.CosineAnnealingLR(sgd, T_max=2)
        >>> schedule.step()
        >>> schedule.get_last_lr()
        [0.5]

    Source: Loshchilov and Hutter, "SGDR", 2017, without its restarts.
    """

    def __init__(
        self,
        optimizer: Any,
        T_max: int,
        eta_min: float = 0.0,
        last_step: int = -1,
        verbose: bool = False,
    ) -> None:
        check_positive_int("CosineAnnealingLR", "T_max", T_max)
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_step, verbose)

    def get_lr(self, base_lr: float, step: int) -> float:
        """The learning rate after `step` steps."""
        return self.eta_min + (base_lr - self.eta_min) * _cosine(step / self.T_max)


class CosineAnnealingWarmRestarts(LRScheduler):
    """Cosine annealing that begins anew after T_0 steps, then after T_0 * T_mult, and so on.

    In a period of T steps, at its step t: eta_min + (base_lr * decay_rate ** period - eta_min) *
    (1 + cos(pi * t / T)) / 2.

    Args:
        T_0: steps of the first period
        T_mult: how many times longer each period is than the one before; default 1
        eta_min: default 0
        decay_rate: how much lower each period begins; default 1
        restart_limit: after how many periods only eta_min is left; default 0, for no limit
        optimizer, last_step, verbose: see `LRScheduler`

    Raises:
        ValueError: `T_0` or `T_mult` is no int of at least 1.

    Example:
        >>> import oneflow as flow
        >>> sgd = flow.optim.SGD([flow.nn.Parameter(flow.ones(1))], lr=1.0)
        >>> schedule = flow.optim.lr_scheduler.CosineAnnealingWarmRestarts(sgd, T_0=2)
        >>> for _ in range(2):
        ...     schedule.step()
        >>> schedule.get_last_lr()
        [1.0]

    Source: Loshchilov and Hutter, "SGDR", 2017.
    """

    def __init__(
        self,
        optimizer: Any,
        T_0: int,
        T_mult: int = 1,
        eta_min: float = 0.0,
        decay_rate: float = 1.0,
        restart_limit: int = 0,
        last_step: int = -1,
        verbose: bool = False,
    ) -> None:
        check_positive_int("CosineAnnealingWarmRestarts", "T_0", T_0)
        check_positive_int("CosineAnnealingWarmRestarts", "T_mult", T_mult)
        self.T_0 = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.decay_rate = decay_rate
        self.restart_limit = restart_limit
        super().__init__(optimizer, last_step, verbose)

    def get_lr(self, base_lr: float, step: int) -> float:
        """The learning rate after `step` steps."""
        period, length, inside = 0, self.T_0, step
        if self.T_mult == 1:
            period, inside = divmod(step, length)
        while inside >= length:
            inside -= length
            length *= self.T_mult
            period += 1
        if 0 < self.restart_limit <= period:
            return self.eta_min
        peak = base_lr * float(self.decay_rate**period)
        return self.eta_min + (peak - self.eta_min) * _cosine(inside / length)


def _cosine(part: float) -> float:
    """From 1 down to 0 as `part` goes from 0 to 1."""
    return 0.5 * (1 + math.cos(math.pi * part))


def _check_gamma(caller: str, gamma: float) -> None:
    if not gamma > 0:
        raise ValueError(f"[{caller}] expects gamma above 0, got {gamma}")
