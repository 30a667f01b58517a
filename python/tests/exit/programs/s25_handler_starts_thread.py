"""25: an atexit handler that starts a thread, which issues ops until the process ends."""

import atexit
import threading
import time

import way_out


def work() -> None:
    """Issues small and large ops for ever."""
    while True:
        (flow.ones(99, 99) @ flow.ones(99, 99)).sum().item()
        flow.ones(3).sum().item()


def handler() -> None:
    """Starts it, where Python lets it."""
    try:
        threading.Thread(target=work).start()
    except RuntimeError:
        print("refused")
        return
    print("started")
    time.sleep(0.05)
    way_out.pause()


if way_out.case() == "before":
    atexit.register(handler)

import oneflow as flow  # noqa: E402

if way_out.case() == "after":
    atexit.register(handler)

y = flow.ones(300, 300) @ flow.ones(300, 300)
