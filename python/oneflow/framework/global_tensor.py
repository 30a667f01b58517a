"""Global tensors: one tensor over the ranks of a placement.

With the one rank that a process knows today, a global tensor is its local tensor, with a placement
and an sbp beside it. What would need another rank raises NotImplementedError. Results of ops on
global tensors are global, and so are gradients.

    >>> import oneflow as flow
    >>> x = flow.ones(2, placement=flow.placement("cpu", ranks=[0]), sbp=flow.sbp.broadcast)
    >>> x.is_global, x.placement, x.sbp
    (True, oneflow.placement(type="cpu", ranks=[0]), (oneflow.sbp.broadcast,))
    >>> (x + 1).sbp
    (oneflow.sbp.broadcast,)
    >>> x.to_local().is_global
    False
"""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from oneflow import _oneflow_internal

_C = _oneflow_internal._C
Tensor = _oneflow_internal.Tensor
MAX_SPLIT_AXIS = 6


class placement:
    """Where a global tensor lies: a type of device, and ranks.

    Args:
        type: "cpu" or "cuda"
        ranks: a sequence of ranks, or nested sequences for a grid of them

    Raises:
        ValueError: another type of device, or no rank.
        TypeError: a rank is not an int.

    Example:
        >>> import oneflow as flow
        >>> flow.placement("cpu", ranks=[0]) == flow.placement.all("cpu")
        True
    """

    def __init__(self, type: str, ranks: Any) -> None:
        if type not in ("cpu", "cuda"):
            raise ValueError(f"[placement] expects the type cpu or cuda, got {type!r}")
        self._type = type
        self._ranks = _nested(ranks)
        if not flat_ranks(self):
            raise ValueError("[placement] expects at least one rank, got none")

    @property
    def type(self) -> str:
        """The type of its devices."""
        return self._type

    device_tag = type

    @property
    def ranks(self) -> Any:
        """Its ranks, an array of the shape of `hierarchy`."""
        return np.array(self._ranks)

    @property
    def hierarchy(self) -> tuple[int, ...]:
        """The sizes of the grid of ranks."""
        sizes, inner = [], self._ranks
        while isinstance(inner, list):
            sizes.append(len(inner))
            inner = inner[0]
        return tuple(sizes)

    @staticmethod
    def all(type: str) -> placement:
        """All ranks there are."""
        return placement(type, list(range(world_size())))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, placement):
            return NotImplemented
        return (self._type, self._ranks) == (other._type, other._ranks)

    def __hash__(self) -> int:
        return hash(repr(self))

    def __repr__(self) -> str:
        return f'oneflow.placement(type="{self._type}", ranks={self._ranks})'

    def __reduce__(self) -> Any:
        return placement, (self._type, self._ranks)


def _nested(ranks: Any) -> Any:
    if hasattr(ranks, "tolist"):
        ranks = ranks.tolist()
    if isinstance(ranks, (Sequence, range)) and not isinstance(ranks, str):
        return [_nested(rank) for rank in ranks]
    if isinstance(ranks, bool) or not hasattr(ranks, "__index__"):
        raise TypeError(f"[placement] expects ranks that are ints, got {ranks!r}")
    return ranks.__index__()


def flat_ranks(where: placement) -> list[int]:
    """The ranks of a placement, one after the other.

    Example:
        >>> from oneflow.framework.global_tensor import flat_ranks, placement
        >>> flat_ranks(placement("cpu", [[0, 1], [2, 3]]))
        [0, 1, 2, 3]
    """

    def walk(ranks: Any) -> list[int]:
        return [r for inner in ranks for r in walk(inner)] if isinstance(ranks, list) else [ranks]

    return walk(where._ranks)


class sbp:
    """How the ranks of a placement share a tensor: split, broadcast or partial sum.

    Example:
        >>> import oneflow as flow
        >>> flow.sbp.split(1).split_dim, flow.sbp.broadcast.is_broadcast()
        (1, True)
    """

    def __init__(self, kind: str, dim: int = 0) -> None:
        self._kind, self._dim = kind, dim

    def __call__(self) -> sbp:
        return self

    def is_split(self) -> bool:
        """Whether each rank holds a part."""
        return self._kind == "split"

    def is_broadcast(self) -> bool:
        """Whether each rank holds all of it."""
        return self._kind == "broadcast"

    def is_partial_sum(self) -> bool:
        """Whether the tensor is the sum of what the ranks hold."""
        return self._kind == "partial_sum"

    @property
    def split_dim(self) -> int:
        """The dim that is split."""
        return self._dim

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, sbp):
            return NotImplemented
        return (self._kind, self._dim) == (other._kind, other._dim)

    def __hash__(self) -> int:
        return hash((self._kind, self._dim))

    def _text(self) -> str:
        return f"S({self._dim})" if self.is_split() else ("B" if self.is_broadcast() else "P")

    def __repr__(self) -> str:
        arguments = f"(dim={self._dim})" if self.is_split() else ""
        return f"oneflow.sbp.{self._kind}{arguments}"

    def __reduce__(self) -> Any:
        return sbp, (self._kind, self._dim)


