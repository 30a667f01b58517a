"""32: an op fails while the main thread exits; a daemon thread may be waiting for it."""

import threading
import time

import way_out

import oneflow as flow

way_out.pause()
y = flow._C.throw_error(flow.ones(3), 500)
if way_out.case() == "awaited":
    threading.Thread(target=y.numpy, daemon=True).start()
    time.sleep(0.02)
way_out.premise(not flow._oneflow_internal.unread_error_report(), "it has failed already")
way_out.premise(way_out.queued(flow) > 0, "it does not run")
print("not failed yet")
