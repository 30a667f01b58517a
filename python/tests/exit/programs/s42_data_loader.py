"""42: a DataLoader's worker is killed in mid-batch; or its iterator is alive at exit."""

import os
import re
import signal
from typing import Any

import way_out

import oneflow as flow
from oneflow.utils.data import DataLoader, Dataset


class Rows(Dataset[Any]):
    """Tensors; one of them kills who makes it."""

    def __len__(self) -> int:
        return 1000

    def __getitem__(self, index: int) -> Any:
        if index == 9 and way_out.case() == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        return flow.ones(1000) * index


loader = DataLoader(Rows(), 4, num_workers=2, persistent_workers=way_out.case() == "persistent")
iterator = iter(loader)
if way_out.case() == "killed":
    try:
        list(iterator)
        way_out.premise(False, "no worker died")
    except RuntimeError as error:
        found = re.search(r"ended with signal \d+", str(error))
        print(found.group() if found else error)
else:
    first = next(iterator)
    print("first batch")
way_out.pause()
