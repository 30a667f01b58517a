"""31: a daemon thread has awaited an op and comes back for the GIL, which the main thread keeps."""

import sys
import threading
import time

import way_out

import oneflow as flow

sys.setswitchinterval(1000.0)  # nobody takes the GIL from who computes
way_out.pause()
waiting = False
delivered = False
y = way_out.keep_busy(flow, ops=200)


def work() -> None:
    """Waits without the GIL."""
    global waiting, delivered
    waiting = True
    y.numpy()
    delivered = True


threading.Thread(target=work, daemon=True).start()
while not waiting:
    time.sleep(0.0001)
while way_out.queued(flow) > 0:  # gives the GIL away at no place
    pass
end = time.perf_counter() + 0.01
while time.perf_counter() < end:
    pass
way_out.premise(not delivered, "the thread got the GIL")
print("computed, not delivered")
