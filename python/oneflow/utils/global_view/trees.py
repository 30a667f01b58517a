"""to_global and to_local of tensors in lists, tuples and dicts."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from oneflow import _oneflow_internal
from oneflow.framework import global_tensor

_Tensor = _oneflow_internal.Tensor


def to_global(
    input: Any,
    placement: Any = None,
    sbp: Any = None,
    warn_on_non_tensor_leaf: bool = True,
    **named: Any,
) -> Any:
    """The tensors in nested lists, tuples and dicts as global ones.

    Args:
        input: a tensor, or what holds tensors; None stays None
        placement: of the results; global tensors keep theirs where it is not given
        sbp: likewise; or a function that is called with the whole input and a tensor, and gives the
            sbp of that one
        warn_on_non_tensor_leaf: whether to warn of anything else that is found, and kept
        named: as for `Tensor.to_global`

    Returns:
        the same nesting, of global tensors

    Raises:
        ValueError: a tensor is local, and placement or sbp not given.

    Example:
        >>> import oneflow as flow
        >>> state = flow.nn.Linear(2, 1).state_dict()
        >>> where = flow.placement("cpu", [0])
        >>> made = flow.utils.global_view.to_global(state, where, flow.sbp.broadcast)
        >>> made["weight"].is_global
        True
    """

    def convert(tensor: Any) -> Any:
        return tensor.to_global(placement, sbp(input, tensor) if by_tensor else sbp, **named)

    # The constants broadcast and partial_sum can be called, too, as some programs write them.
    by_tensor = callable(sbp) and not isinstance(sbp, global_tensor.sbp)
    return _mapped("to_global", input, convert, warn_on_non_tensor_leaf)


def to_local(input: Any, *, copy: bool = False) -> Any:
    """This rank's part of each global tensor in nested lists, tuples and dicts.

    Args:
        input: a tensor, or what holds tensors; local tensors stay as they are
        copy: whether to copy the elements

    Returns:
        the same nesting, of local tensors

    Example:
        >>> import oneflow as flow
        >>> x = flow.ones(1, placement=flow.placement("cpu", [0]), sbp=flow.sbp.broadcast)
        >>> flow.utils.global_view.to_local([x, 3])[0].is_global
        False
    """

    def convert(tensor: Any) -> Any:
        return tensor.to_local(copy=copy) if tensor.is_global else tensor

    return _mapped("to_local", input, convert, False)


def _mapped(caller: str, tree: Any, convert: Callable[[Any], Any], warn: bool) -> Any:
    if isinstance(tree, _Tensor):
        return convert(tree)
    if isinstance(tree, dict):
        items = [(key, _mapped(caller, value, convert, warn)) for key, value in tree.items()]
        return type(tree)(items)
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return type(tree)(*(_mapped(caller, value, convert, warn) for value in tree))
    if isinstance(tree, (list, tuple)):
        return type(tree)(_mapped(caller, value, convert, warn) for value in tree)
    if tree is not None and warn:
        warnings.warn(
            f"[{caller}] keeps what is no tensor as it is, here {type(tree).__name__}", stacklevel=3
        )
    return tree
