"""Data sets: samples by index, or one after the other."""

from __future__ import annotations

import bisect
import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from oneflow import _oneflow_internal
from oneflow.framework.random import randperm

Tensor = _oneflow_internal.Tensor
T_co = TypeVar("T_co", covariant=True)


class Dataset(Generic[T_co]):
    """Samples by index. A subclass defines `__getitem__`, and `__len__` for samplers' sake.

    Raises:
        NotImplementedError: the subclass does not define `__getitem__`.

    Example:
        >>> import oneflow as flow
        >>> class Squares(flow.utils.data.Dataset):
        ...     def __len__(self):
        ...         return 4
        ...     def __getitem__(self, index):
        ...         return index * index
        >>> Squares()[3]
        9
    """

    def __getitem__(self, index: Any) -> T_co:
        raise NotImplementedError(f"[Dataset] {type(self).__name__} does not define __getitem__")

    def __add__(self, other: Dataset[Any]) -> ConcatDataset:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T_co]):
    """Samples one after the other. A subclass defines `__iter__`.

    Example:
        >>> import oneflow as flow
        >>> class Count(flow.utils.data.IterableDataset):
        ...     def __iter__(self):
        ...         return iter(range(3))
        >>> list(Count())
        [0, 1, 2]
    """

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError(f"[Dataset] {type(self).__name__} does not define __iter__")

    functions: ClassVar[dict[str, Callable[..., Any]]] = {}

    def __getattr__(self, name: str) -> Any:
        """A data set that is made of this one; see `functional_datapipe`."""
        made = IterableDataset.functions.get(name)
        if made is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return functools.partial(made, self)

    @classmethod
    def register_function(cls, name: str, function: Callable[..., Any]) -> None:
        """Makes `source.name(...)` call `function(source, ...)`. ValueError for a name that is."""
        if name in IterableDataset.functions:
            raise ValueError(f"[register_function] expects a new name, got {name!r}")
        IterableDataset.functions[name] = function

    @classmethod
    def register_datapipe_as_function(cls, name: str, made: Callable[..., Any]) -> None:
        """Makes `source.name(...)` a data set `made(source, ...)`."""
        cls.register_function(name, made)

    def __add__(self, other: Dataset[Any]) -> Any:
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple[Any, ...]]):
    """Sample i is the tuple of the i-th element of each tensor, along the first axis.

    Args:
        tensors: Tensors with first axes of the same length

    Raises:
        TypeError: an argument is no Tensor.
        ValueError: there is none, one is a scalar, or the lengths differ.
        IndexError: a sample is asked for that does not exist.

    Example:
        >>> import oneflow as flow
        >>> data = flow.utils.data.TensorDataset(flow.arange(3), flow.arange(3) * 10)
        >>> data[1]
        (tensor(1, dtype=oneflow.int64), tensor(10, dtype=oneflow.int64))
    """

    def __init__(self, *tensors: Any) -> None:
        if not tensors:
            raise ValueError("[TensorDataset] expects at least one Tensor, got none")
        for tensor in tensors:
            if not isinstance(tensor, Tensor):
                raise TypeError(f"[TensorDataset] expects Tensors, got {type(tensor).__name__}")
        shapes = [tuple(tensor.shape) for tensor in tensors]
        if not all(shapes) or len({shape[0] for shape in shapes}) != 1:
            raise ValueError(
                f"[TensorDataset] expects first axes of the same length, got shapes {shapes}"
            )
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Any, ...]:
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self) -> int:
        return int(self.tensors[0].shape[0])

    def gather(self, indices: Sequence[int]) -> tuple[Any, ...] | None:
        """The batch of these samples, by one copy of each tensor; None where that cannot be."""
        if any(tensor.requires_grad or tensor.is_cuda for tensor in self.tensors):
            return None
        rows = np.asarray(indices, dtype=np.int64)
        if rows.size and not (-len(self) <= rows.min() and rows.max() < len(self)):
            raise IndexError(f"[TensorDataset] expects indices below {len(self)}, got {indices}")
        return tuple(_oneflow_internal.tensor(tensor.numpy()[rows]) for tensor in self.tensors)


