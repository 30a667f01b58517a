"""Modules that hold modules or parameters."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from oneflow import _oneflow_internal
from oneflow.nn.modules.module import Module
from oneflow.nn.parameter import Parameter

Tensor = _oneflow_internal.Tensor


def _position(owner: Any, index: Any, length: int) -> int:
    """A position from 0 to length - 1; TypeError or IndexError in the name of `owner`."""
    try:
        value = operator.index(index)
    except TypeError:
        raise TypeError(
            f"[{type(owner).__name__}] expects an int or a slice, got {type(index).__name__}"
        ) from None
    if not -length <= value < length:
        raise IndexError(f"[{type(owner).__name__}] expects an index below {length}, got {value}")
    return value % length


class _ListOfModules(Module):
    """What Sequential and ModuleList share: modules named "0", "1", ... in order."""

    def _names(self) -> list[str]:
        return list(self._modules)

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._modules.values())

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return self._like(list(self)[index])
        return self._modules[self._names()[_position(self, index, len(self))]]

    def _like(self, modules: list[Any]) -> Any:
        raise NotImplementedError

    def __setitem__(self, index: Any, module: Any) -> None:
        name = self._names()[_position(self, index, len(self))]
        if not isinstance(module, Module):
            raise TypeError(
                f"[{type(self).__name__}] expects nn.Module, got {type(module).__name__}"
            )
        self._modules[name] = module

    def __delitem__(self, index: Any) -> None:
        names = self._names()
        chosen = (
            names[index] if isinstance(index, slice) else [names[_position(self, index, len(self))]]
        )
        for name in chosen:
            del self._modules[name]
        self._renumber()

    def _renumber(self) -> None:
        modules = list(self._modules.values())
        self._modules.clear()
        self._modules.update((str(i), module) for i, module in enumerate(modules))

    def append(self, module: Module) -> Any:
        """Adds a module at the end; returns the container."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> Any:
        """Adds modules at the end; returns the container.

        Raises:
            TypeError: not an iterable of modules.
        """
        if not isinstance(modules, Iterable):
            raise TypeError(
                f"[{type(self).__name__}.extend] expects an iterable, got {type(modules).__name__}"
            )
        for module in list(modules):
            self.append(module)
        return self

    def insert(self, index: int, module: Module) -> None:
        """Adds a module before a position."""
        modules = list(self)
        modules.insert(index, module)
        self.add_module(str(len(self)), module)
        self._modules.update((str(i), part) for i, part in enumerate(modules))

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.isdigit()]


