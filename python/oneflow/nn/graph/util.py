"""Arguments and results of a graph: nested structures, taken apart and put together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from oneflow import _oneflow_internal

Tensor = _oneflow_internal.Tensor

# In a structure: the place of a tensor.
_TENSOR = "tensor"
# Values that may stand beside tensors: they belong to the structure, as `build` may look at them.
_CONSTANTS = (bool, int, float, str, bytes, complex, type(None))
_OF_THE_PACKAGE = (_oneflow_internal.dtype, _oneflow_internal.device, _oneflow_internal.Size)


def flatten(value: Any, leaves: list[Any], what: str) -> Any:
    """Appends the tensors of a nested structure to `leaves`.

    Args:
        value: tensors and constants, in lists, tuples, named tuples and dicts
        leaves: where the tensors go, in the order of the structure
        what: names the structure in errors

    Returns:
        the structure without its tensors; two of one form, with equal constants, are equal

    Raises:
        TypeError: something else is among them.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.nn.graph.util import flatten, unflatten
        >>> leaves = []
        >>> structure = flatten({"x": [flow.ones(2), 3]}, leaves, "an example")
        >>> unflatten(structure, iter([leaves[0] * 2]))
        {'x': [tensor([2., 2.], dtype=oneflow.float32), 3]}
    """
    if isinstance(value, Tensor):
        leaves.append(value)
        return _TENSOR
    kind = type(value)
    if kind is float or kind is complex:
        return (None, kind, _written(value))
    if kind in _CONSTANTS or isinstance(value, _OF_THE_PACKAGE):
        return (None, kind, value)
    if isinstance(value, (list, tuple)):
        return (kind, tuple([flatten(item, leaves, what) for item in value]))
    if isinstance(value, dict):
        items = tuple([flatten(item, leaves, what) for item in value.values()])
        made = (kind, value.default_factory) if isinstance(value, defaultdict) else kind
        return (made, tuple(value), items)
    hint = "; make a tensor of it (from_numpy, tensor)" if hasattr(value, "__array__") else ""
    raise TypeError(
        f"[nn.Graph] expects tensors, numbers, strings, None, and lists, tuples and dicts of such "
        f"as {what}, got {kind.__name__}{hint}"
    )


def unflatten(structure: Any, leaves: Iterator[Any]) -> Any:
    """The structure with the next tensors of `leaves` in it; undoes `flatten`.

    Example:
        >>> from oneflow.nn.graph.util import flatten, unflatten
        >>> unflatten(flatten((1, None), [], "an example"), iter(()))
        (1, None)
    """
    if structure == _TENSOR:
        return next(leaves)
    kind = structure[0]
    if kind is None:
        return _read(structure[1], structure[2])
    if len(structure) == 2:
        items = [unflatten(item, leaves) for item in structure[1]]
        if kind is list:
            return items
        return kind(*items) if hasattr(kind, "_fields") else kind(items)
    pairs = zip(structure[1], [unflatten(item, leaves) for item in structure[2]])
    return dict(pairs) if kind is dict else _dict_of(kind, dict(pairs))


def _written(value: Any) -> Any:
    """A number as text, equal where the number is the same: -0.0 is not 0.0, and NaN is itself."""
    return value.hex() if type(value) is float else (value.real.hex(), value.imag.hex())


def _read(kind: type, written: Any) -> Any:
    """The constant of a structure; undoes `_written`."""
    if kind is complex:
        return complex(*map(float.fromhex, written))
    return float.fromhex(written) if kind is float else written


def _dict_of(kind: Any, items: dict[Any, Any]) -> Any:
    """A dict of a class of its own; those made by dataclasses take their items by name.

    Args:
        kind: the class, or (the class of a defaultdict, what makes its new items)
    """
    if isinstance(kind, tuple):
        return kind[0](kind[1], items)
    if hasattr(kind, "__dataclass_fields__"):
        made = kind(**items)
        for name, value in items.items():
            made[name] = value
        return made
    return kind(items)


def add_indent(text: str, spaces: int) -> str:
    """The text with all lines but the first moved to the right.

    Example:
        >>> from oneflow.nn.graph.util import add_indent
        >>> add_indent("a\\nb", 2)
        'a\\n  b'
    """
    return text.replace("\n", "\n" + " " * spaces)


def describe(tensor: Any) -> str:
    """A tensor's shape, dtype and device in words, without its values.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.nn.graph.util import describe
        >>> describe(flow.ones(2, 3))
        'tensor(shape=(2, 3), dtype=float32, device=cpu)'
    """
    name = str(tensor.dtype).rpartition(".")[2]
    grad = ", requires_grad=True" if tensor.requires_grad else ""
    return f"tensor(shape={tuple(tensor.shape)}, dtype={name}, device={tensor.device.type}{grad})"


class NamedArg:
    """A node of an `ArgsTree`: a list, tuple, dict, or what stands in one, and its name.

    Example:
        >>> from oneflow.nn.graph.util import NamedArg
        >>> NamedArg("net_input", "0", 3).value()
        3
    """

    def __init__(self, prefix: str, name: str, value: Any) -> None:
        self._prefix, self._name, self._value = prefix, name, value

    def prefix(self) -> str:
        """The name of what it stands in."""
        return self._prefix

    def name(self) -> str:
        """Its index, or its key."""
        return self._name

    def value(self) -> Any:
        """The node itself."""
        return self._value

    def is_leaf(self) -> bool:
        """Whether nothing stands in it."""
        return not isinstance(self._value, (list, tuple, dict))

    def __repr__(self) -> str:
        shown = describe(self._value) if isinstance(self._value, Tensor) else type(self._value)
        return f"(name: {self._prefix}.{self._name}, value: {shown})"


class ArgsTree:
    """A nested structure as a tree, whose nodes can be gone through, and whose leaves be replaced.

    Args:
        io_args: lists, tuples and dicts of anything
        gen_name: whether functions and loops get `NamedArg`s, and not the nodes themselves
        root_prefix, root_name: the name of the whole

    Example:
        >>> from oneflow.nn.graph.util import ArgsTree
        >>> ArgsTree([1, {"a": 2}]).map_leaf(lambda leaf: leaf + 1)
        [2, {'a': 3}]
        >>> [node for node in ArgsTree((1, [2])).iter_nodes()]
        [(1, [2]), 1, [2], 2]

    Source: the interface follows OneFlow's nn.graph.util.ArgsTree.
    """

    def __init__(
        self, io_args: Any, gen_name: bool = False, root_prefix: str = "", root_name: Any = None
    ) -> None:
        self._root = io_args
        self._named = gen_name
        self._prefix, self._name = root_prefix, "" if root_name is None else str(root_name)

    def _nodes(self, value: Any, prefix: str, name: str) -> Iterator[NamedArg]:
        yield NamedArg(prefix, name, value)
        path = f"{prefix}_{name}" if name else prefix
        if isinstance(value, (list, tuple)):
            for index, item in enumerate(value):
                yield from self._nodes(item, path, str(index))
        elif isinstance(value, dict):
            for key, item in value.items():
                yield from self._nodes(item, path, str(key))

    def iter_nodes(self) -> Iterator[Any]:
        """Every node, what holds others before these."""
        for node in self._nodes(self._root, self._prefix, self._name):
            yield node if self._named else node.value()

    def iter_named_nodes(self) -> Iterator[tuple[str, NamedArg]]:
        """Pairs of each node's full name and the node."""
        for node in self._nodes(self._root, self._prefix, self._name):
            yield f"{node.prefix()}_{node.name()}", node

    def map_leaf(self, function: Any) -> Any:
        """The structure with each leaf replaced by what the function makes of it."""
        return self._mapped(self._root, self._prefix, self._name, function)

    def _mapped(self, value: Any, prefix: str, name: str, function: Any) -> Any:
        path = f"{prefix}_{name}" if name else prefix
        if isinstance(value, (list, tuple)):
            items = [self._mapped(v, path, str(i), function) for i, v in enumerate(value)]
            if hasattr(value, "_fields"):
                return type(value)(*items)
            return items if type(value) is list else type(value)(items)
        if isinstance(value, dict):
            made = {k: self._mapped(v, path, str(k), function) for k, v in value.items()}
            if isinstance(value, defaultdict):
                return _dict_of((type(value), value.default_factory), made)
            return made if type(value) is dict else _dict_of(type(value), made)
        return function(NamedArg(prefix, name, value) if self._named else value)
