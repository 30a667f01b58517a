"""37: SIGTERM with a full queue."""

import time

import way_out

import oneflow as flow

y = way_out.keep_busy(flow)
print("queued", way_out.queued(flow))
way_out.mark("ready")
time.sleep(60)
