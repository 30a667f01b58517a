"""DataLoader: reads a data set in batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from oneflow.utils.data._collate import default_collate
from oneflow.utils.data.dataset import IterableDataset, Subset, TensorDataset
from oneflow.utils.data.sampler import (
    BatchSampler,
    RandomSampler,
    SequentialSampler,
    _flag,
)


class DataLoader:
    """Reads a data set in batches, by iteration. Each pass starts anew.

    Args:
        dataset: samples by index, with a length; or an `IterableDataset`
        batch_size: samples in a batch; default 1; None gives single samples that are not joined
        shuffle: whether to read in random order, another at each pass
        sampler: the order, as an iterable of indices; instead of `shuffle`
        batch_sampler: the batches, as an iterable of lists of indices; instead of `batch_size`,
            `shuffle`, `sampler` and `drop_last`
        num_workers: 0: samples are read by the process itself
        collate_fn: joins a list of samples into a batch; default `default_collate`
        drop_last: whether to leave out a last batch that is smaller
        generator: an `oneflow.Generator` for the random order; default the default generator

    Raises:
        TypeError, ValueError: an argument is wrong, or does not go with another.
        NotImplementedError: `num_workers` above 0.

    Example:
        >>> import oneflow as flow
        >>> data = flow.utils.data.TensorDataset(flow.arange(5))
        >>> [batch.tolist() for batch, in flow.utils.data.DataLoader(data, batch_size=2)]
        [[0, 1], [2, 3], [4]]
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool = False,
        sampler: Iterable[int] | None = None,
        batch_sampler: Iterable[list[int]] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[list[Any]], Any] | None = None,
        drop_last: bool = False,
        generator: Any = None,
    ) -> None:
        _flag("DataLoader", "shuffle", shuffle)
        _flag("DataLoader", "drop_last", drop_last)
        _check_workers(num_workers)
        if collate_fn is not None and not callable(collate_fn):
            raise TypeError(
                f"[DataLoader] expects collate_fn to be callable, got {type(collate_fn).__name__}"
            )
        self.dataset = dataset
        self.num_workers = num_workers
        self.generator = generator
        self.drop_last = drop_last
        self._iterable = isinstance(dataset, IterableDataset)
        if self._iterable:
            _check_iterable(shuffle, sampler, batch_sampler)
        else:
            _check_indexed(dataset)
        if sampler is not None and shuffle:
            raise ValueError("[DataLoader] expects either sampler or shuffle, got both")
        self.sampler = sampler
        if sampler is None and batch_sampler is None and not self._iterable:
            self.sampler = (
                RandomSampler(dataset, generator=generator)
                if shuffle
                else SequentialSampler(dataset)
            )
        self._set_batches(batch_size, shuffle, sampler, batch_sampler, drop_last)
        single = lambda samples: samples  # noqa: E731
        default = default_collate if self.batch_sampler is not None else single
        self.collate_fn: Callable[[Any], Any] = default if collate_fn is None else collate_fn

    def _set_batches(
        self, batch_size: Any, shuffle: bool, sampler: Any, batch_sampler: Any, drop_last: bool
    ) -> None:
        self.batch_size = batch_size
        self.batch_sampler: Any = batch_sampler
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "[DataLoader] expects batch_sampler without batch_size, shuffle, sampler and "
                    "drop_last, got both"
                )
            self.batch_size = None
        elif batch_size is not None:
            order: Any = _Endless() if self._iterable else self.sampler
            self.batch_sampler = BatchSampler(order, batch_size, drop_last)
        elif drop_last:
            raise ValueError("[DataLoader] expects drop_last with a batch_size, got None")

    def __iter__(self) -> Iterator[Any]:
        if self._iterable:
            return self._iterate_stream()
        if self.batch_sampler is None:
            return (self.collate_fn(self.dataset[index]) for index in self.sampler or ())
        return map(self._batch, self.batch_sampler)

    def _batch(self, indices: list[int]) -> Any:
        if self.collate_fn is default_collate:
            dataset = self.dataset
            whole = dataset.gather(indices) if type(dataset) in (TensorDataset, Subset) else None
            if whole is not None:
                return list(whole)
        return self.collate_fn([self.dataset[index] for index in indices])

    def _iterate_stream(self) -> Iterator[Any]:
        if self.batch_sampler is None:
            yield from map(self.collate_fn, self.dataset)
            return
        samples: list[Any] = []
        for sample in self.dataset:
            samples.append(sample)
            if len(samples) == self.batch_size:
                yield self.collate_fn(samples)
                samples = []
        if samples and not self.drop_last:
            yield self.collate_fn(samples)

    def __len__(self) -> int:
        if not self._iterable:
            order: Any = self.sampler if self.batch_sampler is None else self.batch_sampler
            return len(order)
        samples = len(self.dataset)
        if self.batch_size is None:
            return samples
        full = samples // self.batch_size
        return full if self.drop_last or samples % self.batch_size == 0 else full + 1


class _Endless:
    """The order of an iterable data set: it has none."""

    def __iter__(self) -> Iterator[int]:
        raise TypeError("[DataLoader] an IterableDataset has no indices")


def _check_workers(num_workers: Any) -> None:
    if isinstance(num_workers, bool) or not isinstance(num_workers, int) or num_workers < 0:
        raise ValueError(f"[DataLoader] expects num_workers of at least 0, got {num_workers!r}")
    if num_workers > 0:
        raise NotImplementedError(
            f"[DataLoader] expects num_workers=0, got {num_workers}: this version reads samples in "
            "the process itself"
        )


def _check_iterable(shuffle: bool, sampler: Any, batch_sampler: Any) -> None:
    if shuffle or sampler is not None or batch_sampler is not None:
        raise ValueError(
            "[DataLoader] expects no shuffle, sampler or batch_sampler with an IterableDataset, "
            "which gives its own order"
        )


def _check_indexed(dataset: Any) -> None:
    if not hasattr(dataset, "__getitem__"):
        raise TypeError(
            f"[DataLoader] expects a data set with __getitem__, got {type(dataset).__name__}"
        )
