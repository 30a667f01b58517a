"""17: SystemExit in a thread ends that thread only."""

import sys
import threading

import way_out

import oneflow as flow


def work() -> None:
    """Issues ops, and leaves."""
    y = flow.ones(300, 300) @ flow.ones(300, 300)
    print("thread", y.mean().item() / 300)
    sys.exit(7)


thread = threading.Thread(target=work)
thread.start()
thread.join()
way_out.pause()
