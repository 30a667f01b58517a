"""29: a ThreadPoolExecutor that is never shut down, with tasks that have not begun."""

import atexit
import time
from concurrent.futures import ThreadPoolExecutor

import way_out

import oneflow as flow

finished: list[float] = []


def work() -> None:
    """One task."""
    time.sleep(0.02)
    x = flow.ones(99, 99)
    finished.append((x @ x).sum().item())


atexit.register(lambda: print("finished", len(finished)))
pool = ThreadPoolExecutor(4)
futures = [pool.submit(work) for _ in range(32)]
way_out.premise(not all(future.done() for future in futures), "all tasks are done")
print("submitted")
