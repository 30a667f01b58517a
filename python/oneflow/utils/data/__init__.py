"""Data sets, the order in which they are read, and batches."""

from oneflow.utils.data._collate import default_collate
from oneflow.utils.data._worker import get_worker_info
from oneflow.utils.data.dataloader import DataLoader
from oneflow.utils.data.dataset import (
    ChainDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    Subset,
    TensorDataset,
    random_split,
)
from oneflow.utils.data.dataset import IterableDataset as IterDataPipe
from oneflow.utils.data.decorator import (
    functional_datapipe,
    guaranteed_datapipes_determinism,
    non_deterministic,
)
from oneflow.utils.data.distributed import DistributedSampler
from oneflow.utils.data.sampler import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
)

__all__ = [
    "BatchSampler",
    "ChainDataset",
    "ConcatDataset",
    "DataLoader",
    "Dataset",
    "DistributedSampler",
    "IterDataPipe",
    "IterableDataset",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "Subset",
    "SubsetRandomSampler",
    "TensorDataset",
    "default_collate",
    "functional_datapipe",
    "get_worker_info",
    "guaranteed_datapipes_determinism",
    "non_deterministic",
    "random_split",
]
