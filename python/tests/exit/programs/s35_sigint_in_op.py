"""35: SIGINT while the main thread waits for an op; a long queue lies before it."""

import way_out

import oneflow as flow

y = way_out.keep_busy(flow)
way_out.mark("ready")
y.numpy()
way_out.premise(False, "it was not interrupted")
