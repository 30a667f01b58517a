"""9: a numpy view that outlives its tensor, to the last moments of the interpreter."""

import os
import sys
from typing import Any

import numpy as np
import way_out

import oneflow as flow


class Keeper:
    """Reads the view when it goes."""

    def __init__(self, view: Any) -> None:
        self.view = view

    def __del__(self, write: Any = os.write) -> None:
        total = sum(memoryview(self.view).cast("B").cast("f"))
        write(1, f"del {total}\n".encode())  # there is no sys.stdout any more


x = flow.ones(2, 3) * 1.0
view: Any = x.numpy()
if way_out.case() == "memoryview":
    view = memoryview(view)
del x
print("view", np.asarray(view).sum(), flush=True)
sys.kept = Keeper(view)  # type: ignore[attr-defined]
del view
y = flow.ones(300, 300) @ flow.ones(300, 300)
way_out.pause()
