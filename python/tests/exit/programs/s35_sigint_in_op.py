"""35: SIGINT while the main thread waits for an op; a queue of many seconds lies before it."""

import way_out

import oneflow as flow

y = way_out.keep_busy(flow, size=1000)
way_out.mark("ready")
y.numpy()
way_out.premise(False, "it was not interrupted")
