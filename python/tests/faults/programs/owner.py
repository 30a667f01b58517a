"""An interrupt ends the wait for an op on a numpy array; its worker is then the last to use it."""

import os
import signal
import threading
from typing import Any

import numpy as np

import oneflow as flow


class Array(np.ndarray[Any, Any]):
    """Says who released it. That runs Python code, for which a thread needs the GIL."""

    def __del__(self) -> None:
        print("released by", threading.current_thread().name, flush=True)


tensor = flow.from_numpy(np.ones(4).view(Array))
threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    flow._C.throw_error(tensor, 1000)
except KeyboardInterrupt:
    print("interrupted", flush=True)
del tensor
try:
    flow._oneflow_internal.sync()
except RuntimeError:
    print("failed", flush=True)
