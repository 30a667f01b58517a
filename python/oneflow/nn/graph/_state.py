"""The state of a graph as a dict, for checkpoints."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import oneflow as flow
from oneflow.autograd.autograd_mode import no_grad
from oneflow.nn.graph._blocks import Blocks
from oneflow.nn.graph.optimizer import OptDict, Step, state_names

_STEP = "System-Train-TrainStep"
_SCHEDULER = "System-LRScheduler"


def _numbered(name: str, number: int) -> str:
    return name if number == 0 else f"{name}-{number}"


def state_of(blocks: Blocks, opts: list[OptDict]) -> dict[str, Any]:
    """See `Graph.state_dict`.

    Example:
        >>> import oneflow as flow
        >>> class Net(flow.nn.Graph):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.fc = flow.nn.Linear(2, 2)
        >>> list(Net().state_dict()["fc"])
        ['weight', 'bias']
    """
    found: dict[str, Any] = OrderedDict()
    for name, module in blocks.modules.items():
        found[name] = module.state_dict()
    parameters = list(blocks.named_parameters())
    for number, opt in enumerate(opts):
        step = int(opt.optimizer.state["step"])
        found[_numbered(_STEP, number)] = flow.tensor([step], dtype=flow.int64)
        found.update(state_names([Step(opt.optimizer, None)], parameters))
        if opt.lr_scheduler is not None:
            found[_numbered(_SCHEDULER, number)] = opt.lr_scheduler.state_dict()
    return found


def load_state(blocks: Blocks, opts: list[OptDict], given: Any, strict: bool) -> None:
    """See `Graph.load_state_dict`."""
    if not isinstance(given, dict):
        raise TypeError(f"[Graph.load_state_dict] expects a dict, got {type(given).__name__}")
    missing = [name for name in blocks.modules if name not in given]
    if missing and strict:
        raise KeyError(
            f"[Graph.load_state_dict] expects a state for {', '.join(missing)}, got none"
        )
    for name, module in blocks.modules.items():
        if name in given:
            module.load_state_dict(given[name], strict=strict)
    paths = dict(blocks.named_parameters())
    for number, opt in enumerate(opts):
        _load_optimizer(opt, paths, given)
        if _numbered(_STEP, number) in given:
            opt.optimizer.state["step"] = int(given[_numbered(_STEP, number)].item())
        if opt.lr_scheduler is not None and _numbered(_SCHEDULER, number) in given:
            opt.lr_scheduler.load_state_dict(given[_numbered(_SCHEDULER, number)])
            opt.lr_scheduler.update_lrs(opt.lr_scheduler.get_last_lr())


def _load_optimizer(opt: OptDict, paths: dict[str, Any], given: dict[str, Any]) -> None:
    optimizer = opt.optimizer
    owned = {id(p) for group in optimizer.param_groups for p in group.parameters}
    for key, value in given.items():
        path, dash, name = key.rpartition("-")
        parameter = paths.get(path)
        if not dash or parameter is None or id(parameter) not in owned:
            continue
        states = optimizer.state[parameter]
        if name in states:  # in place: a graph that was traced already has captured it
            with no_grad():
                states[name].copy_(value)
        else:
            states[name] = optimizer._adapted(parameter, value)