class ConcatDataset(Dataset[Any]):
    """The samples of several data sets, one after the other.

    Args:
        datasets: an iterable of data sets with lengths

    Raises:
        ValueError: there is none.
        TypeError: one has no length.

    Example:
        >>> import oneflow as flow
        >>> both = flow.utils.data.ConcatDataset([range(2), range(10, 13)])
        >>> len(both), both[2], both[-1]
        (5, 10, 12)
    """

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise ValueError("[ConcatDataset] expects at least one data set, got none")
        for dataset in self.datasets:
            _check_sized("ConcatDataset", dataset)
        self.cumulative_sizes = list(itertools.accumulate(len(d) for d in self.datasets))

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, index: int) -> Any:
        position = index + len(self) if index < 0 else index
        if not 0 <= position < len(self):
            raise IndexError(f"[ConcatDataset] expects an index below {len(self)}, got {index}")
        which = bisect.bisect_right(self.cumulative_sizes, position)
        before = self.cumulative_sizes[which - 1] if which else 0
        return self.datasets[which][position - before]


class ChainDataset(IterableDataset[Any]):
    """The samples of several iterable data sets, one after the other.

    Example:
        >>> import oneflow as flow
        >>> list(flow.utils.data.ChainDataset([range(2), range(5, 7)]))
        [0, 1, 5, 6]
    """

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)

    def __iter__(self) -> Iterator[Any]:
        return itertools.chain.from_iterable(self.datasets)


class Subset(Dataset[Any]):
    """The samples of a data set at some indices.

    Args:
        dataset: a data set
        indices: a sequence of ints

    Raises:
        IndexError: an index that the subset does not have.

    Example:
        >>> import oneflow as flow
        >>> flow.utils.data.Subset("abcd", [3, 0])[0]
        'd'
    """

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        self.dataset = dataset
        self.indices = indices

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, list):
            return self.dataset[[self.indices[i] for i in index]]
        return self.dataset[self.indices[index]]

    def __len__(self) -> int:
        return len(self.indices)

    def gather(self, indices: Sequence[int]) -> tuple[Any, ...] | None:
        """See `TensorDataset.gather`."""
        gather = getattr(self.dataset, "gather", None)
        return gather([self.indices[i] for i in indices]) if gather else None


def random_split(dataset: Any, lengths: Sequence[Any], generator: Any = None) -> list[Subset]:
    """Splits a data set at random into parts without a common sample.

    Args:
        dataset: a data set with a length
        lengths: the samples of each part, which sum to the length; or fractions that sum to 1
        generator: an `oneflow.Generator`; default the default generator

    Returns:
        list of Subset, one for each length

    Raises:
        ValueError: the lengths do not sum to that of the data set, or one is negative.

    Example:
        >>> import oneflow as flow
        >>> train, test = flow.utils.data.random_split(range(10), [8, 2])
        >>> sorted([*train, *test]) == list(range(10))
        True
    """
    _check_sized("random_split", dataset)
    counts = _counts(lengths, len(dataset))
    order = randperm(len(dataset), generator=generator).tolist()
    ends = list(itertools.accumulate(counts))
    return [Subset(dataset, order[end - count : end]) for count, end in zip(counts, ends)]


def _counts(lengths: Sequence[Any], total: int) -> list[int]:
    """Numbers of samples; fractions are rounded down, and the first ones get what is left."""
    values = list(lengths)
    if any(value < 0 for value in values):
        raise ValueError(f"[random_split] expects lengths of at least 0, got {values}")
    if any(isinstance(value, float) for value in values) and abs(sum(values) - 1) < 1e-6:
        counts = [int(total * value) for value in values]
        for i in range(total - sum(counts)):
            counts[i % len(counts)] += 1
        return counts
    if sum(values) != total or any(value != int(value) for value in values):
        raise ValueError(
            f"[random_split] expects lengths that sum to {total}, or fractions to 1, got {values}"
        )
    return [int(value) for value in values]


def _check_sized(caller: str, dataset: Any) -> None:
    if not hasattr(dataset, "__len__"):
        raise TypeError(
            f"[{caller}] expects a data set with a length, got {type(dataset).__name__}"
        )
