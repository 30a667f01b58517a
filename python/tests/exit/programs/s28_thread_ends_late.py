"""28: a non-daemon thread that still issues ops when the main thread has ended."""

import threading
import time

import way_out

import oneflow as flow


def work() -> None:
    """Waits for the main thread's end, and goes on."""
    while threading.main_thread().is_alive():
        (flow.ones(99, 99) @ flow.ones(99, 99)).sum().item()
        time.sleep(0.001)
    way_out.pause()
    x = flow.ones(300, 300)
    print("thread", (x @ x).mean().item() / 300 + 7)


threading.Thread(target=work).start()
time.sleep(0.02)
print("main ends")
