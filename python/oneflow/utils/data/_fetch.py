"""Reads one batch of a data set; the same in the process itself and in a worker."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from oneflow.utils.data._collate import default_collate
from oneflow.utils.data.dataset import IterableDataset, Subset, TensorDataset


def fetcher_for(settings: Any) -> Callable[[Any], Any]:
    """The function from indices to a batch. Of an iterable data set it takes what comes next,
    whatever the indices, and raises StopIteration at the end.

    Args:
        settings: has `dataset`, `collate_fn`, `batched` (else one sample at a time), `batch_size`
            and `drop_last`
    """
    if isinstance(settings.dataset, IterableDataset):
        batches = stream(settings)
        return lambda _: next(batches)
    if settings.batched:
        return lambda indices: batch(settings.dataset, settings.collate_fn, indices)
    return lambda index: settings.collate_fn(settings.dataset[index])


def batch(dataset: Any, collate_fn: Any, indices: list[int]) -> Any:
    """The samples at these indices, joined."""
    if collate_fn is default_collate and type(dataset) in (TensorDataset, Subset):
        whole = dataset.gather(indices)
        if whole is not None:
            return list(whole)
    return collate_fn([dataset[index] for index in indices])


def stream(settings: Any) -> Iterator[Any]:
    """The batches of an iterable data set."""
    if not settings.batched:
        yield from map(settings.collate_fn, settings.dataset)
        return
    samples: list[Any] = []
    for sample in settings.dataset:
        samples.append(sample)
        if len(samples) == settings.batch_size:
            yield settings.collate_fn(samples)
            samples = []
    if samples and not settings.drop_last:
        yield settings.collate_fn(samples)
