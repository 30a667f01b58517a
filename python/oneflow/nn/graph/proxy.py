"""What stands for a module or tensor in a graph: the thing itself, and the graph's block of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from oneflow import _oneflow_internal
from oneflow.nn.graph.graph_block import GraphBlock, GraphBlockType, GraphModule, GraphTensor
from oneflow.nn.modules.container import (
    ModuleDict,
    ModuleList,
    ParameterDict,
    ParameterList,
    Sequential,
)
from oneflow.nn.modules.module import Module
from oneflow.nn.parameter import Parameter

Tensor = _oneflow_internal.Tensor


class Proxy:
    """Stands for a module or tensor that a graph holds; `to(...)` gives what is behind it.

    * `to(GraphModule)`, `to(GraphTensor)`: its block, with names and settings
    * `to(nn.Module)`, `to(Tensor)`: the module or tensor itself
    * `to` with anything else: `to` of the module or tensor

    Every other attribute is that of the module or tensor, with modules and tensors as proxies
    again; while `build` runs, tensors as they are.

    Example:
        >>> import oneflow as flow
        >>> class Net(flow.nn.Graph):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.layer = flow.nn.Linear(2, 3)
        >>> net = Net()
        >>> isinstance(net.layer, flow.nn.graph.Proxy), net.layer.out_features
        (True, 3)
        >>> net.layer.to(flow.nn.Module)
        Linear(in_features=2, out_features=3, bias=True)
    """

    _origin: Any
    _block: Any
    _blocks: Any

    def __init__(self, origin: Any, block: GraphBlock, blocks: Any) -> None:
        object.__setattr__(self, "_origin", origin)
        object.__setattr__(self, "_block", block)
        object.__setattr__(self, "_blocks", blocks)

    def to(self, *args: Any, **kwargs: Any) -> Any:
        """What is behind it; see the class."""
        if len(args) == 1 and not kwargs and isinstance(args[0], type):
            if issubclass(args[0], GraphBlock):
                return self._block
            if args[0] in (Module, Tensor):
                return self._origin
        return self._origin.to(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return self._wrapped(name, getattr(self._origin, name))

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._origin, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._origin, name)

    def __dir__(self) -> list[str]:
        return dir(self._origin)

    def _wrapped(self, name: str, value: Any) -> Any:
        return value

    def __repr__(self) -> str:
        return f"({self._block.type}:{self._block.path}:{self._origin!r})"


class ProxyTensor(Proxy):
    """Stands for a parameter or buffer."""


class ProxyModule(Proxy):
    """Stands for a module; calling it calls the module."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._origin(*args, **kwargs)

    def _wrapped(self, name: str, value: Any) -> Any:
        origin = self._origin
        if isinstance(value, Module) and value is origin._modules.get(name):
            return self._blocks.proxy_of(value, self._block.path + ".", name)
        if not isinstance(value, Tensor):
            return value
        kind = GraphBlockType.BUFFER if name in origin._buffers else GraphBlockType.PARAMETER
        if name not in origin._buffers and name not in origin._parameters:
            return value
        # In `build`, and where OneFlow's programs say that a forward runs, the tensor itself.
        if self._blocks.is_tracing() or self._block._is_executing_forward:
            return value
        return self._blocks.proxy_of(value, self._block.path + ".", name, kind)


class _Sized(ProxyModule):
    """A container: items are proxies, too."""

    def __len__(self) -> int:
        return len(self._origin)

    def _item(self, key: Any, value: Any) -> Any:
        name = str(key)
        members = self._origin._modules or self._origin._parameters
        if members.get(name) is not value:
            return value
        return self._wrapped(name, value)


class _List(_Sized):
    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(len(self))[index]]
        return self._item(range(len(self))[index], self._origin[index])

    def __iter__(self) -> Iterator[Any]:
        return iter([self[i] for i in range(len(self))])


class _Dict(_Sized):
    def __getitem__(self, key: str) -> Any:
        return self._item(key, self._origin[key])

    def __iter__(self) -> Iterator[str]:
        return iter(self._origin)

    def __contains__(self, key: object) -> bool:
        return key in self._origin

    def values(self) -> list[Any]:
        """The items, as proxies."""
        return [self[key] for key in self._origin]

    def items(self) -> list[tuple[str, Any]]:
        """Pairs of each key and its item."""
        return [(key, self[key]) for key in self._origin]


class ProxySequential(_List):
    """Stands for a Sequential."""


class ProxyModuleList(_List):
    """Stands for a ModuleList."""


class ProxyModuleDict(_Dict):
    """Stands for a ModuleDict."""


class ProxyParameterList(_List):
    """Stands for a ParameterList."""


class ProxyParameterDict(_Dict):
    """Stands for a ParameterDict."""


_CLASSES: list[tuple[type, type[Proxy]]] = [
    (Sequential, ProxySequential),
    (ModuleList, ProxyModuleList),
    (ModuleDict, ProxyModuleDict),
    (ParameterList, ProxyParameterList),
    (ParameterDict, ProxyParameterDict),
    (Module, ProxyModule),
    (Tensor, ProxyTensor),
]


def get_proxy_cls(item: Any) -> type[Proxy]:
    """The class of proxies that stands for such a thing.

    Raises:
        TypeError: neither a module nor a tensor.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.nn.graph.proxy import get_proxy_cls
        >>> get_proxy_cls(flow.nn.ReLU()).__name__
        'ProxyModule'
    """
    for kind, proxy in _CLASSES:
        if isinstance(item, kind):
            return proxy
    raise TypeError(f"[get_proxy_cls] expects a module or a tensor, got {type(item).__name__}")


def block_of(item: Any, prefix: str, name: str, kind: str | None) -> GraphBlock:
    """A new block for a module or tensor.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.nn.graph.proxy import block_of
        >>> block_of(flow.nn.ReLU(), "", "act", None).path
        'act'
    """
    if isinstance(item, Module):
        return GraphModule(prefix, name)
    parameter = isinstance(item, Parameter)
    fallback = GraphBlockType.PARAMETER if parameter else GraphBlockType.BUFFER
    return GraphTensor(prefix, name, kind or fallback)
