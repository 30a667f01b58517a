"""36: SIGINT twice while the exit hook waits for a queue of many seconds, or for a long op."""

import atexit

import way_out

import oneflow as flow

if way_out.case() == "queue":
    y = way_out.keep_busy(flow, size=1000)
else:
    y = flow._C.throw_error(flow.ones(3), 60_000)
atexit.register(way_out.mark, "ready")  # called before the hook