broadcast = sbp("broadcast")
partial_sum = sbp("partial_sum")


def split(dim: int) -> sbp:
    """The sbp of a tensor that is split along `dim`.

    Raises:
        RuntimeError: `dim` is negative, or no tensor could have it.

    Example:
        >>> import oneflow as flow
        >>> flow.sbp.split(0)
        oneflow.sbp.split(dim=0)
    """
    if not 0 <= dim < MAX_SPLIT_AXIS:
        raise RuntimeError(f"[sbp] expects a dim to split in [0, {MAX_SPLIT_AXIS}), got {dim}")
    return sbp("split", dim)


def world_size() -> int:
    """How many processes work together, as the environment says.

    Example:
        >>> from oneflow.framework.global_tensor import world_size
        >>> world_size() >= 1
        True
    """
    return int(os.environ.get("WORLD_SIZE", "1"))


def rank() -> int:
    """The rank of this process, as the environment says.

    Example:
        >>> from oneflow.framework.global_tensor import rank
        >>> rank() >= 0
        True
    """
    return int(os.environ.get("RANK", "0"))


def as_sbps(caller: str, where: placement, given: Any, ndim: int) -> tuple[sbp, ...]:
    """The sbp argument as a tuple, one for each dim of the placement's grid."""
    given = tuple(given) if isinstance(given, (tuple, list)) else (given,)
    if not all(isinstance(one, sbp) for one in given):
        raise TypeError(f"[{caller}] expects an sbp or several, got {given!r}")
    if len(given) != len(where.hierarchy):
        raise RuntimeError(
            f"[{caller}] expects an sbp for each of {len(where.hierarchy)} dims of {where!r}, got "
            f"{given!r}"
        )
    for one in given:
        if one.is_split() and one.split_dim >= ndim:
            raise RuntimeError(
                f"[{caller}] expects a dim to split in [0, {ndim}), got {one.split_dim}"
            )
    return given


def check_one_rank(caller: str, where: placement) -> None:
    """NotImplementedError for a placement of other ranks than this one."""
    if flat_ranks(where) != [rank()] or world_size() != 1:
        raise NotImplementedError(
            f"[{caller}] expects a placement of this process's rank alone, got {where!r}: tensors "
            "over several ranks are not there yet"
        )


def made_global(tensor: Any, where: Any, how: Any) -> Any:
    """A new tensor as the global one that the keywords placement and sbp ask for."""
    return to_global(tensor, placement=where, sbp=how)


def _mark(tensor: Any, where: placement, how: tuple[sbp, ...]) -> Any:
    tensor._global = as_text(where, how)
    return tensor


def as_text(where: placement, how: tuple[sbp, ...]) -> tuple[str, list[str]]:
    """A placement and an sbp as the runtime takes them.

    Example:
        >>> from oneflow.framework.global_tensor import as_text, broadcast, placement
        >>> as_text(placement("cpu", [0]), (broadcast,))
        ('cpu:[0]', ['B'])
    """
    return f"{where.type}:{where._ranks}", [one._text() for one in how]


def from_text(lies: Any) -> tuple[placement, tuple[sbp, ...]]:
    """What `as_text` made text of.

    Example:
        >>> from oneflow.framework.global_tensor import from_text
        >>> from_text(("cpu:[0]", ["B"]))
        (oneflow.placement(type="cpu", ranks=[0]), (oneflow.sbp.broadcast,))
    """
    where, how = lies
    return _placement_of(where), tuple(_sbp_of(one) for one in how)


@functools.lru_cache(maxsize=64)
def _placement_of(text: str) -> placement:
    type, _, ranks = text.partition(":")
    return placement(type, json.loads(ranks))


@functools.lru_cache(maxsize=64)
def _sbp_of(text: str) -> sbp:
    if text.startswith("S"):
        return sbp("split", int(text[2:-1]))
    return broadcast if text == "B" else partial_sum


def place_of(tensor: Any) -> tuple[Any, Any]:
    """(placement, sbp) of a global tensor, (None, None) of a local one.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.framework.global_tensor import place_of
        >>> place_of(flow.ones(1))
        (None, None)
    """
    if not tensor.is_global:
        return None, None
    return from_text(tensor._global)


