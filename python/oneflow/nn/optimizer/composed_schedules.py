"""Learning rates by a function of the program's, and schedulers made of other schedulers."""

from __future__ import annotations

import bisect
import math
import types
from collections.abc import Callable, Sequence
from typing import Any

from oneflow.nn.optimizer.lr_scheduler import LRScheduler, check_optimizer
from oneflow.nn.optimizer.schedules import ConstantLR, LinearLR
from oneflow.optim.optimizer import Optimizer


class LambdaLR(LRScheduler):
    """lr = base_lr * lr_lambda(step).

    Args:
        lr_lambda: a function from the number of steps to a factor, or a list of one for each group
        optimizer, last_step, verbose: see `LRScheduler`

    Raises:
        ValueError: there are more or fewer functions than groups.

    Example:
        >>> import oneflow as flow
        >>> sgd = flow.optim.SGD([flow.nn.Parameter(flow.ones(1))], lr=1.0)
        >>> schedule = flow.optim.lr_scheduler.LambdaLR(sgd, lambda step: 0.5 ** step)
        >>> schedule.step()
        >>> schedule.get_last_lr()
        [0.5]
    """

    def __init__(
        self,
        optimizer: Any,
        lr_lambda: Callable[[int], float] | Sequence[Callable[[int], float]],
        last_step: int = -1,
        verbose: bool = False,
    ) -> None:
        name = type(self).__name__
        check_optimizer(name, optimizer)
        count = len(optimizer.param_groups)
        given = list(lr_lambda) if isinstance(lr_lambda, (list, tuple)) else [lr_lambda] * count
        if len(given) != count:
            raise ValueError(f"[{name}] expects {count} functions, one a group, got {len(given)}")
        self.lr_lambdas: list[Any] = given
        super().__init__(optimizer, last_step, verbose)

    def step(self) -> None:
        """Goes one step on: sets the learning rate of each group."""
        self.last_step += 1
        factors = [function(self.last_step) for function in self.lr_lambdas]
        self.update_lrs([base_lr * factor for base_lr, factor in zip(self.base_lrs, factors)])

    def state_dict(self) -> dict[str, Any]:
        """Every attribute but the optimizer; of the functions what objects hold, not functions."""
        state = super().state_dict()
        state["lr_lambdas"] = [
            None if isinstance(function, types.FunctionType) else dict(function.__dict__)
            for function in self.lr_lambdas
        ]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes over what `state_dict` returned; functions stay as they are."""
        state = dict(state_dict)
        for function, held in zip(self.lr_lambdas, state.pop("lr_lambdas")):
            if held is not None:
                function.__dict__.update(held)
        self.__dict__.update(state)


class MultiplicativeLR(LambdaLR):
    """lr = lr of the step before * lr_lambda(step).

    Args:
        lr_lambda: a function from the number of steps to a factor, or a list of one for each group
        optimizer, last_step, verbose: see `LRScheduler`

    Raises:
        ValueError: there are more or fewer functions than groups.

    Example:
        >>> import oneflow as flow
        >>> sgd = flow.optim.SGD([flow.nn.Parameter(flow.ones(1))], lr=1.0)
        >>> schedule = flow.optim.lr_scheduler.MultiplicativeLR(sgd, lambda step: 0.5)
        >>> for _ in range(2):
        ...     schedule.step()
        >>> schedule.get_last_lr()
        [0.25]
    """

    def step(self) -> None:
        """Goes one step on: multiplies the learning rate of each group."""
        self.last_step += 1
        lrs = [group["lr"] for group in self.optimizer.param_groups]
        if self.last_step > 0:
            lrs = [lr * function(self.last_step) for lr, function in zip(lrs, self.lr_lambdas)]
        self.update_lrs(lrs)


class _Composed(LRScheduler):
    """What holds other schedulers: its state has theirs."""

    schedulers: list[Any]

    def state_dict(self) -> dict[str, Any]:
        """Every attribute but the optimizer, and the state of each scheduler inside."""
        state = super().state_dict()
        state["schedulers"] = [scheduler.state_dict() for scheduler in self.schedulers]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes over what `state_dict` returned, for each scheduler inside, too."""
        state = dict(state_dict)
        for scheduler, inside in zip(self.schedulers, state.pop("schedulers")):
            scheduler.load_state_dict(inside)
        self.__dict__.update(state)


