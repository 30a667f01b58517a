"""30: a daemon thread is inside Python code that the library called when finalization starts: a
backward hook, or the __array__ of an object that becomes a tensor.
"""

import threading
import time
from typing import Any

import numpy as np
import way_out

import oneflow as flow

inside = threading.Event()


def hook(grad: flow.Tensor) -> None:
    """Lets others run, and comes back for the GIL."""
    inside.set()
    time.sleep(0.002)


class Value:
    """Becomes an array in its own time."""

    def __array__(self, *args: Any, **options: Any) -> Any:
        inside.set()
        time.sleep(0.002)
        return np.ones(3, np.float32)


def work() -> None:
    """For ever."""
    x = flow.ones(3, requires_grad=True)
    while True:
        if way_out.case() == "hook":
            y = x * 2
            y.register_hook(hook)
            y.sum().backward()
        else:
            flow.tensor(Value())


for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
way_out.premise(inside.wait(60), "no callback was called")
print("in a callback")
way_out.pause()
