"""30: a daemon thread is inside Python code that the library called when finalization starts: a
backward hook, or the __array__ of an object that becomes a tensor. It comes back for the GIL, and
must then be parked: Python's own end of it would unwind through frames of the library.
"""

import os
import sys
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


class Count:
    """Counts the threads that are there, when the interpreter has all but ended."""

    def __init__(self, threads: list[threading.Thread]) -> None:
        self.paths = [f"/proc/self/task/{thread.native_id}" for thread in threads]

    def __del__(
        self, sleep: Any = time.sleep, access: Any = os.access, write: Any = os.write
    ) -> None:
        sleep(0.02)
        write(1, f"parked: {sum(access(path, 0) for path in self.paths)}\n".encode())


threads = [threading.Thread(target=work, daemon=True) for _ in range(3)]
for thread in threads:
    thread.start()
sys.kept = Count(threads)  # type: ignore[attr-defined]
way_out.premise(inside.wait(60), "no callback was called")
print("in a callback", flush=True)
way_out.pause()