def _check_schedulers(caller: str, schedulers: Any, optimizer: Any) -> None:
    known = isinstance(schedulers, (list, tuple)) and len(schedulers) > 0
    if not known or not all(isinstance(one, LRScheduler) for one in schedulers):
        raise ValueError(f"[{caller}] expects a list of at least one scheduler, got {schedulers!r}")
    owner = schedulers[0].optimizer if optimizer is None else optimizer
    for number, scheduler in enumerate(schedulers):
        if scheduler.optimizer is not owner:
            raise ValueError(
                f"[{caller}] expects schedulers of one optimizer, got another at place {number}"
            )


class ChainedScheduler(_Composed):
    """Applies several schedulers one after another, each to what the one before computed.

    Args:
        schedulers: a list of schedulers of one optimizer; those that define `get_lr`

    Raises:
        ValueError: it is empty, or their optimizers differ.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.optim import lr_scheduler as schedules
        >>> sgd = flow.optim.SGD([flow.nn.Parameter(flow.ones(1))], lr=1.0)
        >>> parts = [schedules.ConstantLR(sgd, 0.5), schedules.ExponentialLR(sgd, 0.5)]
        >>> schedule = schedules.ChainedScheduler(parts)
        >>> schedule.step()
        >>> schedule.get_last_lr()
        [0.25]
    """

    def __init__(self, schedulers: Sequence[Any]) -> None:
        _check_schedulers("ChainedScheduler", schedulers, None)
        self.schedulers = list(schedulers)
        super().__init__(schedulers[0].optimizer)

    def step(self) -> None:
        """Goes one step on: sets the learning rate of each group."""
        self.last_step += 1
        lrs = list(self.schedulers[0].base_lrs)
        for scheduler in self.schedulers:
            lrs = [scheduler.get_lr(lr, self.last_step) for lr in lrs]
            scheduler.last_step = self.last_step
        self.update_lrs(lrs)


class SequentialLR(_Composed):
    """Uses one scheduler after another: the next one from each milestone on.

    Args:
        schedulers: a list of schedulers of this optimizer
        milestones: list of numbers of steps, one fewer than schedulers
        interval_rescaling: whether a scheduler counts its steps from its own milestone, not from
            the beginning: a bool, or a list with one for each milestone; default False
        optimizer, last_step, verbose: see `LRScheduler`

    Raises:
        ValueError: the list is empty, an optimizer is another, or the lengths do not fit.
        TypeError: `interval_rescaling` has something that is no bool.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.optim import lr_scheduler as schedules
        >>> sgd = flow.optim.SGD([flow.nn.Parameter(flow.ones(1))], lr=1.0)
        >>> parts = [schedules.ConstantLR(sgd, 0.25), schedules.ExponentialLR(sgd, 0.5)]
        >>> schedule = schedules.SequentialLR(sgd, parts, milestones=[1])
        >>> schedule.step()
        >>> schedule.get_last_lr()
        [0.5]
    """

    def __init__(
        self,
        optimizer: Any,
        schedulers: Sequence[Any],
        milestones: Sequence[int],
        interval_rescaling: Sequence[bool] | bool = False,
        last_step: int = -1,
        verbose: bool = False,
    ) -> None:
        name = type(self).__name__
        check_optimizer(name, optimizer)
        _check_schedulers(name, schedulers, optimizer)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                f"[{name}] expects {len(schedulers) - 1} milestones for {len(schedulers)} "
                f"schedulers, got {len(milestones)}"
            )
        rescaling = interval_rescaling
        each = [rescaling] * len(milestones) if isinstance(rescaling, bool) else list(rescaling)
        if len(each) != len(milestones):
            raise ValueError(
                f"[{name}] expects interval_rescaling for {len(milestones)} milestones, "
                f"got {len(each)}"
            )
        if not all(isinstance(one, bool) for one in each):
            raise TypeError(f"[{name}] expects bools as interval_rescaling, got {rescaling!r}")
        self.schedulers = list(schedulers)
        self.milestones = list(milestones)
        self.interval_rescaling = each
        super().__init__(optimizer, last_step, verbose)

    def step(self) -> None:
        """Goes one step on: sets the learning rate of each group."""
        self.last_step += 1
        step = self.last_step
        place = bisect.bisect_right(self.milestones, step)
        if place > 0 and self.interval_rescaling[place - 1]:
            step -= self.milestones[place - 1]
        scheduler = self.schedulers[place]
        scheduler.last_step = step
        self.update_lrs([scheduler.get_lr(base_lr, step) for base_lr in self.base_lrs])