class Sequential(_ListOfModules):
    """Modules one after the other, each called with what the one before gave.

    Args:
        args: modules, or one OrderedDict of names and modules

    Example:
        >>> import oneflow as flow
        >>> net = flow.nn.Sequential(flow.nn.Linear(2, 3), flow.nn.ReLU())
        >>> net(flow.ones(1, 2)).shape, len(net)
        (oneflow.Size([1, 3]), 2)
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], Mapping):
            named: Iterable[tuple[str, Any]] = args[0].items()
        else:
            named = ((str(i), module) for i, module in enumerate(args))
        for name, module in named:
            self.add_module(name, module)

    def _like(self, modules: list[Any]) -> Any:
        kept = {name: module for name, module in self._modules.items() if module in modules}
        return type(self)(kept)

    def _renumber(self) -> None:
        """Names given by an OrderedDict stay; numbers close the gap."""
        if all(name.isdigit() for name in self._modules):
            super()._renumber()

    def forward(self, input: Any) -> Any:
        """Input: what the first module takes; result: what the last one gives."""
        for module in self._modules.values():
            input = module(input)
        return input


class ModuleList(_ListOfModules):
    """A list of modules, all of which are parts of the module that holds it.

    Args:
        modules: an iterable of modules

    Example:
        >>> import oneflow as flow
        >>> layers = flow.nn.ModuleList(flow.nn.Linear(2, 2) for _ in range(3))
        >>> len(layers), len(list(layers.parameters()))
        (3, 6)
    """

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def _like(self, modules: list[Any]) -> Any:
        return type(self)(modules)

    def __iadd__(self, modules: Iterable[Module]) -> Any:
        return self.extend(modules)

    def __add__(self, modules: Iterable[Module]) -> ModuleList:
        return ModuleList([*self, *modules])


class ModuleDict(Module):
    """A dict of modules, all of which are parts of the module that holds it.

    Args:
        modules: a mapping, or an iterable of (name, module)

    Example:
        >>> import oneflow as flow
        >>> layers = flow.nn.ModuleDict({"fc": flow.nn.Linear(2, 2), "act": flow.nn.ReLU()})
        >>> list(layers), "fc" in layers
        (['fc', 'act'], True)
    """

    def __init__(self, modules: Any = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Any:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: object) -> bool:
        return key in self._modules

    def keys(self) -> Any:
        """The names."""
        return self._modules.keys()

    def values(self) -> Any:
        """The modules."""
        return self._modules.values()

    def items(self) -> Any:
        """The pairs of name and module."""
        return self._modules.items()

    def clear(self) -> None:
        """Removes every module."""
        self._modules.clear()

    def pop(self, key: str) -> Any:
        """Removes a module and returns it; KeyError where there is none."""
        return self._modules.pop(key)

    def update(self, modules: Any) -> None:
        """Adds modules from a mapping or an iterable of (name, module)."""
        for key, module in _pairs("ModuleDict", modules):
            self[key] = module


def _pairs(caller: str, items: Any) -> Iterable[tuple[str, Any]]:
    if isinstance(items, (Mapping, ModuleDict, ParameterDict)):
        return list(items.items())
    if not isinstance(items, Iterable):
        raise TypeError(
            f"[{caller}] expects a mapping or an iterable of pairs, got {type(items).__name__}"
        )
    return [(key, value) for key, value in items]


def _as_parameter(value: Any) -> Any:
    if isinstance(value, Tensor) and not isinstance(value, Parameter):
        return Parameter(value, requires_grad=value.requires_grad)
    return value


class ParameterList(Module):
    """A list of parameters, all of which belong to the module that holds it.

    Args:
        parameters: an iterable of `nn.Parameter`; plain tensors become parameters

    Example:
        >>> import oneflow as flow
        >>> weights = flow.nn.ParameterList([flow.nn.Parameter(flow.ones(1))])
        >>> len(weights), len(list(weights.parameters()))
        (1, 1)
    """

    def __init__(self, parameters: Iterable[Any] | None = None) -> None:
        super().__init__()
        if parameters is not None:
            self.extend(parameters)

    def __len__(self) -> int:
        return len(self._parameters)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._parameters.values())

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return type(self)(list(self)[index])
        return self._parameters[str(_position(self, index, len(self)))]

    def __setitem__(self, index: int, parameter: Any) -> None:
        self.register_parameter(str(_position(self, index, len(self))), _as_parameter(parameter))

    def append(self, parameter: Any) -> ParameterList:
        """Adds a parameter at the end; returns the list."""
        self.register_parameter(str(len(self)), _as_parameter(parameter))
        return self

    def extend(self, parameters: Iterable[Any]) -> ParameterList:
        """Adds parameters at the end; returns the list."""
        if isinstance(parameters, Tensor) or not isinstance(parameters, Iterable):
            raise TypeError(
                f"[ParameterList.extend] expects an iterable, got {type(parameters).__name__}"
            )
        for parameter in list(parameters):
            self.append(parameter)
        return self

    def __iadd__(self, parameters: Iterable[Any]) -> ParameterList:
        return self.extend(parameters)


class ParameterDict(Module):
    """A dict of parameters, all of which belong to the module that holds it.

    Args:
        parameters: a mapping, or an iterable of (name, parameter); plain tensors become parameters

    Example:
        >>> import oneflow as flow
        >>> weights = flow.nn.ParameterDict({"w": flow.nn.Parameter(flow.ones(1))})
        >>> list(weights), weights["w"].shape
        (['w'], oneflow.Size([1]))
    """

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        if parameters is not None:
            self.update(parameters)

    def __getitem__(self, key: str) -> Any:
        return self._parameters[key]

    def __setitem__(self, key: str, parameter: Any) -> None:
        self.register_parameter(key, _as_parameter(parameter))

    def __delitem__(self, key: str) -> None:
        del self._parameters[key]

    def __len__(self) -> int:
        return len(self._parameters)

    def __iter__(self) -> Iterator[str]:
        return iter(self._parameters)

    def __contains__(self, key: object) -> bool:
        return key in self._parameters

    def keys(self) -> Any:
        """The names."""
        return self._parameters.keys()

    def values(self) -> Any:
        """The parameters."""
        return self._parameters.values()

    def items(self) -> Any:
        """The pairs of name and parameter."""
        return self._parameters.items()

    def pop(self, key: str) -> Any:
        """Removes a parameter and returns it; KeyError where there is none."""
        return self._parameters.pop(key)

    def clear(self) -> None:
        """Removes every parameter."""
        self._parameters.clear()

    def update(self, parameters: Any) -> None:
        """Adds parameters from a mapping or an iterable of (name, parameter)."""
        for key, parameter in _pairs("ParameterDict", parameters):
            self[key] = parameter
