"""DataLoader: reads a data set in batches, in the process itself or in worker processes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from oneflow.framework.random import randint
from oneflow.utils.data._collate import default_collate
from oneflow.utils.data._fetch import fetcher_for
from oneflow.utils.data.dataset import IterableDataset
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
        num_workers: processes that read samples ahead; default 0: the process itself reads them
        collate_fn: joins a list of samples into a batch; default `default_collate`
        drop_last: whether to leave out a last batch that is smaller
        timeout: seconds to wait for a batch of a worker; default 0, for ever
        worker_init_fn: called in each worker with its number, before it reads
        multiprocessing_context: how workers start, "fork", "spawn" or "forkserver"; default fork
        generator: an `oneflow.Generator` for the random order; default the default generator
        prefetch_factor: batches that each worker is ahead; default 2
        persistent_workers: whether the workers stay for the next pass; default False

    The batches are the same, and in the same order, whatever the number of workers. A worker has a
    copy of the data set, and random numbers of its own (`random`, NumPy's, oneflow's), which follow
    from the generator. Workers end with their pass, or with the DataLoader if they are persistent.

    Raises:
        TypeError, ValueError: an argument is wrong, or does not go with another.
        RuntimeError: (while iterating) a worker died, or gave no batch in time.

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
        timeout: float = 0,
        worker_init_fn: Callable[[int], Any] | None = None,
        multiprocessing_context: Any = None,
        generator: Any = None,
        *,
        prefetch_factor: int = 2,
        persistent_workers: bool = False,
    ) -> None:
        _flag("DataLoader", "shuffle", shuffle)
        self.drop_last = _flag("DataLoader", "drop_last", drop_last)
        _check_callable("collate_fn", collate_fn)
        _check_workers(num_workers, timeout, worker_init_fn, prefetch_factor, persistent_workers)
        self.dataset = dataset
        self.num_workers = num_workers
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.generator = generator
        self.prefetch_factor = prefetch_factor
        self.persistent_workers = persistent_workers
        self._pool: Any = None
        self._set_order(shuffle, sampler, batch_sampler)
        self._set_batches(batch_size, shuffle, sampler, batch_sampler)
        default = default_collate if self.batched else _one_sample
        self.collate_fn: Callable[[Any], Any] = default if collate_fn is None else collate_fn

    def _set_order(self, shuffle: bool, sampler: Any, batch_sampler: Any) -> None:
        self._iterable = isinstance(self.dataset, IterableDataset)
        if self._iterable:
            _check_iterable(shuffle, sampler, batch_sampler)
        else:
            _check_indexed(self.dataset)
        if sampler is not None and shuffle:
            raise ValueError("[DataLoader] expects either sampler or shuffle, got both")
        self.sampler = sampler
        if sampler is None and batch_sampler is None and not self._iterable:
            self.sampler = (
                RandomSampler(self.dataset, generator=self.generator)
                if shuffle
                else SequentialSampler(self.dataset)
            )

    def _set_batches(
        self, batch_size: Any, shuffle: bool, sampler: Any, batch_sampler: Any
    ) -> None:
        self.batch_size = batch_size
        self.batch_sampler: Any = batch_sampler
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or self.drop_last:
                raise ValueError(
                    "[DataLoader] expects batch_sampler without batch_size, shuffle, sampler and "
                    "drop_last, got both"
                )
            self.batch_size = None
        elif batch_size is not None:
            order: Any = _Endless() if self._iterable else self.sampler
            self.batch_sampler = BatchSampler(order, batch_size, self.drop_last)
        elif self.drop_last:
            raise ValueError("[DataLoader] expects drop_last with a batch_size, got None")

    @property
    def batched(self) -> bool:
        """Whether samples are joined into batches."""
        return self.batch_sampler is not None

    def _tasks(self) -> Iterable[Any]:
        """What the batches are made of: lists of indices, single indices, or nothing known."""
        if self._iterable:
            return ()
        return self.batch_sampler if self.batched else self.sampler

    def __iter__(self) -> Iterator[Any]:
        if self.num_workers:
            return self._iterate_workers()
        fetch = fetcher_for(self)
        if self._iterable:
            return _until_stop(fetch)
        return map(fetch, self._tasks())

    def _iterate_workers(self) -> Iterator[Any]:
        pool = self._pool if self._pool is not None else self._new_pool()
        if self.persistent_workers:
            self._pool = pool
        try:
            yield from pool.batches(self._tasks(), self._iterable)
        except Exception:
            self._pool = None
            pool.close()
            raise
        finally:
            if not self.persistent_workers:
                pool.close()

    def _new_pool(self) -> Any:
        from oneflow.utils.data._pool import WorkerPool
        from oneflow.utils.data._worker import Settings

        settings = Settings(
            self.dataset,
            self.collate_fn,
            self.batched,
            self.batch_size,
            self.drop_last,
            self.worker_init_fn,
        )
        seed = int(randint(0, 2**53 - 1, (1,), generator=self.generator).item())
        context, timeout = self.multiprocessing_context, self.timeout
        return WorkerPool(settings, self.num_workers, seed, context, timeout, self.prefetch_factor)

    def __len__(self) -> int:
        if not self._iterable:
            order: Any = self._tasks()
            return len(order)
        samples = len(self.dataset)
        if self.batch_size is None:
            return samples
        full = samples // self.batch_size
        return full if self.drop_last or samples % self.batch_size == 0 else full + 1


def _one_sample(sample: Any) -> Any:
    """What collates where nothing is joined."""
    return sample


def _until_stop(fetch: Callable[[Any], Any]) -> Iterator[Any]:
    while True:
        try:
            batch = fetch(None)
        except StopIteration:
            return
        yield batch


class _Endless:
    """The order of an iterable data set: it has none."""

    def __iter__(self) -> Iterator[int]:
        raise TypeError("[DataLoader] an IterableDataset has no indices")


def _check_callable(name: str, value: Any) -> None:
    if value is not None and not callable(value):
        raise TypeError(f"[DataLoader] expects {name} to be callable, got {type(value).__name__}")


def _check_workers(
    num_workers: Any, timeout: Any, worker_init_fn: Any, prefetch_factor: Any, persistent: Any
) -> None:
    for name, value, least in (
        ("num_workers", num_workers, 0),
        ("prefetch_factor", prefetch_factor, 1),
    ):
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise ValueError(f"[DataLoader] expects {name} of at least {least}, got {value!r}")
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)) or not timeout >= 0:
        raise ValueError(f"[DataLoader] expects timeout of at least 0, got {timeout!r}")
    _check_callable("worker_init_fn", worker_init_fn)
    if _flag("DataLoader", "persistent_workers", persistent) and num_workers == 0:
        raise ValueError("[DataLoader] expects persistent_workers with num_workers, got 0")


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