class WarmupLR(SequentialLR):
    """Begins with low learning rates, then goes on with those of an optimizer or a scheduler.

    Args:
        scheduler_or_optimizer: what the learning rates come from after the warm-up
        warmup_factor: the first factor, from 0 to 1; default 1/3
        warmup_iters: steps of the warm-up; default 5; 0 for none, if there is a scheduler
        warmup_method: "linear" (up to what the scheduler says at the end of the warm-up) or
            "constant"; default "linear"
        warmup_prefix: whether the scheduler begins after the warm-up, not beside it; default False
        last_step, verbose: see `LRScheduler`

    Raises:
        TypeError: it is neither a scheduler nor an optimizer.
        ValueError: the method is unknown, or an optimizer has no warm-up, or groups with several
            learning rates should rise to those of a scheduler beside it.

    Example:
        >>> import oneflow as flow
        >>> sgd = flow.optim.SGD([flow.nn.Parameter(flow.ones(1))], lr=1.0)
        >>> warm = flow.optim.lr_scheduler.WarmupLR(sgd, warmup_factor=0.5, warmup_iters=2)
        >>> lrs = warm.get_last_lr()
        >>> warm.step()
        >>> lrs + warm.get_last_lr()
        [0.5, 0.75]
    """

    def __init__(
        self,
        scheduler_or_optimizer: Any,
        warmup_factor: float = 1.0 / 3,
        warmup_iters: int = 5,
        warmup_method: str = "linear",
        warmup_prefix: bool = False,
        last_step: int = -1,
        verbose: bool = False,
    ) -> None:
        if not isinstance(scheduler_or_optimizer, (LRScheduler, Optimizer)):
            raise TypeError(
                "[WarmupLR] expects a scheduler or an optimizer, "
                f"got {type(scheduler_or_optimizer).__name__}"
            )
        if warmup_method not in ("linear", "constant"):
            raise ValueError(
                f"[WarmupLR] expects warmup_method linear or constant, got {warmup_method!r}"
            )
        given = scheduler_or_optimizer
        scheduler = given if isinstance(given, LRScheduler) else None
        if scheduler is None and warmup_iters <= 0:
            raise ValueError(
                f"[WarmupLR] expects warmup_iters above 0 for an optimizer, got {warmup_iters}"
            )
        self.warmup_factor = warmup_factor
        self.warmup_iters = warmup_iters
        self.warmup_method = warmup_method
        self.warmup_prefix = warmup_prefix
        self.optimizer = given if scheduler is None else scheduler.optimizer
        self.last_step = last_step
        self.verbose = verbose
        self._init_base_lrs()
        parts = [self._warmup(scheduler)] if warmup_iters > 0 else []
        parts += [] if scheduler is None else [scheduler]
        milestones = [warmup_iters] if len(parts) == 2 else []
        prefix = [warmup_prefix] * len(milestones)
        super().__init__(self.optimizer, parts, milestones, prefix, last_step, verbose)

    def _warmup(self, scheduler: Any) -> Any:
        common = {"total_iters": self.warmup_iters, "last_step": self.last_step}
        if self.warmup_method == "constant":
            return ConstantLR(self.optimizer, self.warmup_factor, **common, verbose=self.verbose)
        end = 1.0
        if scheduler is not None and not self.warmup_prefix:
            base_lr = self.base_lrs[0]
            if not all(math.isclose(base_lr, other, rel_tol=1e-5) for other in self.base_lrs):
                raise ValueError(
                    "[WarmupLR] expects one learning rate for all groups, got "
                    f"{self.base_lrs}; use warmup_prefix, or an optimizer for each"
                )
            end = scheduler.get_lr(base_lr, self.warmup_iters) / base_lr
        return LinearLR(self.optimizer, self.warmup_factor, end, **common, verbose=self.verbose)
