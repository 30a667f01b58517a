"""38: a signal handler that issues an op, while the main thread waits for one or exits."""

import atexit
import signal
from types import FrameType

import way_out

import oneflow as flow


def handler(number: int, frame: FrameType | None) -> None:
    """Computes beside what waits."""
    print("handler", flow.ones(3).sum().item())


signal.signal(signal.SIGUSR1, handler)
last = way_out.keep_busy(flow, ops=300)
if way_out.case() == "waiting":
    y = flow.ones(5, 10) @ flow.ones(10, 30)
    way_out.mark("ready")
    print("waited", y.numpy().sum())
else:
    atexit.register(way_out.mark, "ready")  # called before the hook
