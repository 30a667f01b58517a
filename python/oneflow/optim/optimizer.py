"""Optimizer: the base of what changes parameters by their gradients."""

from __future__ import annotations

import copy
import math
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from oneflow import _oneflow_internal
from oneflow.autograd.autograd_mode import enable_grad, no_grad
from oneflow.framework.creation import zeros_like

Tensor = _oneflow_internal.Tensor
graph_being_built: Callable[[], str | None] = _oneflow_internal.graph.tracing

# What checkpoints of PyTorch call a tensor of state.
_KNOWN_AS = {
    "momentum_buffer": "momentum_buf",
    "max_exp_avg_sqs": "max_exp_avg_sq",
}


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


def check_fraction(caller: str, name: str, value: Any) -> None:
    """ValueError in the name of `caller`, unless `value` is at least 0 and below 1.

    Example:
        >>> from oneflow.optim.optimizer import check_fraction
        >>> check_fraction("Adam", "betas[0]", 1.0)
        Traceback (most recent call last):
        ValueError: [Adam] expects betas[0] from 0 to below 1, got 1.0
    """
    check_number(caller, name, value)
    if value >= 1:
        raise ValueError(f"[{caller}] expects {name} from 0 to below 1, got {value}")


def _rounds(parameters: list[Any], gradients: list[Any]) -> list[tuple[list[Any], list[Any]]]:
    """All at once; a parameter that comes twice is updated twice, so one after another then."""
    if not parameters:
        return []
    if len({id(parameter) for parameter in parameters}) == len(parameters):
        return [(parameters, gradients)]
    return [([parameter], [gradient]) for parameter, gradient in zip(parameters, gradients)]


def _steps_done(state: Mapping[Any, Any]) -> int:
    """The number of steps in a saved state: of all parameters, or for each as PyTorch has it."""
    steps = [state["step"]] if "step" in state else []
    for value in state.values():
        if isinstance(value, Mapping) and "step" in value:
            steps.append(value["step"])
    return max((int(step) for step in steps), default=0)


def _options_of(group: Mapping[str, Any]) -> dict[str, Any]:
    """The options in a saved group, which OneFlow 0.9 put into a dict of their own."""
    options = dict(group.get("_options", group))
    for key in ("params", "_enable_clip_grad"):
        options.pop(key, None)
    return options


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

    @property
    def _options(self) -> dict[str, Any]:
        return self.options

    @property
    def _parameters(self) -> list[Any]:
        return self.parameters

    @property
    def clips(self) -> bool:
        """Whether it has the options that `Optimizer.clip_grad` goes by."""
        return "clip_grad_max_norm" in self.options and "clip_grad_norm_type" in self.options

    def __repr__(self) -> str:
        return repr({**self.options, "params": self.parameters})


