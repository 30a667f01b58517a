"""An optimizer inside a graph: what is traced of its step, and what is computed for each run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import oneflow as flow
from oneflow import _oneflow_internal
from oneflow.autograd.autograd_mode import no_grad
from oneflow.nn.utils.clip_grad import clip_grad_norm_
from oneflow.optim.lr_scheduler import LRScheduler
from oneflow.optim.optimizer import Optimizer

_C = _oneflow_internal._C


class OptDict:
    """An optimizer that a graph was given, and its scheduler.

    Args:
        opt_dict: {"optim": an Optimizer, "lr_sch": an LRScheduler of it or None, "is_sparse": bool}

    Raises:
        TypeError: something else.
        ValueError: the scheduler is another optimizer's.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.nn.graph.optimizer import OptDict
        >>> sgd = flow.optim.SGD([flow.nn.Parameter(flow.ones(1))])
        >>> OptDict({"optim": sgd}).lr_scheduler is None
        True
    """

    def __init__(self, opt_dict: dict[str, Any]) -> None:
        if not isinstance(opt_dict, dict) or not isinstance(opt_dict.get("optim"), Optimizer):
            got = opt_dict.get("optim") if isinstance(opt_dict, dict) else opt_dict
            raise TypeError(f"[Graph.add_optimizer] expects an Optimizer, got {type(got).__name__}")
        self.optimizer: Optimizer = opt_dict["optim"]
        self.lr_scheduler: LRScheduler | None = opt_dict.get("lr_sch")
        self.is_sparse = bool(opt_dict.get("is_sparse", False))
        if type(self.optimizer)._update is Optimizer._update:
            raise TypeError(
                f"[Graph.add_optimizer] expects an optimizer whose step is one update of each "
                f"parameter, got {type(self.optimizer).__name__}, which decides in Python"
            )
        if self.lr_scheduler is None:
            return
        if not isinstance(self.lr_scheduler, LRScheduler):
            raise TypeError(
                "[Graph.add_optimizer] expects an LRScheduler as lr_sch, got "
                f"{type(self.lr_scheduler).__name__}"
            )
        if self.lr_scheduler.optimizer is not self.optimizer:
            raise ValueError("[Graph.add_optimizer] expects a scheduler of the same optimizer")


def _baked(group: Any) -> dict[str, Any]:
    """The options that a trace turns into constants."""
    changing = ("lr", "initial_lr", "lr_scale")
    return {name: value for name, value in group.options.items() if name not in changing}


class Step:
    """The step of one optimizer in one traced graph.

    Learning rate and corrections of each group are inputs of the graph, one tensor of three
    numbers for each group: they change from run to run, and nothing is traced again. All other
    options are constants: `stale` says when they changed.

    Thread safety: calls must not overlap.
    """

    def __init__(self, optimizer: Optimizer, scheduler: LRScheduler | None) -> None:
        self.optimizer = optimizer
        self.scheduler = scheduler
        self._baked = [_baked(group) for group in optimizer.param_groups]
        self._sizes = [len(group.parameters) for group in optimizer.param_groups]
        self._state = optimizer.state
        self._last: list[tuple[Any, Any]] = [(None, None)] * len(self._sizes)
        self._made: list[tuple[Any, str]] = []

    def stale(self) -> bool:
        """Whether the groups, their options or their states are others than when it was traced."""
        groups = self.optimizer.param_groups
        if len(groups) != len(self._sizes) or self.optimizer.state is not self._state:
            return True
        return any(
            len(group.parameters) != size or _baked(group) != baked
            for group, size, baked in zip(groups, self._sizes, self._baked)
        )

    def prepare(self) -> None:
        """Before the trace: makes the states, which must be there before it."""
        with no_grad():
            for group in self.optimizer.param_groups:
                parameters = [p for p in group.parameters if p.requires_grad]
                self.optimizer._make_states(group.options, parameters, self._made)

    def forget(self) -> None:
        """After the trace: takes back new states of parameters that have no gradient."""
        state = self.optimizer.state
        for parameter, name in self._made:
            state[parameter].pop(name, None)
            if not state[parameter]:
                del state[parameter]
        self._made = []

    def numbers(self) -> list[Any]:
        """What the next run is told: a tensor (3,) of float64 for each group."""
        optimizer = self.optimizer
        step = optimizer.state["step"] + 1
        given = []
        for index, group in enumerate(optimizer.param_groups):
            lr, first, second = optimizer._run_time(group.options, step)
            lr *= group.options.get("lr_scale", 1.0)
            values = (lr, first, second)
            if self._last[index][0] != values:
                device = group.parameters[0].device if group.parameters else "cpu"
                made = flow.tensor(values, dtype=flow.float64, device=device)
                self._last[index] = (values, made)
            given.append(self._last[index][1])
        return given

    def trace(self, numbers: list[Any], parts: int) -> None:
        """In the trace, after `build`: clips gradients, and updates what has one."""
        optimizer = self.optimizer
        step = optimizer.state["step"] + 1
        with no_grad():
            for group, given in zip(optimizer.param_groups, numbers):
                parameters, gradients = optimizer._with_gradients(group)
                if not parameters:
                    continue
                if parts > 1:
                    _C.multi_tensor_scale_(gradients, 1.0 / parts)
                if group.clips:
                    max_norm, norm_type = group["clip_grad_max_norm"], group["clip_grad_norm_type"]
                    clip_grad_norm_(parameters, max_norm, norm_type)
                options = {**group.options, "numbers": [given]}
                optimizer._update_group(options, step, parameters, gradients)
                kept = {id(parameter) for parameter in parameters}
                self._made = [made for made in self._made if id(made[0]) not in kept]

    def done(self) -> None:
        """After a run was issued: counts the step, and moves the scheduler on."""
        self.optimizer.state["step"] += 1
        if self.scheduler is not None:
            self.scheduler.step()


def check_parameters(graph: str, steps: Iterable[Step], own: Iterable[tuple[str, Any]]) -> None:
    """ValueError, unless every parameter of the optimizers is one of the graph's modules."""
    known = {id(parameter) for _, parameter in own}
    for step in steps:
        for number, group in enumerate(step.optimizer.param_groups):
            for parameter in group.parameters:
                if id(parameter) not in known:
                    raise ValueError(
                        f"[Graph.add_optimizer] expects parameters of modules of graph {graph!r}, "
                        f"got one of shape {tuple(parameter.shape)} in group {number} of "
                        f"{type(step.optimizer).__name__}, which is in none of them"
                    )


def state_names(steps: Iterable[Step], own: Iterable[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """The tensors of state of optimizers, each under "path of the parameter-name of the state"."""
    paths = {id(parameter): path for path, parameter in own}
    found = []
    for step in steps:
        for parameter, states in step.optimizer.state.items():
            if id(parameter) in paths:
                path = paths[id(parameter)]
                found += [(f"{path}-{name}", value) for name, value in states.items()]
    return found
