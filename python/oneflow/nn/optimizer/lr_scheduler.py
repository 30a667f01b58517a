"""LRScheduler: the base of what changes learning rates while a program trains."""

from __future__ import annotations

from typing import Any

from oneflow.optim.optimizer import Optimizer, graph_being_built


def check_optimizer(caller: str, optimizer: Any) -> None:
    """TypeError in the name of `caller`, unless `optimizer` is an Optimizer.

    Example:
        >>> from oneflow.nn.optimizer.lr_scheduler import check_optimizer
        >>> check_optimizer("StepLR", 3)
        Traceback (most recent call last):
        TypeError: [StepLR] expects an Optimizer, got int
    """
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"[{caller}] expects an Optimizer, got {type(optimizer).__name__}")


def check_between(caller: str, name: str, value: Any, low: float, high: float) -> None:
    """ValueError in the name of `caller`, unless `value` is a number from `low` to `high`.

    Example:
        >>> from oneflow.nn.optimizer.lr_scheduler import check_between
        >>> check_between("ConstantLR", "factor", 2, 0, 1)
        Traceback (most recent call last):
        ValueError: [ConstantLR] expects factor from 0 to 1, got 2
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value <= high:
        raise ValueError(f"[{caller}] expects {name} from {low} to {high}, got {value!r}")


def check_positive_int(caller: str, name: str, value: Any) -> None:
    """ValueError in the name of `caller`, unless `value` is an int of at least 1.

    Example:
        >>> from oneflow.nn.optimizer.lr_scheduler import check_positive_int
        >>> check_positive_int("StepLR", "step_size", 0)
        Traceback (most recent call last):
        ValueError: [StepLR] expects step_size as an int of at least 1, got 0
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"[{caller}] expects {name} as an int of at least 1, got {value!r}")


class LRScheduler:
    """Sets the learning rates of an optimizer, once when it is made and then at each `step()`.

    A subclass defines `get_lr(base_lr, step)`: the learning rate of a group whose own is `base_lr`,
    after `step` steps.

    Args:
        optimizer: whose groups' "lr" to set; the value before is kept as "initial_lr"
        last_step: how many steps were done, less one; default -1, for a fresh start
        verbose: whether to print each learning rate; default False

    Attributes:
        last_step: how many steps were done since the first learning rate
        base_lrs: the learning rates of the groups before the scheduler changed them

    Raises:
        TypeError: `optimizer` is none.
        KeyError: `last_step` is given, but a group has no "initial_lr".

    Example:
        >>> import oneflow as flow
        >>> class Halves(flow.nn.optimizer.lr_scheduler.LRScheduler):
        ...     def get_lr(self, base_lr, step):
        ...         return base_lr * 0.5 ** step
        >>> sgd = flow.optim.SGD([flow.nn.Parameter(flow.ones(1))], lr=1.0)
        >>> halves = Halves(sgd)
        >>> halves.step()
        >>> halves.get_last_lr(), sgd.param_groups[0]["lr"]
        ([0.5], 0.5)
    """

    def __init__(self, optimizer: Any, last_step: int = -1, verbose: bool = False) -> None:
        check_optimizer(type(self).__name__, optimizer)
        self.optimizer = optimizer
        self.last_step = last_step
        self.verbose = verbose
        self._init_base_lrs()
        self.step()

    def _init_base_lrs(self) -> None:
        for number, group in enumerate(self.optimizer.param_groups):
            if self.last_step == -1:
                group.setdefault("initial_lr", group["lr"])
            elif "initial_lr" not in group:
                raise KeyError(
                    f"[{type(self).__name__}] expects initial_lr in group {number} of an optimizer "
                    f"that goes on from step {self.last_step}, got none"
                )
        self.base_lrs = [group["initial_lr"] for group in self.optimizer.param_groups]

    def get_lr(self, base_lr: float, step: int) -> float:
        """The learning rate after `step` steps; every subclass defines it.

        Raises:
            NotImplementedError: the subclass does not.
        """
        raise NotImplementedError(f"[LRScheduler] {type(self).__name__} does not define get_lr()")

    def get_last_lr(self) -> list[float]:
        """The learning rate of each group, as the last step set it."""
        return self._last_lr

    def step(self) -> None:
        """Goes one step on: sets the learning rate of each group.

        Raises:
            RuntimeError: an nn.Graph is being built, which steps by itself what it was given.
        """
        graph = graph_being_built()
        if graph is not None:
            raise RuntimeError(
                f"[{type(self).__name__}] expects no step() in the build of graph {graph!r}, where "
                "it would be made once; give the scheduler to add_optimizer as lr_sch"
            )
        self.last_step += 1
        self.update_lrs([self.get_lr(base_lr, self.last_step) for base_lr in self.base_lrs])

    def update_lrs(self, lrs: list[float]) -> None:
        """Sets the learning rates of the groups."""
        self._last_lr: list[float] = []
        for number, (group, lr) in enumerate(zip(self.optimizer.param_groups, lrs)):
            group["lr"] = lr
            self._last_lr.append(lr)
            if self.verbose:
                self.print_lr(number, lr)

    def print_lr(self, group: int, lr: float) -> None:
        """Prints the learning rate of a group."""
        print(f"{type(self).__name__}: step {self.last_step}, group {group}: lr {lr:.5g}")

    def state_dict(self) -> dict[str, Any]:
        """Every attribute but the optimizer."""
        return {key: value for key, value in self.__dict__.items() if key != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes over what `state_dict` returned; the optimizer's own state goes by itself."""
        self.__dict__.update(state_dict)