def to_global(
    input: Any,
    placement: Any = None,
    sbp: Any = None,
    grad_sbp: Any = None,
    check_meta: bool = True,
    copy: bool = False,
) -> Any:
    """The tensor as a global one, or a global one with another placement or sbp.

    Args:
        placement, sbp: of the result; a global tensor keeps its own where one is not given
        grad_sbp: the sbp of the gradient; with one rank they are all the same
        check_meta: whether to compare shapes and dtypes over the ranks
        copy: whether to copy the elements even so

    Raises:
        ValueError: a local tensor without placement or sbp.
        NotImplementedError: a placement of other ranks.

    Example:
        >>> import oneflow as flow
        >>> flow.ones(2).to_global(flow.placement("cpu", [0]), flow.sbp.split(0)).sbp
        (oneflow.sbp.split(dim=0),)
    """
    own_where, own_how = place_of(input)
    where = placement if placement is not None else own_where
    how = sbp if sbp is not None else own_how
    if where is None or how is None:
        raise ValueError(
            "[to_global] expects placement and sbp for a local tensor, got one or none"
        )
    check_one_rank("to_global", where)
    sbps = as_sbps("to_global", where, how, input.ndim)
    if input.device.type != where.type:
        input = input.to(where.type)
    return _mark(_C.copy(input) if copy else _C.view(input, tuple(input.shape)), where, sbps)


def to_local(input: Any, copy: bool = False) -> Any:
    """This rank's part of a global tensor.

    Raises:
        RuntimeError: the tensor is local.

    Example: see the module.
        >>> import oneflow as flow
        >>> flow.ones(1, placement=flow.placement.all("cpu"), sbp=flow.sbp.broadcast).to_local()
        tensor([1.], dtype=oneflow.float32)
    """
    if not input.is_global:
        raise RuntimeError(f"[to_local] expects a global tensor, got a local one {_shape(input)}")
    local = _C.copy(input) if copy else _C.view(input, tuple(input.shape))
    local._global = None
    return local


def local_to_global(
    input: Any, placement: Any, sbp: Any, check_meta: bool = True, copy: bool = False
) -> Any:
    """`to_global` of a local tensor.

    Raises:
        RuntimeError: the tensor is global.

    Example:
        >>> import oneflow as flow
        >>> flow.local_to_global(flow.ones(1), flow.placement.all("cpu"), flow.sbp.broadcast).sbp
        (oneflow.sbp.broadcast,)
    """
    if input.is_global:
        raise RuntimeError(
            f"[local_to_global] expects a local tensor, got one on {input.placement}"
        )
    return to_global(input, placement, sbp, None, check_meta, copy)


def global_to_global(
    input: Any, placement: Any = None, sbp: Any = None, grad_sbp: Any = None, copy: bool = False
) -> Any:
    """`to_global` of a global tensor.

    Raises:
        RuntimeError: the tensor is local.

    Example:
        >>> import oneflow as flow
        >>> x = flow.ones(1, placement=flow.placement.all("cpu"), sbp=flow.sbp.broadcast)
        >>> flow.global_to_global(x, sbp=flow.sbp.split(0)).sbp
        (oneflow.sbp.split(dim=0),)
    """
    if not input.is_global:
        raise RuntimeError(f"[global_to_global] expects a global tensor, got {_shape(input)}")
    return to_global(input, placement, sbp, grad_sbp, True, copy)


def check_meta_consistency(input: Any) -> None:
    """Compares a global tensor's shape, dtype, placement and sbp over its ranks.

    Raises:
        RuntimeError: the tensor is local.

    Example:
        >>> import oneflow as flow
        >>> x = flow.ones(1, placement=flow.placement.all("cpu"), sbp=flow.sbp.broadcast)
        >>> x.check_meta_consistency()
    """
    if not input.is_global:
        raise RuntimeError(f"[check_meta_consistency] expects a global tensor, got {_shape(input)}")


def _shape(tensor: Any) -> str:
    return f"{tensor.dtype} {tuple(tensor.shape)}"


def _of_global(name: str, index: int) -> Any:
    def get(self: Any) -> Any:
        value = place_of(self)[index]
        if value is None:
            raise RuntimeError(f"[{name}] expects a global tensor, got a local one {_shape(self)}")
        return value

    return property(get, doc=f"The {name} of a global tensor; a local one has none.")


def _global_id(self: Any) -> int:
    if not self.is_global:
        raise RuntimeError(f"[global_id] expects a global tensor, got a local one {_shape(self)}")
    return id(self)


def _removed(name: str, instead: str) -> Any:
    def get(self: Any, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(f"[{name}] expects to be called by its new name, {instead}")

    get.__name__ = name
    return get


def methods() -> dict[str, Any]:
    """What Tensor gets of this module.

    Example:
        >>> from oneflow.framework.global_tensor import methods
        >>> "to_global" in methods()
        True
    """
    return {
        "to_global": to_global,
        "to_local": to_local,
        "local_to_global": local_to_global,
        "global_to_global": global_to_global,
        "check_meta_consistency": check_meta_consistency,
        "placement": _of_global("placement", 0),
        "sbp": _of_global("sbp", 1),
        "global_id": property(_global_id, doc="A number that no other living tensor has."),
        "is_consistent": _removed("is_consistent", "is_global"),
        "to_consistent": _removed("to_consistent", "to_global"),
    }
