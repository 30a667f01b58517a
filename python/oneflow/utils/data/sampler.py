"""Samplers: the order in which a data set is read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from oneflow.framework.random import randint, randperm

T_co = TypeVar("T_co", covariant=True)
_DRAWS_AT_ONCE = 1024


def _positive_int(caller: str, name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value <= 0:
        raise ValueError(f"[{caller}] expects {name} as an int above 0, got {value!r}")
    return value


def _flag(caller: str, name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"[{caller}] expects {name} as a bool, got {value!r}")
    return value


class Sampler(Generic[T_co]):
    """Gives indices, or lists of them, by iteration. A subclass defines `__iter__`, and `__len__`.

    Example:
        >>> import oneflow as flow
        >>> class Backwards(flow.utils.data.Sampler):
        ...     def __init__(self, data):
        ...         self.data = data
        ...     def __iter__(self):
        ...         return iter(range(len(self.data) - 1, -1, -1))
        >>> list(Backwards("abc"))
        [2, 1, 0]
    """

    def __init__(self, data_source: Any = None) -> None:
        pass

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError(f"[Sampler] {type(self).__name__} does not define __iter__")


class SequentialSampler(Sampler[int]):
    """0, 1, 2, ... to the end of the data set.

    Example:
        >>> import oneflow as flow
        >>> list(flow.utils.data.SequentialSampler("abc"))
        [0, 1, 2]
    """

    def __init__(self, data_source: Any) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """Indices in random order, another at each pass.

    Args:
        data_source: a data set with a length
        replacement: whether an index may come again; default False
        num_samples: how many to draw; default as many as there are
        generator: an `oneflow.Generator`; default the default generator

    Raises:
        TypeError, ValueError: an argument is wrong.

    Example:
        >>> import oneflow as flow
        >>> sorted(flow.utils.data.RandomSampler("abc"))
        [0, 1, 2]
    """

    def __init__(
        self,
        data_source: Any,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: Any = None,
    ) -> None:
        if not hasattr(data_source, "__len__"):
            raise TypeError(
                f"[RandomSampler] expects a data set with __len__, got {type(data_source).__name__}"
            )
        self.data_source = data_source
        self.replacement = _flag("RandomSampler", "replacement", replacement)
        self.generator = generator
        self._num_samples = num_samples
        if num_samples is not None:
            _positive_int("RandomSampler", "num_samples", num_samples)

    @property
    def num_samples(self) -> int:
        """How many indices a pass has."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        total, left = len(self.data_source), self.num_samples
        if left and not total:
            raise ValueError(
                "[RandomSampler] expects a data set that is not empty, got one that is"
            )
        while left > 0:
            if self.replacement:
                drawn = randint(0, total, (min(left, _DRAWS_AT_ONCE),), generator=self.generator)
            else:
                drawn = randperm(total, generator=self.generator)
            yield from drawn.tolist()[:left]
            left -= drawn.numel()

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """The given indices in random order, another at each pass.

    Args:
        indices: a sequence of ints
        generator: an `oneflow.Generator`; default the default generator

    Example:
        >>> import oneflow as flow
        >>> sorted(flow.utils.data.SubsetRandomSampler([5, 7]))
        [5, 7]
    """

    def __init__(self, indices: Sequence[int], generator: Any = None) -> None:
        self.indices = indices
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        for i in randperm(len(self.indices), generator=self.generator).tolist():
            yield self.indices[i]

    def __len__(self) -> int:
        return len(self.indices)


class BatchSampler(Sampler[list[int]]):
    """Joins the indices of another sampler into lists.

    Args:
        sampler: an iterable of indices
        batch_size: the length of a list
        drop_last: whether to leave out a last list that is shorter

    Raises:
        TypeError, ValueError: an argument is wrong.

    Example:
        >>> import oneflow as flow
        >>> list(flow.utils.data.BatchSampler(range(5), 2, drop_last=False))
        [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler: Iterable[int], batch_size: int, drop_last: bool) -> None:
        self.sampler = sampler
        self.batch_size = _positive_int("BatchSampler", "batch_size", batch_size)
        self.drop_last = _flag("BatchSampler", "drop_last", drop_last)

    def __iter__(self) -> Iterator[list[int]]:
        batch: list[int] = []
        for index in self.sampler:
            batch.append(index)
            if len(batch) == self.batch_size:
                yield batch
                batch = []
        if batch and not self.drop_last:
            yield batch

    def __len__(self) -> int:
        count = len(self.sampler)  # type: ignore[arg-type]
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)
