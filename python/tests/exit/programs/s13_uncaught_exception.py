"""13: an uncaught exception, whose traceback holds tensors that are still being computed."""

import way_out

import oneflow as flow


def fail(depth: int) -> None:
    """Raises from a stack of frames with a tensor each."""
    x = flow.ones(300, 300)
    y = x @ x  # noqa: F841
    if depth > 0:
        fail(depth - 1)
    way_out.pause()
    raise ValueError("mine")


fail(5)
