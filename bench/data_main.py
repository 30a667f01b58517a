"""The measured process of the DataLoader: `data_main.py oneflow|torch`.

Pictures of 224 x 224 in batches of 32, read by two workers that stay. `transformed`: a sample is
made from bytes as a training program does it, by the library's ops. `ready`: a sample lies in
memory as it is wanted, so that only joining and sending are left. The reader looks at each page.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from bench.library import start

BATCH, BATCHES, SIDE, WORKERS = 32, 12, 224, 2
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
_PASSES, _WARM_UP = 7, 2
_DIFFERENT = 64  # pictures in memory
_PAGE = 1024  # numbers


class Transformed:
    """A picture of bytes, flipped if its index is odd, scaled to [0, 1], normalised."""

    def __init__(self, library: Any, pictures: np.ndarray[Any, Any]) -> None:
        self.library = library
        self.pictures = pictures
        self.mean = library.tensor(np.asarray(MEAN, np.float32).reshape(3, 1, 1))
        self.std = library.tensor(np.asarray(STD, np.float32).reshape(3, 1, 1))

    def __len__(self) -> int:
        return BATCH * BATCHES

    def __getitem__(self, index: int) -> Any:
        picture = self.library.from_numpy(self.pictures[index % _DIFFERENT])
        x = picture.permute(2, 0, 1).contiguous().to(self.library.float32).div(255)
        x = x if index % 2 == 0 else x.flip((2,))
        return (x - self.mean) / self.std, index


class Ready:
    """A picture that was transformed before."""

    def __init__(self, source: Transformed) -> None:
        self.samples = [source[i][0] for i in range(_DIFFERENT)]

    def __len__(self) -> int:
        return BATCH * BATCHES

    def __getitem__(self, index: int) -> Any:
        return self.samples[index % _DIFFERENT], index


def read(loader: Any) -> tuple[float, float, int]:
    """(seconds for a batch, mean of the numbers looked at, sum of the indices) of one pass."""
    begin = time.perf_counter()
    total = 0.0
    indices = 0
    for x, index in loader:
        total += float(x.numpy().reshape(-1)[::_PAGE].mean())
        indices += int(index.numpy().sum())
    return (time.perf_counter() - begin) / BATCHES, total / BATCHES, indices


def main() -> None:
    """Reads passes, reports."""
    library, reporter, _ = start("Times the DataLoader.")
    rng = np.random.default_rng(1)
    pictures = rng.integers(0, 256, (_DIFFERENT, SIDE, SIDE, 3), dtype=np.uint8)
    transformed = Transformed(library, pictures)
    for name, dataset in (("transformed", transformed), ("ready", Ready(transformed))):
        loader = library.utils.data.DataLoader(
            dataset, BATCH, num_workers=WORKERS, persistent_workers=True
        )
        passes = [read(loader) for _ in range(_WARM_UP + _PASSES)]
        check = {"mean": passes[-1][1], "indices": passes[-1][2]}
        reporter.report(name, [seconds for seconds, _, _ in passes[_WARM_UP:]], check=check)


if __name__ == "__main__":
    main()
