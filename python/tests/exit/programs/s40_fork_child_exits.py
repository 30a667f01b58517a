"""40: fork after threads started, with ops queued; the child leaves at once."""

import os
import sys
import threading

import way_out

import oneflow as flow


def work() -> None:
    """For ever, beside the forks."""
    while True:
        (flow.ones(99, 99) @ flow.ones(99, 99)).sum().item()


threading.Thread(target=work, daemon=True).start()
y = way_out.keep_busy(flow, ops=100)
for _ in range(3):
    child = os.fork()
    if child == 0:
        if way_out.case() == "_exit":
            os._exit(0)
        sys.exit(0)
    _, status = os.waitpid(child, 0)
    way_out.premise(status == 0, f"the child ended with {status}")
print("parent", flow.ones(4).sum().item())
way_out.pause()
