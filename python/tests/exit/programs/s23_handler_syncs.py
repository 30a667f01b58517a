"""23: an atexit handler that waits for every op, on either side of the runtime's own."""

import atexit
from typing import Any

import way_out


def handler() -> None:
    """Syncs."""
    flow._oneflow_internal.sync()
    print("synced", result[0].sum().item())


if way_out.case() == "before":
    atexit.register(handler)

import oneflow as flow  # noqa: E402

if way_out.case() == "after":
    atexit.register(handler)

way_out.pause()
y = way_out.keep_busy(flow, ops=100)
result: list[Any] = [flow.ones(10, 10) @ flow.ones(10, 10)]
