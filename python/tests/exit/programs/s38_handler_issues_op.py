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
y = flow._C.throw_error(flow.ones(3), 1500)
if way_out.case() == "waiting":
    way_out.mark("ready")
    try:
        y.numpy()
    except RuntimeError:
        print("waited")
else:
    atexit.register(way_out.mark, "ready")  # called before the hook
