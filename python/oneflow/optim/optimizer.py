"""Optimizer: the base of what changes parameters by their gradients."""

from __future__ import annotations

import copy
import math
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from oneflow import _oneflow_internal
from oneflow.autograd.autograd_mode import enable_grad

Tensor = _oneflow_internal.Tensor


class _Required:
    """Stands for an option that every parameter group must give."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _Required()


def check_number(caller: str, name: str, value: Any) -> None:
    """TypeError or ValueError in the name of `caller`, unless `value` is finite and not negative.

    Example:
        >>> from oneflow.optim.optimizer import check_number
        >>> check_number("SGD", "lr", -1)
        Traceback (most recent call last):
        ValueError: [SGD] expects lr of at least 0 and finite, got -1
    """
    if isinstance(value, Tensor) and value.numel() == 1:
        value = value.item()
    if isinstance(value, bool) or not hasattr(value, "__float__"):
        raise TypeError(f"[{caller}] expects a number as {name}, got {type(value).__name__}")
    if not (math.isfinite(value) and value >= 0):
        raise ValueError(f"[{caller}] expects {name} of at least 0 and finite, got {value}")


class ParamGroup:
    """Parameters that share options. Options are read and set like those of a dict.

    Attributes:
        parameters: the list of tensors; `group["params"]` too
        options: the dict of options

    Example:
        >>> import oneflow as flow
        >>> sgd = flow.optim.SGD([flow.nn.Parameter(flow.ones(1))], lr=0.1)
        >>> sgd.param_groups[0]["lr"] = 0.01
        >>> sgd.param_groups[0].options["lr"]
        0.01
    """

    __slots__ = ("options", "parameters")

    def __init__(self, parameters: list[Any], options: dict[str, Any]) -> None:
        self.parameters = parameters
        self.options = options

    def __getitem__(self, key: str) -> Any:
        return self.parameters if key == "params" else self.options[key]

    def __setitem__(self, key: str, value: Any) -> None:
        if key == "params":
            self.parameters = list(value)
        else:
            self.options[key] = value

    def __contains__(self, key: object) -> bool:
        return key == "params" or key in self.options

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def keys(self) -> list[str]:
        """ "params" and the names of the options."""
        return ["params", *self.options]

    def items(self) -> list[tuple[str, Any]]:
        """Pairs of each key and its value."""
        return [(key, self[key]) for key in self.keys()]

    def get(self, key: str, default: Any = None) -> Any:
        """The value of a key, or `default`."""
        return self.parameters if key == "params" else self.options.get(key, default)

    def setdefault(self, key: str, value: Any) -> Any:
        """The value of a key, which is set to `value` if it is new."""
        if key not in self:
            self[key] = value
        return self[key]

    def __repr__(self) -> str:
        return repr({**self.options, "params": self.parameters})


class Optimizer:
    """Holds parameters in groups, with options and state; a subclass says how `step` changes them.

    Args:
        params: an iterable of tensors, or of dicts with "params" and options of their own
        options: the options and their default values

    Attributes:
        param_groups: list of ParamGroup
        state: for each parameter a dict of what the optimizer remembers

    Raises:
        TypeError: `params` is a single Tensor, a set, or holds something that is no Tensor.
        ValueError: it is empty, or holds the result of an op, or a parameter in two groups; or an
            option is wrong.

    Example:
        >>> import oneflow as flow
        >>> class Halve(flow.optim.Optimizer):
        ...     def step(self, closure=None):
        ...         for group in self.param_groups:
        ...             for p in group["params"]:
        ...                 p.data = p.detach() * group["by"]
        >>> w = flow.nn.Parameter(flow.ones(1))
        >>> Halve([w], {"by": 0.5}).step()
        >>> w.detach()
        tensor([0.5000], dtype=oneflow.float32)
    """

    def __init__(self, params: Any, options: dict[str, Any] | None = None) -> None:
        if isinstance(params, (Tensor, Mapping)) or not isinstance(params, Iterable):
            raise TypeError(
                f"[{self._name}] expects an iterable of tensors or dicts as params, "
                f"got {type(params).__name__}"
            )
        self.defaults = dict(options or {})
        self.param_groups: list[ParamGroup] = []
        self.state: defaultdict[Any, dict[str, Any]] = defaultdict(dict)
        groups = list(params) if not isinstance(params, (set, frozenset)) else [{"params": params}]
        if not groups:
            raise ValueError(f"[{self._name}] expects at least one parameter, got none")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    @property
    def _name(self) -> str:
        return type(self).__name__

    def _check_options(self, options: dict[str, Any]) -> None:
        """Raises ValueError or TypeError if a group's options are wrong; for subclasses."""

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Adds parameters with options of their own.

        Args:
            param_group: dict with "params" (a Tensor, or an ordered iterable) and options

        Raises:
            TypeError: not a dict, a set of parameters, or something that is no Tensor.
            ValueError: a parameter is the result of an op, or in a group already; an option is
                missing or wrong. Nothing was added then.

        Example:
            >>> import oneflow as flow
            >>> a, b = (flow.nn.Parameter(flow.ones(1)) for _ in range(2))
            >>> sgd = flow.optim.SGD([a], lr=0.1)
            >>> sgd.add_param_group({"params": b, "lr": 0.01})
            >>> [group["lr"] for group in sgd.param_groups]
            [0.1, 0.01]
        """
        if not isinstance(param_group, dict) or "params" not in param_group:
            raise TypeError(
                f'[{self._name}] expects a dict with "params" as group, '
                f"got {type(param_group).__name__}"
            )
        parameters = self._parameters_of(param_group["params"])
        options = copy.copy(self.defaults)
        options.update((k, v) for k, v in param_group.items() if k != "params")
        for name, value in options.items():
            if value is required:
                raise ValueError(f"[{self._name}] expects {name} for every group, got none")
        self._check_options(options)
        self.param_groups.append(ParamGroup(parameters, options))

    def _parameters_of(self, params: Any) -> list[Any]:
        if isinstance(params, (set, frozenset)):
            raise TypeError(
                f"[{self._name}] expects parameters in an order that is the same in every run, "
                "got a set; use a list"
            )
        parameters = [params] if isinstance(params, Tensor) else list(params)
        for parameter in parameters:
            if not isinstance(parameter, Tensor):
                raise TypeError(
                    f"[{self._name}] expects tensors as parameters, got {type(parameter).__name__}"
                )
            if not parameter.is_leaf:
                raise ValueError(
                    f"[{self._name}] expects parameters without history, got the result of an op "
                    f"of shape {tuple(parameter.shape)}"
                )
        self._check_distinct(parameters)
        return parameters

    def _check_distinct(self, parameters: list[Any]) -> None:
        ids = {id(parameter) for parameter in parameters}
        if len(ids) != len(parameters):
            warnings.warn(
                f"[{self._name}] a group holds a parameter twice; it will be updated twice",
                stacklevel=4,
            )
        for group in self.param_groups:
            if not ids.isdisjoint(id(parameter) for parameter in group.parameters):
                raise ValueError(
                    f"[{self._name}] expects each parameter in one group, got one that is in two"
                )

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Changes the parameters by their gradients; every subclass defines it.

        Raises:
            NotImplementedError: the subclass does not.
        """
        raise NotImplementedError(f"[Optimizer] {self._name} does not define step()")

    def _evaluate(self, closure: Callable[[], Any] | None) -> Any:
        """What the closure returns; it may record, even inside no_grad."""
        if closure is None:
            return None
        with enable_grad():
            return closure()

    def zero_grad(self, set_to_none: bool = False) -> None:
        """Sets every gradient to zero, or removes it.

        Args:
            set_to_none: whether to remove it, which is faster; a parameter without a gradient is
                then left alone by `step`; with a gradient of zero its momentum still moves it
        """
        for group in self.param_groups:
            for parameter in group.parameters:
                if set_to_none:
                    parameter.grad = None
                    continue
                gradient = parameter.grad
                if gradient is not None:
                    if gradient.grad_fn is not None:
                        gradient = parameter.grad = gradient.detach()
                    gradient.zero_()

    def state_dict(self) -> dict[str, Any]:
        """State and options, with parameters as numbers in the order of the groups.

        Returns:
            {"state": {number: {name: value}}, "param_groups": [{"params": [numbers], options}]}

        Example:
            >>> import oneflow as flow
            >>> sgd = flow.optim.SGD([flow.nn.Parameter(flow.ones(1))], lr=0.1)
            >>> sgd.state_dict()["param_groups"][0]["params"]
            [0]
        """
        numbers: dict[int, int] = {}
        for group in self.param_groups:
            for parameter in group.parameters:
                numbers.setdefault(id(parameter), len(numbers))
        state = {numbers.get(id(key), key): value for key, value in self.state.items() if value}
        groups = [
            {**group.options, "params": [numbers[id(p)] for p in group.parameters]}
            for group in self.param_groups
        ]
        return {"state": state, "param_groups": groups}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Takes over state and options; tensors come to the device and dtype of their parameter.

        Nothing changes if it raises.

        Args:
            state_dict: what `state_dict` of an optimizer with groups of the same sizes returned

        Raises:
            TypeError: not a mapping with "state" and "param_groups".
            ValueError: the groups have other sizes, or a tensor another shape than its parameter.

        Example:
            >>> import oneflow as flow
            >>> def sgd(lr):
            ...     return flow.optim.SGD([flow.nn.Parameter(flow.ones(1))], lr=lr)
            >>> a, b = sgd(0.1), sgd(0.2)
            >>> b.load_state_dict(a.state_dict())
            >>> b.param_groups[0]["lr"]
            0.1
        """
        saved = self._checked_groups(state_dict)
        parameters = {
            number: parameter
            for group, own in zip(saved, self.param_groups)
            for number, parameter in zip(group["params"], own.parameters)
        }
        state: defaultdict[Any, dict[str, Any]] = defaultdict(dict)
        for key, value in state_dict["state"].items():
            if key in parameters:
                state[parameters[key]] = self._adapted(parameters[key], value)
            else:
                state[key] = copy.deepcopy(value)
        options = [
            {**own.options, **{k: copy.deepcopy(v) for k, v in group.items() if k != "params"}}
            for group, own in zip(saved, self.param_groups)
        ]
        for chosen in options:
            self._check_options(chosen)
        self.state = state
        for own, chosen in zip(self.param_groups, options):
            own.options = chosen

    def _checked_groups(self, state_dict: Any) -> list[Any]:
        if not isinstance(state_dict, Mapping) or not {"state", "param_groups"} <= set(state_dict):
            raise TypeError(
                f"[{self._name}.load_state_dict] expects a mapping with state and param_groups, "
                f"got {type(state_dict).__name__}"
            )
        saved = list(state_dict["param_groups"])
        sizes = [len(group["params"]) for group in saved]
        own = [len(group.parameters) for group in self.param_groups]
        if sizes != own:
            raise ValueError(
                f"[{self._name}.load_state_dict] expects groups of {own} parameters, got {sizes}"
            )
        return saved

    def _adapted(self, parameter: Any, value: Any) -> Any:
        """A deep copy of a parameter's state, on its device and, if it has axes, of its dtype."""
        if isinstance(value, Tensor):
            if value.ndim and tuple(value.shape) != tuple(parameter.shape):
                raise ValueError(
                    f"[{self._name}.load_state_dict] expects state of shape "
                    f"{tuple(parameter.shape)}, got {tuple(value.shape)}"
                )
            dtype = parameter.dtype if value.ndim and value.is_floating_point() else value.dtype
            return value.detach().to(parameter.device, dtype, copy=True)
        if isinstance(value, dict):
            return {key: self._adapted(parameter, item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return type(value)(self._adapted(parameter, item) for item in value)
        return copy.deepcopy(value)

    def __repr__(self) -> str:
        lines = [f"{self._name} ("]
        for number, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {number}")
            lines += [f"    {name}: {group.options[name]}" for name in sorted(group.options)]
        return "\n".join([*lines, ")"])
