"""27: daemon threads that issue and read ops in a loop, on memory of their own or of numpy's."""

import threading
import time

import numpy as np
import way_out

import oneflow as flow

counts = [0, 0, 0]


def work(index: int) -> None:
    """For ever."""
    shared = flow.from_numpy(np.ones(200_000, np.float32))
    while True:
        if way_out.case() == "visible":
            shared.add_(1)
        else:
            (flow.ones(99, 99) @ flow.ones(99, 99)).sum().item()
        counts[index] += 1


for number in range(3):
    threading.Thread(target=work, args=(number,), daemon=True).start()
deadline = time.monotonic() + 60
while min(counts) < 5 and time.monotonic() < deadline:
    time.sleep(0.005)
way_out.premise(min(counts) >= 5, f"the threads got {counts} times round")
print("running")
way_out.pause()
