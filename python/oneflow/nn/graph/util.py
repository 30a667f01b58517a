"""Arguments and results of a graph: nested structures, taken apart and put together."""

from __future__ import annotations

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
    if kind in _CONSTANTS or isinstance(value, _OF_THE_PACKAGE):
        return (None, kind, value)
    if isinstance(value, (list, tuple)):
        return (kind, tuple([flatten(item, leaves, what) for item in value]))
    if isinstance(value, dict):
        items = tuple([flatten(item, leaves, what) for item in value.values()])
        return (kind, tuple(value), items)
    raise TypeError(
        f"[nn.Graph] expects tensors, numbers, strings, None, and lists, tuples and dicts of such "
        f"as {what}, got {kind.__name__}"
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
        return structure[2]
    if len(structure) == 2:
        items = [unflatten(item, leaves) for item in structure[1]]
        if kind is list:
            return items
        return kind(*items) if hasattr(kind, "_fields") else kind(items)
    pairs = zip(structure[1], [unflatten(item, leaves) for item in structure[2]])
    return dict(pairs) if kind is dict else _dict_of(kind, dict(pairs))


def _dict_of(kind: type, items: dict[Any, Any]) -> Any:
    """A dict of a class of its own; those made by dataclasses take their items by name."""
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
