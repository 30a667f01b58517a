"""24: an atexit handler that raises, on either side of the runtime's own."""

import atexit

import way_out


def handler() -> None:
    """Fails."""
    raise ValueError("mine")


if way_out.case() == "before":
    atexit.register(handler)

import oneflow as flow  # noqa: E402

if way_out.case() == "after":
    atexit.register(handler)

way_out.pause()
y = way_out.keep_busy(flow, ops=100)