class Optimizer:
    """Holds parameters in groups, with options and state; a subclass says how `step` changes them.

    It does so in `step`, or by `_state_names`, `_new_state` and `_update`, which gets all tensors
    of a group at once, so that they can be changed by one op.

    Args:
        params: an iterable of tensors, or of dicts with "params" and options of their own
        options: the options and their default values

    Attributes:
        param_groups: list of ParamGroup
        state: for each parameter a dict of what the optimizer remembers; "step": how many were done

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

    _states_like_parameters = True  # each tensor of state has its parameter's shape

    def __init__(self, params: Any, options: dict[str, Any] | None = None) -> None:
        if isinstance(params, (Tensor, Mapping)) or not isinstance(params, Iterable):
            raise TypeError(
                f"[{self._name}] expects params to be Tensors, or groups as dicts, "
                f"got {type(params).__name__}"
            )
        self.defaults = dict(options or {})
        self.param_groups: list[ParamGroup] = []
        self.state: defaultdict[Any, Any] = defaultdict(dict)
        self.state["step"] = 0
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
            keys = isinstance(param_group, dict) and f" of {', '.join(map(repr, param_group))}"
            raise TypeError(
                f'[{self._name}] expects a dict with "params" as group, '
                f"got {type(param_group).__name__}{keys or ''}"
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

    # The names that optimizers written for OneFlow use.

    @property
    def _state(self) -> defaultdict[Any, Any]:
        return self.state

    @property
    def _default_options(self) -> dict[str, Any]:
        return self.defaults

    @property
    def support_sparse(self) -> bool:
        """Whether `step` takes gradients that are sparse: no."""
        return False

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Changes every parameter that has a gradient.

        If there is no memory for new state, nothing changes; a gradient that failed to be computed
        keeps its whole group from changing.

        Args:
            closure: computes the loss and its gradients anew, and returns the loss; may be None

        Returns:
            what the closure returned, or None

        Raises:
            NotImplementedError: the subclass does not say how.
            RuntimeError: an nn.Graph is being built; `add_optimizer` gives it the step.
        """
        if type(self)._update is Optimizer._update:
            raise NotImplementedError(f"[Optimizer] {self._name} does not define step()")
        graph = graph_being_built()
        if graph is not None:
            raise RuntimeError(
                f"[{self._name}] expects no step() in the build of graph {graph!r}, where it would "
                "be made once, with today's numbers; give the optimizer to add_optimizer"
            )
        loss = self._evaluate(closure)
        with no_grad():
            made: list[tuple[Any, str]] = []
            try:
                self._step(made)
            except BaseException:
                for parameter, name in made:  # what was new is given back: nothing has changed
                    del self.state[parameter][name]
                    if not self.state[parameter]:
                        del self.state[parameter]
                raise
        return loss

    def _step(self, made: list[tuple[Any, str]]) -> None:
        """A step; tensors of state that are new are noted in `made`."""
        work = [(group.options, *self._with_gradients(group)) for group in self.param_groups]
        for options, parameters, _ in work:
            self._make_states(options, parameters, made)
        step = self.state["step"] + 1
        for options, parameters, gradients in work:
            self._update_group(options, step, parameters, gradients)
        self.state["step"] = step

    def _update_group(
        self, options: dict[str, Any], step: int, parameters: list[Any], gradients: list[Any]
    ) -> None:
        names = self._state_names(options)
        for some, their in _rounds(parameters, gradients):
            states = [[self.state[p][name] for p in some] for name in names]
            self._update(options, step, some, their, states)

    def _run_time(self, options: dict[str, Any], step: int) -> tuple[float, float, float]:
        """What of an update depends on the step: learning rate, and two corrections.

        A graph computes it for each run. `_update` finds it then, as a list of one tensor, in
        options["numbers"], which goes before the numbers that `_update` computes itself.
        """
        return float(options["lr"]), 1.0, 1.0

    def _with_gradients(self, group: ParamGroup) -> tuple[list[Any], list[Any]]:
        pairs = [(p, p.grad) for p in group.parameters]
        return [p for p, g in pairs if g is not None], [g for _, g in pairs if g is not None]

    def _make_states(
        self,
        options: dict[str, Any],
        parameters: list[Any],
        made: list[tuple[Any, str]],
    ) -> None:
        for name in self._state_names(options):
            for parameter in parameters:
                if name not in self.state[parameter]:
                    new = self._new_state(name, parameter, options)
                    self.state[parameter][name] = new
                    made.append((parameter, name))

    def _state_names(self, options: dict[str, Any]) -> tuple[str, ...]:
        """The tensors of state that each parameter of a group has; for subclasses."""
        return ()

    def _new_state(self, name: str, parameter: Any, options: dict[str, Any]) -> Any:
        """The first value of a tensor of state; for subclasses."""
        return zeros_like(parameter.detach())

    def _update(
        self,
        options: dict[str, Any],
        step: int,
        parameters: list[Any],
        gradients: list[Any],
        states: list[list[Any]],
    ) -> None:
        """Changes some parameters and their states, at step 1, 2 ...; for subclasses."""

    def clip_grad(self, error_if_nonfinite: bool = False) -> None:
        """Scales the gradients of each group that has clip_grad_max_norm and clip_grad_norm_type.

        Args:
            error_if_nonfinite: see `oneflow.nn.utils.clip_grad_norm_`

        Example:
            >>> import oneflow as flow
            >>> w = flow.nn.Parameter(flow.ones(1))
            >>> clip = {"clip_grad_max_norm": 1.0, "clip_grad_norm_type": 2.0}
            >>> sgd = flow.optim.SGD([{"params": [w], **clip}], lr=0.1)
            >>> (w * 4).sum().backward()
            >>> sgd.clip_grad()
            >>> w.grad
            tensor([1.0000], dtype=oneflow.float32)
        """
        from oneflow.nn.utils.clip_grad import clip_grad_norm_

        for group in self.param_groups:
            if not group.clips:
                warnings.warn(
                    f"[{self._name}.clip_grad] a group lacks clip_grad_max_norm or "
                    "clip_grad_norm_type; its gradients stay as they are",
                    stacklevel=2,
                )
                continue
            clip_grad_norm_(
                group.parameters,
                group["clip_grad_max_norm"],
                group["clip_grad_norm_type"],
                error_if_nonfinite,
            )

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
            {"state": {"step": steps, number: {name: value}},
            "param_groups": [{"params": [numbers], options}]}

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
        state = {
            numbers.get(id(key), key): value
            for key, value in self.state.items()
            if value or key == "step"
        }
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
        state: defaultdict[Any, Any] = defaultdict(dict)
        state["step"] = _steps_done(state_dict["state"])
        for key, value in state_dict["state"].items():
            if key in parameters:
                own = {_KNOWN_AS.get(k, k): v for k, v in value.items() if k != "step"}
                state[parameters[key]] = self._adapted(parameters[key], own)
            elif key != "step":
                state[key] = copy.deepcopy(value)
        options = [
            {**own.options, **copy.deepcopy(_options_of(group))}
            for group, own in zip(saved, self.param_groups)
        ]
        for chosen in options:
            self._check_options(chosen)
        self.state = state
        for target, chosen in zip(self.param_groups, options):
            target.options = chosen

    def _checked_groups(self, state_dict: Any) -> list[Any]:
        if not isinstance(state_dict, Mapping) or not {"state", "param_groups"} <= set(state_dict):
            keys = isinstance(state_dict, Mapping) and f" of {sorted(map(str, state_dict))}"
            raise TypeError(
                f"[{self._name}.load_state_dict] expects a mapping with state and param_groups, "
                f"got {type(state_dict).__name__}{keys or ''}"
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
            alike = tuple(value.shape) == tuple(parameter.shape)
            if value.ndim and self._states_like_parameters and not alike:
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
